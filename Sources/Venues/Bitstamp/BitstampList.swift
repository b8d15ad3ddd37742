import Bytes
import MarketData

/// An entry of the list of markets.
package struct BitstampMarket {
  /// As in the names of channels: `btcusd`.
  package var name: String
  /// `BTC-USD`
  package var symbol: FeedSymbol
  /// Digits after the point; nil where the list does not say.
  package var priceScale: UInt8?
  package var sizeScale: UInt8?
  /// Whether `trading` is `Enabled`.
  package var isTrading = true

  /// Reads `[{"market_symbol":"btcusd","base_currency":"BTC","base_decimals":8,"counter_currency":"USD",…},…]`, or the older
  /// `[{"url_symbol":"btcusd","name":"BTC/USD","base_decimals":8,…},…]`. Perpetuals are left out.
  package static func list(_ body: RawSpan) throws(FeedError) -> [BitstampMarket] {
    var list: [BitstampMarket] = []
    var reader = FieldReader(body)
    reader.field = "list"
    try reader.arrayStart()
    while try reader.nextElement() {
      if let market = try read(&reader) { list.append(market) }
      guard list.count <= 100_000 else { throw FeedError(.shape, "list of more than 100,000 markets") }
    }
    try reader.end()
    return list
  }

  private static func read(_ reader: inout FieldReader) throws(FeedError) -> BitstampMarket? {
    var symbol = ""
    var title = ""
    var base = ""
    var quote = ""
    var isSpot = true
    var isTrading = true
    var priceScale: UInt8?
    var sizeScale: UInt8?
    try reader.objectStart()
    while let key = try reader.nextKey() {
      let kind = reader.peek()
      if reader.equals(key, "market_symbol") || reader.equals(key, "url_symbol"), kind == .string {
        symbol = try reader.decodedString("market_symbol")
      } else if reader.equals(key, "name"), kind == .string {
        title = try reader.decodedString("name")
      } else if reader.equals(key, "base_currency"), kind == .string {
        base = try reader.decodedString("base_currency")
      } else if reader.equals(key, "counter_currency"), kind == .string {
        quote = try reader.decodedString("counter_currency")
      } else if reader.equals(key, "market_type"), kind == .string {
        isSpot = try reader.decodedString("market_type").uppercased() == "SPOT"
      } else if reader.equals(key, "trading"), kind == .string {
        let trading = try reader.string("trading")
        isTrading = !reader.equals(trading, "Disabled")
      } else if reader.equals(key, "counter_decimals"), kind == .number {
        priceScale = scale(try reader.int64("counter_decimals"))
      } else if reader.equals(key, "base_decimals"), kind == .number {
        sizeScale = scale(try reader.int64("base_decimals"))
      } else {
        try reader.skipValue()
      }
    }
    let parts = title.split(separator: "/")
    if base.isEmpty || quote.isEmpty, parts.count == 2 {
      base = String(parts[0])
      quote = String(parts[1])
    }
    guard !symbol.isEmpty else { throw FeedError.missing("market_symbol", in: "market") }
    guard isSpot, !base.isEmpty, !quote.isEmpty, !symbol.hasSuffix("-perp") else { return nil }
    return BitstampMarket(
      name: symbol, symbol: FeedSymbol(base: base.uppercased(), quote: quote.uppercased()), priceScale: priceScale,
      sizeScale: sizeScale, isTrading: isTrading)
  }

  private static func scale(_ digits: Int64) -> UInt8? { (0...12).contains(digits) ? UInt8(digits) : nil }
}

/// Reading the 24 h figures of all markets.
extension BitstampHandler {
  /// `[{"pair":"BTC/USD","last":…,"volume":…,"vwap":…,…},…]`: volumes are in base units, `vwap` is the average price that they went at.
  func readTickers(_ body: RawSpan, into volumes: inout [String: Decimal64]) throws(FeedError) {
    var reader = FieldReader(body)
    reader.field = "tickers"
    try reader.arrayStart()
    while try reader.nextElement() {
      var name = ""
      var last: Decimal64?
      var average: Decimal64?
      var volume: Decimal64?
      try reader.objectStart()
      while let key = try reader.nextKey() {
        if reader.equals(key, "pair") || reader.equals(key, "market"), reader.peek() == .string {
          name = try reader.decodedString("pair").replacing("/", with: "").lowercased()
        } else if reader.equals(key, "last") {
          last = try statistic(&reader, "last")
        } else if reader.equals(key, "vwap") {
          average = try statistic(&reader, "vwap")
        } else if reader.equals(key, "volume") {
          volume = try statistic(&reader, "volume")
        } else {
          try reader.skipValue()
        }
      }
      guard let volume, let price = average ?? last else { continue }
      try note(volume.product(with: price), of: name, in: &volumes)
    }
  }
}
