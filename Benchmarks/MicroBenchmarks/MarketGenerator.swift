import TestSupport

/// A seeded market that is written down in the documented message formats of venues.
struct MarketGenerator {
  /// Ticks of 0.01 around which prices stand.
  static let middle: Int64 = 6_412_350
  /// Sizes are counts of 10^-5.
  static let sizeScale = 5

  private var random: SeededGenerator
  private var sequence: Int64 = 50_093_239_189
  private var trade: Int64 = 3_735_683_259
  private var milliseconds: Int64 = 1_790_000_000_000

  init(seed: UInt64) { random = SeededGenerator(seed: seed) }

  /// The id that the first depth update continues.
  var sequenceBeforeFirst: Int64 { sequence - 1 }

  static func decimal(_ value: Int64, scale: Int) -> String {
    guard scale > 0 else { return "\(value)" }
    let digits = String(value)
    let padded = String(repeating: "0", count: max(0, scale + 1 - digits.count)) + digits
    return padded.dropLast(scale) + "." + padded.suffix(scale)
  }

  /// A price on the bid side (or ask side) of the middle, most often near it.
  private mutating func price(isBid: Bool) -> Int64 {
    let near = Int64(min(random.next().trailingZeroBitCount, 12)) * 16 + Int64.random(in: 0..<16, using: &random)
    return isBid ? Self.middle - 1 - near : Self.middle + near
  }

  private mutating func size() -> Int64 {
    Int.random(in: 0..<4, using: &random) == 0 ? 0 : Int64.random(in: 1...400_000, using: &random)
  }

  // MARK: Binance

  private mutating func binanceLevels(isBid: Bool) -> String {
    let count = Int.random(in: 10...30, using: &random)
    return (0..<count).map { _ in
      "[\"\(Self.decimal(price(isBid: isBid), scale: 2))000000\",\"\(Self.decimal(size(), scale: Self.sizeScale))000\"]"
    }.joined(separator: ",")
  }

  /// A combined-stream depth update with 20 to 60 levels, about 1.5 KB.
  mutating func binanceDepth() -> String {
    let first = sequence
    sequence += Int64.random(in: 1...40, using: &random)
    milliseconds += 100
    defer { sequence += 1 }
    return "{\"stream\":\"btcusdt@depth@100ms\",\"data\":{\"e\":\"depthUpdate\",\"E\":\(milliseconds),\"s\":\"BTCUSDT\""
      + ",\"U\":\(first),\"u\":\(sequence),\"b\":[\(binanceLevels(isBid: true))],\"a\":[\(binanceLevels(isBid: false))]}}"
  }

  mutating func binanceTrade() -> String {
    trade += 1
    milliseconds += 3
    return
      "{\"stream\":\"btcusdt@trade\",\"data\":{\"e\":\"trade\",\"E\":\(milliseconds),\"s\":\"BTCUSDT\",\"t\":\(trade)"
      + ",\"p\":\"\(Self.decimal(price(isBid: true), scale: 2))000000\""
      + ",\"q\":\"\(Self.decimal(Int64.random(in: 1...99_999, using: &random), scale: Self.sizeScale))000\""
      + ",\"T\":\(milliseconds - 1),\"m\":\(Bool.random(using: &random)),\"M\":true}}"
  }

  mutating func binanceBookTicker() -> String {
    sequence += 7
    return "{\"stream\":\"btcusdt@bookTicker\",\"data\":{\"u\":\(sequence),\"s\":\"BTCUSDT\""
      + ",\"b\":\"\(Self.decimal(price(isBid: true), scale: 2))000000\",\"B\":\"3.78826000\""
      + ",\"a\":\"\(Self.decimal(price(isBid: false), scale: 2))000000\""
      + ",\"A\":\"\(Self.decimal(Int64.random(in: 1...999_999, using: &random), scale: Self.sizeScale))000\"}}"
  }

  /// The answer to the depth request: `levels` a side around the middle.
  func binanceSnapshot(levels: Int) -> String {
    func side(_ isBid: Bool) -> String {
      (0..<Int64(levels)).map { rank in
        let price = isBid ? Self.middle - 1 - rank : Self.middle + rank
        return "[\"\(Self.decimal(price, scale: 2))000000\",\"1.50000000\"]"
      }.joined(separator: ",")
    }
    return "{\"lastUpdateId\":\(sequenceBeforeFirst),\"bids\":[\(side(true))],\"asks\":[\(side(false))]}"
  }

