import MarketData

/// What is fixed about an exchange: names, addresses, limits. One value per venue, listed in `VenueRegistry`.
package struct Venue: Sendable {
  /// The name in symbols: `kraken`.
  package let name: String
  /// For people: `Kraken`.
  package let title: String
  /// What stands between base and quote in the venue's own names: `/` in `BTC/USD`.
  package let separator: String
  /// The venue's public WebSocket URL.
  package let endpoint: String
  /// The base URL of its public REST API.
  package let restEndpoint: String
  /// Silence on the whole connection after which it counts as stale, µs.
  package let staleAfter: Int64
  /// The largest message it may send, bytes.
  package let messageLimit: Int
  /// Whether permessage-deflate is offered to it. Only where the venue says that it supports it: others have been seen to answer
  /// with streams that break.
  package let offersCompression: Bool
  /// Symbols one connection may carry.
  package let symbolLimit: Int
  /// How the market state is kept for it.
  package let market: Market.Configuration
  package let makeHandler: @Sendable (FeedConfiguration) -> FeedHandler

  package init(
    name: String, title: String, separator: String, endpoint: String, restEndpoint: String, staleAfter: Int64,
    messageLimit: Int, offersCompression: Bool = false,
    symbolLimit: Int, market: Market.Configuration, makeHandler: @escaping @Sendable (FeedConfiguration) -> FeedHandler
  ) {
    self.name = name
    self.title = title
    self.separator = separator
    self.endpoint = endpoint
    self.restEndpoint = restEndpoint
    self.staleAfter = staleAfter
    self.messageLimit = messageLimit
    self.offersCompression = offersCompression
    self.symbolLimit = symbolLimit
    self.market = market
    self.makeHandler = makeHandler
  }
}
