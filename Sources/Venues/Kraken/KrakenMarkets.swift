import Bytes
import MarketData

/// Kraken's list of pairs, which is a channel, and the 24 h figures of all of them, which come by REST.
extension Kraken {
  /// `{"assets":[…],"pairs":[{"symbol":…,"price_precision":…,"qty_precision":…,…}]}`: an object, not an array.
  func readInstruments(
    _ reader: inout FieldReader, isSnapshot: Bool, _ outcome: inout MessageOutcome
  ) throws(FeedError) {
    // Changes of pairs while subscribed are changes of status or limits; a new precision shows in the values
    // themselves.
    guard isSnapshot else { return }
    var markets: [ListedMarket] = []
    reader.field = "data"
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "pairs") {
        markets = try reader.list { (reader, _) throws(FeedError) -> ListedMarket? in
          try Self.pair(try FieldObject(&reader, "instrument pair"))
        }
      } else {
        try reader.skipValue()
      }
    }
    outcome.report(.listed(markets))
  }

  /// Nil for a name that is no pair of currencies. Orders are matched while the status is `online`, `limit_only` or
  /// `reduce_only`; the others are `cancel_only`, `post_only`, `work_in_progress`, `delisted`, `maintenance`.
  private static func pair(_ row: borrowing FieldObject) throws(FeedError) -> ListedMarket? {
    let name = try row.name("symbol")
    let parts = name.split(separator: "/").map(String.init)
    guard parts.count == 2 else { return nil }
    return ListedMarket(
      venueSymbol: name, symbol: FeedSymbol(base: parts[0], quote: parts[1]),
      priceScale: row.digits("price_precision"), sizeScale: row.digits("qty_precision"),
      priceIncrement: row.number("price_increment"), sizeIncrement: row.number("qty_increment"),
      state: .init(isTrading: row.says("status", "online", "limit_only", "reduce_only") ?? true))
  }

  /// The names of the feed (`BTC/USD`) by those of REST (`XXBTZUSD`), which still says XBT and XDG.
  private static let names = VolumeListing("/0/public/AssetPairs") { (body, volumes) throws(FeedError) in
    try readResult(body) { (name, pair) in
      let parts = (pair.text("wsname") ?? "").split(separator: "/")
      guard parts.count == 2 else { return }
      volumes.aliases[name] = parts.map { $0 == "XBT" ? "BTC" : $0 == "XDG" ? "DOGE" : $0 }.joined(separator: "/")
    }
  }

  /// `{"v":["today","24 h"], "p":["today","24 h"],…}`: volume in base units and its average price.
  private static let figures = VolumeListing("/0/public/Ticker") { (body, volumes) throws(FeedError) in
    try readResult(body) { (name, day) throws(FeedError) in
      let volume = day.elements("v") { (value) throws(FeedError) in try value.statistic("v") }
      let price = day.elements("p") { (value) throws(FeedError) in try value.statistic("p") }
      guard let known = volumes.aliases[name], volume.count > 1, price.count > 1 else { return }
      try volumes.note(volume[1].product(with: price[1]), of: known)
    }
  }

  static let volumes = [names, figures]

  /// Reads each object in `{"error":[],"result":{"XXBTZUSD":{…},…}}`.
  private static func readResult(
    _ body: RawSpan, _ read: (String, borrowing FieldObject) throws(FeedError) -> Void
  ) throws(FeedError) {
    var reader = FieldReader(body)
    let answer = try FieldObject(&reader, "REST answer")
    // Its warnings begin with W.
    let errors = answer.elements("error") { (value) throws(FeedError) in try value.decodedString("error") }
    if let error = errors.first(where: { $0.hasPrefix("E") }) { throw FeedError(.refused, error) }
    try answer.namedObjects("result", read)
  }
}

extension Kraken {
  /// Up to 1,000 trades after `since`, a time in ns that is itself left out, the oldest first. One request a second.
  static let tradePages = TradePages(
    path: [.key("result"), .firstArray],
    layout: .array([.price, .size, .seconds, .side(buy: "b", sell: "s"), .other, .other, .id]), requestsPerMinute: 20
  ) { query in
    // The docs' times have digits below a µs, which are cut here.
    "/0/public/Trades?pair=\(query.instrument.venueSymbol)&since=\(query.from.microseconds - 1)000&count=1000"
  }
}
