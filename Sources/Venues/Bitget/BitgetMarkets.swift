import Bytes
import MarketData

/// Reading Bitget's lists: instruments, and the 24 h figures of all of them. Every answer is
/// `{"code":"00000","msg":…,"requestTime":…,"data":…}`, in one part.
extension Bitget {
  func readMarkets(_ body: RawSpan) throws(FeedError) -> [ListedMarket] {
    var list: [ListedMarket]?
    try readAnswer(body, "instruments") { (reader) throws(FeedError) in list = try reader.markets(readMarket) }
    guard let list else { throw FeedError.missing("data", in: "instruments") }
    return list
  }

  /// `[{"symbol":"BTCUSDT","quoteVolume":"225237773.321358",…},…]`
  func readTickers(_ body: RawSpan, into volumes: inout [String: Decimal64]) throws(FeedError) {
    try readAnswer(body, "tickers") { (reader) throws(FeedError) in
      try reader.volumes(of: "symbol", "quoteVolume", into: &volumes)
    }
  }

  private func readAnswer(
    _ body: RawSpan, _ what: StaticString, _ read: (inout FieldReader) throws(FeedError) -> Void
  ) throws(FeedError) {
    var reader = FieldReader(body)
    reader.field = what
    var code = ""
    var message = ""
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "code") {
        code = try reader.decodedString("code")
      } else if reader.equals(key, "msg"), reader.peek() == .string {
        message = try reader.decodedString("msg")
      } else if reader.equals(key, "data"), reader.peek() == .array {
        try read(&reader)
      } else {
        try reader.skipValue()
      }
    }
    guard code == "00000" else { throw FeedError(.refused, "\(what): code \(code), \(message)") }
  }

  /// A pair, whose `pricePrecision` and `quantityPrecision` are digits; or a contract, whose price has `pricePlace`
  /// digits and moves by `priceEndStep` of the last one. `sizeMultiplier` is the step of a size and no contract's size:
  /// that is 1. Nil for dated futures.
  private func readMarket(_ reader: inout FieldReader) throws(FeedError) -> ListedMarket? {
    var name = ""
    var base = ""
    var quote = ""
    var digits: (price: Decimal64?, size: Decimal64?) = (nil, nil)
    var step = Decimal64(mantissa: 1, scale: 0)
    var sizeStep: Decimal64?
    var isCarried = true
    var isTraded = false
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "symbol") {
        name = try reader.decodedString("symbol")
      } else if reader.equals(key, "baseCoin") {
        base = try reader.decodedString("baseCoin")
      } else if reader.equals(key, "quoteCoin") {
        quote = try reader.decodedString("quoteCoin")
      } else if reader.equals(key, "pricePrecision") || reader.equals(key, "pricePlace") {
        digits.price = try reader.statistic("price digits")
      } else if reader.equals(key, "quantityPrecision") || reader.equals(key, "volumePlace") {
        digits.size = try reader.statistic("size digits")
      } else if reader.equals(key, "priceEndStep") {
        if let read = try reader.statistic("priceEndStep"), read.mantissa > 0 { step = read }
      } else if reader.equals(key, "sizeMultiplier") {
        if let read = try reader.statistic("sizeMultiplier"), read.mantissa > 0 { sizeStep = read }
      } else if reader.equals(key, "symbolType") {
        isCarried = reader.equals(try reader.string("symbolType"), "perpetual")
      } else if reader.equals(key, "status") || reader.equals(key, "symbolStatus") {
        let state = try reader.string("status")
        isTraded = Self.traded.contains { reader.equals(state, $0) }
      } else {
        try reader.skipValue()
      }
    }
    guard !name.isEmpty, !base.isEmpty, !quote.isEmpty else {
      throw FeedError.missing("symbol, baseCoin or quoteCoin", in: "instrument")
    }
    guard isCarried else { return nil }
    let (priceScale, sizeScale) = (Self.scale(digits.price), Self.scale(digits.size))
    return ListedMarket(
      venueSymbol: name, symbol: FeedSymbol(base: base, quote: quote, kind: isSpot ? .spot : .perpetual),
      priceScale: priceScale, sizeScale: sizeScale,
      priceIncrement: priceScale.flatMap { Decimal64(mantissa: 1, scale: $0).multiplied(by: step) },
      sizeIncrement: sizeStep ?? sizeScale.map { Decimal64(mantissa: 1, scale: $0) },
      state: isTraded ? .trading : .halted)
  }

  /// What is said of pairs and of contracts that are traded, if by some people only, or that one may leave only.
  private static let traded: [StaticString] = ["online", "gray", "normal", "limit_open", "restrictedAPI"]

  /// A number of digits; nil beyond what a scale may be.
  private static func scale(_ digits: Decimal64?) -> UInt8? {
    guard let digits = digits?.trimmed, digits.scale == 0 else { return nil }
    return UInt8(exactly: digits.mantissa).flatMap { $0 <= InstrumentTable.widestScale ? $0 : nil }
  }
}
