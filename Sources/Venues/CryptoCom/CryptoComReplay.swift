import MarketData

extension CryptoCom {
  /// A name is one of the venue (`BTC_USD`, `BTCUSD-PERP`, `BTCUSD-261225`), or a symbol as it was configured.
  static let replay = VenueReplay(
    title: "Crypto.com spot, perpetuals and futures", names: ["crypto-com"],
    lists: ["/exchange/v1/public/get-instruments"], marketFields: [MarketField("instrument_name")],
    made: MadeList(#"{"code":0,"result":{"data":["#, "symbol", "base_ccy", "quote_ccy", tail: "]}}")
  ) { (name, _) throws(RecordedNameError) in
    if let kind = kind(of: name), let pair = name.split(separator: "-").first {
      guard kind != .spot else { return try .separated(name, by: "_") }
      // `BTC-USD-PERP` is no name of the venue's.
      guard let symbol = FeedSymbol(name), symbol.kind != .spot else {
        return NamedMarket(name: name, symbol: try NamedMarket.joined(String(pair), kind).symbol)
      }
    }
    guard let symbol = FeedSymbol(name) else {
      throw RecordedNameError("\(name) is no spot market, perpetual or future of Crypto.com")
    }
    return NamedMarket(name: recordedName(symbol), symbol: symbol)
  }

  private static func recordedName(_ symbol: FeedSymbol) -> String {
    switch symbol.kind {
    case .spot: "\(symbol.base)_\(symbol.quote)"
    case .perpetual: "\(symbol.base)\(symbol.quote)-PERP"
    case .future(let expiry): "\(symbol.base)\(symbol.quote)-\(expiry.dropFirst(2))"
    }
  }
}
