import MarketData

/// A route of the client port. `HTTPAPI.md` documents each with its parameters; a test compares the two.
enum Route: CaseIterable, Sendable {
  case welcome, stream, instruments, status, snapshot, ticker, quote, trades, sparkline, candles, rates, book

  /// A parameter of a route's query.
  struct Parameter: Sendable {
    let name: String
    /// What may be given, for errors.
    let allowed: String
    /// Whether it may be given more than once.
    var repeats = false
  }

  /// The path, with `{symbol}` for what changes.
  var path: String {
    switch self {
    case .welcome: "/"
    case .stream: "/v1/stream"
    case .instruments: "/v1/instruments"
    case .status: "/v1/status"
    case .snapshot: "/v1/snapshot"
    case .ticker: "/v1/tickers/{symbol}"
    case .trades: "/v1/trades/{symbol}"
    case .sparkline: "/v1/sparklines/{symbol}"
    case .candles: "/v1/candles/{symbol}"
    case .quote: "/v1/quotes/{symbol}"
    case .rates: "/v1/rates"
    case .book: "/v1/books/{symbol}"
    }
  }

  var parameters: [Parameter] {
    switch self {
    case .welcome, .stream, .status, .ticker: []
    case .instruments:
      [
        Parameter(name: "venue", allowed: "a venue's name"),
        Parameter(name: "q", allowed: "a part of a symbol"),
      ]
    case .snapshot:
      [
        Parameter(name: "symbols", allowed: "symbols between commas", repeats: true),
        Parameter(name: "points", allowed: "2 to 1440"),
      ]
    case .trades: [Parameter(name: "limit", allowed: "1 to 50")]
    case .quote: [Parameter(name: "depth", allowed: "1 to 100")]
    case .rates:
      [Parameter(name: "base", allowed: "an asset: ZEC"), Parameter(name: "quote", allowed: "an asset: USD")]
    case .sparkline:
      [
        Parameter(name: "range", allowed: ChartRange.allCases.map(\.name).joined(separator: ", ")),
        Parameter(name: "points", allowed: "2 to 1440"),
      ]
    case .candles:
      [
        Parameter(name: "interval", allowed: CandleInterval.allCases.map(\.name).joined(separator: ", ")),
        Parameter(name: "from", allowed: "microseconds since 1970"),
        Parameter(name: "to", allowed: "microseconds since 1970"),
        Parameter(name: "limit", allowed: "1 to 1440"),
      ]
    case .book: [Parameter(name: "depth", allowed: "1 to 5000 or full")]
    }
  }

  /// The route of a path, and the symbol in it; nil if there is none.
  static func find(_ path: String) -> (route: Route, symbol: String)? {
    for route in allCases {
      let pattern = route.path
      guard pattern.hasSuffix("{symbol}") else {
        if path == pattern { return (route, "") }
        continue
      }
      let prefix = pattern.dropLast("{symbol}".count)
      if path.hasPrefix(prefix) { return (route, String(path.dropFirst(prefix.count))) }
    }
    return nil
  }
}

/// A route of the internal port; none takes parameters.
enum InternalRoute: CaseIterable, Sendable {
  case alive, ready, healthy, metrics, feedErrors

  /// The path, with `{venue}` for what changes.
  var path: String {
    switch self {
    case .alive: "/livez"
    case .ready: "/readyz"
    case .healthy: "/healthz"
    case .metrics: "/metrics"
    case .feedErrors: "/v1/feeds/{venue}/errors"
    }
  }

  /// The route of a path, and the venue in it; nil if there is none.
  static func find(_ path: String) -> (route: InternalRoute, venue: String)? {
    if let venue = FeedErrorsBody.venue(in: path) { return (.feedErrors, venue) }
    return allCases.first { $0.path == path }.map { ($0, "") }
  }
}
