import Bytes
import MarketData

/// Reading Binance's lists: symbols, and the 24 h figures of all of them.
extension Binance {
  /// `GET /api/v3/exchangeInfo`, as far as it is used.
  /// - Returns: the markets, and the request weight that an address may use in a minute.
  func readMarkets(_ body: RawSpan) throws(FeedError) -> (markets: [ListedMarket], weightPerMinute: Int?) {
    var markets: [ListedMarket]?
    var weightPerMinute: Int?
    var reader = FieldReader(body)
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "symbols") {
        reader.field = "symbols"
        markets = try reader.markets(readMarket)
      } else if reader.equals(key, "rateLimits") {
        reader.field = "rateLimits"
        try reader.arrayStart()
        while try reader.nextElement() {
          if let weight = try readRateLimit(&reader) { weightPerMinute = weight }
        }
      } else {
        try reader.skipValue()
      }
    }
    // Without it every market would be taken for one that is not listed.
    guard let markets else { throw FeedError.missing("symbols", in: "exchangeInfo") }
    return (markets, weightPerMinute)
  }

  /// `[{"symbol":"BTCUSDT","quoteVolume":"15.30000000",…},…]`
  func readTickers(_ body: RawSpan, into volumes: inout [String: Decimal64]) throws(FeedError) {
    var reader = FieldReader(body)
    try reader.volumes(of: "symbol", "quoteVolume", into: &volumes)
  }

  /// Nil for a kind that is not carried. Dated futures have their day in their name: `BTCUSDT_261225`.
  private func readMarket(_ reader: inout FieldReader) throws(FeedError) -> ListedMarket? {
    var name = ""
    var base = ""
    var quote = ""
    // `PERPETUAL`, `CURRENT_QUARTER`…; none on spot.
    var contract = ""
    // The others are `BREAK`, `HALT`, `PENDING_TRADING`, `SETTLING`….
    var isTrading = true
    // Digits that futures are printed with. (They are not the tick.)
    var priceScale: UInt8 = 0
    var sizeScale: UInt8 = 0
    var steps = Steps()
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "symbol") {
        name = try reader.decodedString("symbol")
      } else if reader.equals(key, "baseAsset") {
        base = try reader.decodedString("baseAsset")
      } else if reader.equals(key, "quoteAsset") {
        quote = try reader.decodedString("quoteAsset")
      } else if reader.equals(key, "contractType") {
        contract = try reader.decodedString("contractType")
      } else if reader.equals(key, "status") {
        let status = try reader.string("status")
        isTrading = reader.equals(status, "TRADING")
      } else if reader.equals(key, "pricePrecision") {
        priceScale = UInt8(clamping: try reader.int64("pricePrecision"))
      } else if reader.equals(key, "quantityPrecision") {
        sizeScale = UInt8(clamping: try reader.int64("quantityPrecision"))
      } else if reader.equals(key, "filters") {
        try reader.arrayStart()
        while try reader.nextElement() { try readFilter(&reader, &steps) }
      } else {
        try reader.skipValue()
      }
    }
    guard !name.isEmpty else { throw FeedError.missing("symbol", in: "exchangeInfo symbol") }
    let parts = name.split(separator: "_")
    let kind: Instrument.Kind
    if market.part == "spot" {
      kind = .spot
    } else if parts.count == 2, parts[1].utf8.count == 6 {
      kind = .future(expiry: "20" + parts[1])
    } else if contract.hasSuffix("PERPETUAL") {
      kind = .perpetual
    } else {
      return nil
    }
    return ListedMarket(
      venueSymbol: name, symbol: FeedSymbol(base: base, quote: quote, kind: kind),
      priceScale: market.scale ?? priceScale, sizeScale: market.scale ?? sizeScale, priceIncrement: steps.price,
      sizeIncrement: steps.size, state: isTrading ? .trading : .halted)
  }

  private struct Steps {
    var price: Decimal64?
    var size: Decimal64?
  }

  /// A tick or step of 0 means that there is no such rule.
  private func readFilter(_ reader: inout FieldReader, _ steps: inout Steps) throws(FeedError) {
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "tickSize") {
        let value = try reader.statistic("tickSize")
        if let value, value.mantissa > 0 { steps.price = value }
      } else if reader.equals(key, "stepSize") {
        let value = try reader.statistic("stepSize")
        // LOT_SIZE comes before MARKET_LOT_SIZE, whose step is usually 0.
        if let value, value.mantissa > 0, steps.size == nil { steps.size = value }
      } else {
        try reader.skipValue()
      }
    }
  }

  private func readRateLimit(_ reader: inout FieldReader) throws(FeedError) -> Int? {
    var isWeight = false
    var isMinute = false
    var count: Int64 = 1
    var limit: Int64?
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "rateLimitType") {
        let type = try reader.string("rateLimitType")
        isWeight = reader.equals(type, "REQUEST_WEIGHT")
      } else if reader.equals(key, "interval") {
        let interval = try reader.string("interval")
        isMinute = reader.equals(interval, "MINUTE")
      } else if reader.equals(key, "intervalNum") {
        count = try reader.int64("intervalNum")
      } else if reader.equals(key, "limit") {
        limit = try reader.int64("limit")
      } else {
        try reader.skipValue()
      }
    }
    guard isWeight, isMinute, count > 0, let limit, limit > 0 else { return nil }
    return Int(limit / count)
  }
}
