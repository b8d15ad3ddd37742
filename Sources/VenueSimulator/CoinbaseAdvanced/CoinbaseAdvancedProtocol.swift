import Bytes
import MarketData

/// A client of the simulated Advanced Trade.
final class CoinbaseAdvancedSession: SimulatedSession {
  /// The names that it has subscribed by, of each stream.
  var names: [SubscriberTable<CoinbaseAdvancedChannel>.Stream: String] = [:]
  var hasHeartbeats = false
  var hasSubscribed = false
  /// Asked for more books than there may be: it gets none any more.
  var isWithoutBooks = false
  /// The number of the next message, of whatever channel.
  private var nextNumber: Int64 = 0

  func takeNumber() -> Int64 {
    defer { nextNumber += 1 }
    return nextNumber
  }
}

/// The public channels with products.
enum CoinbaseAdvancedChannel: String, CaseIterable {
  /// Its data says `l2_data`.
  case level2
  case trades = "market_trades"
  case ticker
  case tickerBatch = "ticker_batch"
}

/// Advanced Trade: `level2`, `market_trades` (250 ms), `ticker`, `ticker_batch`, `heartbeats`; REST `market/products`.
///
/// Every message of a connection is numbered, whatever its channel. Numbers are strings, `side` in trades is the
/// maker's, the ask side of books is `offer`. Every market in USD has an alias in USDC, which is the same book and
/// comes under the name in USD.
///
/// What the venue says of a product that it does not have is not known; here it refuses the whole request and names
/// nothing.
final class CoinbaseAdvancedProtocol: DeskProtocol<CoinbaseAdvancedSession, CoinbaseAdvancedChannel> {
  /// A connection must subscribe within it.
  static let subscribeLimit = 5 * Microseconds.second
  /// Client messages a second.
  static let requestLimit = 8

  /// Books on one connection.
  private let bookLimit: Int
  private let started: Timestamp
  private lazy var batches = indices.map { _ in LevelBatch() }
  /// By instrument: trades that have still to be told.
  private lazy var trades = indices.map { _ in [SimulatedTrade]() }
  /// Of candles.
  var candleBudget = RequestBudget(10, perSecond: 10)

  init(market: SimulatedMarket, faults: FaultInjector, bookLimit: Int = 30) {
    self.bookLimit = bookLimit
    started = faults.now
    super.init(market: market, faults: faults)
  }

  override class var facts: SimulatedFacts { SimulatedFacts(name: "coinbase-advanced", paths: ["/", ""]) }

  override func tick(_ index: Int, _ now: Timestamp) {
    flushBook(index)
    if ticks % 5 == 0 { flushTrades(index) }
    if ticks % 100 == 0 { sendTickers(.tickerBatch, index) }
  }

  override func tend(_ session: CoinbaseAdvancedSession, _ now: Timestamp) {
    if ticks % 20 == 0, session.hasHeartbeats { sendHeartbeat(session) }
    if !session.hasSubscribed, !session.wasUnheard, now - session.opened >= Self.subscribeLimit {
      session.close(1008, "no subscription within 5 seconds")
    }
  }

  // MARK: - Requests

  override func receive(_ text: RawSpan, _ session: CoinbaseAdvancedSession) {
    if session.exceeds(Self.requestLimit) {
      fail("rate limit exceeded", session)
      return session.close(1008, "too many messages")
    }
    guard let request = try? ClientMessage(text) else { return fail("malformed JSON", session) }
    switch request["type"].text {
    case "subscribe": subscribe(request["channel"].text, request["product_ids"].texts, session)
    case "unsubscribe": unsubscribe(request["channel"].text, request["product_ids"].texts, session)
    default: fail("\(request["type"].text) is not a valid type", session)
    }
  }

