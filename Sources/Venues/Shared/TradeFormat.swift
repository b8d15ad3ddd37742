import Bytes
import MarketData

/// How a venue names the fields of a trade and spells the taker's side.
struct TradeFormat {
  /// What a trade is called in errors.
  var title: StaticString = "trade"
  /// Nil where the symbol stands outside the trade.
  var symbol: StaticString?
  var price: StaticString
  var size: StaticString
  var id: StaticString
  var side: StaticString
  /// The words, in capitals or not, of a taker who bought and of one who sold. Where the venue says the maker's side,
  /// the other way round. Empty where it is no word.
  var buy: StaticString = ""
  var sell: StaticString = ""
  /// Nil where the engine reads the time itself.
  var time: StaticString?
  var clock = VenueClock.epoch
}

/// The fields of one trade, as far as they have been met.
struct TradeFields {
  var index: Int?
  var price: FieldSlice?
  var size: FieldSlice?
  var id: JSONSlice?
  var side: TakerSide?
  var time: Timestamp?
}

extension InstrumentTable {
  /// Takes the value of `key` if it is one of a trade's fields; false, and nothing is read, if it is not.
  mutating func take(
    _ key: JSONSlice, of reader: inout FieldReader, _ format: TradeFormat, into fields: inout TradeFields
  ) throws(FeedError) -> Bool {
    if reader.equals(key, format.price) {
      fields.price = try reader.rawValue(format.price)
    } else if reader.equals(key, format.size) {
      fields.size = try reader.rawValue(format.size)
    } else if reader.equals(key, format.side) {
      let word = try reader.string(format.side)
      fields.side =
        reader.equalsInAnyCase(word, format.buy) ? .buy : reader.equalsInAnyCase(word, format.sell) ? .sell : nil
    } else if reader.equals(key, format.id) {
      fields.id = try reader.name(format.id)
    } else if let time = format.time, reader.equals(key, time) {
      fields.time = try reader.time(time, format.clock)
    } else if let symbol = format.symbol, reader.equals(key, symbol) {
      let name = try reader.string(symbol)
      fields.index = try index(reader.text(name))
    } else {
      return false
    }
    return true
  }

  /// Reads an object that is a trade; its other fields are passed over.
  /// - Parameter index: where the symbol stands outside the trade.
  mutating func readTrade(
    _ reader: inout FieldReader, _ format: TradeFormat, _ index: Int? = nil, now: Timestamp, isBacklog: Bool = false
  ) throws(FeedError) -> Trade {
    var fields = TradeFields(index: index)
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if try !take(key, of: &reader, format, into: &fields) { try reader.skipValue() }
    }
    return try trade(fields, reader, format, now: now, isBacklog: isBacklog)
  }

  /// The trade of `fields`, which were met in `reader`; one without a time happened `now`. Throws if one of the
  /// others is missing or bad. Counts nothing.
  mutating func trade(
    _ fields: TradeFields, _ reader: borrowing FieldReader, _ format: TradeFormat, now: Timestamp,
    isBacklog: Bool = false
  ) throws(FeedError) -> Trade {
    guard let index = fields.index else { throw FeedError.missing(format.symbol ?? "symbol", in: format.title) }
    guard let priceSlice = fields.price else { throw FeedError.missing(format.price, in: format.title) }
    guard let sizeSlice = fields.size else { throw FeedError.missing(format.size, in: format.title) }
    guard let id = fields.id else { throw FeedError.missing(format.id, in: format.title) }
    guard let side = fields.side else {
      if format.buy.utf8CodeUnitCount == 0 { throw FeedError.missing(format.side, in: format.title) }
      let words = "\(format.side) (\(format.buy) or \(format.sell))"
      throw FeedError(.shape, "\(format.title) without field \(words)")
    }
    var value = reader.reader(priceSlice)
    let price = try price(&value, index, format.price)
    value = reader.reader(sizeSlice)
    let size = try size(&value, index, format.size)
    return Trade(
      instrument: InstrumentID(index), id: TradeID(reader.text(id)), price: price, size: size, side: side,
      time: fields.time ?? now, isBacklog: isBacklog)
  }
}
