import Bytes
import MarketData

/// A client of Gemini's archived socket.
final class GeminiArchiveSession: SimulatedSession {
  var instruments: [Int] = []
  var lastHeartbeat: Timestamp

  required init(id: Int, faults: FaultInjector) {
    lastHeartbeat = faults.now
    super.init(id: id, faults: faults)
  }
}

/// Gemini's archived socket `/v2/marketdata`, which older clients know instead of the current one: `l2` of markets by their names in upper
/// case.
///
/// The first message of a market is its whole book with the latest trades, the newest first; then its changes come as often as those of
/// `depth@100ms`, trades as they happen, and a heartbeat every five seconds. Nothing is numbered: what is missing cannot be told.
struct GeminiArchive {
  static let path = "/v2/marketdata"
  static let heartbeatInterval = 5 * Microseconds.second
  /// Trades in the first message of a market.
  static let replayed = 50

  private let market: SimulatedMarket
  private let faults: FaultInjector
  /// By instrument.
  private var subscribers: [Subscribers<GeminiArchiveSession>]
  private var batches: [LevelBatch]

  init(market: SimulatedMarket, faults: FaultInjector) {
    self.market = market
    self.faults = faults
    subscribers = Array(repeating: Subscribers(), count: market.instruments.count)
    batches = Array(repeating: LevelBatch(), count: market.instruments.count)
  }

  func open(id: Int) -> GeminiArchiveSession { GeminiArchiveSession(id: id, faults: faults) }

  mutating func closed(_ session: GeminiArchiveSession) {
    for index in session.instruments { remove(index, session) }
  }

  private mutating func remove(_ index: Int, _ session: GeminiArchiveSession) {
    subscribers[index].remove(session)
    if subscribers[index].isEmpty { batches[index].removeAll() }
  }

  /// Heartbeats.
  func tick(_ now: Timestamp, _ sessions: [SimulatedSession]) {
    for case let session as GeminiArchiveSession in sessions
    where now - session.lastHeartbeat >= Self.heartbeatInterval {
      session.lastHeartbeat = now
      session.send(.heartbeat) { out in
        out.append(#"{"type":"heartbeat","timestamp":"#)
        out.append(integer: now.rawValue / 1_000)
        out.append("}")
      }
    }
  }

  // MARK: - Requests

  mutating func receive(_ text: RawSpan, from session: GeminiArchiveSession) {
    guard let request = try? GeminiArchiveRequest(text) else {
      return session.send { $0.append(#"{"reason":"MalformedMessage","result":"error"}"#) }
    }
    let wanted = request.symbols.compactMap { name in
      market.instruments.firstIndex { $0.instrument.venueSymbol.uppercased() == name }
    }.filter { !faults.refused.contains($0) }
    guard !wanted.isEmpty else {
      return session.send { $0.append(#"{"reason":"NoValidTradingPairs","result":"error"}"#) }
    }
    for index in wanted {
      if request.type == "unsubscribe" {
        remove(index, session)
        session.instruments.removeAll { $0 == index }
      } else if !subscribers[index].contains(session) {
        // What is gathered belongs to those who were there before; the first message has it already.
        flush(index)
        subscribers[index].insert(session)
        session.instruments.append(index)
        session.send(.bookSnapshot, instrument: index) { appendWhole(index, to: &$0) }
      }
    }
  }

  // MARK: - The market

  mutating func publish(_ change: SimulatedChange) {
    let index = change.instrument
    guard !subscribers[index].isEmpty else { return }
    batches[index].add(change)
    for trade in change.trades {
      subscribers[index].send(.trade, instrument: index) { append(trade, index, to: &$0) }
    }
  }

  /// Sends what has changed since the last time.
  mutating func flush(_ index: Int) {
    guard !batches[index].isEmpty else { return }
    subscribers[index].send(.book(isVisible: true), instrument: index) { out in
      appendChanges(index, batches[index].sortedBids, batches[index].sortedAsks, to: &out)
      out.append("}")
    }
    batches[index].removeAll()
  }

  private func appendWhole(_ index: Int, to out: inout ByteBuffer) {
    let state = market.instruments[index]
    appendChanges(index, state.book.bids.reversed(), state.book.asks.reversed(), to: &out)
    out.append(#","trades":["#)
    for (position, trade) in state.recentTrades.suffix(Self.replayed).reversed().enumerated() {
      if position > 0 { out.append(",") }
      append(trade, index, to: &out)
    }
    out.append(#"],"auction_events":[]}"#)
  }

  /// Without the brace at the end.
  private func appendChanges(
    _ index: Int, _ bids: some Sequence<PriceLevel>, _ asks: some Sequence<PriceLevel>, to out: inout ByteBuffer
  ) {
    let instrument = market.instruments[index].instrument
    out.append(#"{"type":"l2_updates","symbol":""#)
    out.append(instrument.venueSymbol.uppercased())
    out.append(#"","changes":["#)
    var isFirst = true
    func change(_ side: StaticString, _ level: PriceLevel) {
      out.append(isFirst ? #"[""# : #",[""#)
      isFirst = false
      out.append(side)
      out.append(#"","#)
      out.append(quoted: level.price, scale: instrument.priceScale)
      out.append(",")
      out.append(shortest: level.size, scale: instrument.sizeScale)
      out.append("]")
    }
    for level in bids { change("buy", level) }
    for level in asks { change("sell", level) }
    out.append("]")
  }

  /// With the number that the current socket gives the trade.
  private func append(_ trade: SimulatedTrade, _ index: Int, to out: inout ByteBuffer) {
    let instrument = market.instruments[index].instrument
    out.append(#"{"type":"trade","symbol":""#)
    out.append(instrument.venueSymbol.uppercased())
    out.append(#"","event_id":"#)
    out.append(integer: GeminiProtocol.number(of: trade))
    out.append(#","timestamp":"#)
    out.append(integer: trade.time.rawValue / 1_000)
    out.append(#","price":"#)
    out.append(quoted: trade.price, scale: instrument.priceScale)
    out.append(#","quantity":"#)
    out.append(shortest: trade.size, scale: instrument.sizeScale)
    out.append(trade.side == .buy ? #","side":"buy"}"# : #","side":"sell"}"#)
  }
}

/// A client's request to the archived socket: `{"type":"subscribe","subscriptions":[{"name":"l2","symbols":["BTCUSD"]}]}`.
struct GeminiArchiveRequest {
  /// Names of one request; further ones are ignored.
  static let symbolLimit = 1_000

  var type = ""
  /// Of `l2`; what is asked of anything else is left out.
  var symbols: [String] = []

  init(_ text: RawSpan) throws(JSONError) {
    var json = JSONScanner(text)
    try json.objectStart()
    while let key = try json.nextKey() {
      if json.equals(key, "type") {
        type = try json.decoded(try json.string())
      } else if json.equals(key, "subscriptions") {
        try json.arrayStart()
        while try json.nextElement() { try readSubscription(&json) }
      } else {
        try json.skipValue()
      }
    }
    try json.end()
  }

  private mutating func readSubscription(_ json: inout JSONScanner) throws(JSONError) {
    var name = ""
    var list: [String] = []
    try json.objectStart()
    while let key = try json.nextKey() {
      if json.equals(key, "name") {
        name = try json.decoded(try json.string())
      } else if json.equals(key, "symbols") {
        try json.arrayStart()
        while try json.nextElement() {
          let symbol = try json.decoded(try json.string())
          if symbols.count + list.count < Self.symbolLimit { list.append(symbol) }
        }
      } else {
        try json.skipValue()
      }
    }
    if name == "l2" { symbols += list }
  }
}
