import Bytes
import MarketData

/// What is asked of Gate by REST: instruments, the 24 h figures of all of them, snapshots of books.
extension Gate {
  /// `[{"id":"ETH_USDT","base":"ETH","quote":"USDT","precision":6,"amount_precision":3,"trade_status":"tradable",…},…]`:
  /// all of them in one. Increments are one of the last digit.
  static let listing = MarketListing("/api/v4/spot/currency_pairs", ListFormat("currency_pairs")) {
    (row) throws(FeedError) in
    let (price, size) = (row.digits("precision"), row.digits("amount_precision"))
    return ListedMarket(
      venueSymbol: try row.name("id"), symbol: FeedSymbol(base: try row.name("base"), quote: try row.name("quote")),
      priceScale: price, sizeScale: size, priceIncrement: price.flatMap(Decimal64.init(lastOf:)),
      sizeIncrement: size.flatMap(Decimal64.init(lastOf:)),
      state: .init(isTrading: row.says("trade_status", "untradable") != true))
  }

  /// `[{"currency_pair":"ETH_USDT","last":…,"base_volume":…,"quote_volume":"328461488.44111",…},…]`
  static let volumes = VolumeListing(
    "/api/v4/spot/tickers", ListFormat("tickers"), name: "currency_pair", volume: "quote_volume")

  @Sendable static func snapshotPath(_ instrument: Instrument, _ levels: Int) -> String {
    let symbol = URLText.percentEncoded(instrument.venueSymbol)
    return "/api/v4/spot/order_book?currency_pair=\(symbol)&limit=\(levels)&with_id=true"
  }

  /// `{"id":…,"current":…,"update":…,"asks":[["price","size"],…],"bids":[…]}`
  @Sendable static func readSnapshot(
    _ reader: inout FieldReader, _ index: Int, _ instruments: inout InstrumentTable, _ batch: inout EventBatch
  ) throws(FeedError) -> Int64 {
    try instruments.readSnapshot(&reader, index, number: "id", BookFormat(title: "order book"), into: &batch)
  }
}
