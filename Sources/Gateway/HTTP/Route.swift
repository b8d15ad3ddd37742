import Build
import Decks
import MarketData
import PubSub

/// A route of the client port. `HTTPAPI.md` documents each with its parameters; a test compares the two.
enum Route: CaseIterable, Sendable {
  // Routes of longer paths come before the shorter ones that would match them, too.
  case welcome, openapi, asyncapi, stream, events, instruments, assets, status, snapshot, ticker, quote, trades,
    linePicture, sparkline, candles, rates, book, card, deckCard, decks, deck, topics, topic, alerts, alertFirings,
    alertAction, alert, webhooks, webhook, portfolios, portfolioTransaction,
    portfolioTransactions, portfolioValue, portfolioCurve, portfolio

  /// A parameter of a route's query.
  struct Parameter: Sendable {
    let name: String
    let form: Form
    /// Whether it may be given more than once.
    var repeats = false
    /// Whether the parameter is required.
    var isNeeded = false

    /// The allowed values, for error messages.
    var allowed: String { form.words }
  }

  /// The allowed values of a parameter: in words, and as a schema of the OpenAPI document.
  enum Form: Sendable {
    /// Any text without control characters; the words say what it means.
    case text(String)
    case number(ClosedRange<Int>)
    /// Such a number, or a word.
    case numberOr(ClosedRange<Int>, String)
    case oneOf([String])
    /// `true` or `false`.
    case flag
    /// A whole number; the words say what it means.
    case ordinal(String)

    var words: String {
      switch self {
      case .text(let words), .ordinal(let words): words
      case .number(let range): "\(range.lowerBound) to \(range.upperBound)"
      case .numberOr(let range, let word): "\(range.lowerBound) to \(range.upperBound) or \(word)"
      case .oneOf(let names): names.joined(separator: ", ")
      case .flag: "true, false"
      }
    }
  }

  /// The path, with `{symbol}` for what changes.
  var path: String {
    switch self {
    case .welcome: "/"
    case .openapi: "/openapi.json"
    case .asyncapi: "/asyncapi.json"
    case .stream: "/v1/stream"
    case .events: "/v1/events"
    case .instruments: "/v1/instruments"
    case .assets: "/v1/assets"
    case .status: "/v1/status"
    case .snapshot: "/v1/snapshot"
    case .ticker: "/v1/tickers/{symbol}"
    case .trades: "/v1/trades/{symbol}"
    case .linePicture: "/v1/sparklines/{symbol}.svg"
    case .sparkline: "/v1/sparklines/{symbol}"
    case .candles: "/v1/candles/{symbol}"
    case .quote: "/v1/quotes/{symbol}"
    case .rates: "/v1/rates"
    case .book: "/v1/books/{symbol}"
    case .card: "/v1/cards/price/{symbol}.svg"
    case .deckCard: "/v1/cards/deck/{name}.svg"
    case .decks: "/v1/decks"
    case .deck: "/v1/decks/{name}"
    case .topics: "/v1/topics"
    case .topic: PublishedTopics.prefix + "{name}"
    case .alerts: "/v1/alerts"
    case .alertFirings: "/v1/alerts/{id}/firings"
    case .alertAction: "/v1/alerts/{id}/{action}"
    case .alert: "/v1/alerts/{id}"
    case .webhooks: "/v1/webhooks"
    case .webhook: "/v1/webhooks/{id}"
    case .portfolios: "/v1/portfolios"
    case .portfolio: "/v1/portfolios/{id}"
    case .portfolioTransactions: "/v1/portfolios/{id}/transactions"
    case .portfolioTransaction: "/v1/portfolios/{id}/transactions/{number}"
    case .portfolioValue: "/v1/portfolios/{id}/value"
    case .portfolioCurve: "/v1/portfolios/{id}/curve"
    }
  }

  /// The methods that the route serves beside `OPTIONS`.
  var methods: [String] {
    switch self {
    case .alerts, .webhooks, .portfolios, .portfolioTransactions: ["GET", "HEAD", "POST"]
    case .alert, .portfolio: ["GET", "HEAD", "PUT", "PATCH", "DELETE"]
    case .portfolioTransaction: ["GET", "HEAD", "PUT", "DELETE"]
    case .webhook: ["GET", "HEAD", "DELETE"]
    case .alertAction: ["POST"]
    case .topic: ["GET", "HEAD", "POST"]
    default: ["GET", "HEAD"]
    }
  }

  /// Whether a request with that method reads or changes what an owner keeps.
  func isOwned(_ method: String) -> Bool {
    switch self {
    case .alerts, .alertFirings, .alertAction, .alert, .webhooks, .webhook, .portfolios, .portfolio,
      .portfolioTransactions, .portfolioTransaction, .portfolioValue, .portfolioCurve:
      method != "OPTIONS"
    default: ["POST", "PUT", "PATCH", "DELETE"].contains(method)
    }
  }

