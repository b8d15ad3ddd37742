import Bytes
import MarketData

/// Deribit's lists: instruments, and the 24 h figures of all of them.
extension Deribit {
  /// `{"jsonrpc":"2.0","result":[{…},…]}`, without options, combos and spot. `instrument_type` says which contracts are
  /// linear, in older lists `future_type`; before that, all were inverse: their amounts are in US dollars.
  static let listing = MarketListing(
    "/api/v2/public/get_instruments?currency=any&kind=future&expired=false",
    ListFormat("get_instruments", at: "result")
  ) { (row) throws(FeedError) in
    let name = try row.name("instrument_name")
    guard row.says("kind", "future") == true, let base = row.text("base_currency"),
      let quote = row.text("quote_currency")
    else { return nil }
    let kind: Instrument.Kind
    if row.says("settlement_period", "perpetual") == true {
      kind = .perpetual
    } else if let day = VenueTime.epoch(row.integer("expiration_timestamp") ?? 0).map(VenueTime.day) {
      kind = .future(expiry: day)
    } else {
      return nil
    }
    let isLinear = row.says("instrument_type", "linear") ?? row.says("future_type", "linear") ?? false
    // Amounts are whole contracts, counted in the base currency.
    return ListedMarket(
      venueSymbol: name, symbol: FeedSymbol(base: base, quote: quote, kind: kind),
      priceIncrement: row.number("tick_size"), sizeIncrement: row.number("amount_step") ?? row.number("contract_size"),
      contractSize: isLinear ? Decimal64(mantissa: 1, scale: 0) : nil,
      state: .init(isTrading: row.flag("is_active") ?? true))
  }

  /// Of the currencies that linear contracts are settled in. `volume_notional` is in the quote currency.
  static let volumes = ["USDC", "USDT"].map {
    VolumeListing(
      "/api/v2/public/get_book_summary_by_currency?currency=\($0)&kind=future",
      ListFormat("get_book_summary_by_currency", at: "result"), name: "instrument_name", volume: "volume_notional")
  }
}

extension Deribit {
  /// `{"jsonrpc":"2.0","result":[{"currency":"BTC","currency_long":"Bitcoin",…}]}`
  static let assetNames = AssetNameFormat(
    path: "/api/v2/public/get_currencies",
    layout: .objects(under: ["result"], code: "currency", name: "currency_long"))
}
