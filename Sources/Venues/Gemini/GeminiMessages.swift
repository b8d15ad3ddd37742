import Bytes
import MarketData

/// Reading Gemini's messages, which say what they are by the fields that they have: only books have `e`, trades `t`
/// and `m`, quotes `b` or `a`, replies `id` and `status`. Times are nanoseconds.
extension GeminiHandler {
  private struct Fields {
    var place = -1
    var hasSymbol = false
    var isBook = false
    /// `e` of something else.
    var isOther = false
    var time: Timestamp?
    var first: Int64?
    var last: Int64?
    var bids: FieldSlice?
    var asks: FieldSlice?
    var bidSize: FieldSlice?
    var askSize: FieldSlice?
    var price: FieldSlice?
    var size: FieldSlice?
    var trade: JSONSlice?
    var isBuyerMaker: Bool?
    var reply = GeminiReply()
    var isReply = false
  }

  func readMessage(_ message: RawSpan, now: Timestamp, into batch: inout EventBatch) throws(FeedError) {
    var fields = Fields()
    var reader = FieldReader(message)
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if key.count == 1 {
        try readField(reader.text(key).unsafeLoad(as: UInt8.self), &fields, &reader)
      } else if reader.equals(key, "status") {
        fields.isReply = true
        fields.reply.status = try reader.int64("status")
      } else if reader.equals(key, "id") {
        // A number of ours; others give texts.
        if reader.peek() == .number {
          fields.reply.id = Int(exactly: try reader.int64("id"))
        } else {
          try reader.skipValue()
        }
      } else if reader.equals(key, "error"), reader.peek() == .object {
        fields.isReply = true
        try readError(&fields.reply, &reader)
      } else {
        try reader.skipValue()
      }
    }
    try reader.end()
    if fields.isReply { return try replied(fields.reply, now: now, into: &batch) }
    if fields.isBook { return try readBook(fields, reader, now: now, into: &batch) }
    if !fields.isOther, fields.trade != nil { return try readTrade(fields, reader, now: now, into: &batch) }
    if !fields.isOther, fields.bids != nil || fields.asks != nil {
      return try readQuote(fields, reader, now: now, into: &batch)
    }
    counts.ignored += 1
  }

  private func readField(_ key: UInt8, _ fields: inout Fields, _ reader: inout FieldReader) throws(FeedError) {
    switch key {
    case UInt8(ascii: "e"):
      fields.isBook = reader.equals(try reader.string("e"), "depthUpdate")
      fields.isOther = !fields.isBook
    case UInt8(ascii: "s"):
      let name = try reader.string("s")
      fields.place = table.find(reader.text(name))
      fields.hasSymbol = true
    case UInt8(ascii: "E"): fields.time = try reader.time("E", .nanoseconds)
    case UInt8(ascii: "U"): fields.first = try reader.int64("U")
    case UInt8(ascii: "u"): fields.last = try reader.int64("u")
    case UInt8(ascii: "b"): fields.bids = try reader.rawValue("b")
    case UInt8(ascii: "a"): fields.asks = try reader.rawValue("a")
    case UInt8(ascii: "B"): fields.bidSize = try reader.rawValue("B")
    case UInt8(ascii: "A"): fields.askSize = try reader.rawValue("A")
    case UInt8(ascii: "p"): fields.price = try reader.rawValue("p")
    case UInt8(ascii: "q"): fields.size = try reader.rawValue("q")
    case UInt8(ascii: "t"): fields.trade = try reader.name("t")
    case UInt8(ascii: "m"): fields.isBuyerMaker = try reader.bool("m")
    default: try reader.skipValue()
    }
  }

  private func readError(_ reply: inout GeminiReply, _ reader: inout FieldReader) throws(FeedError) {
    if reply.status == 200 { reply.status = 400 }
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "code") {
        reply.code = try reader.int64("code")
      } else if reader.equals(key, "msg"), reader.peek() == .string {
        reply.message = try reader.decodedString("msg")
      } else {
        try reader.skipValue()
      }
    }
  }

  private func place(_ fields: Fields, _ what: StaticString) throws(FeedError) -> Int {
    guard fields.hasSymbol else { throw FeedError.missing("s", in: what) }
    guard fields.place >= 0 else { throw FeedError(.unknownSymbol, "\(what) of a symbol that was not subscribed") }
    return fields.place
  }

  // MARK: Books

  private static let bookFormat = BookFormat(title: "depthUpdate", bids: "b", asks: "a")

  /// `{"e":"depthUpdate","E":…,"s":…,"U":…,"u":…,"b":[["price","size"],…],"a":[…]}`
  private func readBook(
    _ fields: Fields, _ reader: borrowing FieldReader, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    let place = try place(fields, "depthUpdate")
    guard let first = fields.first else { throw FeedError.missing("U", in: "depthUpdate") }
    guard let last = fields.last else { throw FeedError.missing("u", in: "depthUpdate") }
    let mark = BatchMark(batch)
    try readSides(fields.bids, fields.asks, of: reader, place, Self.bookFormat, into: &batch)
    let kind: BookEvent.Kind
    if case .awaitingSnapshot = feeds[place].book.state, first == last {
      seen[place].snapshots += 1
      feeds[place].book.snapshotArrived(now: now)
      kind = .snapshot
    } else {
      seen[place].deltas += 1
      // On its way when the book was unsubscribed, or the last one again.
      guard feeds[place].book.isLive, first != feeds[place].first || last != feeds[place].last else { return }
      guard first <= feeds[place].last, last > feeds[place].last else {
        // A hole, or a number that goes back: a late message, or the numbering begun anew.
        reset(place, .gap, now: now, into: &batch)
        return tick(now: now, into: &batch)
      }
      seen[place].sequenceOK += 1
      kind = .delta
    }
    feeds[place].first = first
    feeds[place].last = last
    append(kind, place, since: mark, time: fields.time ?? now, into: &batch)
  }

  // MARK: Quotes and trades

  private static let quoteFormat = QuoteFormat(
    title: "bookTicker", symbol: "s", bid: "b", bidSize: "B", ask: "a", askSize: "A")

  /// `{"u":…,"E":…,"s":…,"b":"price","B":"size","a":"price","A":"size","c":…,"C":…}`; a side without orders is `""`.
  private func readQuote(
    _ fields: Fields, _ reader: borrowing FieldReader, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    let place = try place(fields, "bookTicker")
    guard !feeds[place].isRefused else { return }
    let found = QuoteFields(
      place: place, bid: fields.bids, bidSize: fields.bidSize, ask: fields.asks, askSize: fields.askSize,
      time: fields.time)
    batch.events.append(.quote(try quote(found, reader, Self.quoteFormat, now: now)))
  }

  private static let tradeFormat = TradeFormat(price: "p", size: "q", id: "t", side: "m")

  /// `{"E":…,"s":…,"t":…,"p":"price","q":"size","m":true}`; `m`: the buyer was there first, so the taker sold.
  private func readTrade(
    _ fields: Fields, _ reader: borrowing FieldReader, now: Timestamp, into batch: inout EventBatch
  ) throws(FeedError) {
    let place = try place(fields, "trade")
    guard !feeds[place].isRefused else { return }
    let found = TradeFields(
      place: place, price: fields.price, size: fields.size, id: fields.trade,
      side: fields.isBuyerMaker.map { $0 ? TakerSide.sell : .buy }, time: fields.time)
    let trade = try trade(found, reader, Self.tradeFormat, now: now)
    count(trade)
    batch.events.append(.trade(trade))
  }

  // MARK: REST

  /// `["btcusd","ethusd",…]`
  func readNames(_ body: RawSpan) throws(FeedError) -> [String] {
    var reader = FieldReader(body)
    var names: [String] = []
    reader.field = "symbols"
    try reader.arrayStart()
    while try reader.nextElement() {
      names.append(try reader.decodedString("symbols").lowercased())
      guard names.count <= MarketList.longest else {
        throw FeedError(.shape, "list of more than \(MarketList.longest) symbols")
      }
    }
    return names
  }

  /// `{"symbol":"BTCUSD","base_currency":"BTC","quote_currency":"USD","tick_size":1E-8,"quote_increment":0.01,"status":"open",…}`:
  /// `tick_size` is the step of sizes, `quote_increment` that of prices.
  func readDetails(_ body: RawSpan) throws(FeedError) -> GeminiDetails {
    var reader = FieldReader(body)
    var details = GeminiDetails()
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "base_currency") {
        details.base = try reader.decodedString("base_currency")
      } else if reader.equals(key, "quote_currency") {
        details.quote = try reader.decodedString("quote_currency")
      } else if reader.equals(key, "tick_size") {
        details.sizeIncrement = try step(&reader, "tick_size")
      } else if reader.equals(key, "quote_increment") {
        details.priceIncrement = try step(&reader, "quote_increment")
      } else if reader.equals(key, "status"), reader.peek() == .string {
        details.status = try reader.decodedString("status").lowercased()
      } else if reader.equals(key, "contract_type"), reader.peek() == .string {
        details.contract = try reader.decodedString("contract_type").lowercased()
      } else {
        try reader.skipValue()
      }
    }
    guard !details.base.isEmpty, !details.quote.isEmpty else {
      throw FeedError.missing("base_currency or quote_currency", in: "symbol details")
    }
    return details
  }

  private func step(_ reader: inout FieldReader, _ field: StaticString) throws(FeedError) -> Decimal64? {
    let value = try statistic(&reader, field)
    return value.flatMap { $0.mantissa > 0 && $0.scale <= Self.widestScale ? $0 : nil }
  }

  private static let dayFormat = TickerFormat(
    last: "close", bid: "bid", ask: "ask", open: "open", high: "high", low: "low")

  /// `GET /v2/ticker/…`: `{"symbol":…,"open":…,"high":…,"low":…,"close":…,"changes":[…],"bid":…,"ask":…}`
  func readDay(_ body: RawSpan, _ place: Int, now: Timestamp, into batch: inout EventBatch) throws(FeedError) {
    var ticker = feeds[place].ticker ?? Ticker(instrument: InstrumentID(place), time: now)
    ticker.time = now
    var reader = FieldReader(body)
    try readFigures(&reader, Self.dayFormat, into: &ticker)
    feeds[place].ticker = ticker
    batch.events.append(.ticker(ticker))
  }

  private static let volumeFormat = TickerFormat(last: "last", bid: "bid", ask: "ask")

  /// `GET /v1/pubticker/…`: `{"bid":…,"ask":…,"volume":{"BTC":"2210.5","USD":"2135477.46","timestamp":…},"last":…}`,
  /// volumes by currency.
  func readVolume(_ body: RawSpan, _ place: Int, now: Timestamp, into batch: inout EventBatch) throws(FeedError) {
    var ticker = feeds[place].ticker ?? Ticker(instrument: InstrumentID(place), time: now)
    ticker.time = now
    let (base, quote) = (instruments[place].base, instruments[place].quote)
    var reader = FieldReader(body)
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "volume"), reader.peek() == .object {
        try reader.objectStart()
        while let currency = try reader.nextKey() {
          let name = String(decoding: reader.text(currency).withUnsafeBytes { Array($0) }, as: UTF8.self)
          if name == base {
            ticker.volume = try statistic(&reader, "volume")
          } else if name == quote {
            ticker.quoteVolume = try statistic(&reader, "volume")
          } else {
            try reader.skipValue()
          }
        }
      } else if try !take(key, of: &reader, Self.volumeFormat, into: &ticker) {
        try reader.skipValue()
      }
    }
    feeds[place].ticker = ticker
    batch.events.append(.ticker(ticker))
  }
}
