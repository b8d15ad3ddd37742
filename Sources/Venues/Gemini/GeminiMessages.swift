import Bytes
import MarketData

/// Reading Gemini's messages, which say what they are by the fields that they have: only books have `e`, trades `t`
/// and `m`, quotes `b` or `a`, replies `id` and `status`. Times are nanoseconds.
extension Gemini {
  private struct Fields {
    var index = -1
    var hasSymbol = false
    var isBook = false
    /// `e` of something else.
    var isOther = false
    var time: Timestamp?
    var first: Int64?
    var last: Int64?
    /// The best prices, or the levels where they stand before the symbol or `e`.
    var bids: FieldSlice?
    var asks: FieldSlice?
    var hasBids = false
    var hasAsks = false
    var bidSize: FieldSlice?
    var askSize: FieldSlice?
    var price: FieldSlice?
    var size: FieldSlice?
    /// Price and size of the last trade, which quotes name.
    var lastPrice: FieldSlice?
    var lastSize: FieldSlice?
    var trade: JSONSlice?
    var isBuyerMaker: Bool?
    var isReply = false
  }

  func read(
    _ message: RawSpan, _ instruments: inout InstrumentTable, _ outcome: inout MessageOutcome,
    into batch: inout EventBatch
  ) throws(FeedError) {
    var fields = Fields()
    let mark = BatchMark(batch)
    var reader = FieldReader(message)
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if key.count == 1 {
        try readField(reader.text(key).unsafeLoad(as: UInt8.self), &fields, &reader, &instruments, into: &batch)
      } else {
        let isError = reader.equals(key, "error") && reader.peek() == .object
        fields.isReply = fields.isReply || isError || reader.equals(key, "status")
        try reader.skipValue()
      }
    }
    try reader.end()
    if fields.isReply {
      outcome.isAnswer = true
      guard let report = try report(try FieldObject(message, "reply"), instruments) else {
        return batch.events.append(.heartbeat)
      }
      return outcome.report(report)
    }
    if fields.isBook { return try readBook(fields, since: mark, reader, &instruments, &outcome, into: &batch) }
    if !fields.isOther, fields.trade != nil {
      return try readTrade(fields, reader, &instruments, now: outcome.now, into: &batch)
    }
    if !fields.isOther, fields.bids != nil || fields.asks != nil {
      return try readQuote(fields, reader, &instruments, now: outcome.now, into: &batch)
    }
    outcome.ignored += 1
  }

  private func readField(
    _ key: UInt8, _ fields: inout Fields, _ reader: inout FieldReader, _ instruments: inout InstrumentTable,
    into batch: inout EventBatch
  ) throws(FeedError) {
    switch key {
    case UInt8(ascii: "e"):
      fields.isBook = reader.equals(try reader.string("e"), "depthUpdate")
      fields.isOther = !fields.isBook
    case UInt8(ascii: "s"):
      let name = try reader.string("s")
      fields.index = instruments.names.find(reader.text(name))
      fields.hasSymbol = true
    case UInt8(ascii: "E"): fields.time = try reader.time("E", .nanoseconds)
    case UInt8(ascii: "U"): fields.first = try reader.int64("U")
    case UInt8(ascii: "u"): fields.last = try reader.int64("u")
    // Levels are read where they stand behind `e` and the symbol, as they do; else they wait.
    case UInt8(ascii: "b") where fields.isBook && fields.index >= 0:
      try instruments.readLevels(&reader, fields.index, "b", isBid: true, Self.bookFormat, into: &batch)
      fields.hasBids = true
    case UInt8(ascii: "a") where fields.isBook && fields.index >= 0:
      try instruments.readLevels(&reader, fields.index, "a", isBid: false, Self.bookFormat, into: &batch)
      fields.hasAsks = true
    case UInt8(ascii: "b"): fields.bids = try reader.rawValue("b")
    case UInt8(ascii: "a"): fields.asks = try reader.rawValue("a")
    case UInt8(ascii: "B"): fields.bidSize = try reader.rawValue("B")
    case UInt8(ascii: "A"): fields.askSize = try reader.rawValue("A")
    case UInt8(ascii: "c"): fields.lastPrice = try reader.rawValue("c")
    case UInt8(ascii: "C"): fields.lastSize = try reader.rawValue("C")
    case UInt8(ascii: "p"): fields.price = try reader.rawValue("p")
    case UInt8(ascii: "q"): fields.size = try reader.rawValue("q")
    case UInt8(ascii: "t"): fields.trade = try reader.name("t")
    case UInt8(ascii: "m"): fields.isBuyerMaker = try reader.bool("m")
    default: try reader.skipValue()
    }
  }

  private func index(_ fields: Fields, _ what: StaticString) throws(FeedError) -> Int {
    guard fields.hasSymbol else { throw FeedError.missing("s", in: what) }
    guard fields.index >= 0 else { throw FeedError(.unknownSymbol, "\(what) of a symbol that was not subscribed") }
    return fields.index
  }

  // MARK: Books

  private static let bookFormat = BookFormat(title: "depthUpdate", bids: "b", asks: "a")

  /// `{"e":"depthUpdate","E":…,"s":…,"U":…,"u":…,"b":[["price","size"],…],"a":[…]}`
  private func readBook(
    _ fields: Fields, since mark: BatchMark, _ reader: borrowing FieldReader, _ instruments: inout InstrumentTable,
    _ outcome: inout MessageOutcome, into batch: inout EventBatch
  ) throws(FeedError) {
    let index = try index(fields, "depthUpdate")
    guard let first = fields.first else { throw FeedError.missing("U", in: "depthUpdate") }
    guard let last = fields.last else { throw FeedError.missing("u", in: "depthUpdate") }
    if !fields.hasBids {
      try instruments.readLevels(fields.bids, of: reader, index, isBid: true, Self.bookFormat, into: &batch)
    }
    if !fields.hasAsks {
      try instruments.readLevels(fields.asks, of: reader, index, isBid: false, Self.bookFormat, into: &batch)
    }
    batch.appendBook(.delta, index, since: mark, time: fields.time ?? outcome.now)
    outcome.number(UpdateNumbers(first: first, last: last))
  }

  // MARK: Quotes and trades

  private static let quoteFormat = QuoteFormat(
    title: "bookTicker", symbol: "s", bid: "b", bidSize: "B", ask: "a", askSize: "A")

  /// `{"u":…,"E":…,"s":…,"b":"price","B":"size","a":"price","A":"size","c":…,"C":…}`; a side without orders is `""`.
  private func readQuote(
    _ fields: Fields, _ reader: borrowing FieldReader, _ instruments: inout InstrumentTable, now: Timestamp,
    into batch: inout EventBatch
  ) throws(FeedError) {
    let index = try index(fields, "bookTicker")
    let found = QuoteFields(
      index: index, bid: fields.bids, bidSize: fields.bidSize, ask: fields.asks, askSize: fields.askSize,
      time: fields.time)
    batch.events.append(.quote(try instruments.quote(found, reader, Self.quoteFormat, now: now)))
    if let price = fields.lastPrice, showsTrade(price, fields.lastSize, reader, index) {
      batch.events.append(.tradeShown(InstrumentID(index)))
    }
  }

  /// Whether a quote names another last trade than the one before. The first of a connection shows nothing.
  private func showsTrade(
    _ price: FieldSlice, _ size: FieldSlice?, _ reader: borrowing FieldReader, _ symbolIndex: Int
  ) -> Bool {
    // FNV-1a.
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    func take(_ text: RawSpan) {
      for index in text.byteOffsets {
        hash = (hash ^ UInt64(text.unsafeLoad(fromUncheckedByteOffset: index, as: UInt8.self))) &* 0x100_0000_01B3
      }
    }
    take(reader.text(price.slice))
    if let size { take(reader.text(size.slice)) }
    while lastTrades.count <= symbolIndex { lastTrades.append(0) }
    let before = lastTrades[symbolIndex]
    lastTrades[symbolIndex] = hash
    return before != 0 && before != hash
  }

  private static let tradeFormat = TradeFormat(price: "p", size: "q", id: "t", side: "m")

  /// `{"E":…,"s":…,"t":…,"p":"price","q":"size","m":true}`; `m`: the buyer was there first, so the taker sold.
  private func readTrade(
    _ fields: Fields, _ reader: borrowing FieldReader, _ instruments: inout InstrumentTable, now: Timestamp,
    into batch: inout EventBatch
  ) throws(FeedError) {
    let index = try index(fields, "trade")
    let found = TradeFields(
      index: index, price: fields.price, size: fields.size, id: fields.trade,
      side: fields.isBuyerMaker.map { $0 ? TakerSide.sell : .buy }, time: fields.time)
    batch.events.append(.trade(try instruments.trade(found, reader, Self.tradeFormat, now: now)))
  }
}