  /// Whether a request with that method takes an `Idempotency-Key`.
  func takesKey(_ method: String) -> Bool {
    method == "POST" && [.alerts, .portfolios, .portfolioTransactions].contains(self)
  }

  /// Whether a request with that method takes an `If-Match`.
  func takesCondition(_ method: String) -> Bool {
    switch self {
    case .alert, .portfolio, .portfolioTransaction: ["PUT", "PATCH", "DELETE"].contains(method)
    case .alertAction, .portfolioTransactions: method == "POST"
    default: false
    }
  }

  var parameters: [Parameter] {
    switch self {
    case .welcome, .openapi, .asyncapi, .stream, .status, .ticker, .alerts, .alertFirings, .alertAction, .alert,
      .webhooks, .webhook, .portfolios, .portfolio, .portfolioTransaction, .decks:
      []
    case .portfolioValue: [Parameter(name: "currency", form: .text("an asset: EUR"))]
    case .portfolioCurve:
      [
        Parameter(name: "range", form: .oneOf(ChartRange.allCases.map(\.name))),
        Parameter(name: "currency", form: .text("an asset: EUR")),
      ]
    case .portfolioTransactions:
      [
        Parameter(name: "after", form: .ordinal("the number of a transaction")),
        Parameter(name: "limit", form: .number(1...PortfolioAnswer.pageLimit)),
      ]
    case .instruments:
      [
        Parameter(name: "venue", form: .text("a venue's name")),
        Parameter(name: "q", form: .text("a part of a symbol or of an asset's name")),
      ]
    case .events:
      [
        Parameter(name: "streams", form: .text("channel:symbol,…;field=value"), repeats: true, isNeeded: true),
        Parameter(name: "heartbeat_s", form: .number(1...60)),
      ]
    case .assets:
      [
        Parameter(name: "q", form: .text("a part of a code or a name")),
        Parameter(name: "after", form: .text("a code")),
        Parameter(name: "limit", form: .number(1...AssetsAnswer.pageLimit)),
      ]
    case .snapshot:
      [
        Parameter(name: "symbols", form: .text("symbols between commas"), repeats: true, isNeeded: true),
        Parameter(name: "points", form: .number(2...1440)),
      ]
    case .trades: [Parameter(name: "limit", form: .number(1...50))]
    case .quote: [Parameter(name: "depth", form: .number(1...100))]
    case .rates:
      [
        Parameter(name: "base", form: .text("an asset: ZEC"), isNeeded: true),
        Parameter(name: "quote", form: .text("an asset: USD"), isNeeded: true),
      ]
    case .sparkline:
      [
        Parameter(name: "range", form: .oneOf(ChartRange.allCases.map(\.name))),
        Parameter(name: "points", form: .number(2...1440)),
      ]
    case .candles:
      [
        Parameter(name: "interval", form: .oneOf(CandleInterval.allCases.map(\.name))),
        Parameter(name: "from", form: .ordinal("microseconds since 1970")),
        Parameter(name: "to", form: .ordinal("microseconds since 1970")),
        Parameter(name: "limit", form: .number(1...1440)),
      ]
    case .linePicture:
      [
        Parameter(name: "range", form: .oneOf(ChartRange.allCases.map(\.name))),
        Parameter(name: "points", form: .number(2...500)),
        Parameter(name: "width", form: .number(16...2000)),
        Parameter(name: "height", form: .number(16...1000)),
      ]
    case .card:
      [
        Parameter(name: "size", form: .oneOf(PriceCard.Size.allCases.map(\.rawValue))),
        Parameter(name: "range", form: .oneOf(ChartRange.allCases.map(\.name))),
      ]
    case .deck: [DeckAnswer.zoneParameter]
    case .deckCard:
      [
        DeckAnswer.zoneParameter,
        Parameter(name: "size", form: .oneOf(DeckPicture.Size.allCases.map(\.rawValue))),
        Parameter(name: "contrast", form: .oneOf(DeckPicture.Contrast.allCases.map(\.rawValue))),
      ]
    case .book:
      [
        Parameter(name: "depth", form: .numberOr(1...5000, "full")),
        Parameter(name: "venues", form: .flag),
      ]
    case .topics: [Parameter(name: "symbol", form: .text("a symbol: kraken:ZEC-USD"))]
    case .topic:
      [
        Parameter(name: "after", form: .ordinal("the number of a document")),
        Parameter(name: "limit", form: .number(1...PublishedTopics.pageLimit)),
      ]
    }
  }

