import Bytes
import MarketData

/// Reading Kraken's messages: `{"channel":…,"type":…,"data":[…]}`, or a reply `{"method":…}`.
extension Kraken {
  private enum Kind { case book, trade, ticker, instrument, status, heartbeat, other }

  func read(
    _ message: RawSpan, _ instruments: inout InstrumentTable, _ outcome: inout MessageOutcome,
    into batch: inout EventBatch
  ) throws(FeedError) {
    var reader = FieldReader(message)
    var channel: Kind?
    var isSnapshot: Bool?
    var data: FieldSlice?
    var isRead = false
    var isReply = false
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "channel") {
        channel = Self.kind(try reader.string("channel"), reader)
      } else if reader.equals(key, "type") {
        isSnapshot = reader.equals(try reader.string("type"), "snapshot")
      } else if reader.equals(key, "data") {
        // What it is of stands before it as a rule; if not, it waits.
        if let channel, channel != .other, let isSnapshot {
          try readData(&reader, channel, isSnapshot: isSnapshot, &instruments, &outcome, into: &batch)
          isRead = true
        } else {
          data = try reader.rawValue("data")
        }
      } else {
        if reader.equals(key, "method") || reader.equals(key, "error") { isReply = true }
        try reader.skipValue()
      }
    }
    try reader.end()
    guard let channel else {
      guard isReply else { throw FeedError.missing("channel", in: "message") }
      outcome.isAnswer = true
      return try readReply(message, instruments, &outcome, into: &batch)
    }
    if channel == .heartbeat {
      batch.events.append(.heartbeat)
      return
    }
    if isRead { return }
    if channel == .other {
      outcome.ignored += 1
      return
    }
    guard let data else { throw FeedError.missing("data", in: "message") }
    var entries = reader.reader(data)
    try readData(&entries, channel, isSnapshot: isSnapshot ?? false, &instruments, &outcome, into: &batch)
  }

  private func readData(
    _ entries: inout FieldReader, _ channel: Kind, isSnapshot: Bool, _ instruments: inout InstrumentTable,
    _ outcome: inout MessageOutcome, into batch: inout EventBatch
  ) throws(FeedError) {
    if channel == .instrument {
      return try readInstruments(&entries, isSnapshot: isSnapshot, &outcome)
    }
    entries.field = "data"
    try entries.arrayStart()
    while try entries.nextElement() {
      switch channel {
      case .book: try readBook(&entries, isSnapshot: isSnapshot, &instruments, now: outcome.now, into: &batch)
      case .trade:
        let trade = try instruments.readTrade(&entries, Self.tradeFormat, now: outcome.now, isBacklog: isSnapshot)
        batch.events.append(.trade(trade))
      case .ticker: try readTicker(&entries, &instruments, now: outcome.now, into: &batch)
      case .status: try readStatus(&entries, &outcome)
      case .instrument, .heartbeat, .other: try entries.skipValue()
      }
    }
  }

  private static func kind(_ name: JSONSlice, _ reader: borrowing FieldReader) -> Kind {
    if reader.equals(name, "book") { return .book }
    if reader.equals(name, "trade") { return .trade }
    if reader.equals(name, "ticker") { return .ticker }
    if reader.equals(name, "heartbeat") { return .heartbeat }
    if reader.equals(name, "instrument") { return .instrument }
    if reader.equals(name, "status") { return .status }
    return .other
  }

  /// The checksum is over the digits, so they are the scales: those of the list, or those that a pair's books are
  /// printed with where the list says nothing of it (one that was made for a recording without).
  private static let bookFormat = BookFormat(
    title: "book", needsBothSides: false, level: .object(price: "price", size: "qty"), learns: .unlisted)

  /// `{"symbol":…,"bids":[{"price":…,"qty":…}],"asks":[…],"checksum":…,"timestamp":…}`
  private static let updateFormat = UpdateFormat(symbol: "symbol", time: "timestamp", clock: .text)

  private func readBook(
    _ reader: inout FieldReader, isSnapshot: Bool, _ instruments: inout InstrumentTable, now: Timestamp,
    into batch: inout EventBatch
  ) throws(FeedError) {
    var checksum: UInt32?
    let fields = try instruments.readUpdate(&reader, Self.updateFormat, Self.bookFormat, into: &batch) {
      (key, reader) throws(FeedError) in
      guard reader.equals(key, "checksum") else { return false }
      checksum = UInt32(exactly: try reader.uint64("checksum"))
      guard checksum != nil else {
        throw FeedError(.decimal, "field checksum at offset \(reader.offset): more than 32 bits")
      }
      return true
    }
    guard let index = fields.index else { throw FeedError.missing("symbol", in: "book") }
    guard let checksum else { throw FeedError.missing("checksum", in: "book") }
    batch.appendBook(
      isSnapshot ? .snapshot : .delta, index, since: fields.mark, time: fields.time ?? now, checksum: checksum)
  }

  /// `{"symbol":…,"side":"buy","price":…,"qty":…,"ord_type":…,"trade_id":…,"timestamp":…}`; `side` is the taker's.
  private static let tradeFormat = TradeFormat(
    symbol: "symbol", price: "price", size: "qty", id: "trade_id", side: "side", buy: "buy", sell: "sell",
    time: "timestamp", clock: .text)

  private static let tickerFormat = TickerFormat(
    last: "last", bid: "bid", ask: "ask", high: "high", low: "low", volume: "volume", vwap: "vwap", change: "change",
    changePercent: "change_pct")

  /// 24 h figures; `trades` and `timestamp` are newer than the rest and may be missing.
  private func readTicker(
    _ reader: inout FieldReader, _ instruments: inout InstrumentTable, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    var ticker: Ticker?
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "symbol") {
        let slice = try reader.string("symbol")
        ticker = Ticker(instrument: InstrumentID(try instruments.index(reader.text(slice))), time: now)
      } else if var known = ticker {
        if try instruments.take(key, of: &reader, Self.tickerFormat, into: &known) {
          ticker = known
        } else if reader.equals(key, "trades") {
          ticker?.trades = try reader.int64("trades")
        } else if reader.equals(key, "timestamp") {
          ticker?.time = try reader.time("timestamp", .text) ?? now
        } else {
          try reader.skipValue()
        }
      } else {
        throw FeedError(.shape, "ticker whose first field is not symbol")
      }
    }
    guard let ticker else { throw FeedError.missing("symbol", in: "ticker") }
    batch.events.append(.ticker(ticker))
  }

  /// `{"system":"online","connection_id":…}`; the id is beyond `Int64` and is not read.
  private func readStatus(_ reader: inout FieldReader, _ outcome: inout MessageOutcome) throws(FeedError) {
    guard let state = try FieldObject(&reader, "status").text("system") else { return }
    outcome.report(.maintenance(state == "maintenance"))
  }

  /// An acknowledgement, one for each symbol, a refusal, or a pong.
  private func readReply(
    _ message: RawSpan, _ instruments: InstrumentTable, _ outcome: inout MessageOutcome,
    into batch: inout EventBatch
  ) throws(FeedError) {
    let reply = try FieldObject(message, "reply")
    let (method, id) = (reply.text("method") ?? "request", reply.id("req_id"))
    guard let error = reply.text("error") else {
      // An end or a ping was carried out, or a subscription.
      guard method == "subscribe", let result = try reply.object("result") else { return }
      return subscribed(result, id: id, instruments, &outcome, into: &batch)
    }
    let words = error.lowercased()
    let symbol = reply.text("symbol")
    outcome.report(
      .refused(
        MessageOutcome.Refusal(
          // The refused end of a subscription is no refusal of the one that follows it: no request has its number.
          id: method == "unsubscribe" ? id ?? 0 : id, index: symbol.flatMap { instruments.index(named: $0) },
          channel: nil,
          reason: error,
          effect: error.contains("rate") ? .pause(nil) : words.contains("already subscribed") ? .already : .finalForAll,
          what: symbol.map { "\(method) \($0)" } ?? method)))
  }

  /// `{"channel":"book","depth":10,"snapshot":true,"symbol":"ETH/BTC"}`: what was subscribed.
  private func subscribed(
    _ result: borrowing FieldObject, id: Int?, _ instruments: InstrumentTable, _ outcome: inout MessageOutcome,
    into batch: inout EventBatch
  ) {
    guard let channel = facts.channels.firstIndex(where: { $0.name == result.text("channel") }),
      let index = result.text("symbol").flatMap(instruments.index(named:))
    else { return }
    outcome.report(.acknowledged(id: id, index: index, channel: channel))
    if channel == Channel.book.rawValue, let depth = result.integer("depth"),
      (1...Int64(Market.defaultDepthLimit)).contains(depth)
    {
      batch.events.append(.bookDepth(InstrumentID(index), levels: Int(depth)))
    }
  }
}
