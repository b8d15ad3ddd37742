import MarketData

/// Every venue the gateway can speak to, a line each.
package enum VenueRegistry {
  package static let venues: [Venue] = [
    Binance.venue,
    Bitfinex.venue,
    Bitget.venue,
    Bitstamp.venue,
    Bybit.venue,
    Coinbase.venue,
    CoinbaseAdvanced.venue,
    Deribit.venue,
    Gate.venue,
    Gemini.venue,
    Hyperliquid.venue,
    Kraken.venue,
    KuCoin.venue,
    OKX.venue,
  ]

  package static func venue(named name: String) -> Venue? { venues.first { $0.name == name } }

  /// What to tell someone who asked for a venue that is not there: its near names, or all of them.
  package static func unknownVenue(_ name: String) -> String {
    let names = venues.map(\.name)
    let question = NearNames.question(name, among: names)
    return "no venue is called \(name)\(question); there are \(names.joined(separator: ", "))"
  }
}
