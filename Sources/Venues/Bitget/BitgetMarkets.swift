import Bytes
import MarketData

/// Bitget's lists: instruments, and the 24 h figures of all of them. Every answer is
/// `{"code":"00000","msg":…,"requestTime":…,"data":…}`, in one part.
extension Bitget {
  private static let code = ListFormat.Code(field: "code", good: "00000", message: "msg")

  static func listing(isSpot: Bool) -> MarketListing {
    MarketListing(
      isSpot ? "/api/v2/spot/public/symbols" : "/api/v2/mix/market/contracts?productType=USDT-FUTURES",
      ListFormat("instruments", at: "data", code: code)
    ) { (row) throws(FeedError) in try readMarket(row, isSpot: isSpot) }
  }

  /// `[{"symbol":"BTCUSDT","quoteVolume":"225237773.321358",…},…]`
  static func volumes(isSpot: Bool) -> VolumeListing {
    VolumeListing(
      isSpot ? "/api/v2/spot/market/tickers" : "/api/v2/mix/market/tickers?productType=USDT-FUTURES",
      ListFormat("tickers", at: "data", code: code), name: "symbol", volume: "quoteVolume")
  }

  /// A pair, whose `pricePrecision` and `quantityPrecision` are digits; or a contract, whose price has `pricePlace`
  /// digits and moves by `priceEndStep` of the last one. `sizeMultiplier` is the step of a size and no contract's size:
  /// that is 1. Nil for dated futures.
  private static func readMarket(_ row: borrowing FieldObject, isSpot: Bool) throws(FeedError) -> ListedMarket? {
    let symbol = FeedSymbol(
      base: try row.name("baseCoin"), quote: try row.name("quoteCoin"), kind: isSpot ? .spot : .perpetual)
    guard row.says("symbolType", "perpetual") ?? true else { return nil }
    let priceDigits = row.digits(isSpot ? "pricePrecision" : "pricePlace")
    let sizeDigits = row.digits(isSpot ? "quantityPrecision" : "volumePlace")
    let step = row.step("priceEndStep") ?? Decimal64(mantissa: 1, scale: 0)
    // What is traded, if by some people only, or may be left only.
    let isTrading = row.says(
      isSpot ? "status" : "symbolStatus", "online", "gray", "normal", "limit_open", "restrictedAPI")
    return ListedMarket(
      venueSymbol: try row.name("symbol"), symbol: symbol, priceScale: priceDigits, sizeScale: sizeDigits,
      priceIncrement: priceDigits.flatMap(Decimal64.init(lastOf:)).flatMap { $0.multiplied(by: step) },
      sizeIncrement: row.step("sizeMultiplier") ?? sizeDigits.flatMap(Decimal64.init(lastOf:)),
      state: .init(isTrading: isTrading ?? false))
  }
}
