import Bytes
import MarketData

/// The lists of Kraken Futures: instruments, and the 24 h figures of all of them.
extension KrakenFutures {
  private static let code = ListFormat.Code(field: "result", good: "success", message: "error")

  /// `{"result":"success","instruments":[{"symbol":"PF_ETHUSD","type":"flexible_futures","tickSize":0.1,"contractSize":1,"contractValueTradePrecision":3,"tradeable":true,"base":"ETH","quote":"USD",…},…]}`:
  /// all of them in one, with indices, options and inverse contracts. Names were in small letters in 2021.
  static let listing = MarketListing(
    "/derivatives/api/v3/instruments", ListFormat("instruments", at: "instruments", code: code)
  ) {
    (row) throws(FeedError) in
    let name = venueName(try row.name("symbol"))
    guard row.says("type", "flexible_futures") == true, let symbol = symbol(name, row.text("base"), row.text("quote"))
    else { return nil }
    return ListedMarket(
      venueSymbol: name, symbol: symbol, priceIncrement: row.number("tickSize"),
      sizeIncrement: row.integer("contractValueTradePrecision").flatMap(lot),
      contractSize: row.number("contractSize") ?? Decimal64(mantissa: 1, scale: 0),
      state: .init(isTrading: row.flag("tradeable") ?? true))
  }

  /// In capitals, as streams have it; a name of today may have small letters of its own (`PF_AAPLxUSD`).
  private static func venueName(_ listed: String) -> String {
    listed.hasPrefix("pf_") || listed.hasPrefix("ff_") ? listed.uppercased() : listed
  }

  /// The step of sizes by its digits after the point: 0.001 of 3, 1,000 of -3.
  private static func lot(_ digits: Int64) -> Decimal64? {
    guard (-12...Int64(InstrumentTable.widestScale)).contains(digits) else { return nil }
    return digits >= 0
      ? Decimal64(lastOf: UInt8(digits)) : Decimal64(mantissa: Int64(DecimalText.power(UInt8(-digits))), scale: 0)
  }

  /// A market by its name, `PF_XBTUSD` or `FF_XBTUSD_261225`: Bitcoin is XBT there, and BTC in `base`. Nil for a name
  /// of another form.
  static func symbol(_ name: String, _ base: String? = nil, _ quote: String? = nil) -> FeedSymbol? {
    let parts = name.split(separator: "_", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == (parts[0] == "PF" ? 2 : 3), ["PF", "FF"].contains(parts[0]), parts[1].utf8.count > 3 else {
      return nil
    }
    let kind: Instrument.Kind
    if parts.count == 3 {
      guard parts[2].utf8.count == 6, FeedSymbol("A-B-20\(parts[2])") != nil else { return nil }
      kind = .future(expiry: "20" + parts[2])
    } else {
      kind = .perpetual
    }
    let asset = String(parts[1].dropLast(3))
    return FeedSymbol(
      base: base ?? (asset == "XBT" ? "BTC" : asset), quote: quote ?? String(parts[1].suffix(3)), kind: kind)
  }

  /// `{"result":"success","tickers":[{"symbol":"PF_ETHUSD","vol24h":…,"volumeQuote":1600000.0,…},…]}`; `volumeQuote` is
  /// in the quote currency for linear contracts.
  static let volumes = VolumeListing("/derivatives/api/v3/tickers") { (body, volumes) throws(FeedError) in
    try ListFormat("tickers", at: "tickers", code: code).read(body) { (row) throws(FeedError) in
      try volumes.note(row.number("volumeQuote"), of: venueName(row.text("symbol") ?? ""))
    }
  }
}
