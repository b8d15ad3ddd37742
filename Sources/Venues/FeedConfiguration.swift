/// What a feed is asked to carry, in the gateway's words.
package struct FeedConfiguration: Sendable {
  /// `BTC-USD`, `ETH-USDT`: base and quote, upper case, as in symbols; or a `MarketSelection` such as `*-USD:top20`.
  /// What they come to is at most `Venue.symbolLimit` on one connection.
  package var symbols: [String]
  /// The WebSocket URL to use instead of the venue's own.
  package var endpoint: String?
  /// The base URL of REST requests to use instead of the venue's own.
  package var restEndpoint: String?
  /// Connections of this kind to the venue, which share what it allows an address: an engine takes its part.
  package var connections = 1
  /// Symbols that other connections of the feed carry: no selection takes them.
  package var elsewhere: [String] = []
  /// What of the venue's whole list is kept for `FeedEngine.listing`.
  package var listing: ListingDetail
  /// Whether trades that are missing are asked for by REST.
  package var findsTrades = true

  package init(
    symbols: [String], endpoint: String? = nil, restEndpoint: String? = nil, listing: ListingDetail = .none
  ) {
    self.symbols = symbols
    self.endpoint = endpoint
    self.restEndpoint = restEndpoint
    self.listing = listing
  }
}

/// What an engine wants done for it. Rare: none of these happens per market message.
package enum FeedAction: Sendable {
  /// Send this text message on the feed's connection.
  case send(String)
  /// GET `path` (with its query) from the REST endpoint; the answer comes to `FeedEngine.response`.
  /// At most `bodyLimit` bytes are accepted.
  case get(request: Int, path: String, bodyLimit: Int)
  /// The connection is of no more use: close it and connect again.
  case reconnect(reason: String)
  /// The connection will end, by the venue's plan or its limits, in `within` µs or sooner: make another one, and
  /// leave this one when that has everything.
  case renew(reason: String, within: Int64)
  /// The venue refused a symbol or cannot carry it; the others are unharmed.
  case symbolFailed(symbol: String, reason: String)
  /// A symbol that had been refused is followed after all, though its book says nothing of it.
  case symbolAccepted(symbol: String)
  /// The venue says that it is in maintenance (true) or back (false).
  case maintenance(Bool)

  /// Whether it counts even if the connection that it came from has ended: what the venue said of a symbol.
  package var outlivesConnection: Bool {
    switch self {
    case .symbolFailed, .symbolAccepted: true
    case .send, .get, .reconnect, .renew, .maintenance: false
    }
  }
}
