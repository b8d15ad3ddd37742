import Bytes
import MarketData

/// What handlers that are not dialects read through their table.
extension SymbolHandler {
  final var instruments: [Instrument] { known.instruments }
  final var table: SymbolTable { known.names }
  final var badLevels: Int {
    get { known.badLevels }
    set { known.badLevels = newValue }
  }
  static var widestScale: UInt8 { InstrumentTable.widestScale }

  final func place(of symbol: FeedSymbol) -> Int? { known.place(of: symbol) }
  final func place(_ text: RawSpan) throws(FeedError) -> Int { try known.place(text) }

  final func price(_ reader: inout FieldReader, _ place: Int, _ field: StaticString) throws(FeedError) -> Int64 {
    try known.price(&reader, place, field)
  }
  final func size(_ reader: inout FieldReader, _ place: Int, _ field: StaticString) throws(FeedError) -> Int64 {
    try known.size(&reader, place, field)
  }
  final func signedSize(_ reader: inout FieldReader, _ place: Int, _ field: StaticString) throws(FeedError) -> Int64 {
    try known.signedSize(&reader, place, field)
  }
  final func levelPrice(_ reader: inout FieldReader, _ place: Int, _ field: StaticString) throws(FeedError) -> Int64 {
    try known.levelPrice(&reader, place, field)
  }
  final func learnDigits(of text: RawSpan, _ place: Int, isPrice: Bool) throws(FeedError) {
    try known.learnDigits(of: text, place, isPrice: isPrice)
  }
  final func statisticsPrice(
    _ reader: inout FieldReader, _ place: Int, _ field: StaticString
  ) throws(FeedError) -> Int64? {
    try known.statisticsPrice(&reader, place, field)
  }
  final func statistic(_ reader: inout FieldReader, _ field: StaticString) throws(FeedError) -> Decimal64? {
    try reader.statistic(field)
  }
  final func note(_ place: Int, _ levels: ArraySlice<PriceLevel>) { known.note(place, levels) }
  final func note(_ place: Int, price: Int64, size: Int64) { known.note(place, price: price, size: size) }

  final func readSides(
    _ bids: FieldSlice?, _ asks: FieldSlice?, of reader: borrowing FieldReader, _ place: Int, _ format: BookFormat,
    into batch: inout EventBatch
  ) throws(FeedError) {
    try known.readSides(bids, asks, of: reader, place, format, into: &batch)
  }
  final func readLevels(
    _ reader: inout FieldReader, _ place: Int, _ field: StaticString, isBid: Bool, _ format: BookFormat,
    into levels: inout [PriceLevel]
  ) throws(FeedError) {
    try known.readLevels(&reader, place, field, isBid: isBid, format, into: &levels)
  }
  final func readChanges(
    _ reader: inout FieldReader, _ place: Int, _ field: StaticString, _ format: BookFormat,
    into batch: inout EventBatch
  ) throws(FeedError) {
    try known.readChanges(&reader, place, field, format, into: &batch)
  }
  final func readBest(
    _ side: FieldSlice?, of outer: borrowing FieldReader, _ place: Int, _ field: StaticString, _ format: BookFormat
  ) throws(FeedError) -> PriceLevel? {
    try known.readBest(side, of: outer, place, field, format)
  }
  final func readLevel(
    _ reader: inout FieldReader, _ place: Int, _ field: StaticString, _ format: BookFormat, _ word: inout JSONSlice?
  ) throws(FeedError) -> PriceLevel {
    try known.readLevel(&reader, place, field, format, &word)
  }
  final func append(
    _ kind: BookEvent.Kind, _ place: Int, since mark: BatchMark, time: Timestamp, checksum: UInt32? = nil,
    into batch: inout EventBatch
  ) {
    known.append(kind, place, since: mark, time: time, checksum: checksum, into: &batch)
  }

  final func take(
    _ key: JSONSlice, of reader: inout FieldReader, _ format: QuoteFormat, into fields: inout QuoteFields
  ) throws(FeedError) -> Bool {
    try known.take(key, of: &reader, format, into: &fields)
  }
  final func quote(
    _ fields: QuoteFields, _ reader: borrowing FieldReader, _ format: QuoteFormat, now: Timestamp
  ) throws(FeedError) -> Quote {
    try known.quote(fields, reader, format, now: now)
  }
  final func take(
    _ key: JSONSlice, of reader: inout FieldReader, _ format: TradeFormat, into fields: inout TradeFields
  ) throws(FeedError) -> Bool {
    try known.take(key, of: &reader, format, into: &fields)
  }
  final func trade(
    _ fields: TradeFields, _ reader: borrowing FieldReader, _ format: TradeFormat, now: Timestamp,
    isBacklog: Bool = false
  ) throws(FeedError) -> Trade {
    try known.trade(fields, reader, format, now: now, isBacklog: isBacklog)
  }
  final func take(
    _ key: JSONSlice, of reader: inout FieldReader, _ format: TickerFormat, into ticker: inout Ticker
  ) throws(FeedError) -> Bool {
    try known.take(key, of: &reader, format, into: &ticker)
  }
  final func readFigures(
    _ reader: inout FieldReader, _ format: TickerFormat, into ticker: inout Ticker
  ) throws(FeedError) {
    try known.readFigures(&reader, format, into: &ticker)
  }
  final func place(
    _ field: StaticString, of object: FieldSlice, in outer: borrowing FieldReader
  ) throws(FeedError) -> Int {
    try known.place(field, of: object, in: outer)
  }

  /// Counts a trade and notes its price and size, once nothing of its message can fail any more.
  final func count(_ trade: Trade) {
    let place = trade.instrument.index
    known.note(place, price: trade.price, size: trade.size)
    if trade.isBacklog { seen[place].backlogTrades += 1 } else { seen[place].trades += 1 }
  }

  /// Counts the trades that stand in `batch` from `start` on. O(trades).
  final func countTrades(of batch: borrowing EventBatch, from start: Int) {
    for index in start..<batch.events.count {
      if case .trade(let trade) = batch.events[index] { count(trade) }
    }
  }
}
