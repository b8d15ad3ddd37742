import Bytes
import MarketData

/// What Gemini says by REST: the names of its markets, the details of each, its 24 h figures.
extension Gemini {
  /// `["btcusd","ethusd",…]`
  static var listing: MarketListing {
    var listing = MarketListing("/v1/symbols") { (body) throws(FeedError) in
      var reader = FieldReader(body)
      reader.field = "symbols"
      let names = try reader.list { (reader, _) throws(FeedError) -> String? in
        try reader.decodedString("symbols").lowercased()
      }
      return ListPage(
        markets: names.compactMap { name in
          GeminiName.symbol(name).map { ListedMarket(venueSymbol: name, symbol: $0) }
        }, names: names)
    }
    // 347 names were 4 KB.
    listing.bodyLimit = 1 << 20
    return listing
  }

  /// `{"symbol":"BTCUSD","base_currency":"BTC","quote_currency":"USD","tick_size":1E-8,"quote_increment":0.01,"status":"open",…}`:
  /// `tick_size` is the step of sizes, `quote_increment` that of prices. `contract_type` is `vanilla`, `linear` or
  /// `inverse`, and missing on spot in older answers.
  @Sendable static func readDetails(_ body: RawSpan, _ market: ListedMarket) throws(FeedError) -> MarketDetails {
    var reader = FieldReader(body)
    let row = try FieldObject(&reader, "symbol details")
    let (base, quote) = (try row.name("base_currency"), try row.name("quote_currency"))
    let (name, symbol) = (market.venueSymbol, market.symbol)
    guard base.uppercased() == symbol.base, quote.uppercased() == symbol.quote else {
      return .refused("Gemini's \(name) is \(base)-\(quote), not \(symbol.text)")
    }
    guard row.text("contract_type")?.lowercased() != "inverse" else {
      return .refused("\(name) is an inverse contract: its sizes have no exact value in \(symbol.base)")
    }
    guard row.text("status")?.lowercased() != "closed" else { return .refused("\(name) is closed at Gemini") }
    return .market(
      ListedMarket(
        venueSymbol: name, symbol: symbol, priceIncrement: row.step("quote_increment"),
        sizeIncrement: row.step("tick_size")))
  }

  private static let dayFormat = TickerFormat(
    last: "close", bid: "bid", ask: "ask", open: "open", high: "high", low: "low")

  /// `GET /v2/ticker/…`: `{"symbol":…,"open":…,"high":…,"low":…,"close":…,"changes":[…],"bid":…,"ask":…}`
  static let readDay: DialectFacts.PerMarket.Figures = { (reader, instruments, ticker) throws(FeedError) in
    try instruments.readFigures(&reader, dayFormat, into: &ticker)
  }

  private static let volumeFormat = TickerFormat(last: "last", bid: "bid", ask: "ask")

  /// `GET /v1/pubticker/…`: `{"bid":…,"ask":…,"volume":{"BTC":"2210.5","USD":"2135477.46","timestamp":…},"last":…}`,
  /// volumes by currency.
  static let readVolume: DialectFacts.PerMarket.Figures = { (reader, instruments, ticker) throws(FeedError) in
    let instrument = instruments[ticker.instrument.index]
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "volume"), reader.peek() == .object {
        try reader.objectStart()
        while let currency = try reader.nextKey() {
          let name = reader.plainText(currency)
          if name == instrument.base {
            ticker.volume = try reader.statistic("volume")
          } else if name == instrument.quote {
            ticker.quoteVolume = try reader.statistic("volume")
          } else {
            try reader.skipValue()
          }
        }
      } else if try !instruments.take(key, of: &reader, volumeFormat, into: &ticker) {
        try reader.skipValue()
      }
    }
  }
}
