import Bytes
import MarketData

/// Reading the messages of Kraken Futures: flat objects whose `feed` says what they are, or whose `event` says what is
/// answered. All numbers are bare, with a digit after the point or an exponent.
extension KrakenFutures {
  private enum Kind { case book, snapshot, trade, trades, ticker, heartbeat, other }

  private static func kind(_ text: RawSpan) -> Kind {
    if text.equals("book") { return .book }
    if text.equals("trade") { return .trade }
    if text.equals("ticker") { return .ticker }
    if text.equals("book_snapshot") { return .snapshot }
    if text.equals("trade_snapshot") { return .trades }
    return text.equals("heartbeat") ? .heartbeat : .other
  }

  /// The fields of a message, as far as they have been met.
  private struct Fields {
    var kind: Kind?
    var isEvent = false
    var product: JSONSlice?
    var number: Int64?
    var isBid: Bool?
    var price: FieldSlice?
    var size: FieldSlice?
    var time: Timestamp?
    var bids: FieldSlice?
    var asks: FieldSlice?
    var trades: FieldSlice?
  }

  func read(
    _ message: RawSpan, _ instruments: inout InstrumentTable, _ outcome: inout MessageOutcome,
    into batch: inout EventBatch
  ) throws(FeedError) {
    var reader = FieldReader(message)
    let fields = try readFields(&reader)
    if fields.isEvent {
      let reply = try FieldObject(message, "reply")
      outcome.isAnswer = true
      if let report = Self.report(reply, reply.text("event") ?? "", facts, instruments) { outcome.report(report) }
      return
    }
    guard let kind = fields.kind else { throw FeedError.missing("feed", in: "message") }
    switch kind {
    case .heartbeat: batch.events.append(.heartbeat)
    case .other: outcome.ignored += 1
    default:
      guard let product = fields.product else { throw FeedError.missing("product_id", in: "message") }
      let index = try instruments.index(reader.text(product))
      var whole = reader.again()
      switch kind {
      case .book: try readChange(fields, index, reader, &instruments, &outcome, into: &batch)
      case .snapshot: try readSnapshot(fields, index, reader, &instruments, &outcome, into: &batch)
      case .trade: try readTrade(&whole, isBacklog: false, &instruments, &outcome, into: &batch)
      case .trades: try readTrades(fields, reader, &instruments, &outcome, into: &batch)
      default: try readTicker(&whole, index, fields.time ?? outcome.now, &instruments, into: &batch)
      }
    }
  }

