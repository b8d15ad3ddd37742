import Bytes
import MarketData

/// Reading Bitstamp's lists: markets, and the 24 h figures of all of them.
extension Bitstamp {
  /// `[{"market_symbol":"btcusd","base_currency":"BTC","base_decimals":8,"counter_currency":"USD",…},…]`, or the
  /// older `[{"url_symbol":"btcusd","name":"BTC/USD","base_decimals":8,…},…]`, by the names of channels (`btcusd`).
  /// Perpetuals are left out.
  package static func readMarkets(_ body: RawSpan) throws(FeedError) -> [ListedMarket] {
    var reader = FieldReader(body)
    reader.field = "list"
    let list = try reader.markets(readMarket)
    try reader.end()
    return list
  }

  private static func readMarket(_ reader: inout FieldReader) throws(FeedError) -> ListedMarket? {
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
    return ListedMarket(
      venueSymbol: symbol, symbol: FeedSymbol(base: base.uppercased(), quote: quote.uppercased()),
      priceIncrement: priceScale.map { Decimal64(mantissa: 1, scale: $0) },
      sizeIncrement: sizeScale.map { Decimal64(mantissa: 1, scale: $0) }, state: isTrading ? .trading : .halted)
  }

  private static func scale(_ digits: Int64) -> UInt8? { (0...12).contains(digits) ? UInt8(digits) : nil }

  /// `[{"pair":"BTC/USD","last":…,"volume":…,"vwap":…,…},…]`: volumes are in base units, `vwap` is the average price
  /// that they went at.
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
          last = try reader.statistic("last")
        } else if reader.equals(key, "vwap") {
          average = try reader.statistic("vwap")
        } else if reader.equals(key, "volume") {
          volume = try reader.statistic("volume")
        } else {
          try reader.skipValue()
        }
      }
      guard let volume, let price = average ?? last else { continue }
      try MarketList.note(volume.product(with: price), of: name, in: &volumes)
    }
  }
}
