import Bytes
import MarketData

/// `GET /api/v3/exchangeInfo`, as far as it is used.
struct BinanceList {
  struct Symbol {
    var name = ""
    var base = ""
    var quote = ""
    var priceIncrement: Decimal64?
    var sizeIncrement: Decimal64?
    /// `PERPETUAL`, `CURRENT_QUARTER`…; empty on spot.
    var contract = ""
    /// Whether `status` is `TRADING`; the others are `BREAK`, `HALT`, `PENDING_TRADING`, `SETTLING`….
    var isTrading = true
    /// Digits that futures are printed with. (They are not the tick.)
    var priceScale: UInt8 = 0
    var sizeScale: UInt8 = 0
  }

  var symbols: [Symbol] = []
  /// Request weight that an address may use in a minute.
  var weightPerMinute: Int?
}

extension BinanceHandler {
  func readList(_ body: RawSpan) throws(FeedError) -> BinanceList {
    var list = BinanceList()
    var isRead = false
    var reader = FieldReader(body)
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "symbols") {
        reader.field = "symbols"
        isRead = true
        try reader.arrayStart()
        while try reader.nextElement() {
          list.symbols.append(try readSymbol(&reader))
          guard list.symbols.count <= 100_000 else { throw FeedError(.shape, "list of more than 100,000 symbols") }
        }
      } else if reader.equals(key, "rateLimits") {
        reader.field = "rateLimits"
        try reader.arrayStart()
        while try reader.nextElement() {
          if let weight = try readRateLimit(&reader) { list.weightPerMinute = weight }
        }
      } else {
        try reader.skipValue()
      }
    }
    // Without it every market would be taken for one that is not listed.
    guard isRead else { throw FeedError.missing("symbols", in: "exchangeInfo") }
    return list
  }

  /// `[{"symbol":"BTCUSDT","quoteVolume":"15.30000000",…},…]`
  func readTickers(_ body: RawSpan, into volumes: inout [String: Decimal64]) throws(FeedError) {
    var reader = FieldReader(body)
    try readVolumes(&reader, of: "symbol", "quoteVolume", into: &volumes)
  }

  private func readSymbol(_ reader: inout FieldReader) throws(FeedError) -> BinanceList.Symbol {
    var symbol = BinanceList.Symbol()
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "symbol") {
        symbol.name = try reader.decodedString("symbol")
      } else if reader.equals(key, "baseAsset") {
        symbol.base = try reader.decodedString("baseAsset")
      } else if reader.equals(key, "quoteAsset") {
        symbol.quote = try reader.decodedString("quoteAsset")
      } else if reader.equals(key, "contractType") {
        symbol.contract = try reader.decodedString("contractType")
      } else if reader.equals(key, "status") {
        let status = try reader.string("status")
        symbol.isTrading = reader.equals(status, "TRADING")
      } else if reader.equals(key, "pricePrecision") {
        symbol.priceScale = UInt8(clamping: try reader.int64("pricePrecision"))
      } else if reader.equals(key, "quantityPrecision") {
        symbol.sizeScale = UInt8(clamping: try reader.int64("quantityPrecision"))
      } else if reader.equals(key, "filters") {
        try reader.arrayStart()
        while try reader.nextElement() { try readFilter(&reader, &symbol) }
      } else {
        try reader.skipValue()
      }
    }
    guard !symbol.name.isEmpty else { throw FeedError.missing("symbol", in: "exchangeInfo symbol") }
    return symbol
  }

  /// A tick or step of 0 means that there is no such rule.
  private func readFilter(_ reader: inout FieldReader, _ symbol: inout BinanceList.Symbol) throws(FeedError) {
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "tickSize") {
        let value = try statistic(&reader, "tickSize")
        if let value, value.mantissa > 0 { symbol.priceIncrement = value }
      } else if reader.equals(key, "stepSize") {
        let value = try statistic(&reader, "stepSize")
        // LOT_SIZE comes before MARKET_LOT_SIZE, whose step is usually 0.
        if let value, value.mantissa > 0, symbol.sizeIncrement == nil { symbol.sizeIncrement = value }
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
