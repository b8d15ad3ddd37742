import Bytes
import MarketData

/// A client of the simulated Bitstamp.
final class BitstampSession: SimulatedSession {
  /// Every channel that was acknowledged, by its name.
  var channels: Set<String> = []
  lazy var pinged = opened
}

enum BitstampChannel: String, CaseIterable {
  case difference = "diff_order_book_"
  case whole = "order_book_"
  case trade = "live_trades_"
}

/// Bitstamp's v2 socket: `diff_order_book_`, `order_book_`, `live_trades_`, heartbeats; REST `markets`,
/// `trading-pairs-info`, `order_book`, `ticker`.
///
/// No channel begins with a snapshot and no message has a number. A market that is not there is acknowledged, and
/// silent.
final class BitstampProtocol: DeskProtocol<BitstampSession, BitstampChannel> {
  /// Channels of a connection; one more closes it without a word.
  static let channelLimit = 1_024
  /// A longer message closes with 1009.
  static let messageLimit = 512
  static let pingInterval = 54 * Microseconds.second
  /// Ticks between two updates of a book.
  static let bookTicks = 4
  /// Levels a side in `order_book_`.
  static let wholeDepth = 100

  private lazy var batches = indices.map { _ in LevelBatch() }
  private lazy var isChanged = indices.map { _ in false }
  var cache: [Int: (truth: SimulatedTruth, time: Timestamp)] = [:]
  /// By REST.
  var requests = RequestCount(1_000, per: Microseconds.minute)

  override class var facts: SimulatedFacts {
    SimulatedFacts(name: "bitstamp", paths: ["/", ""], special: [.plannedShutdown, .staleSnapshot])
  }

  override func left(_ streams: [Stream], _ session: BitstampSession) {
    for stream in streams where stream.channel == .difference && desk.isEmpty(.difference, stream.instrument) {
      batches[stream.instrument].removeAll()
    }
  }

  override func announceShutdown(to session: SimulatedSession) {
    session.say(#"{"event":"bts:request_reconnect","channel":"","data":null}"#)
  }

  // MARK: - Requests

  override func receive(_ text: RawSpan, _ session: BitstampSession) {
    guard text.byteCount <= Self.messageLimit else { return session.close(1009, "read limited at 513 bytes") }
    guard let request = try? ClientMessage(text) else { return fail("Incorrect JSON format.", session) }
    let name = request["data"]["channel"].text
    switch request["event"].text {
    case "bts:heartbeat":
      session.say(#"{"event":"bts:heartbeat","channel":"","data":{"status":"success"}}"#)
    case "bts:subscribe": subscribe(name, session)
    case "bts:unsubscribe":
      guard session.channels.remove(name) != nil else { return fail("Bad subscription string.", session) }
      if let stream = stream(name) { leave(stream, session) }
      acknowledge("un", name, session)
    default: fail("Bad subscription string.", session)
    }
  }

  private func fail(_ message: String, _ session: BitstampSession) {
    session.say(#"{"event":"bts:error","channel":"","data":{"code":null,"message":\#(json: message)}}"#)
  }

  private func acknowledge(_ prefix: StaticString, _ name: String, _ session: BitstampSession) {
    session.say(#"{"event":"bts:\#(prefix)subscription_succeeded","channel":\#(json: name),"data":{}}"#)
  }

  /// What a channel is of; nil if nothing ever comes on it.
  private func stream(_ name: String) -> Stream? {
    guard let channel = BitstampChannel.allCases.first(where: { name.hasPrefix($0.rawValue) }),
      let index = listed(name.dropFirst(channel.rawValue.count), on: channel)
    else { return nil }
    return Stream(channel, index)
  }

  private func subscribe(_ name: String, _ session: BitstampSession) {
    let known = BitstampChannel.allCases.map(\.rawValue) + ["live_orders_", "detail_order_book_"]
    guard known.contains(where: { name.hasPrefix($0) }) else { return fail("Invalid channel provided.", session) }
    let plain = Array("abcdefghijklmnopqrstuvwxyz0123456789_-".utf8)
    guard name.utf8.allSatisfy({ plain.contains($0) }) else { return fail("Bad subscription string.", session) }
    guard session.channels.count < Self.channelLimit || session.channels.contains(name) else {
      return session.abort()
    }
    session.channels.insert(name)
    acknowledge("", name, session)
    if let stream = stream(name) { join(stream, session) }
  }

  // MARK: - The market

  override func publish(_ change: SimulatedChange) {
    let index = change.instrument
    if !desk.isEmpty(.difference, index) { batches[index].add(change) }
    isChanged[index] = true
    for trade in change.trades { send(.trade, index, .trade, self.trade(trade, index)) }
  }

  /// Books have their turns one after the other.
  override func tick(_ index: Int, _ now: Timestamp) {
    guard (ticks + index) % Self.bookTicks == 0 else { return }
    if isChanged[index] {
      isChanged[index] = false
      let whole = state(index).book.top(Self.wholeDepth)
      send(.whole, index, .quote, message(.whole, index, levels(whole, index, at: now)))
    }
    guard let changed = batches[index].take() else { return }
    send(.difference, index, .book(isVisible: true), message(.difference, index, levels(changed, index, at: now)))
  }

  override func tend(_ session: BitstampSession, _ now: Timestamp) {
    guard now - session.pinged >= Self.pingInterval else { return }
    session.pinged = now
    session.ping([])
  }

  private func message(
    _ channel: BitstampChannel, _ index: Int, event: StaticString = "data", _ data: JSONText
  ) -> JSONText {
    #"{"data":\#(data),"channel":"\#(channel.rawValue)\#(spell(index).name)","event":"\#(event)"}"#
  }

  func levels(_ sides: BookSides, _ index: Int, at time: Timestamp) -> JSONText {
    let i = spell(index)
    return #"""
      {"timestamp":"\#(seconds: time)","microtimestamp":"\#(time.rawValue)","bids":\#(i.pairs(sides.bids)),\#
      "asks":\#(i.pairs(sides.asks))}
      """#
  }

  /// Times of trades are whole milliseconds.
  private func trade(_ trade: SimulatedTrade, _ index: Int) -> JSONText {
    let (i, bare) = (spell(index), Spelling.bare.of(state(index)))
    let id = 2_001_939_000_000_000_000 + trade.id
    return message(
      .trade, index, event: "trade",
      #"""
      {"id":\#(id),"id_str":"\#(id)","timestamp":"\#(seconds: trade.time)","amount":\#(bare.size(trade.size)),\#
      "amount_str":\#(i.size(trade.size)),"price":\#(bare.price(trade.price)),"price_str":\#(i.price(trade.price)),\#
      "type":\#(trade.side == .buy ? 0 : 1),"microtimestamp":"\#(trade.time.rawValue / 1_000 * 1_000)",\#
      "buy_order_id":\#(2 * id),"sell_order_id":\#(2 * id + 1)}
      """#)
  }

  override func respond(_ request: SimulatedRequest) -> SimulatedResponse { answer(request) }
}