  static let binanceExchangeInfo = """
    {"timezone":"UTC","serverTime":1790000000000,"rateLimits":[],"exchangeFilters":[],"symbols":[{"symbol":"BTCUSDT",\
    "status":"TRADING","baseAsset":"BTC","baseAssetPrecision":8,"quoteAsset":"USDT","quotePrecision":8,\
    "quoteAssetPrecision":8,"orderTypes":["LIMIT"],"isSpotTradingAllowed":true,"filters":[{"filterType":"PRICE_FILTER",\
    "minPrice":"0.01000000","maxPrice":"1000000.00000000","tickSize":"0.01000000"},{"filterType":"LOT_SIZE",\
    "minQty":"0.00001000","maxQty":"9000.00000000","stepSize":"0.00001000"}],"permissions":["SPOT"]}]}
    """

  // MARK: Coinbase

  static let coinbaseProducts = """
    [{"id":"BTC-USD","base_currency":"BTC","quote_currency":"USD","quote_increment":"0.01","base_increment":"0.00000001",\
    "display_name":"BTC-USD","min_market_funds":"1","status":"online","trading_disabled":false}]
    """

  static let coinbaseSnapshot = """
    {"type":"snapshot","product_id":"BTC-USD","asks":[["64123.50","0.20084671"]],"bids":[["64123.49","0.59153273"]]}
    """

  private mutating func coinbaseTime() -> String {
    milliseconds += 50
    let rest = milliseconds % 1_000
    return "2026-08-25T03:35:\(Self.padded(milliseconds / 1_000 % 60, 2)).\(Self.padded(rest, 3))335Z"
  }

  private static func padded(_ value: Int64, _ width: Int) -> String {
    String(repeating: "0", count: max(0, width - String(value).count)) + String(value)
  }

  /// An `l2update` with 1 to 20 changes.
  mutating func coinbaseUpdate() -> String {
    let count = Int.random(in: 1...20, using: &random)
    let changes = (0..<count).map { _ in
      let isBid = Bool.random(using: &random)
      let price = Self.decimal(price(isBid: isBid), scale: 2)
      return "[\"\(isBid ? "buy" : "sell")\",\"\(price)\",\"\(Self.decimal(size(), scale: 8))\"]"
    }
    return "{\"type\":\"l2update\",\"product_id\":\"BTC-USD\",\"changes\":[\(changes.joined(separator: ","))]"
      + ",\"time\":\"\(coinbaseTime())\"}"
  }

  mutating func coinbaseMatch() -> String {
    trade += 1
    sequence += 3
    return "{\"type\":\"match\",\"trade_id\":\(trade),\"maker_order_id\":\"f07e510f-7d0f-4b3b-9f0e-0c4a8d1e2f30\""
      + ",\"taker_order_id\":\"e6f50944-55c1-4d6c-8d45-6c6b1f0a9e21\",\"side\":\"sell\""
      + ",\"size\":\"\(Self.decimal(Int64.random(in: 1...99_999_999, using: &random), scale: 8))\""
      + ",\"price\":\"\(Self.decimal(price(isBid: true), scale: 2))\",\"product_id\":\"BTC-USD\""
      + ",\"sequence\":\(sequence),\"time\":\"\(coinbaseTime())\"}"
  }

  // MARK: Kraken

  static let krakenInstruments = """
    {"channel":"instrument","type":"snapshot","data":{"assets":[],"pairs":[{"symbol":"BTC/USD","base":"BTC","quote":"USD",\
    "status":"online","qty_precision":8,"qty_increment":0.00000001,"price_precision":2,"cost_precision":5,\
    "marginable":true,"has_index":true,"cost_min":0.5,"price_increment":0.01,"qty_min":0.00005}]}}
    """

  static let krakenSnapshot = """
    {"channel":"book","type":"snapshot","data":[{"symbol":"BTC/USD","bids":[{"price":64123.49,"qty":0.59153273}],\
    "asks":[{"price":64123.50,"qty":0.20084671}],"checksum":2505869009,"timestamp":"2026-08-26T15:16:16.730423Z"}]}
    """

  private mutating func krakenLevels(isBid: Bool, _ count: Int) -> String {
    (0..<count).map { _ in
      "{\"price\":\(Self.decimal(price(isBid: isBid), scale: 2)),\"qty\":\(Self.decimal(size(), scale: 8))}"
    }.joined(separator: ",")
  }

  /// A book update with 1 to 6 levels.
  mutating func krakenUpdate() -> String {
    let bids = Int.random(in: 0...3, using: &random)
    let asks = Int.random(in: 1...3, using: &random)
    return "{\"channel\":\"book\",\"type\":\"update\",\"data\":[{\"symbol\":\"BTC/USD\""
      + ",\"bids\":[\(krakenLevels(isBid: true, bids))],\"asks\":[\(krakenLevels(isBid: false, asks))]"
      + ",\"checksum\":\(UInt32.random(in: .min ... .max, using: &random)),\"timestamp\":\"\(coinbaseTime())\"}]}"
  }
}
