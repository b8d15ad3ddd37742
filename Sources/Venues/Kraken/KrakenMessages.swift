import Bytes
import MarketData

/// Reading Kraken's messages: `{"channel":…,"type":…,"data":[…]}`, or a reply `{"method":…}`.
extension KrakenHandler {
  enum Channel { case book, trade, ticker, instrument, status, heartbeat, other }

  func readMessage(_ message: RawSpan, now: Timestamp, into batch: inout EventBatch) throws(FeedError) {
    var reader = FieldReader(message)
    var channel: Channel?
    var isSnapshot = false
    var data: FieldSlice?
    var isReply = false
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "channel") {
        channel = Self.channel(try reader.string("channel"), reader)
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
      isAnswer = true
      return try readReply(message, now: now, into: &batch)
    }
    if channel == .heartbeat {
      batch.events.append(.heartbeat)
      return
    }
    if channel == .other {
      counts.ignored += 1
      return
    }
    guard let data else { throw FeedError.missing("data", in: "message") }
    var entries = reader.reader(data)
    if channel == .instrument {
      return try readInstruments(&entries, isSnapshot: isSnapshot, now: now, into: &batch)
    }
    entries.field = "data"
    try entries.arrayStart()
    while try entries.nextElement() {
      switch channel {
      case .book: try readBook(&entries, isSnapshot: isSnapshot, now: now, into: &batch)
      case .trade: try readTrade(&entries, isSnapshot: isSnapshot, now: now, into: &batch)
      case .ticker: try readTicker(&entries, now: now, into: &batch)
      case .status: try readStatus(&entries)
      case .instrument, .heartbeat, .other: try entries.skipValue()
      }
    }
  }

  private static func channel(_ name: JSONSlice, _ reader: borrowing FieldReader) -> Channel {
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

  /// Kraken's checksum is over the digits, so they are the scales: those of its list, or those that a pair's books are printed with
  /// where the list says nothing of it (one that was made for a recording without).
  private func format(of place: Int) -> BookFormat {
    instruments[place].priceIncrement == nil && instruments[place].sizeIncrement == nil
      ? Self.unlistedBookFormat : Self.bookFormat
  }

  /// `{"symbol":…,"bids":[{"price":…,"qty":…}],"asks":[…],"checksum":…,"timestamp":…}`
  private func readBook(
    _ reader: inout FieldReader, isSnapshot: Bool, now: Timestamp, into batch: inout EventBatch
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
        place = try self.place(reader.text(slice))
      } else if reader.equals(key, "bids") {
        // The symbol comes first; where it does not, the levels wait for it.
        if let place {
          try readLevels(&reader, place, "bids", isBid: true, format(of: place), into: &batch.bids)
        } else {
          bids = try reader.rawValue("bids")
        }
      } else if reader.equals(key, "asks") {
        if let place {
          try readLevels(&reader, place, "asks", isBid: false, format(of: place), into: &batch.asks)
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
      try readLevels(&levels, place, "bids", isBid: true, format(of: place), into: &batch.bids)
    }
    if let asks {
      var levels = reader.reader(asks)
      try readLevels(&levels, place, "asks", isBid: false, format(of: place), into: &batch.asks)
    }
    let bidRange = mark.bids..<batch.bids.count
    let askRange = mark.asks..<batch.asks.count
    guard isSnapshot || books[place].isLive || commits.contains(where: { $0.isSnapshot(of: place) }) else {
      // Still on its way when the book was unsubscribed.
      mark.dropLevels(&batch)
      commits.append(.ignoredDelta(place))
      return
    }
    commits.append(
      isSnapshot ? .snapshot(place, bids: bidRange, asks: askRange) : .delta(place, bids: bidRange, asks: askRange))
    batch.events.append(
      .book(
        BookEvent(
          instrument: InstrumentID(place), kind: isSnapshot ? .snapshot : .delta, bidRange: bidRange,
          askRange: askRange,
          time: time, checksum: checksum)))
  }

  private static let tradeFormat = TradeFormat(
    symbol: "symbol", price: "price", size: "qty", id: "trade_id", side: "side", buy: "buy", sell: "sell",
    time: "timestamp", clock: .text)

  /// `{"symbol":…,"side":"buy","price":…,"qty":…,"ord_type":…,"trade_id":…,"timestamp":…}`; `side` is the taker's.
  private func readTrade(
    _ reader: inout FieldReader, isSnapshot: Bool, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    var fields = TradeFields()
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if try !take(key, of: &reader, Self.tradeFormat, into: &fields) { try reader.skipValue() }
    }
    let trade = try trade(fields, reader, Self.tradeFormat, now: now, isBacklog: isSnapshot)
    commits.append(
      .trade(trade.instrument.index, id: Int64(clamping: trade.id.number ?? 0), isBacklog: isSnapshot))
    batch.events.append(.trade(trade))
  }

  private static let tickerFormat = TickerFormat(
    last: "last", bid: "bid", ask: "ask", high: "high", low: "low", volume: "volume", vwap: "vwap", change: "change",
    changePercent: "change_pct")

  /// 24 h figures; `trades` and `timestamp` are newer than the rest and may be missing.
  private func readTicker(
    _ reader: inout FieldReader, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    var ticker: Ticker?
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "symbol") {
        let slice = try reader.string("symbol")
        ticker = Ticker(instrument: InstrumentID(try place(reader.text(slice))), time: now)
      } else if var known = ticker {
        if try take(key, of: &reader, Self.tickerFormat, into: &known) {
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
  private func readStatus(_ reader: inout FieldReader) throws(FeedError) {
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "system") {
        status(try reader.decodedString("system"))
      } else {
        try reader.skipValue()
      }
    }
  }

  /// An acknowledgement, one for each symbol, a refusal, or a pong.
  private func readReply(_ message: RawSpan, now: Timestamp, into batch: inout EventBatch) throws(FeedError) {
    var reader = FieldReader(message)
    var error: String?
    var result: FieldSlice?
    var symbol: String?
    var method = "request"
    var id: Int?
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "error") {
        error = try reader.decodedString("error")
      } else if reader.equals(key, "symbol"), reader.peek() == .string {
        symbol = try reader.decodedString("symbol")
      } else if reader.equals(key, "req_id"), reader.peek() == .number {
        id = Int(exactly: try reader.int64("req_id"))
      } else if reader.equals(key, "method") {
        method = try reader.decodedString("method")
      } else if reader.equals(key, "result"), reader.peek() == .object {
        result = try reader.rawValue("result")
      } else {
        try reader.skipValue()
      }
    }
    guard let error else {
      guard method == "subscribe", let result else { return acknowledged(nil, symbol: nil, id: nil) }
      var fields = reader.reader(result)
      return try readSubscription(&fields, id: id, into: &batch)
    }
    try refusedSubscription(error, symbol: symbol, method: method, id: id, now: now)
  }

  /// `{"channel":"book","depth":10,"snapshot":true,"symbol":"ETH/BTC"}`: what was subscribed.
  private func readSubscription(
    _ reader: inout FieldReader, id: Int?, into batch: inout EventBatch
  ) throws(FeedError) {
    var channel: Channel?
    var symbol: String?
    var depth: Int64?
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "channel"), reader.peek() == .string {
        channel = Self.channel(try reader.string("channel"), reader)
      } else if reader.equals(key, "symbol"), reader.peek() == .string {
        symbol = try reader.decodedString("symbol")
      } else if reader.equals(key, "depth"), reader.peek() == .number {
        depth = try reader.int64("depth")
      } else {
        try reader.skipValue()
      }
    }
    acknowledged(channel, symbol: symbol, id: id)
    if channel == .book, let symbol, let depth { acknowledgedBook(symbol, depth: depth, into: &batch) }
  }
}

extension KrakenCommit {
  func isSnapshot(of wanted: Int) -> Bool {
    if case .snapshot(let place, _, _) = self { place == wanted } else { false }
  }
}
