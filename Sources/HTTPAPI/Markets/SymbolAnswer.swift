import Access
import MarketData
import PubSub

/// Answers about the market of a symbol: `/v1/tickers/{symbol}`, `/v1/derivatives/{symbol}`,
/// `/v1/funding/{symbol}`, `/v1/trades/{symbol}`, `/v1/sparklines/{symbol}` and `/v1/books/{symbol}`, and
/// `/v1/snapshot` about many.
struct SymbolAnswer: RouteAnswer {
  /// The most trades of an answer about the present.
  private static let presentTrades = 50
  /// The most symbols of one `/v1/snapshot`.
  static let snapshotLimit = 100

  let request: APIRequest
  private var api: PublicAPI { request.api }
  private var query: RequestQuery { request.query }
  private var isComposite: Bool { CompositeSymbol.isOne(request.symbol) }

  init(_ request: APIRequest) { self.request = request }

  func ticker() throws(RequestProblem) {
    if isComposite { throw CompositeAnswer(request).nothing("tickers") }
    try one(.ticker, "it has no data yet")
  }

  /// The request makes the gateway ask the venue for what it says only on demand, so that a later one has it.
  func derivative() throws(RequestProblem) {
    try refuseSpot("derivatives")
    try one(.derivative, "its venue has said nothing of it yet; ask again in some seconds")
  }

  /// As `derivative`: the first request makes the gateway ask the venue.
  func funding() throws(RequestProblem) {
    try refuseSpot("funding")
    try one(
      .funding(limit: try query.number("limit", default: 100)),
      "its venue has not listed settlements yet, or lists none; ask again in some seconds")
  }

  /// Refuses markets that are no perpetuals and no dated futures.
  private func refuseSpot(_ what: String) throws(RequestProblem) {
    if isComposite { throw CompositeAnswer(request).nothing(what) }
    if request.loops.hub.directory.entries[request.symbol]?.instrument.kind == .spot,
      request.grant.allows(request.symbol)
    {
      throw RequestProblem(
        ProtocolError(
          .unknownSymbol, "`\(request.symbol.prefix(80))` is a spot market, which has no mark and no funding",
          hint: "GET /v1/instruments shows the `kind` of each market"))
    }
  }

  func trades() throws(RequestProblem) {
    if isComposite { throw CompositeAnswer(request).nothing("trades") }
    if query.text("from") != nil {
      let window = Timestamp(microseconds: Int64(try query.number("from", default: 0)))..<(try end())
      guard !window.isEmpty else { throw RequestQuery.problem("to is not after from", hint: "from=…&to=…, in µs") }
      return try PastAnswer(request: request).trades(window, limit: try query.number("limit", default: 1_000))
    }
    guard try query.number("limit", default: 50) <= Self.presentTrades, query.text("to") == nil else {
      throw RequestQuery.problem(
        "without from there are the last trades, at most \(Self.presentTrades)",
        hint: "give from for recorded trades, or a smaller limit")
    }
    try one(.trades(limit: try query.number("limit", default: 50)), "it has not traded yet")
  }

  func sparkline() throws(RequestProblem) {
    if isComposite { return try CompositeAnswer(request).line() }
    let range = try query.word("range", default: ChartRange.day) { ChartRange(name: $0) }
    let points = try query.number("points", default: 96)
    try one(.sparkline(range, points: points), "it has not traded yet")
  }

  func book() throws(RequestProblem) {
    let isPast = query.text("at") != nil
    if isComposite {
      if isPast { throw RequestQuery.problem("at is a parameter for single markets", hint: "kraken:BTC-USD") }
      return try CompositeAnswer(request).book()
    }
    let depth = try query.number("depth", default: 25, word: 0)
    guard query.text("venues") == nil else {
      throw RequestQuery.problem("venues is a parameter for composite markets", hint: "composite:BTC-USD")
    }
    if isPast {
      let time = Timestamp(microseconds: Int64(try query.number("at", default: 0)))
      return try PastAnswer(request: request).book(depth: depth, at: time)
    }
    try one(.book(depth: depth), "its book is not in sync")
  }

  /// The end of a window: `to`.
  private func end() throws(RequestProblem) -> Timestamp {
    guard query.text("to") != nil else { return .distantFuture }
    return Timestamp(microseconds: Int64(try query.number("to", default: 0)))
  }

  /// One symbol's data.
  /// - Parameter why: the message if the symbol has no data.
  private func one(_ view: MarketView, _ why: String) throws(RequestProblem) {
    var lookup = SymbolLookup()
    let item = api.item(request.symbol, request.grant, &lookup)
    if case .failed(let error) = item.content { throw RequestProblem(error) }
    answer([item], view, isList: false, why)
  }

  func snapshot() throws(RequestProblem) {
    var seen: Set<Substring> = []
    let given = query.texts("symbols")
    let symbols = given.flatMap { $0.split(separator: ",") }.filter { seen.insert($0).inserted }
    guard !symbols.isEmpty else {
      throw RequestQuery.problem("symbols is missing", hint: "/v1/snapshot?symbols=kraken:BTC-USD,…")
    }
    guard symbols.count <= Self.snapshotLimit else {
      throw RequestQuery.problem(
        "\(symbols.count) symbols; the limit is \(Self.snapshotLimit)", hint: "split the request")
    }
    let points = try query.number("points", default: 96)
    guard symbols.count * points <= MarketAnswer.pointLimit else {
      throw RequestQuery.problem(
        "\(symbols.count) symbols of \(points) points are more than \(MarketAnswer.pointLimit) points",
        hint: "ask for at most \(MarketAnswer.pointLimit / symbols.count) points, or split the request")
    }
    var lookup = SymbolLookup()
    let items = symbols.map { api.item(String($0), request.grant, &lookup) }
    answer(items, .snapshot(points: points), isList: true, "")
  }

  private func answer(_ items: [MarketAnswer.Item], _ view: MarketView, isList: Bool, _ nothing: String) {
    var venues: [String] = []
    for case .market(_, _, let state) in items.map(\.content) where !venues.contains(state.venue) {
      venues.append(state.venue)
    }
    // On the asking loop: nothing has changed since the items were looked up.
    let listing = request.loops.hub.listingRevision
    MarketAnswer(
      items, view, isList: isList, known: request.known, loops: request.loops, parts: api.parts, charge: request.charge
    ) { [request, api] outcome, made in
      var response = api.response(to: outcome, venues: venues, nothing: "\(items[0].symbol): \(nothing)")
      if let made, request.grant.allowsAllSymbols {
        response.memo = AnswerMemo(
          tag: made.tag, stamps: made.stamps, venues: venues, channels: Set(request.route.channels),
          listing: listing, count: api.parts.memos)
      }
      request.reply(response)
    }.begin()
  }
}
