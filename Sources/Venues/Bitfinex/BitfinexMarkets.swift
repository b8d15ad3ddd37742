import Bytes
import MarketData

/// A pair of the list.
package struct BitfinexPair {
  /// As it is subscribed: `tBTCUST`, `tAVAX:USD`.
  package var name: String
  /// The currencies by Bitfinex' names.
  package var base: String
  package var quote: String
  /// By the names that they have elsewhere: `BTC-USDT`.
  package var symbol: FeedSymbol

  /// `BTCUST`, or `AVAX:USD` where a currency has more than three letters; nil for another shape.
  package init?(pair: String, names: [String: String] = [:]) {
    let parts = pair.split(separator: ":", omittingEmptySubsequences: false)
    if parts.count == 2, !parts[0].isEmpty, !parts[1].isEmpty {
      base = String(parts[0])
      quote = String(parts[1])
    } else if parts.count == 1, pair.utf8.count == 6, pair.count == 6 {
      base = String(pair.prefix(3))
      quote = String(pair.suffix(3))
    } else {
      return nil
    }
    name = "t" + pair
    symbol = FeedSymbol(base: Self.common(base, names: names), quote: Self.common(quote, names: names))
  }

  /// What a currency is called elsewhere.
  /// - Parameter names: the venue's own list of that, in any case of letters.
  static func common(_ currency: String, names: [String: String]) -> String {
    (names[currency] ?? Self.names[currency])?.uppercased() ?? currency
  }

  /// The names that most depends on, for where the venue's own list of them is missing.
  private static let names = ["UST": "USDT", "UDC": "USDC", "DSH": "DASH"]

  /// Reads `[["BTCUSD","BTCUST",…],[["UST","USDt"],…]]`: the pairs, and if it is there the names of currencies.
  package static func list(_ body: RawSpan) throws(FeedError) -> [BitfinexPair] {
    var reader = FieldReader(body)
    reader.field = "list"
    try reader.arrayStart()
    guard try reader.nextElement() else { throw FeedError.missing("pairs", in: "list") }
    let pairs = try reader.list { (reader, _) throws(FeedError) -> String? in try reader.decodedString("pair") }
    var names: [String: String] = [:]
    if try reader.nextElement() {
      names = Dictionary(try reader.textPairs()) { _, last in last }
      while try reader.nextElement() { try reader.skipValue() }
    }
    let all = pairs.compactMap { BitfinexPair(pair: $0, names: names) }
    // Of two currencies with one name, the one that is called so by the venue comes first.
    return all.filter { $0.isPlain } + all.filter { !$0.isPlain }
  }

  private var isPlain: Bool { symbol.base == base && symbol.quote == quote }
}

extension Bitfinex {
  /// The pairs, and what their currencies are called elsewhere.
  package static let listPath = "/v2/conf/pub:list:pair:exchange,pub:map:currency:sym"

  /// Amounts have at most eight digits after the point, and no list says a step of prices.
  static var listing: MarketListing {
    var listing = MarketListing(listPath) { (body) throws(FeedError) in
      ListPage(
        markets: try BitfinexPair.list(body).map {
          ListedMarket(
            venueSymbol: $0.name, symbol: $0.symbol, sizeIncrement: Decimal64(mantissa: 1, scale: 8))
        })
    }
    listing.bodyLimit = 4 << 20
    return listing
  }

  /// `[["tBTCUSD",BID,BID_SIZE,ASK,ASK_SIZE,CHANGE,CHANGE_RELATIVE,LAST,VOLUME,HIGH,LOW],["fUSD",…],…]`: volumes are
  /// in base units. Those of funding have other fields.
  static let volumes = VolumeListing("/v2/tickers?symbols=ALL") { (body, volumes) throws(FeedError) in
    var reader = FieldReader(body)
    reader.field = "tickers"
    _ = try reader.list { (reader, _) throws(FeedError) -> Bool? in
      let fields = try reader.list { (reader, _) throws(FeedError) -> FieldSlice? in try reader.rawValue("tickers") }
      guard fields.count > 8 else { return nil }
      var field = reader.reader(fields[0])
      let name = try field.decodedString("symbol")
      guard name.hasPrefix("t") else { return nil }
      field = reader.reader(fields[7])
      let last = try field.statistic("LAST_PRICE")
      field = reader.reader(fields[8])
      let volume = try field.statistic("VOLUME")
      try volumes.note(volume.flatMap { volume in last.flatMap { volume.product(with: $0) } }, of: name)
      return nil
    }
  }
}

extension Bitfinex {
  /// Two lists in one answer.
  static let assetNames = AssetNameFormat(
    path: "/v2/conf/pub:map:currency:label,pub:map:currency:sym", layout: .pairs)
}
