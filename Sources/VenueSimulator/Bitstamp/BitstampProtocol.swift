import Bytes
import MarketData

/// A client of the simulated Bitstamp.
final class BitstampSession: SimulatedSession {
  /// Every channel that was acknowledged, by its name.
  var channels: Set<String> = []
  var pinged: Timestamp

  required init(id: Int, faults: FaultInjector) {
    pinged = faults.now
    super.init(id: id, faults: faults)
  }
}

/// Bitstamp's v2 socket: `diff_order_book_`, `order_book_`, `live_trades_`, heartbeats; REST `markets`, `trading-pairs-info`,
/// `order_book`, `ticker`.
///
/// No channel begins with a snapshot and no message has a number. A market that is not there is acknowledged, and silent.
final class BitstampProtocol: VenueProtocol {
  /// Channels of a connection; one more closes it without a word.
  static let channelLimit = 1_024
  /// A longer message closes with 1009.
  static let messageLimit = 512
  static let pingInterval = 54 * Microseconds.second
  /// Ticks between two updates of a book.
  static let bookTicks = 4
  /// Levels a side in `order_book_`.
  static let wholeDepth = 100
  /// REST answers with a book come from a cache, and are up to this old.
  static let cacheAge = Microseconds.second
  /// REST requests a minute.
  static let requestLimit = 1_000

  private var differences: [Subscribers<BitstampSession>]
  private var wholes: [Subscribers<BitstampSession>]
  private var trades: [Subscribers<BitstampSession>]
  private var batches: [LevelBatch]
  private var isChanged: [Bool]
  private var ticks = 0
  var cache: [Int: (truth: SimulatedTruth, time: Timestamp)] = [:]
  /// Books of an earlier moment, each of which is the next snapshot of its instrument.
  var kept: [Int: (truth: SimulatedTruth, time: Timestamp)] = [:]
  var minute: Int64 = 0
  var requests = 0

  init(market: SimulatedMarket, faults: FaultInjector) {
    let count = market.instruments.count
    differences = Array(repeating: Subscribers(), count: count)
    wholes = Array(repeating: Subscribers(), count: count)
    trades = Array(repeating: Subscribers(), count: count)
    batches = Array(repeating: LevelBatch(), count: count)
    isChanged = Array(repeating: false, count: count)
    super.init(name: "bitstamp", market: market, faults: faults)
  }

  override class var special: Set<Fault.Kind> { [.plannedShutdown, .staleSnapshot] }

  override func respond(path: String, query: [(name: String, value: String)]) -> SimulatedResponse {
    answer(path: path, query: query)
  }

  // MARK: - Connections

  override func open(
    id: Int, path: String, query: [(name: String, value: String)]
  ) throws(SimulatedRefusal) -> SimulatedSession {
    guard path == "/" || path.isEmpty else { throw SimulatedRefusal(status: 404, reason: "Not Found") }
    return BitstampSession(id: id, faults: faults)
  }

  override func closed(_ session: SimulatedSession) {
    guard let session = session as? BitstampSession else { return }
    for index in market.instruments.indices {
      wholes[index].remove(session)
      trades[index].remove(session)
      if differences[index].remove(session), differences[index].isEmpty { batches[index].removeAll() }
    }
  }

