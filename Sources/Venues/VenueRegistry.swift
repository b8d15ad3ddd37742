import MarketData

/// A type that has a venue: its dialect. Code about single venues that lies elsewhere, as the samples of their tests
/// do, is an extension of this type in a file of the venue's own, and is found through the registry.
package protocol RegisteredVenue: SendableMetatype {
  static var venue: Venue { get }
}

/// Every venue the gateway can speak to, a line each.
package enum VenueRegistry {
  package static let dialects: [any RegisteredVenue.Type] = [
    Binance.self,
    Bitfinex.self,
    Bitget.self,
    Bitstamp.self,
    Bybit.self,
    Coinbase.self,
    CoinbaseAdvanced.self,
    CryptoCom.self,
    Deribit.self,
    Gate.self,
    Gemini.self,
    Hyperliquid.self,
    Kraken.self,
    KrakenFutures.self,
    KuCoin.self,
    OKX.self,
  ]

  package static let venues: [Venue] = dialects.map { $0.venue }

  /// Every kind of connection: the venues, or their parts where they have any.
  package static let connections: [Venue] = venues.flatMap { $0.parts.isEmpty ? [$0] : $0.parts }

  package static func venue(named name: String) -> Venue? { venues.first { $0.name == name } }

  /// What to tell someone who asked for a venue that is not there: its near names, or all of them.
  package static func unknownVenue(_ name: String) -> String {
    let names = venues.map(\.name)
    let question = NearNames.question(name, among: names)
    return "no venue is called \(name)\(question); there are \(names.joined(separator: ", "))"
  }
}
