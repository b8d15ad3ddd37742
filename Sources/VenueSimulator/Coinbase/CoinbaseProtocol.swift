import Bytes
import MarketData

/// A client of the simulated Coinbase Exchange.
final class CoinbaseSession: SimulatedSession {
  var hasSubscribed = false
}

/// The public channels of the Exchange feed.
enum CoinbaseChannel: String, CaseIterable {
  /// Its acknowledgement says `level2_50`.
  case level2 = "level2_50"
  case matches
  case ticker
  case tickerBatch = "ticker_batch"
  case heartbeat
  case status

  init?(name: String) {
    if name == "level2_batch" { self = .level2 } else { self.init(rawValue: name) }
  }
}

/// The Coinbase Exchange feed: `level2_batch` (50 ms), `matches`, `ticker`, `ticker_batch`, `heartbeat`, `status`; REST
/// `products`.
///
/// Numbers are strings with the digits of the product's increments. `side` in matches is the maker's, in tickers the
/// taker's. There is no sequence for books: a lost update cannot be noticed.
final class CoinbaseProtocol: DeskProtocol<CoinbaseSession, CoinbaseChannel> {
  /// A connection must subscribe within it.
  static let subscribeLimit = 5 * Microseconds.second
  /// Client messages a second.
  static let requestLimit = 100

  private lazy var batches = indices.map { _ in LevelBatch() }
  /// Instruments with a trade since the last `ticker_batch`.
  private lazy var tradedSinceBatch = indices.map { _ in false }
  /// Of candles.
  var candleBudget = RequestBudget(15, perSecond: 10)

  override class var facts: SimulatedFacts {
    SimulatedFacts(name: "coinbase", paths: ["/", ""], special: [.names, .trades])
  }

  override func tick(_ now: Timestamp, sessions: [SimulatedSession]) {
    ticks += 1
    for index in indices { flush(index) }
    if ticks % 20 == 0 {
      for index in indices { send(.heartbeat, index, .heartbeat, heartbeat(index)) }
    }
    if ticks % 100 == 0 {
      for index in indices where tradedSinceBatch[index] {
        tradedSinceBatch[index] = false
        guard let trade = state(index).recentTrades.last else { continue }
        send(.tickerBatch, index, .ticker, ticker(index, trade))
      }
    }
    for case let session as CoinbaseSession in sessions
    where !session.hasSubscribed && !session.wasUnheard && now - session.opened >= Self.subscribeLimit {
      session.close(1008, "no subscription within 5 seconds")
    }
  }

  // MARK: - Requests

  override func receive(_ text: RawSpan, _ session: CoinbaseSession) {
    if session.exceeds(Self.requestLimit) {
      fail("ErrSlowRead", nil, session)
      return session.close(1008, "too many messages")
    }
    guard let request = try? ClientMessage(text) else { return fail("Malformed JSON", nil, session) }
    switch request["type"].text {
    case "subscribe": subscribe(Self.channels(request), session)
    case "unsubscribe": unsubscribe(Self.channels(request), session)
    default: fail("Type is not valid", "\(request["type"].text) is not a valid type", session)
    }
  }

  /// Channels, each with the products it is for: a channel's own products stand beside those of the whole request.
  private static func channels(_ request: ClientMessage) -> [(name: String, products: [String])] {
    let common = request["product_ids"].texts
    return request["channels"].list.map { item in
      let own = item["product_ids"].texts.filter { !common.contains($0) }
      return (item.isObject ? item["name"].text : item.text, common + own)
    }
  }

