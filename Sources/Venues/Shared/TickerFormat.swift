import Bytes
import MarketData

/// How a venue names the 24 h figures of a market; nil where it has no such figure.
struct TickerFormat {
  var last: StaticString?
  var bid: StaticString?
  var ask: StaticString?
  var open: StaticString?
  var high: StaticString?
  var low: StaticString?
  var volume: StaticString?
  var quoteVolume: StaticString?
  var vwap: StaticString?
  var change: StaticString?
  /// In percent, or as a fraction.
  var changePercent: StaticString?
  var isFraction = false
  /// Nil where the time stands elsewhere.
  var time: StaticString?
  var clock = VenueClock.epoch
  /// Whether 0 stands for a side without orders.
  var zeroIsNone = false

  fileprivate func price(_ price: Int64?) -> Int64? { zeroIsNone && price == 0 ? nil : price }
}

extension InstrumentTable {
  /// Takes the value of `key` if it is one of a ticker's figures; false, and nothing is read, if it is not. What is
  /// null, or fits nowhere, is nil.
  mutating func take(
    _ key: JSONSlice, of reader: inout FieldReader, _ format: TickerFormat, into ticker: inout Ticker
  ) throws(FeedError) -> Bool {
    let index = ticker.instrument.index
    if let name = format.last, reader.equals(key, name) {
      ticker.last = format.price(try statisticsPrice(&reader, index, name))
    } else if let name = format.bid, reader.equals(key, name) {
      ticker.bid = format.price(try statisticsPrice(&reader, index, name))
    } else if let name = format.ask, reader.equals(key, name) {
      ticker.ask = format.price(try statisticsPrice(&reader, index, name))
    } else if let name = format.open, reader.equals(key, name) {
      ticker.open = try statisticsPrice(&reader, index, name)
    } else if let name = format.high, reader.equals(key, name) {
      ticker.high = try statisticsPrice(&reader, index, name)
    } else if let name = format.low, reader.equals(key, name) {
      ticker.low = try statisticsPrice(&reader, index, name)
    } else if let name = format.volume, reader.equals(key, name) {
      ticker.volume = try reader.statistic(name)
    } else if let name = format.quoteVolume, reader.equals(key, name) {
      ticker.quoteVolume = try reader.statistic(name)
    } else if let name = format.vwap, reader.equals(key, name) {
      ticker.vwap = try reader.statistic(name)
    } else if let name = format.change, reader.equals(key, name) {
      ticker.change = try reader.statistic(name)
    } else if let name = format.changePercent, reader.equals(key, name) {
      let change = try reader.statistic(name)
      ticker.changePercent = format.isFraction ? change?.multiplied(by: Decimal64(mantissa: 100, scale: 0)) : change
    } else if let name = format.time, reader.equals(key, name) {
      ticker.time = try reader.time(name, format.clock) ?? ticker.time
    } else {
      return false
    }
    return true
  }

  /// Reads an object's figures; its other fields are passed over.
  mutating func readFigures(
    _ reader: inout FieldReader, _ format: TickerFormat, into ticker: inout Ticker
  ) throws(FeedError) {
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if try !take(key, of: &reader, format, into: &ticker) { try reader.skipValue() }
    }
  }

  /// The index of the market whose name is in `field` of an object that was passed over: no venue promises that it
  /// stands before the figures, which cannot be read without it.
  func index(_ field: StaticString, in object: consuming FieldReader) throws(FeedError) -> Int {
    try object.objectStart()
    while let key = try object.nextKey() {
      guard object.equals(key, field) else {
        try object.skipValue()
        continue
      }
      let name = try object.string(field)
      return try index(object.text(name))
    }
    throw FeedError.missing(field, in: "ticker")
  }
}
