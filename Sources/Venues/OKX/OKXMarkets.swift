import Bytes
import MarketData

/// OKX's lists: instruments, and the 24 h figures of all of them. Every answer is `{"code":"0","msg":"","data":[{…}]}`.
extension OKX {
  private static let code = ListFormat.Code(field: "code", good: "0", message: "msg")
  /// The kinds of market, by OKX's names; each has a list of its own.
  private static let types: [(family: Instrument.Kind.Family, name: String)] = [
    (.spot, "SPOT"), (.perpetual, "SWAP"), (.future, "FUTURES"),
  ]

  /// One kind of instrument after the other.
  static let listing = MarketListing(
    path: { query in
      let types = types.filter { query.families.contains($0.family) }
      return query.part < types.count ? "/api/v5/public/instruments?instType=\(types[query.part].name)" : nil
    },
    read: { (body) throws(FeedError) in
      var page = try ListFormat("instruments", at: "data", code: code).markets(body, readMarket)
      page.goesOn = true
      return page
    })

  /// `{"instType":…,"instId":…,"last":…,"volCcy24h":…}`; `volCcy24h` is in the quote currency on spot and in base units
  /// on contracts, where the last price makes it one of the quote currency.
  static let volumes = types.map { type in
    VolumeListing(
      "/api/v5/market/tickers?instType=\(type.name)", of: type.family, ListFormat("tickers", at: "data", code: code),
      name: "instId"
    ) { $0.says("instType", "SPOT") == true ? $0.number("volCcy24h") : $0.product("volCcy24h", "last") }
  }

  /// By its name, which says all that is needed: `BTC-USDT`, `BTC-USDT-SWAP`, `BTC-USDT-261225`. Nil for options and
  /// what else has another form of name.
  private static func readMarket(_ row: borrowing FieldObject) throws(FeedError) -> ListedMarket? {
    let name = try row.name("instId")
    let parts = name.split(separator: "-").map(String.init)
    let kind: Instrument.Kind
    switch (parts.count, row.text("instType")) {
    case (2, "SPOT"): kind = .spot
    case (3, "SWAP") where parts[2] == "SWAP": kind = .perpetual
    case (3, "FUTURES") where parts[2].utf8.count == 6: kind = .future(expiry: "20" + parts[2])
    default: return nil
    }
    var contract: Decimal64? = Decimal64(mantissa: 1, scale: 0)
    if kind != .spot {
      let multiplier = row.number("ctMult") ?? Decimal64(mantissa: 1, scale: 0)
      contract = row.says("ctType", "linear") == true ? row.number("ctVal")?.multiplied(by: multiplier) : nil
    }
    return ListedMarket(
      venueSymbol: name, symbol: FeedSymbol(base: parts[0], quote: parts[1], kind: kind),
      priceIncrement: row.number("tickSz"), sizeIncrement: row.number("lotSz"), contractSize: contract,
      state: .init(isTrading: row.says("state", "live") ?? true))
  }
}

extension OKX {
  /// Up to 100 trades before the cursor `after`, a trade's number, the newest first. Where a message of the stream
  /// stands for several fills, each is a row here. Twenty requests in two seconds.
  static let tradePages = TradePages(
    path: [.key("data")],
    layout: .object([
      ("tradeId", .id), ("px", .price), ("sz", .size), ("side", .side(buy: "buy", sell: "sell")), ("ts", .time(.epoch)),
    ]), requestsPerMinute: 120
  ) { query in
    "/api/v5/market/history-trades?instId=\(query.instrument.venueSymbol)&type=1&after=\(query.last + 1)"
      + "&limit=\(min(100, query.count))"
  }
}