  private func fail(_ message: String, _ reason: String?, _ session: CoinbaseSession) {
    let more: JSONText = reason.map { #","reason":\#(json: $0)"# } ?? ""
    session.say(#"{"type":"error","message":\#(json: message)\#(more)}"#)
  }

  private func subscribe(_ channels: [(name: String, products: [String])], _ session: CoinbaseSession) {
    // One that is refused is one all the same: its sender may not know yet.
    session.hasSubscribed = true
    func refuse(_ reason: String) { fail("Failed to subscribe", reason, session) }
    guard !channels.isEmpty else { return refuse("no channels provided") }
    var wanted: [Stream] = []
    for (name, products) in channels {
      if ["level2", "level3", "full", "user"].contains(name) {
        return refuse(
          "level2, level3, and full channels now require authentication. "
            + "https://docs.cloud.coinbase.com/exchange/docs/websocket-auth")
      }
      guard let channel = CoinbaseChannel(name: name) else { return refuse("\(name) is not a valid channel") }
      if channel == .status {
        wanted.append(Stream(.status, 0))
        continue
      }
      guard !products.isEmpty else { return refuse("no product_ids provided for \(name)") }
      for product in products {
        guard let index = listed(product, on: channel) else { return refuse("\(product) is not a valid product") }
        wanted.append(Stream(channel, index))
      }
    }
    for stream in wanted { desk.add(session, stream) }
    acknowledge(session)
    for stream in wanted { begin(stream, session) }
  }

  private func unsubscribe(_ channels: [(name: String, products: [String])], _ session: CoinbaseSession) {
    for (name, products) in channels {
      guard let channel = CoinbaseChannel(name: name) else {
        return fail("Failed to unsubscribe", "\(name) is not a valid channel", session)
      }
      for stream in desk.streams(of: session) where stream.channel == channel {
        guard products.isEmpty || products.contains(spell(stream.instrument).name) else { continue }
        leave(stream, session)
      }
    }
    acknowledge(session)
  }

  private func acknowledge(_ session: CoinbaseSession) {
    let streams = desk.streams(of: session)
    let held = CoinbaseChannel.allCases.filter { channel in streams.contains { $0.channel == channel } }
    let rows = JSONText.list(held) { channel in
      let names = channel == .status ? [] : streams.filter { $0.channel == channel }.map { spell($0.instrument).name }
      return #"{"name":"\#(channel.rawValue)","product_ids":[\#(names: names)],"account_ids":null}"#
    }
    session.say(#"{"type":"subscriptions","channels":[\#(rows)]}"#)
  }

  override func begin(_ stream: Stream, _ session: CoinbaseSession) {
    let (index, state) = (stream.instrument, state(stream.instrument))
    let lastTrade = state.recentTrades[state.recentTrades.count - 1]
    switch stream.channel {
    case .level2:
      // What is gathered belongs to those who were there before; the snapshot has it already.
      flush(index, except: session)
      session.send(.bookSnapshot, instrument: index, snapshot(index))
    case .matches:
      session.send(.trade, instrument: index, match("last_match", lastTrade, state.sequence, index))
    case .ticker, .tickerBatch: session.send(.ticker, instrument: index, ticker(index, lastTrade))
    case .status: session.say(#"{"type":"status","currencies":[],"products":[\#(products)]}"#)
    case .heartbeat: break
    }
  }

  // MARK: - The market

  override func publish(_ change: SimulatedChange) {
    let index = change.instrument
    if !desk.isEmpty(.level2, index) { batches[index].add(change) }
    guard let last = change.trades.last else { return }
    tradedSinceBatch[index] = true
    // The trades of a moment have the numbers before the moment's own.
    let sequence = state(index).sequence - Int64(change.trades.count)
    for (position, trade) in change.trades.enumerated() {
      send(.matches, index, .trade, match("match", trade, sequence + Int64(position), index))
    }
    send(.ticker, index, .ticker, ticker(index, last))
  }

  private func flush(_ index: Int, except newcomer: CoinbaseSession? = nil) {
    guard let changed = batches[index].take() else { return }
    send(.level2, index, .book(isVisible: true), except: newcomer, update(index, changed))
  }

  override func respond(_ request: SimulatedRequest) -> SimulatedResponse { answer(request) }
}