  private func readFields(_ reader: inout FieldReader) throws(FeedError) -> Fields {
    var fields = Fields()
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "feed"), reader.peek() == .string {
        let slice = try reader.string("feed")
        fields.kind = Self.kind(reader.text(slice))
      } else if reader.equals(key, "product_id"), reader.peek() == .string {
        fields.product = try reader.string("product_id")
      } else if reader.equals(key, "side"), reader.peek() == .string {
        let side = try reader.string("side")
        fields.isBid = reader.equals(side, "buy") ? true : reader.equals(side, "sell") ? false : nil
      } else if reader.equals(key, "seq") {
        fields.number = try reader.int64("seq")
      } else if reader.equals(key, "price") {
        fields.price = try reader.rawValue("price")
      } else if reader.equals(key, "qty") {
        fields.size = try reader.rawValue("qty")
      } else if reader.equals(key, "timestamp") || reader.equals(key, "time") {
        fields.time = try reader.time("timestamp", .epoch)
      } else if reader.equals(key, "bids") {
        fields.bids = try reader.rawValue("bids")
      } else if reader.equals(key, "asks") {
        fields.asks = try reader.rawValue("asks")
      } else if reader.equals(key, "trades") {
        fields.trades = try reader.rawValue("trades")
      } else {
        fields.isEvent = fields.isEvent || reader.equals(key, "event")
        try reader.skipValue()
      }
    }
    try reader.end()
    return fields
  }

  // MARK: Books

  /// `{"feed":"book","product_id":"PF_XBTUSD","side":"sell","seq":26660860,"price":2004.85,"qty":4787.0,"timestamp":1626994927744}`:
  /// the new size of one level, 0 where it is gone.
  private func readChange(
    _ fields: Fields, _ index: Int, _ outer: borrowing FieldReader, _ instruments: inout InstrumentTable,
    _ outcome: inout MessageOutcome, into batch: inout EventBatch
  ) throws(FeedError) {
    guard let number = fields.number else { throw FeedError.missing("seq", in: "book") }
    guard let isBid = fields.isBid else { throw FeedError(.shape, "book without a side that is buy or sell") }
    guard let price = fields.price else { throw FeedError.missing("price", in: "book") }
    guard let size = fields.size else { throw FeedError.missing("qty", in: "book") }
    let mark = BatchMark(batch)
    var value = outer.reader(price)
    var level = PriceLevel(price: try instruments.levelPrice(&value, index, "price"), size: 0)
    value = outer.reader(size)
    level.size = try instruments.size(&value, index, "qty")
    guard level.price > 0 || level.price == 0 && level.size == 0 else {
      throw FeedError(.value, "field price: not above zero")
    }
    if level.price == .max {
      // Of a bid that would be the best one, nothing would be left; such an ask is further away than any that is shown.
      guard !isBid else { throw FeedError(.decimal, "field price: too large") }
      instruments.badLevels += 1
    } else if level.price > 0 {
      if isBid { batch.bids.append(level) } else { batch.asks.append(level) }
    }
    batch.appendBook(.delta, index, since: mark, time: fields.time ?? outcome.now)
    outcome.number(UpdateNumbers(first: number, last: number))
  }

  private static let bookFormat = BookFormat(title: "book_snapshot", level: .object(price: "price", size: "qty"))

  /// `{"feed":"book_snapshot","product_id":…,"timestamp":…,"seq":91192,"tickSize":null,"bids":[{"price":439.3,"qty":20108.0},…],"asks":[…]}`:
  /// the whole book.
  private func readSnapshot(
    _ fields: Fields, _ index: Int, _ outer: borrowing FieldReader, _ instruments: inout InstrumentTable,
    _ outcome: inout MessageOutcome, into batch: inout EventBatch
  ) throws(FeedError) {
    guard let number = fields.number else { throw FeedError.missing("seq", in: "book_snapshot") }
    let mark = BatchMark(batch)
    try instruments.readLevels(fields.bids, of: outer, index, isBid: true, Self.bookFormat, into: &batch)
    try instruments.readLevels(fields.asks, of: outer, index, isBid: false, Self.bookFormat, into: &batch)
    batch.appendBook(.snapshot, index, since: mark, time: fields.time ?? outcome.now)
    outcome.number(UpdateNumbers(first: number, last: number))
  }

  // MARK: Trades and statistics

  private static let tradeFormat = TradeFormat(
    symbol: "product_id", price: "price", size: "qty", id: "uid", side: "side", buy: "buy", sell: "sell", time: "time")

  /// `{"feed":"trade","product_id":…,"uid":"e2429e31-…","side":"buy","type":"fill","seq":5956,"time":…,"qty":320.0,"price":119.44}`;
  /// `side` is the taker's. Of the types only fills and liquidations are matched in the book: the others are agreed
  /// away from it, or move positions at a price that is not the market's.
  /// - Returns: `seq`, which counts the trades of a product.
  @discardableResult
  private func readTrade(
    _ reader: inout FieldReader, isBacklog: Bool, _ instruments: inout InstrumentTable,
    _ outcome: inout MessageOutcome, into batch: inout EventBatch
  ) throws(FeedError) -> Int64 {
    var fields = TradeFields()
    var number: Int64 = 0
    var isMatched = true
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if try instruments.take(key, of: &reader, Self.tradeFormat, into: &fields) { continue }
      if reader.equals(key, "type"), reader.peek() == .string {
        let type = try reader.string("type")
        isMatched =
          !reader.equals(type, "block") && !reader.equals(type, "assignment") && !reader.equals(type, "termination")
      } else if reader.equals(key, "seq") {
        number = try reader.int64("seq")
      } else {
        try reader.skipValue()
      }
    }
    let trade = try instruments.trade(fields, reader, Self.tradeFormat, now: outcome.now, isBacklog: isBacklog)
    if isMatched { batch.events.append(.trade(trade)) } else { outcome.ignored += 1 }
    return number
  }

  /// `{"feed":"trade_snapshot","product_id":…,"trades":[…]}`: the last hundred, the newest first.
  private func readTrades(
    _ fields: Fields, _ outer: borrowing FieldReader, _ instruments: inout InstrumentTable,
    _ outcome: inout MessageOutcome, into batch: inout EventBatch
  ) throws(FeedError) {
    guard let trades = fields.trades else { throw FeedError.missing("trades", in: "trade_snapshot") }
    let first = batch.events.count
    var (oldest, newest): (Int64?, Int64) = (nil, 0)
    var reader = outer.reader(trades)
    reader.field = "trades"
    try reader.arrayStart()
    while try reader.nextElement() {
      newest = try readTrade(&reader, isBacklog: true, &instruments, &outcome, into: &batch)
      oldest = oldest ?? newest
    }
    // Trades of one moment are distinguished by their numbers alone.
    if let oldest, oldest > newest { batch.events[first...].reverse() }
    batch.orderTrades(from: first)
  }

  /// 0 stands for what there is not: a market has had no trade, or a side has no orders. `volume` is in base units,
  /// `change` in percent of the price 24 h ago.
  private static let tickerFormat = TickerFormat(
    last: "last", bid: "bid", ask: "ask", open: "open", high: "high", low: "low", volume: "volume",
    quoteVolume: "volumeQuote", changePercent: "change", zeroIsNone: true)

  private func readTicker(
    _ reader: inout FieldReader, _ index: Int, _ time: Timestamp, _ instruments: inout InstrumentTable,
    into batch: inout EventBatch
  ) throws(FeedError) {
    var ticker = Ticker(instrument: InstrumentID(index), time: time)
    try instruments.readFigures(&reader, Self.tickerFormat, into: &ticker)
    batch.events.append(.ticker(ticker))
  }
}
