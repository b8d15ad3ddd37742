import Bytes
import MarketData

/// Bitstamp's lists: markets, and the 24 h figures of all of them.
extension Bitstamp {
  /// The list by its present address, and by the one that it had before.
  package static let listPaths = ["/api/v2/markets/", "/api/v2/trading-pairs-info/"]

  static var listing: MarketListing {
    var listing = MarketListing(path: { listPaths[$0.isOtherWay ? 1 : 0] }, read: readList)
    // Not there, or not what it was. A failing server is no reason for the other address.
    listing.otherWayAfter = [200, 404, 410]
    return listing
  }

  /// `[{"market_symbol":"btcusd","base_currency":"BTC","base_decimals":8,"counter_currency":"USD",…},…]`, or the
  /// older `[{"url_symbol":"btcusd","name":"BTC/USD","base_decimals":8,…},…]`, by the names of channels (`btcusd`).
  /// Perpetuals are left out.
  @Sendable static func readList(_ body: RawSpan) throws(FeedError) -> ListPage {
    try ListFormat("list").markets(body) { (row) throws(FeedError) in
      guard let name = row.text("market_symbol") ?? row.text("url_symbol") else {
        throw FeedError.missing("market_symbol", in: "market")
      }
      let parts = (row.text("name") ?? "").split(separator: "/").map(String.init)
      let isPair = parts.count == 2
      guard row.text("market_type")?.uppercased() ?? "SPOT" == "SPOT", !name.hasSuffix("-perp"),
        let base = row.text("base_currency") ?? (isPair ? parts[0] : nil),
        let quote = row.text("counter_currency") ?? (isPair ? parts[1] : nil)
      else { return nil }
      return ListedMarket(
        venueSymbol: name, symbol: FeedSymbol(base: base.uppercased(), quote: quote.uppercased()),
        priceIncrement: row.digits("counter_decimals").flatMap(Decimal64.init(lastOf:)),
        sizeIncrement: row.digits("base_decimals").flatMap(Decimal64.init(lastOf:)),
        state: .init(isTrading: !(row.says("trading", "Disabled") ?? false)))
    }
  }

  /// `[{"pair":"BTC/USD","last":…,"volume":…,"vwap":…,…},…]`: volumes are in base units, `vwap` is the average price
  /// that they went at.
  static let volumes = VolumeListing("/api/v2/ticker/") { (body, volumes) throws(FeedError) in
    try ListFormat("tickers").read(body) { (row) throws(FeedError) in
      let name = row.text("pair") ?? row.text("market") ?? ""
      try volumes.note(
        row.product("volume", "vwap") ?? row.product("volume", "last"), of: name.replacing("/", with: "").lowercased())
    }
  }
}
