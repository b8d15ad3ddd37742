import Bytes
import MarketData

/// Missing trades that are asked of a venue: one page.
struct TradeQuery: Sendable {
  var instrument: Instrument
  /// The numbers of the first and the last trade that are still missing.
  var first: Int64
  var last: Int64
  /// Between these times of the venue they were made, both included.
  var from: Timestamp
  var to: Timestamp
  /// Answers before this one that had none of the missing trades.
  var attempt: Int

  var count: Int64 { last - first + 1 }
}

/// How a venue's REST API is asked for single trades, and what its answers look like. A value per venue.
///
/// A page may have trades that nobody asked for, in either order: those that are missing are taken out of it by their
/// numbers. What is missing after it is asked for by another page.
struct TradePages: Sendable {
  /// A field of a row.
  enum Column: Sendable {
    case id, price, size
    /// The words of a taker who bought and of one who sold.
    case side(buy: StaticString, sell: StaticString)
    /// Whether the buyer was the maker: then the taker sold.
    case isBuyerMaker
    case time(VenueClock)
    /// Seconds with digits after the point.
    case seconds
    case other
  }

  /// What a row is.
  enum Layout: Sendable {
    /// An array with these fields in this order, and any number of others after them.
    case array([Column])
    /// An object with these fields and any others.
    case object([(name: StaticString, column: Column)])
  }

  /// Where the rows stand in an answer.
  let path: [CandleFormat.Step]
  let layout: Layout
  /// Requests a minute for all connections of an address: a small part of what the venue allows, since books, lists
  /// and candles are asked for, too.
  let requestsPerMinute: Int
  /// The path and query of a request.
  let spell: @Sendable (TradeQuery) -> String

  /// Bytes of an answer that are accepted: 1,000 rows have 250 KB at most.
  static let bodyLimit = 1 << 20

  /// Reads the rows of an answer. A row that cannot be read costs itself alone.
  /// - Throws: the answer has no rows, or a value has more digits than its scale: then `instruments` says what it
  ///   needs.
  func read(
    _ body: RawSpan, _ index: Int, _ instruments: inout InstrumentTable, now: Timestamp
  ) throws(FeedError) -> [Trade] {
    var reader = FieldReader(body)
    try CandleFormat.descend(&reader, path[...], "trades")
    guard reader.peek() == .array else { throw FeedError(.shape, "no array of trades") }
    var trades: [Trade] = []
    try reader.arrayStart()
    while try reader.nextElement() {
      let slice = try reader.rawValue("trade")
      var row = reader.reader(slice)
      do throws(FeedError) {
        let fields = try fields(of: &row, index)
        trades.append(try instruments.trade(fields, row, Self.format, now: now))
      } catch {
        if instruments.widening != nil { throw error }
      }
    }
    return trades
  }

  /// The names of the fields in errors.
  private static let format = TradeFormat(price: "price", size: "size", id: "id", side: "side")

  private func fields(of row: inout FieldReader, _ index: Int) throws(FeedError) -> TradeFields {
    var fields = TradeFields(index: index)
    switch layout {
    case .array(let columns):
      try row.arrayStart()
      for column in columns {
        guard try row.nextElement() else { throw FeedError(.shape, "a row that is too short") }
        try take(column, of: &row, into: &fields)
      }
    case .object(let columns):
      try row.objectStart()
      while let key = try row.nextKey() {
        if let (_, column) = columns.first(where: { row.equals(key, $0.name) }) {
          try take(column, of: &row, into: &fields)
        } else {
          try row.skipValue()
        }
      }
    }
    guard fields.time != nil else { throw FeedError.missing("time", in: "trade") }
    return fields
  }

  private func take(
    _ column: Column, of row: inout FieldReader, into fields: inout TradeFields
  ) throws(FeedError) {
    switch column {
    case .id: fields.id = try row.name("id")
    case .price: fields.price = try row.rawValue("price")
    case .size: fields.size = try row.rawValue("size")
    case .side(let buy, let sell):
      let word = try row.string("side")
      fields.side =
        row.equalsInAnyCase(word, buy) ? .buy : row.equalsInAnyCase(word, sell) ? .sell : nil
    case .isBuyerMaker: fields.side = try row.bool("side") ? .sell : .buy
    case .time(let clock): fields.time = try row.time("time", clock)
    case .seconds: fields.time = VenueTime.seconds(try row.decimal64("time"))
    case .other: try row.skipValue()
    }
  }
}
