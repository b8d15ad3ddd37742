import Bytes
import MarketData

/// How a venue names the fields of a quote that is one object.
struct QuoteFormat {
  /// What a quote is called in errors.
  var title: StaticString
  var symbol: StaticString
  var bid: StaticString
  var bidSize: StaticString
  var ask: StaticString
  var askSize: StaticString
  /// Nil where the engine reads the time itself, or there is none.
  var time: StaticString?
  var clock = VenueClock.epoch
}

/// The fields of one quote, as far as they have been met.
struct QuoteFields {
  var index: Int?
  var bid: FieldSlice?
  var bidSize: FieldSlice?
  var ask: FieldSlice?
  var askSize: FieldSlice?
  var time: Timestamp?
}

extension InstrumentTable {
  /// Takes the value of `key` if it is one of a quote's fields; false, and nothing is read, if it is not.
  mutating func take(
    _ key: JSONSlice, of reader: inout FieldReader, _ format: QuoteFormat, into fields: inout QuoteFields
  ) throws(FeedError) -> Bool {
    if reader.equals(key, format.bid) {
      fields.bid = try reader.rawValue(format.bid)
    } else if reader.equals(key, format.bidSize) {
      fields.bidSize = try reader.rawValue(format.bidSize)
    } else if reader.equals(key, format.ask) {
      fields.ask = try reader.rawValue(format.ask)
    } else if reader.equals(key, format.askSize) {
      fields.askSize = try reader.rawValue(format.askSize)
    } else if let time = format.time, reader.equals(key, time) {
      fields.time = try reader.time(time, format.clock)
    } else if reader.equals(key, format.symbol) {
      let name = try reader.string(format.symbol)
      fields.index = try index(reader.text(name))
    } else {
      return false
    }
    return true
  }

  /// Reads an object that is a quote; its other fields are passed over.
  mutating func readQuote(
    _ reader: inout FieldReader, _ format: QuoteFormat, now: Timestamp
  ) throws(FeedError) -> Quote {
    var fields = QuoteFields()
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if try !take(key, of: &reader, format, into: &fields) { try reader.skipValue() }
    }
    return try quote(fields, reader, format, now: now)
  }

  /// The quote of `fields`, which were met in `reader`; one without a time is of `now`. A side whose price or size is
  /// missing, null, an empty text or 0 has no orders: venues spell that in each of these ways.
  mutating func quote(
    _ fields: QuoteFields, _ reader: borrowing FieldReader, _ format: QuoteFormat, now: Timestamp
  ) throws(FeedError) -> Quote {
    guard let index = fields.index else { throw FeedError.missing(format.symbol, in: format.title) }
    let bid = try best(fields.bid, fields.bidSize, reader, index, format.bid, format.bidSize)
    // An ask at a price beyond 64 bits is as good as none; such bids are there only by mistake.
    var ask = try best(fields.ask, fields.askSize, reader, index, format.ask, format.askSize)
    guard bid.price < .max else { throw FeedError(.decimal, "field \(format.bid): too large") }
    if ask.price == .max { ask = PriceLevel(price: 0, size: 0) }
    return Quote(
      instrument: InstrumentID(index), bid: bid.price, bidSize: bid.size, ask: ask.price, askSize: ask.size,
      time: fields.time ?? now)
  }

  private mutating func best(
    _ priceSlice: FieldSlice?, _ sizeSlice: FieldSlice?, _ outer: borrowing FieldReader, _ index: Int,
    _ priceField: StaticString, _ sizeField: StaticString
  ) throws(FeedError) -> PriceLevel {
    let none = PriceLevel(price: 0, size: 0)
    guard let priceSlice, let sizeSlice else { return none }
    let price = try bestNumber(priceSlice, outer, index, isPrice: true, priceField)
    let size = try bestNumber(sizeSlice, outer, index, isPrice: false, sizeField)
    guard let price, let size, price > 0, size > 0 else { return none }
    return PriceLevel(price: price, size: size)
  }

  private mutating func bestNumber(
    _ slice: FieldSlice, _ outer: borrowing FieldReader, _ index: Int, isPrice: Bool, _ field: StaticString
  ) throws(FeedError) -> Int64? {
    var reader = outer.reader(slice)
    // An empty text has its two quotes.
    if slice.slice.count == 2, reader.peek() == .string { return nil }
    if try reader.null() { return nil }
    let value = isPrice ? try levelPrice(&reader, index, field) : try size(&reader, index, field)
    guard value >= 0 else { throw FeedError(.value, "field \(field) at offset \(reader.offset): below zero") }
    return value
  }
}