  private func fail(_ message: String, _ session: CoinbaseAdvancedSession) {
    session.say(#"{"type":"error","message":\#(json: message)}"#)
  }

  private func subscribe(_ name: String, _ products: [String], _ session: CoinbaseAdvancedSession) {
    // One that is refused is one all the same: its sender may not know yet.
    session.hasSubscribed = true
    if name == "heartbeats" {
      session.hasHeartbeats = true
      return acknowledge(session)
    }
    guard let channel = CoinbaseAdvancedChannel(rawValue: name) else {
      return fail(name == "user" ? "authentication failure" : "channel is not supported", session)
    }
    var wanted: [(stream: Stream, name: String)] = []
    for name in products {
      guard let index = instrument(named: name), !isRefused(index, channel) else {
        return fail("invalid product_ids", session)
      }
      wanted.append((Stream(channel, index), name))
    }
    guard !wanted.isEmpty else { return fail("no product_ids provided", session) }
    if channel == .level2 {
      let held = Set(desk.streams(of: session).filter { $0.channel == .level2 }.map(\.instrument))
      if session.isWithoutBooks || held.union(wanted.map(\.stream.instrument)).count > bookLimit {
        session.isWithoutBooks = true
        return fail("too many L2 streams requested in a single session", session)
      }
    }
    // What is gathered belongs to those who were there before; the newcomer's snapshot has it already.
    for (stream, _) in wanted { channel == .level2 ? flushBook(stream.instrument) : flushTrades(stream.instrument) }
    for (stream, name) in wanted where desk.add(session, stream) { session.names[stream] = name }
    acknowledge(session)
    for (stream, _) in wanted { begin(stream, session) }
  }

  private func unsubscribe(_ name: String, _ products: [String], _ session: CoinbaseAdvancedSession) {
    if name == "heartbeats" {
      session.hasHeartbeats = false
      return acknowledge(session)
    }
    guard let channel = CoinbaseAdvancedChannel(rawValue: name) else {
      return fail("channel is not supported", session)
    }
    for index in products.compactMap({ instrument(named: $0) }) { leave(Stream(channel, index), session) }
    acknowledge(session)
  }

  /// By its own name, or by its alias.
  func instrument(named name: String) -> Int? {
    indices.first { state($0).instrument.venueSymbol == name || Self.alias(state($0).instrument) == name }
  }

  static func alias(_ instrument: SimulatedInstrument) -> String { "\(instrument.base)-USDC" }

  private func acknowledge(_ session: CoinbaseAdvancedSession) {
    let streams = desk.streams(of: session)
    var entries = session.hasHeartbeats ? [(name: "heartbeats", products: ["heartbeats"])] : []
    for channel in CoinbaseAdvancedChannel.allCases {
      let names = streams.filter { $0.channel == channel }.compactMap { session.names[$0] }
      if !names.isEmpty { entries.append((channel.rawValue, names)) }
    }
    let rows = JSONText.list(entries) { "\(json: $0.name):[\(names: $0.products)]" }
    send("subscriptions", to: session, #"{"subscriptions":{\#(rows)}}"#)
  }

  // MARK: - Messages

  /// Sends a message of one event, with the connection's next number: also where a fault keeps it back.
  private func send(
    _ channel: StaticString, _ kind: SimulatedFrameKind = .control, instrument: Int = -1,
    to session: CoinbaseAdvancedSession, _ event: JSONText
  ) {
    // A channel that has died counts nothing.
    guard !faults.isMuted(SimulatedContent(kind), of: instrument) else { return }
    session.send(
      kind, instrument: instrument,
      #"""
      {"channel":"\#(channel)","timestamp":"\#(rfc3339: now)","sequence_num":\#(session.takeNumber()),\#
      "events":[\#(event)]}
      """#)
  }

  override func begin(_ stream: Stream, _ session: CoinbaseAdvancedSession) {
    let (index, state) = (stream.instrument, state(stream.instrument))
    switch stream.channel {
    case .level2:
      let whole = book("snapshot", index, state.book.sides, time: nil)
      send("l2_data", .bookSnapshot, instrument: index, to: session, whole)
    case .trades:
      send("market_trades", .trade, instrument: index, to: session, trades("snapshot", state.recentTrades, index))
    case .ticker, .tickerBatch:
      send("ticker", .ticker, instrument: index, to: session, ticker("snapshot", index, stream.channel))
    }
  }

  private func sendHeartbeat(_ session: CoinbaseAdvancedSession) {
    let uptime = (now - started) / Microseconds.second
    let time: JSONText = "\(rfc3339: now)"
    // As Go prints a time: a space for the T, and the clock that only rises behind it.
    let shown = time.text.replacing("T", with: " ").replacing("Z", with: "")
    send(
      "heartbeats", .heartbeat, to: session,
      #"{"current_time":"\#(shown) +0000 UTC m=+\#(uptime).5","heartbeat_counter":\#(uptime)}"#)
  }

  // MARK: - The market

  override func publish(_ change: SimulatedChange) {
    let index = change.instrument
    if !desk.isEmpty(.level2, index) { batches[index].add(change) }
    guard !change.trades.isEmpty else { return }
    if !desk.isEmpty(.trades, index) { trades[index] += change.trades }
    sendTickers(.ticker, index)
  }

  private func sessions(of channel: CoinbaseAdvancedChannel, _ index: Int) -> [CoinbaseAdvancedSession] {
    desk.sessions(of: channel, index).compactMap { $0 as? CoinbaseAdvancedSession }
  }

  private func flushBook(_ index: Int) {
    guard let changed = batches[index].take() else { return }
    for session in sessions(of: .level2, index) where !session.isWithoutBooks {
      let text = book("update", index, changed, time: now)
      send("l2_data", .book(isVisible: true), instrument: index, to: session, text)
    }
  }

  private func flushTrades(_ index: Int) {
    guard !trades[index].isEmpty else { return }
    for session in sessions(of: .trades, index) {
      send("market_trades", .trade, instrument: index, to: session, trades("update", trades[index], index))
    }
    trades[index].removeAll()
  }

  private func sendTickers(_ channel: CoinbaseAdvancedChannel, _ index: Int) {
    for session in sessions(of: channel, index) {
      send(
        channel == .ticker ? "ticker" : "ticker_batch", .ticker, instrument: index, to: session,
        ticker("update", index, channel))
    }
  }

  /// - Parameter time: nil for levels of a snapshot, whose time is that of 1970.
  private func book(_ type: StaticString, _ index: Int, _ sides: BookSides, time: Timestamp?) -> JSONText {
    let i = spell(index)
    let moment: JSONText = time.map { "\(rfc3339: $0)" } ?? "1970-01-01T00:00:00Z"
    let rows = JSONText.list(sides.labelled("bid", "offer")) { side, level in
      #"""
      {"side":"\#(side)","event_time":"\#(moment)","price_level":\#(i.price(level.price)),\#
      "new_quantity":\#(i.size(level.size))}
      """#
    }
    return #"{"type":"\#(type)","product_id":"\#(i.name)","updates":[\#(rows)]}"#
  }

  /// Newest first, as the venue has them.
  private func trades(_ type: StaticString, _ trades: [SimulatedTrade], _ index: Int) -> JSONText {
    let i = spell(index)
    let rows = JSONText.list(trades.reversed()) { trade in
      #"""
      {"product_id":"\#(i.name)","trade_id":"\#(trade.id)","price":\#(i.price(trade.price)),\#
      "size":\#(i.size(trade.size)),"time":"\#(rfc3339: trade.time)","side":"\#(trade.side == .buy ? "SELL" : "BUY")"}
      """#
    }
    return #"{"type":"\#(type)","trades":[\#(rows)]}"#
  }

  private func ticker(_ type: StaticString, _ index: Int, _ channel: CoinbaseAdvancedChannel) -> JSONText {
    let i = spell(index)
    let best: JSONText =
      channel != .ticker
      ? ""
      : #"""
      ,"best_bid":\#(i.bid),"best_bid_quantity":\#(i.bidSize),"best_ask":\#(i.ask),"best_ask_quantity":\#(i.askSize)
      """#
    return #"""
      {"type":"\#(type)","tickers":[{"type":"ticker","product_id":"\#(i.name)","price":\#(i.last),\#
      "volume_24_h":\#(i.volume),"low_24_h":\#(i.low),"high_24_h":\#(i.high),\#
      "low_52_w":\#(i.price(i.state.day.low / 2)),"high_52_w":\#(i.price(i.state.day.high * 2)),\#
      "price_percent_chg_24_h":\#(i.percent(2))\#(best)}]}
      """#
  }

  override func respond(_ request: SimulatedRequest) -> SimulatedResponse { answer(request) }
}
