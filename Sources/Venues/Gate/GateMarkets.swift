import Bytes
import MarketData

/// Reading Gate's lists: instruments, and the 24 h figures of all of them.
extension Gate {
  /// `[{"id":"ETH_USDT","base":"ETH","quote":"USDT","precision":6,"amount_precision":3,"trade_status":"tradable",…},…]`:
  /// all of them in one.
  func readMarkets(_ body: RawSpan) throws(FeedError) -> [ListedMarket] {
    var reader = FieldReader(body)
    reader.field = "currency_pairs"
    return try reader.markets(readMarket)
  }

  /// `[{"currency_pair":"ETH_USDT","last":…,"base_volume":…,"quote_volume":"328461488.44111",…},…]`: 24 h figures of
  /// all markets.
  func readTickers(_ body: RawSpan, into volumes: inout [String: Decimal64]) throws(FeedError) {
    var reader = FieldReader(body)
    reader.field = "tickers"
    try reader.volumes(of: "currency_pair", "quote_volume", into: &volumes)
  }

  private func readMarket(_ reader: inout FieldReader) throws(FeedError) -> ListedMarket {
    var name = ""
    var base = ""
    var quote = ""
    // Digits after the point of prices and amounts; the increments are one of the last.
    var priceScale: UInt8?
    var sizeScale: UInt8?
    var isTraded = true
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "id") {
        name = try reader.decodedString("id")
      } else if reader.equals(key, "base") {
        base = try reader.decodedString("base")
      } else if reader.equals(key, "quote") {
        quote = try reader.decodedString("quote")
      } else if reader.equals(key, "precision"), reader.peek() == .number {
        priceScale = UInt8(clamping: try reader.int64("precision"))
      } else if reader.equals(key, "amount_precision"), reader.peek() == .number {
        sizeScale = UInt8(clamping: try reader.int64("amount_precision"))
      } else if reader.equals(key, "trade_status"), reader.peek() == .string {
        let status = try reader.string("trade_status")
        isTraded = !reader.equals(status, "untradable")
      } else {
        try reader.skipValue()
      }
    }
    guard !name.isEmpty, !base.isEmpty, !quote.isEmpty else {
      throw FeedError.missing("id, base or quote", in: "currency pair")
    }
    return ListedMarket(
      venueSymbol: name, symbol: FeedSymbol(base: base, quote: quote), priceScale: priceScale, sizeScale: sizeScale,
      priceIncrement: priceScale.flatMap(Self.increment), sizeIncrement: sizeScale.flatMap(Self.increment),
      state: isTraded ? .trading : .halted)
  }

  /// One of the last digit; nil beyond what a scale may be.
  private static func increment(_ scale: UInt8) -> Decimal64? {
    scale <= InstrumentTable.widestScale ? Decimal64(mantissa: 1, scale: scale) : nil
  }
}
