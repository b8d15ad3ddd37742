import MarketData
import Venues

/// A venue's protocol that can be simulated by the venue's name. What tests know of it is an extension of this type in
/// a file of the venue's own, and is found through the registry.
protocol VenueSimulation: VenueProtocol, SendableMetatype {
  /// What it trades.
  static var listing: [SimulatedInstrument] { get }
  static var kind: SimulatedVenue.Kind { get }
}

/// Every venue there is a simulation of, a line each.
enum SimulationRegistry {
  static let simulations: [any VenueSimulation.Type] = [
    BinanceProtocol.self,
    BitfinexProtocol.self,
    BitgetProtocol.self,
    BitstampProtocol.self,
    BybitProtocol.self,
    CoinbaseProtocol.self,
    CoinbaseAdvancedProtocol.self,
    CryptoComProtocol.self,
    DeribitProtocol.self,
    GateProtocol.self,
    GeminiProtocol.self,
    HyperliquidProtocol.self,
    KrakenProtocol.self,
    KrakenFuturesProtocol.self,
    KuCoinProtocol.self,
    OKXProtocol.self,
  ]
}

extension SimulatedVenue {
  /// Symbols that show a connection at work: a lively, a middling and a quiet asset, each of another kind where the
  /// connection has several. Empty if the venue is not simulated.
  /// - Parameter venue: a connection of the registry.
  package static func examples(of venue: Venue) -> [String] {
    let listing = (kinds.first { $0.name == venue.name }?.listing ?? []).filter {
      venue.kinds.contains($0.kind.family)
    }
    return ["BTC", "ETH", "ZEC"].enumerated().compactMap { index, base in
      let markets = listing.filter { $0.base == base }
      return markets.isEmpty ? nil : markets[index % markets.count].symbol
    }
  }
}