  /// The answer of `/` to clients that do not request HTML.
  static func welcomeText(_ feeds: [FeedStatus]) -> String {
    let unreal = feeds.filter { $0.source != .live }
    let warning = unreal.map { "\($0.venue) (\($0.source.rawValue))" }.joined(separator: ", ")
    return """
      Tidegate \(TidegateVersion.current)
      \(unreal.isEmpty ? "" : "These prices are NOT REAL: \(warning)\n")WebSocket: /v1/stream
      Server-sent events: /v1/events?streams=pulse:kraken:BTC-USD
      HTTP: /v1/instruments /v1/snapshot?symbols=a,b /v1/tickers/{symbol} /v1/books/{symbol} /v1/trades/{symbol}
            /v1/quotes/{symbol} /v1/sparklines/{symbol} /v1/candles/{symbol} /v1/rates?base=ZEC&quote=USD /v1/status
            /v1/assets /v1/topics/{name} /v1/decks/{name} /v1/alerts /v1/portfolios

      """
  }

  /// Routes without a name in them, by their path.
  private static let whole = Dictionary(
    uniqueKeysWithValues: allCases.filter { !$0.path.contains("{") }.map { ($0.path, $0) })
  /// The other routes by the beginning of their path, in the order of comparison.
  private static let named = Dictionary(grouping: allCases.filter { $0.path.contains("{") }) { beginning($0.path) }
    .mapValues { routes in routes.map { (route: $0, pattern: Array($0.path.utf8)) } }

  /// `/v1/books` of `/v1/books/kraken:BTC-USD`.
  private static func beginning(_ path: String) -> Substring {
    var slashes = 0
    let end = path.utf8.firstIndex { byte in
      if byte == UInt8(ascii: "/") { slashes += 1 }
      return slashes == 3
    }
    return path[..<(end ?? path.endIndex)]
  }

  /// The route of a path, and the symbol or name in it; nil if no route has it. Each request looks several times, and a
  /// search of all routes takes 5 µs.
  static func find(_ path: String) -> (route: Route, symbol: String)? {
    if let route = whole[path] { return (route, "") }
    guard let routes = named[beginning(path)] else { return nil }
    let octets = Array(path.utf8)
    for (route, pattern) in routes {
      if let names = names(in: octets[...], of: pattern[...]) { return (route, names) }
    }
    return nil
  }

  /// The same by comparing with every route; for tests.
  static func findSlowly(_ path: String) -> (route: Route, symbol: String)? {
    for route in allCases {
      if let names = names(in: Array(path.utf8)[...], of: Array(route.path.utf8)[...]) { return (route, names) }
    }
    return nil
  }

  /// The names in a path, with a slash between two; nil if the path does not fit the pattern. It compares octets:
  /// comparing characters took 3 µs.
  private static func names(in path: ArraySlice<UInt8>, of pattern: ArraySlice<UInt8>) -> String? {
    guard let open = pattern.firstIndex(of: UInt8(ascii: "{")), let close = pattern.firstIndex(of: UInt8(ascii: "}"))
    else { return path == pattern ? "" : nil }
    let (prefix, suffix) = (pattern[..<open], pattern[(close + 1)...])
    guard path.starts(with: prefix) else { return nil }
    let rest = path.dropFirst(prefix.count)
    guard suffix.contains(UInt8(ascii: "{")) else {
      guard rest.suffix(suffix.count) == suffix else { return nil }
      return String(decoding: rest.dropLast(suffix.count), as: UTF8.self)
    }
    // Only the last name may have a slash in it.
    guard let end = rest.firstIndex(of: UInt8(ascii: "/")), let others = names(in: rest[end...], of: suffix) else {
      return nil
    }
    return String(decoding: rest[..<end], as: UTF8.self) + "/" + others
  }
}

/// A route of the internal port; none takes parameters.
enum InternalRoute: CaseIterable, Sendable {
  case alive, ready, healthy, metrics, feedErrors, topic

  /// The path, with `{venue}` or `{name}` for what changes.
  var path: String {
    switch self {
    case .alive: "/livez"
    case .ready: "/readyz"
    case .healthy: "/healthz"
    case .metrics: "/metrics"
    case .feedErrors: "/v1/feeds/{venue}/errors"
    case .topic: PublishedTopics.prefix + "{name}"
    }
  }

  /// The route of a path, and the venue or name in it; nil if no route has it.
  static func find(_ path: String) -> (route: InternalRoute, venue: String)? {
    if let venue = FeedErrorsBody.venue(in: path) { return (.feedErrors, venue) }
    if let name = PublishedTopics.name(in: path) { return (.topic, name) }
    return allCases.first { $0.path == path }.map { ($0, "") }
  }
}
