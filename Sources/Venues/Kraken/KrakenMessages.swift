import Bytes
import MarketData

/// Reading Kraken's messages: `{"channel":…,"type":…,"data":[…]}`, or a reply `{"method":…}`.
extension Kraken {
  private enum Kind { case book, trade, ticker, instrument, status, heartbeat, other }

  func readMessage(
    _ message: RawSpan, _ instruments: inout InstrumentTable, _ hearing: inout Hearing, into batch: inout EventBatch
  ) throws(FeedError) {
    var reader = FieldReader(message)
    var channel: Kind?
    var isSnapshot = false
    var data: FieldSlice?
    var isReply = false
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "channel") {
        channel = Self.kind(try reader.string("channel"), reader)
      } else if reader.equals(key, "type") {
        isSnapshot = reader.equals(try reader.string("type"), "snapshot")
      } else if reader.equals(key, "data") {
        data = try reader.rawValue("data")
      } else {
        if reader.equals(key, "method") || reader.equals(key, "error") { isReply = true }
        try reader.skipValue()
      }
    }
    try reader.end()
    guard let channel else {
      guard isReply else { throw FeedError.missing("channel", in: "message") }
      hearing.isAnswer = true
      return try readReply(message, instruments, &hearing, into: &batch)
    }
    if channel == .heartbeat {
      batch.events.append(.heartbeat)
      return
    }
    if channel == .other {
      hearing.ignored += 1
      return
    }
    guard let data else { throw FeedError.missing("data", in: "message") }
    var entries = reader.reader(data)
    if channel == .instrument {
      return try readInstruments(&entries, isSnapshot: isSnapshot, &hearing)
    }
    entries.field = "data"
    try entries.arrayStart()
    while try entries.nextElement() {
      switch channel {
      case .book: try readBook(&entries, isSnapshot: isSnapshot, &instruments, now: hearing.now, into: &batch)
      case .trade:
        let trade = try instruments.readTrade(&entries, Self.tradeFormat, now: hearing.now, isBacklog: isSnapshot)
        batch.events.append(.trade(trade))
      case .ticker: try readTicker(&entries, &instruments, now: hearing.now, into: &batch)
      case .status: try readStatus(&entries, &hearing)
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

  private static let bookFormat = BookFormat(title: "book", level: .object(price: "price", size: "qty"))
  private static let unlistedBookFormat = bookFormat.learning(.all)

  /// Kraken's checksum is over the digits, so they are the scales: those of its list, or those that a pair's books are
  /// printed with where the list says nothing of it (one that was made for a recording without).
  private static func format(of instrument: Instrument) -> BookFormat {
    instrument.priceIncrement == nil && instrument.sizeIncrement == nil
      ? unlistedBookFormat : bookFormat
  }

  /// `{"symbol":…,"bids":[{"price":…,"qty":…}],"asks":[…],"checksum":…,"timestamp":…}`
  private func readBook(
    _ reader: inout FieldReader, isSnapshot: Bool, _ instruments: inout InstrumentTable, now: Timestamp,
    into batch: inout EventBatch
  ) throws(FeedError) {
    var place: Int?
    var bids: FieldSlice?
    var asks: FieldSlice?
    var checksum: UInt32?
    var time = now
    let mark = BatchMark(batch)
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "symbol") {
        let slice = try reader.string("symbol")
        place = try instruments.place(reader.text(slice))
      } else if reader.equals(key, "bids") {
        // The symbol comes first; where it does not, the levels wait for it.
        if let place {
          try instruments.readLevels(
            &reader, place, "bids", isBid: true, Self.format(of: instruments[place]), into: &batch.bids)
        } else {
          bids = try reader.rawValue("bids")
        }
      } else if reader.equals(key, "asks") {
        if let place {
          try instruments.readLevels(
            &reader, place, "asks", isBid: false, Self.format(of: instruments[place]), into: &batch.asks)
        } else {
          asks = try reader.rawValue("asks")
        }
      } else if reader.equals(key, "checksum") {
        guard let value = UInt32(exactly: try reader.uint64("checksum")) else {
          throw FeedError(.decimal, "field checksum at offset \(reader.offset): more than 32 bits")
        }
        checksum = value
      } else if reader.equals(key, "timestamp") {
        time = try reader.time("timestamp", .text) ?? now
      } else {
        try reader.skipValue()
      }
    }
    guard let place else { throw FeedError.missing("symbol", in: "book") }
    guard let checksum else { throw FeedError.missing("checksum", in: "book") }
    if let bids {
      var levels = reader.reader(bids)
      try instruments.readLevels(
        &levels, place, "bids", isBid: true, Self.format(of: instruments[place]), into: &batch.bids)
    }
    if let asks {
      var levels = reader.reader(asks)
      try instruments.readLevels(
        &levels, place, "asks", isBid: false, Self.format(of: instruments[place]), into: &batch.asks)
    }
    batch.appendBook(isSnapshot ? .snapshot : .delta, place, since: mark, time: time, checksum: checksum)
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
        ticker = Ticker(instrument: InstrumentID(try instruments.place(reader.text(slice))), time: now)
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

  /// `{"system":"online","connection_id":…}`; the id is beyond `Int64` and of no use.
  private func readStatus(_ reader: inout FieldReader, _ hearing: inout Hearing) throws(FeedError) {
    guard let state = try FieldObject(&reader, "status").text("system") else { return }
    hearing.report(.maintenance(state == "maintenance"))
  }

  /// An acknowledgement, one for each symbol, a refusal, or a pong.
  private func readReply(
    _ message: RawSpan, _ instruments: InstrumentTable, _ hearing: inout Hearing,
    into batch: inout EventBatch
  ) throws(FeedError) {
    var reader = FieldReader(message)
    let reply = try FieldObject(&reader, "reply")
    let (method, id) = (reply.text("method") ?? "request", reply.integer("req_id").flatMap { Int(exactly: $0) })
    guard let error = reply.text("error") else {
      // An end or a ping was carried out, or a subscription.
      guard method == "subscribe", let result = try reply.object("result") else { return }
      return subscribed(result, id: id, instruments, &hearing, into: &batch)
    }
    let words = error.lowercased()
    let symbol = reply.text("symbol")
    hearing.report(
      .refused(
        Hearing.Refusal(
          // The refused end of a subscription is no refusal of the one that follows it: no request has its number.
          id: method == "unsubscribe" ? id ?? 0 : id, place: symbol.flatMap { instruments.place(named: $0) },
          channel: nil,
          reason: error,
          effect: error.contains("rate") ? .pause(nil) : words.contains("already subscribed") ? .already : .finalForAll,
          what: symbol.map { "\(method) \($0)" } ?? method)))
  }

  /// `{"channel":"book","depth":10,"snapshot":true,"symbol":"ETH/BTC"}`: what was subscribed.
  private func subscribed(
    _ result: borrowing FieldObject, id: Int?, _ instruments: InstrumentTable, _ hearing: inout Hearing,
    into batch: inout EventBatch
  ) {
    guard let channel = facts.channels.firstIndex(where: { $0.name == result.text("channel") }),
      let place = result.text("symbol").flatMap(instruments.place(named:))
    else { return }
    hearing.report(.acknowledged(id: id, place: place, channel: channel))
    if channel == Channel.book.rawValue, let depth = result.integer("depth"),
      (1...Int64(Market.defaultDepthLimit)).contains(depth)
    {
      batch.events.append(.bookDepth(InstrumentID(place), levels: Int(depth)))
    }
  }
}
