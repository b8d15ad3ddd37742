import MarketData

/// What is fixed about an exchange: names, addresses, limits. One value per venue, listed in `VenueRegistry`.
package struct Venue: Sendable {
  /// The name in symbols: `kraken`.
  package let name: String
  /// For people: `Kraken`.
  package private(set) var title: String
  /// What stands between base and quote in the venue's own names: `/` in `BTC/USD`.
  package let separator: String
  /// The venue's public WebSocket URL.
  package let endpoint: String
  /// The base URL of its public REST API.
  package let restEndpoint: String
  /// What it sends by itself on a connection that lives.
  package let cadence: Cadence
  /// Silence of the market on a connection after which it counts as stale, µs; after the same again it is replaced.
  package var staleAfter: Int64 { cadence.staleAfter }
  /// The largest message it may send, bytes.
  package let messageLimit: Int
  /// Whether permessage-deflate is offered to it. Only where the venue says that it supports it: others have been
  /// seen to answer with streams that break.
  package private(set) var offersCompression = false
  /// Symbols one connection may carry.
  package private(set) var symbolLimit: Int
  /// Symbols that all connections from one address may carry together; nil where only each connection has a limit.
  package private(set) var addressLimit: Int?
  /// The kinds of market that are followed.
  package private(set) var kinds: Set<Instrument.Kind.Family> = [.spot]
  /// Which kind of the venue's connections this is, where it has several; nil if it is the only one.
  package private(set) var part: String?
  /// How old the venue lets a connection get, µs; nil where it has no such limit.
  package private(set) var connectionLifetime: Int64?
  /// How often it may be connected to.
  package private(set) var connectLimit = ConnectLimit.usual
  /// How the market state is kept for it.
  package let market: Market.Configuration
  /// What its feed is made of, for people and tests.
  package private(set) var profile: VenueProfile?
  /// How its candles are requested by REST; nil if it has none. Parts have their own.
  package private(set) var candles: CandleFormat?
  /// How the names of its assets are requested; nil if it has none, or none without a key.
  package private(set) var assetNames: AssetNameFormat?
  /// How its recordings are played; nil if they are not.
  package private(set) var replay: VenueReplay?
  package let makeEngine: @Sendable (FeedConfiguration) -> FeedEngine
  /// Which of the connections of that kind, from 1, where symbols are spread over several.
  package internal(set) var number = 1
  /// Where a venue keeps its kinds of market on endpoints of their own: a value for each, with an engine of its own. To
  /// clients they are one venue.
  package private(set) var parts: [Venue] = []
}

extension Venue {
  /// A venue with a connection for each of `parts`, which share name, title, separator and REST URL unless they have
  /// their own. The first stands for the venue where there can be one only. Precondition: at least two, each with a
  /// name of its own.
  package init(title: String, parts: [Venue], replay: VenueReplay? = nil) {
    precondition(parts.count > 1 && parts.allSatisfy { $0.part != nil && $0.name == parts[0].name })
    self = parts[0]
    self.title = title
    symbolLimit = parts.map(\.symbolLimit).min() ?? symbolLimit
    // Each part's own is looked at.
    addressLimit = nil
    kinds = parts.reduce(into: []) { $0.formUnion($1.kinds) }
    part = nil
    profile = nil
    candles = nil
    self.parts = parts
    self.replay = replay
  }

  /// What tells its connections apart in logs and metrics: `bybit` for spot, `bybit-linear`, and `bybit-2`,
  /// `bybit-linear-2` where there are several of one kind.
  package var label: String {
    let kind = part.flatMap { $0 == "spot" ? nil : "\(name)-\($0)" } ?? name
    return number == 1 ? kind : "\(kind)-\(number)"
  }

  /// What recordings call the markets of this connection: `spot`, the part's name, or `mixed`.
  package var marketName: String { part ?? (kinds == [.spot] ? "spot" : "mixed") }

  /// What a recording calls a configured symbol before the venue's own name is known: a spot market by the venue's
  /// rule, others as they are configured.
  package func recordedName(_ symbol: String) -> String {
    guard !MarketSelection.isMeant(by: symbol), let wanted = FeedSymbol(symbol), wanted.kind == .spot else {
      return symbol
    }
    return wanted.base + separator + wanted.quote
  }

  /// The connections that carry a feed, each with its part of the symbols; one that would carry nothing is left out,
  /// and there are as many of a kind as its symbols need (`symbolLimit`).
  ///
  /// What is no symbol, or of a kind that the venue has not, goes to the first, which refuses it. An endpoint without
  /// a path gets the venue's own, and one that is to serve several parts each part's.
  package func connections(for configuration: FeedConfiguration) -> [(venue: Venue, configuration: FeedConfiguration)] {
    // A listing is of all that the venue has.
    let isListing = configuration.listing != .none
    guard !parts.isEmpty else {
      var configuration = configuration
      configuration.endpoint = configuration.endpoint.map {
        Self.path(of: $0) == "/" ? Self.base(of: $0) + Self.path(of: endpoint) : $0
      }
      return split(configuration)
    }
    var symbols = Array(repeating: [String](), count: parts.count)
    for symbol in configuration.symbols {
      if let selection = try? MarketSelection(symbol), MarketSelection.isMeant(by: symbol) {
        let holders = parts.indices.filter { parts[$0].kinds.contains(where: selection.mayHold) }
        for index in holders.isEmpty ? [0] : holders { symbols[index].append(symbol) }
        continue
      }
      let family = FeedSymbol(symbol)?.kind.family
      symbols[parts.firstIndex { part in family.map { part.kinds.contains($0) } ?? false } ?? 0].append(symbol)
    }
    return zip(parts, symbols).filter { isListing || !$1.isEmpty }.flatMap { part, symbols in
      let configured = FeedConfiguration(
        symbols: symbols, endpoint: configuration.endpoint.map { endpoint(of: part, at: $0) },
        restEndpoint: configuration.restEndpoint, listing: configuration.listing)
      return part.split(configured)
    }
  }

  /// The URL of one part at an endpoint that was given for the venue: the path of any part at its end, or a path that
  /// is none, is replaced by this one's. A path of somebody else's making is taken as it is for the first part.
  private func endpoint(of part: Venue, at given: String) -> String {
    let own = Self.path(of: part.endpoint)
    let known = parts.map { Self.path(of: $0.endpoint) }.filter { given.hasSuffix($0) }.max { $0.count < $1.count }
    if let known {
      var base = given.dropLast(known.count)
      while base.last == "/" { base.removeLast() }
      return base + own
    }
    if Self.path(of: given) != "/", part.part == parts[0].part { return given }
    return Self.base(of: given) + own
  }

  /// From the first slash after the host; `/` if there is none.
  static func path(of url: String) -> String {
    let path = url.dropFirst(base(of: url).count)
    return path.isEmpty ? "/" : String(path)
  }

  /// Scheme, host and port.
  static func base(of url: String) -> String {
    let host = url.firstRange(of: "://")?.upperBound ?? url.startIndex
    return String(url[..<(url[host...].firstIndex(of: "/") ?? url.endIndex)])
  }
}
