import Bytes
import MarketData

/// Reading KuCoin's lists: instruments, and the 24 h figures of all of them.
extension KuCoin {
  /// `{"code":"200000","data":[{"symbol":"BTC-USDT","baseCurrency":…,"quoteCurrency":…,"baseIncrement":…,"priceIncrement":…,"enableTrading":true},…]}`:
  /// all of them in one.
  func readMarkets(_ body: RawSpan) throws(FeedError) -> [ListedMarket] {
    var reader = FieldReader(body)
    var code = "200000"
    var message = "no reason given"
    var list: [ListedMarket]?
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "code"), reader.peek() == .string {
        code = try reader.decodedString("code")
      } else if reader.equals(key, "msg"), reader.peek() == .string {
        message = try reader.decodedString("msg")
      } else if reader.equals(key, "data"), reader.peek() == .array {
        list = try reader.markets(readMarket)
      } else {
        try reader.skipValue()
      }
    }
    guard code == "200000" else { throw FeedError(.refused, "symbols: code \(code), \(message)") }
    guard let list else { throw FeedError.missing("data", in: "symbols") }
    return list
  }

  /// `{"code":"200000","data":{"time":…,"ticker":[{"symbol":"BTC-USDT","vol":…,"volValue":"133988049.45",…},…]}}`: 24
  /// h figures of all markets; `volValue` is in the quote currency.
  func readTickers(_ body: RawSpan, into volumes: inout [String: Decimal64]) throws(FeedError) {
    var reader = FieldReader(body)
    var code = "200000"
    var isThere = false
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "code"), reader.peek() == .string {
        code = try reader.decodedString("code")
      } else if reader.equals(key, "data"), reader.peek() == .object {
        try reader.objectStart()
        while let key = try reader.nextKey() {
          if reader.equals(key, "ticker"), reader.peek() == .array {
            isThere = true
            try reader.volumes(of: "symbol", "volValue", into: &volumes)
          } else {
            try reader.skipValue()
          }
        }
      } else {
        try reader.skipValue()
      }
    }
    guard code == "200000" else { throw FeedError(.refused, "allTickers: code \(code)") }
    guard isThere else { throw FeedError.missing("ticker", in: "allTickers") }
  }

  private func readMarket(_ reader: inout FieldReader) throws(FeedError) -> ListedMarket {
    var name = ""
    var base = ""
    var quote = ""
    var price: (increment: Decimal64?, scale: UInt8) = (nil, 0)
    var size: (increment: Decimal64?, scale: UInt8) = (nil, 0)
    var isTraded = true
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "symbol") {
        name = try reader.decodedString("symbol")
      } else if reader.equals(key, "baseCurrency") {
        base = try reader.decodedString("baseCurrency")
      } else if reader.equals(key, "quoteCurrency") {
        quote = try reader.decodedString("quoteCurrency")
      } else if reader.equals(key, "priceIncrement"), reader.peek() == .string {
        price = try reader.step("priceIncrement")
      } else if reader.equals(key, "baseIncrement"), reader.peek() == .string {
        size = try reader.step("baseIncrement")
      } else if reader.equals(key, "enableTrading"), reader.peek() == .bool {
        isTraded = try reader.bool("enableTrading")
      } else {
        try reader.skipValue()
      }
    }
    guard !name.isEmpty, !base.isEmpty, !quote.isEmpty else {
      throw FeedError.missing("symbol, baseCurrency or quoteCurrency", in: "symbol")
    }
    return ListedMarket(
      venueSymbol: name, symbol: FeedSymbol(base: base, quote: quote), priceScale: price.scale, sizeScale: size.scale,
      priceIncrement: price.increment, sizeIncrement: size.increment, state: isTraded ? .trading : .halted)
  }
}
