import Bytes
import MarketData

/// Reading what Gemini says by REST: the names of its markets, the details of each, its 24 h figures.
extension Gemini {
  /// `["btcusd","ethusd",…]`
  static func readNames(_ body: RawSpan) throws(FeedError) -> [String] {
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
  static func readDetails(_ body: RawSpan) throws(FeedError) -> GeminiDetails {
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

  private static func step(_ reader: inout FieldReader, _ field: StaticString) throws(FeedError) -> Decimal64? {
    let value = try reader.statistic(field)
    return value.flatMap { $0.mantissa > 0 && $0.scale <= InstrumentTable.widestScale ? $0 : nil }
  }

  private static let dayFormat = TickerFormat(
    last: "close", bid: "bid", ask: "ask", open: "open", high: "high", low: "low")

  /// `GET /v2/ticker/…`: `{"symbol":…,"open":…,"high":…,"low":…,"close":…,"changes":[…],"bid":…,"ask":…}`
  func readDay(
    _ body: RawSpan, _ instruments: inout InstrumentTable, into ticker: inout Ticker
  ) throws(FeedError) {
    var reader = FieldReader(body)
    try instruments.readFigures(&reader, Self.dayFormat, into: &ticker)
  }

  private static let volumeFormat = TickerFormat(last: "last", bid: "bid", ask: "ask")

  /// `GET /v1/pubticker/…`: `{"bid":…,"ask":…,"volume":{"BTC":"2210.5","USD":"2135477.46","timestamp":…},"last":…}`,
  /// volumes by currency.
  func readVolume(
    _ body: RawSpan, _ instruments: inout InstrumentTable, into ticker: inout Ticker
  ) throws(FeedError) {
    let instrument = instruments[ticker.instrument.index]
    var reader = FieldReader(body)
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "volume"), reader.peek() == .object {
        try reader.objectStart()
        while let currency = try reader.nextKey() {
          let name = String(decoding: reader.text(currency).withUnsafeBytes { Array($0) }, as: UTF8.self)
          if name == instrument.base {
            ticker.volume = try reader.statistic("volume")
          } else if name == instrument.quote {
            ticker.quoteVolume = try reader.statistic("volume")
          } else {
            try reader.skipValue()
          }
        }
      } else if try !instruments.take(key, of: &reader, Self.volumeFormat, into: &ticker) {
        try reader.skipValue()
      }
    }
  }
}
