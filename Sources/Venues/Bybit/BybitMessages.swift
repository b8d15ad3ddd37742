import Bytes
import MarketData

/// Reading Bybit's messages: `{"topic":…,"type":…,"ts":…,"data":…}` with its fields in any order, or a reply with `op`.
extension Bybit {
  func readMessage(
    _ message: RawSpan, _ instruments: inout InstrumentTable, _ hearing: inout Hearing, into batch: inout EventBatch
  ) throws(FeedError) {
    var reader = FieldReader(message)
    var channel: Channel?
    var isSnapshot = false
    var data: FieldSlice?
    var time: Timestamp?
    var reply = BybitReply()
    var isReply = false
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "topic") {
        let slice = try reader.string("topic")
        channel = Self.channel(of: reader.text(slice))
      } else if reader.equals(key, "data") {
        data = try reader.rawValue("data")
      } else if reader.equals(key, "type"), reader.peek() == .string {
        isSnapshot = reader.equals(try reader.string("type"), "snapshot")
      } else if reader.equals(key, "ts") {
        time = VenueTime.epoch(try reader.int64("ts"))
      } else if reader.equals(key, "op") {
        reply.operation = try reader.decodedString("op")
        isReply = true
      } else if reader.equals(key, "success") {
        reply.succeeded = try reader.bool("success")
        isReply = true
      } else if reader.equals(key, "ret_msg") {
        reply.message = try reader.decodedString("ret_msg")
      } else if reader.equals(key, "req_id"), reader.peek() == .string {
        reply.id = Int(try reader.decodedString("req_id"))
      } else {
        try reader.skipValue()
      }
    }
    try reader.end()
    guard let channel else {
      guard isReply else { throw FeedError.missing("topic", in: "message") }
      hearing.isAnswer = true
      // Public sockets answer `"op":"ping"` with a message of `pong`; others `"op":"pong"`.
      reply.isPong = reply.operation == "pong" || (reply.operation == "ping" && reply.succeeded)
      return reply.isPong
        ? batch.events.append(.heartbeat) : hearing.report(Self.report(reply, instruments))
    }
    guard channel != .other else {
      hearing.ignored += 1
      return
    }
    guard let data else { throw FeedError.missing("data", in: "message") }
    var value = reader.reader(data)
    let at = time ?? hearing.now
    switch channel {
    case .book: try readBook(&value, isSnapshot: isSnapshot, at, &instruments, &hearing, into: &batch)
    case .quote: try readQuote(&value, isSnapshot: isSnapshot, at, &instruments, &hearing, into: &batch)
    case .trades: try readTrades(&value, &instruments, now: hearing.now, into: &batch)
    case .ticker: try readTicker(data, reader, isSnapshot: isSnapshot, at, &instruments, into: &batch)
    case .other: break
    }
  }

  /// By what stands before the symbol; any depth but 1 is a book.
  private static func channel(of text: RawSpan) -> Channel {
    if text.begins(with: "orderbook.") {
      if text.begins(with: "orderbook.1.") { return .quote }
      // Levels of the RPI book have three parts; it is not subscribed.
      return text.begins(with: "orderbook.rpi.") || text.begins(with: "orderbook.full.") ? .other : .book
    }
    if text.begins(with: "publicTrade.") { return .trades }
    return text.begins(with: "tickers.") ? .ticker : .other
  }

  // MARK: Books

  private static let bookFormat = BookFormat(title: "orderbook", bids: "b", asks: "a")

  private struct BookFields {
    var place: Int?
    var bids: FieldSlice?
    var asks: FieldSlice?
    var number: Int64?
  }

  /// `{"s":…,"b":[["price","size"],…],"a":[…],"u":…,"seq":…}`
  private func readBookFields(
    _ reader: inout FieldReader, _ instruments: InstrumentTable
  ) throws(FeedError) -> BookFields {
    var fields = BookFields()
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "s") {
        let slice = try reader.string("s")
        fields.place = try instruments.place(reader.text(slice))
      } else if reader.equals(key, "b") {
        fields.bids = try reader.rawValue("b")
      } else if reader.equals(key, "a") {
        fields.asks = try reader.rawValue("a")
      } else if reader.equals(key, "u") {
        fields.number = try reader.int64("u")
      } else {
        try reader.skipValue()
      }
    }
    return fields
  }

  /// A snapshot, or a change with `u` = 1 (the service began anew), replaces the book; a change must follow by one.
  private func readBook(
    _ reader: inout FieldReader, isSnapshot: Bool, _ time: Timestamp, _ instruments: inout InstrumentTable,
    _ hearing: inout Hearing, into batch: inout EventBatch
  ) throws(FeedError) {
    let fields = try readBookFields(&reader, instruments)
    guard let place = fields.place else { throw FeedError.missing("s", in: "orderbook") }
    guard let number = fields.number else { throw FeedError.missing("u", in: "orderbook") }
    let mark = BatchMark(batch)
    try instruments.readSides(fields.bids, fields.asks, of: reader, place, Self.bookFormat, into: &batch)
    batch.appendBook(isSnapshot || number == 1 ? .snapshot : .delta, place, since: mark, time: time)
    hearing.number(UpdateNumbers(first: number, last: number))
  }

  /// `orderbook.1`: the whole best level each time; a side that is not there has no orders. (Changes, which it once
  /// sent, keep the other side.)
  private func readQuote(
    _ reader: inout FieldReader, isSnapshot: Bool, _ time: Timestamp, _ instruments: inout InstrumentTable,
    _ hearing: inout Hearing, into batch: inout EventBatch
  ) throws(FeedError) {
    let fields = try readBookFields(&reader, instruments)
    guard let place = fields.place else { throw FeedError.missing("s", in: "orderbook.1") }
    var quote = Quote(instrument: InstrumentID(place), bid: 0, bidSize: 0, ask: 0, askSize: 0, time: time)
    if !isSnapshot, place < quotes.count, let old = quotes[place] {
      quote = old
      quote.time = time
    }
    if let level = try instruments.readBest(fields.bids, of: reader, place, "b", Self.bookFormat) {
      quote.bid = level.size > 0 ? level.price : 0
      quote.bidSize = level.size
    }
    if let level = try instruments.readBest(fields.asks, of: reader, place, "a", Self.bookFormat) {
      quote.ask = level.size > 0 ? level.price : 0
      quote.askSize = level.size
    }
    while quotes.count <= place { quotes.append(nil) }
    quotes[place] = quote
    hearing.hear(Topic(place: place, channel: Channel.quote.rawValue))
    batch.events.append(.quote(quote))
  }

  // MARK: Trades and statistics

  private static let tradeFormat = TradeFormat(
    symbol: "s", price: "p", size: "v", id: "i", side: "S", buy: "Buy", sell: "Sell", time: "T")

  /// `[{"T":…,"s":…,"S":"Buy","v":"0.001","p":"16578.50","i":…,"BT":false},…]`; `S` is the taker's side. Block
  /// trades, which are made off the book, are no price of the market.
  private func readTrades(
    _ reader: inout FieldReader, _ instruments: inout InstrumentTable, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    reader.field = "data"
    try reader.arrayStart()
    while try reader.nextElement() {
      var fields = TradeFields()
      var isBlock = false
      try reader.objectStart()
      while let key = try reader.nextKey() {
        if try instruments.take(key, of: &reader, Self.tradeFormat, into: &fields) { continue }
        if reader.equals(key, "BT") {
          isBlock = try reader.bool("BT")
        } else {
          try reader.skipValue()
        }
      }
      let trade = try instruments.trade(fields, reader, Self.tradeFormat, now: now)
      if !isBlock { batch.events.append(.trade(trade)) }
    }
  }

  private static let tickerFormat = TickerFormat(
    last: "lastPrice", bid: "bid1Price", ask: "ask1Price", open: "prevPrice24h", high: "highPrice24h",
    low: "lowPrice24h", volume: "volume24h", quoteVolume: "turnover24h", changePercent: "price24hPcnt",
    isFraction: true)

  /// 24 h figures: whole on spot; on linear whole once, then only what changed.
  private func readTicker(
    _ data: FieldSlice, _ outer: borrowing FieldReader, isSnapshot: Bool, _ time: Timestamp,
    _ instruments: inout InstrumentTable, into batch: inout EventBatch
  ) throws(FeedError) {
    let place = try instruments.place("symbol", in: outer.reader(data))
    while tickers.count <= place { tickers.append(nil) }
    // A change of what is not known yet says too little.
    let old = isSnapshot ? Ticker(instrument: InstrumentID(place), time: time) : tickers[place]
    guard var ticker = old else { return }
    ticker.time = time
    var reader = outer.reader(data)
    try instruments.readFigures(&reader, Self.tickerFormat, into: &ticker)
    tickers[place] = ticker
    batch.events.append(.ticker(ticker))
  }
}
