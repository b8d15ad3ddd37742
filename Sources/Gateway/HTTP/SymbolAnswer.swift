import Access
import MarketData
import PubSub

/// Answers about the market of a symbol: `/v1/tickers/{symbol}`, `/v1/trades/{symbol}`, `/v1/sparklines/{symbol}` and
/// `/v1/books/{symbol}`, and `/v1/snapshot` about many.
struct SymbolAnswer {
  let api: PublicAPI
  let grant: Grant
  /// The entity tags that the client has.
  let known: [String]

  /// The most symbols of one `/v1/snapshot`.
  static let snapshotLimit = 100

  func one(
    _ symbol: String, _ route: Route, _ query: RequestQuery, _ reply: @escaping (HTTPResponse) -> Void,
    _ charge: @escaping (Int) -> HTTPResponse?
  ) throws(RequestProblem) {
    if CompositeSymbol.isOne(symbol) {
      return try CompositeAnswer(api: api, grant: grant, known: known).one(symbol, route, query, reply, charge)
    }
    switch route {
    case .ticker: try one(symbol, .ticker, .ticker, "it has no data yet", reply, charge)
    case .trades:
      let limit = try query.number("limit", 1...50, default: 50)
      try one(symbol, .trades, .trades(limit: limit), "it has not traded yet", reply, charge)
    case .sparkline:
      let range = try query.word("range", default: ChartRange.day) { ChartRange(name: $0) }
      let points = try query.number("points", 2...1440, default: 96)
      try one(symbol, .sparkline, .sparkline(range, points: points), "it has not traded yet", reply, charge)
    case .book:
      let depth = try query.number("depth", 1...5000, default: 25, words: ["full": 0])
      guard query.text("venues") == nil else {
        throw RequestQuery.problem("venues is a parameter for composite markets", hint: "composite:BTC-USD")
      }
      try one(symbol, .book, .book(depth: depth), "its book is not in sync", reply, charge)
    default: preconditionFailure("\(route) is not of one symbol")
    }
  }

  /// One symbol's data.
  /// - Parameter why: the message if the symbol has no data.
  private func one(
    _ symbol: String, _ channel: ChannelName, _ view: MarketView, _ why: String,
    _ reply: @escaping (HTTPResponse) -> Void, _ charge: @escaping (Int) -> HTTPResponse?
  ) throws(RequestProblem) {
    guard grant.channels.contains(channel) else {
      throw RequestProblem(response: api.forbidden("the channel \(channel.rawValue)", grant))
    }
    var lookup = SymbolLookup()
    let item = api.item(symbol, grant, &lookup)
    if case .failed(let error) = item.content { throw RequestProblem(response: api.response(to: error)) }
    answer([item], view, isList: false, [channel], why, reply, charge)
  }

  func snapshot(
    _ query: RequestQuery, _ reply: @escaping (HTTPResponse) -> Void,
    _ charge: @escaping (Int) -> HTTPResponse?
  ) throws(RequestProblem) {
    let channels = [ChannelName.ticker, .pulse, .sparkline]
    for channel in channels where !grant.channels.contains(channel) {
      throw RequestProblem(
        response: api.forbidden("the channel \(channel.rawValue), which is part of a snapshot", grant))
    }
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
    let points = try query.number("points", 2...1440, default: 96)
    guard symbols.count * points <= MarketAnswer.pointLimit else {
      throw RequestQuery.problem(
        "\(symbols.count) symbols of \(points) points are more than \(MarketAnswer.pointLimit) points",
        hint: "ask for at most \(MarketAnswer.pointLimit / symbols.count) points, or split the request")
    }
    var lookup = SymbolLookup()
    let items = symbols.map { api.item(String($0), grant, &lookup) }
    answer(items, .snapshot(points: points), isList: true, channels, "", reply, charge)
  }

  private func answer(
    _ items: [MarketAnswer.Item], _ view: MarketView, isList: Bool, _ channels: [ChannelName], _ nothing: String,
    _ reply: @escaping (HTTPResponse) -> Void, _ charge: @escaping (Int) -> HTTPResponse?
  ) {
    var venues: [String] = []
    for case .market(_, _, let state) in items.map(\.content) where !venues.contains(state.venue) {
      venues.append(state.venue)
    }
    // On the asking loop: nothing has changed since the items were looked up.
    let listing = api.node.hub.listingRevision
    MarketAnswer(
      items, view, isList: isList, known: known, node: api.node, parts: api.parts, charge: charge
    ) { [api, grant] outcome, made in
      var response = api.response(to: outcome, venues: venues, nothing: "\(items[0].symbol): \(nothing)")
      if let made, grant.allowsAllSymbols {
        response.memo = AnswerMemo(
          tag: made.tag, stamps: made.stamps, venues: venues, channels: Set(channels), listing: listing,
          count: api.parts.memos)
      }
      reply(response)
    }.begin()
  }
}
