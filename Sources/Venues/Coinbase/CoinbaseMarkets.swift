import Bytes
import MarketData

/// Coinbase's lists: products, and the 24 h figures of all of them.
extension Coinbase {
  /// `[{"id":"BTC-USD","base_currency":…,"quote_currency":…,"quote_increment":"0.01","base_increment":…,"status":"online",…},…]`
  static let listing = MarketListing("/products", ListFormat("products")) { (row) throws(FeedError) in
    // Whether `status` is `online` and no flag keeps orders from being matched.
    var isTrading = row.says("status", "online") ?? true
    for flag: StaticString in ["trading_disabled", "cancel_only", "post_only", "auction_mode"] {
      if row.flag(flag) ?? false { isTrading = false }
    }
    return ListedMarket(
      venueSymbol: try row.name("id"),
      symbol: FeedSymbol(base: try row.name("base_currency"), quote: try row.name("quote_currency")),
      priceIncrement: row.number("quote_increment"), sizeIncrement: row.number("base_increment"),
      state: .init(isTrading: isTrading))
  }

  /// `{"BTC-USD":{"stats_24hour":{"last":"…","volume":"…",…},…},…}`; `volume` is in base units, and the last price
  /// makes it one of the quote currency.
  static let volumes = VolumeListing("/products/stats") { (body, volumes) throws(FeedError) in
    var reader = FieldReader(body)
    reader.field = "stats"
    try reader.objectStart()
    while let product = try reader.nextKey() {
      let name = reader.plainText(product)
      let day = try FieldObject(&reader, "stats").object("stats_24hour")
      try volumes.note(day?.product("volume", "last"), of: name)
    }
  }
}

extension Coinbase {
  /// Up to 1,000 trades before the cursor `after`, a trade's number, the newest first. `side` is the maker's. Ten
  /// requests a second.
  static let tradePages = TradePages(
    path: [],
    layout: .object([
      ("trade_id", .id), ("price", .price), ("size", .size), ("side", .side(buy: "sell", sell: "buy")),
      ("time", .time(.text)),
    ]), requestsPerMinute: 60
  ) { query in
    "/products/\(query.instrument.venueSymbol)/trades?limit=\(min(1_000, query.count))&after=\(query.last + 1)"
  }
}

extension Coinbase {
  /// `[{"id":"BTC","name":"Bitcoin","min_size":"0.00000001",…}]`, fiat money too.
  static let assetNames = AssetNameFormat(path: "/currencies", layout: .objects(under: [], code: "id", name: "name"))
}