  override func announceShutdown(to session: SimulatedSession) {
    session.send { $0.append(#"{"event":"bts:request_reconnect","channel":"","data":null}"#) }
  }

  override func keepSnapshots(of instrument: Int?) {
    for index in market.instruments.indices where instrument == nil || instrument == index {
      kept[index] = (market.truth(index, isSnapshot: true), faults.now)
    }
  }

  // MARK: - Requests

  override func receive(_ text: RawSpan, from session: SimulatedSession) {
    guard let session = session as? BitstampSession else { return }
    guard text.byteCount <= Self.messageLimit else { return session.close(1009, "read limited at 513 bytes") }
    guard let (event, channel) = try? Self.request(text) else { return fail("Incorrect JSON format.", session) }
    switch event {
    case "bts:heartbeat":
      session.send { $0.append(#"{"event":"bts:heartbeat","channel":"","data":{"status":"success"}}"#) }
    case "bts:subscribe": subscribe(channel, session)
    case "bts:unsubscribe":
      guard session.channels.remove(channel) != nil else { return fail("Bad subscription string.", session) }
      if let (kind, index) = market(of: channel) { remove(kind, index, session) }
      acknowledge("un", channel, session)
    default: fail("Bad subscription string.", session)
    }
  }

  private static func request(_ text: RawSpan) throws(JSONError) -> (event: String, channel: String) {
    var event = ""
    var channel = ""
    var json = JSONScanner(text)
    try json.objectStart()
    while let key = try json.nextKey() {
      if json.equals(key, "event") {
        event = try json.decoded(try json.string())
      } else if json.equals(key, "data"), json.peek() == .object {
        try json.objectStart()
        while let key = try json.nextKey() {
          if json.equals(key, "channel") {
            channel = try json.decoded(try json.string())
          } else {
            try json.skipValue()
          }
        }
      } else {
        try json.skipValue()
      }
    }
    try json.end()
    return (event, channel)
  }

  private func fail(_ message: String, _ session: BitstampSession) {
    session.send { out in
      out.append(#"{"event":"bts:error","channel":"","data":{"code":null,"message":"#)
      out.append(json: message)
      out.append("}}")
    }
  }

  private func acknowledge(_ prefix: StaticString, _ channel: String, _ session: BitstampSession) {
    session.send { out in
      out.append(#"{"event":"bts:"#)
      out.append(prefix)
      out.append(#"subscription_succeeded","channel":"#)
      out.append(json: channel)
      out.append(#","data":{}}"#)
    }
  }

  private enum Kind: String, CaseIterable {
    case difference = "diff_order_book_"
    case whole = "order_book_"
    case trade = "live_trades_"
  }

  /// What a channel is of; nil if nothing ever comes on it.
  private func market(of channel: String) -> (kind: Kind, index: Int)? {
    guard let kind = Kind.allCases.first(where: { channel.hasPrefix($0.rawValue) }) else { return nil }
    let name = channel.dropFirst(kind.rawValue.count)
    guard let index = market.instruments.firstIndex(where: { $0.instrument.venueSymbol == name }), !isRefused(index)
    else { return nil }
    return (kind, index)
  }

  private func subscribe(_ channel: String, _ session: BitstampSession) {
    let isKnown =
      Kind.allCases.contains { channel.hasPrefix($0.rawValue) }
      || channel.hasPrefix("live_orders_") || channel.hasPrefix("detail_order_book_")
    guard isKnown else { return fail("Invalid channel provided.", session) }
    let isPlain = channel.utf8.allSatisfy {
      (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
        || $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: "-")
    }
    guard isPlain else { return fail("Bad subscription string.", session) }
    guard session.channels.count < Self.channelLimit || session.channels.contains(channel) else {
      return session.abort()
    }
    session.channels.insert(channel)
    acknowledge("", channel, session)
    guard let (kind, index) = market(of: channel) else { return }
    switch kind {
    case .difference: differences[index].insert(session)
    case .whole: wholes[index].insert(session)
    case .trade: trades[index].insert(session)
    }
  }

  private func remove(_ kind: Kind, _ index: Int, _ session: BitstampSession) {
    switch kind {
    case .difference:
      differences[index].remove(session)
      if differences[index].isEmpty { batches[index].removeAll() }
    case .whole: wholes[index].remove(session)
    case .trade: trades[index].remove(session)
    }
  }

  // MARK: - The market

  override func publish(_ change: SimulatedChange) {
    let index = change.instrument
    if !differences[index].isEmpty { batches[index].add(change) }
    isChanged[index] = true
    for trade in change.trades {
      trades[index].send(.trade, instrument: index) { append(trade, index, to: &$0) }
    }
  }

  override func tick(_ now: Timestamp, sessions: [SimulatedSession]) {
    ticks += 1
    // Books have their turns one after the other.
    for index in market.instruments.indices where (ticks + index) % Self.bookTicks == 0 { flush(index) }
    for case let session as BitstampSession in sessions where now - session.pinged >= Self.pingInterval {
      session.pinged = now
      session.ping([])
    }
  }

  private func flush(_ index: Int) {
    let instrument = market.instruments[index].instrument
    if isChanged[index] {
      isChanged[index] = false
      let book = market.instruments[index].book
      wholes[index].send(.quote, instrument: index) { out in
        append(
          book.top(.bid, Self.wholeDepth), book.top(.ask, Self.wholeDepth), at: faults.now, instrument,
          of: "order_book_", to: &out)
      }
    }
    guard !batches[index].isEmpty else { return }
    differences[index].send(.book(isVisible: true), instrument: index) { out in
      append(
        batches[index].sortedBids, batches[index].sortedAsks, at: faults.now, instrument, of: "diff_order_book_",
        to: &out)
    }
    batches[index].removeAll()
  }

  func append(
    _ bids: [PriceLevel], _ asks: [PriceLevel], at time: Timestamp, _ instrument: SimulatedInstrument,
    of prefix: StaticString, to out: inout ByteBuffer
  ) {
    out.append(#"{"data":"#)
    append(bids, asks, at: time, instrument, to: &out)
    out.append(#","channel":""#)
    out.append(prefix)
    out.append(instrument.venueSymbol)
    out.append(#"","event":"data"}"#)
  }

  func append(
    _ bids: [PriceLevel], _ asks: [PriceLevel], at time: Timestamp, _ instrument: SimulatedInstrument,
    to out: inout ByteBuffer
  ) {
    out.append(#"{"timestamp":""#)
    out.append(integer: time.rawValue / Microseconds.second)
    out.append(#"","microtimestamp":""#)
    out.append(integer: time.rawValue)
    out.append(#"","bids":"#)
    out.append(pairs: bids, instrument)
    out.append(#","asks":"#)
    out.append(pairs: asks, instrument)
    out.append("}")
  }

  /// Times of trades are whole milliseconds.
  private func append(_ trade: SimulatedTrade, _ index: Int, to out: inout ByteBuffer) {
    let instrument = market.instruments[index].instrument
    let id = 2_001_939_000_000_000_000 + trade.id
    out.append(#"{"data":{"id":"#)
    out.append(integer: id)
    out.append(#","id_str":""#)
    out.append(integer: id)
    out.append(#"","timestamp":""#)
    out.append(integer: trade.time.rawValue / Microseconds.second)
    out.append(#"","amount":"#)
    out.append(decimal: trade.size, scale: instrument.sizeScale)
    out.append(#","amount_str":"#)
    out.append(quoted: trade.size, scale: instrument.sizeScale)
    out.append(#","price":"#)
    out.append(decimal: trade.price, scale: instrument.priceScale)
    out.append(#","price_str":"#)
    out.append(quoted: trade.price, scale: instrument.priceScale)
    out.append(trade.side == .buy ? #","type":0,"microtimestamp":""# : #","type":1,"microtimestamp":""#)
    out.append(integer: trade.time.rawValue / 1_000 * 1_000)
    out.append(#"","buy_order_id":"#)
    out.append(integer: 2 * id)
    out.append(#","sell_order_id":"#)
    out.append(integer: 2 * id + 1)
    out.append(#"},"channel":"live_trades_"#)
    out.append(instrument.venueSymbol)
    out.append(#"","event":"trade"}"#)
  }
}
