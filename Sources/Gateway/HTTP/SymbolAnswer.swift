import Access
import MarketData
import PubSub

/// What the market of a symbol shows: `/v1/ticker`, `/v1/trades`, `/v1/sparkline` and `/v1/book`, and `/v1/snapshot` of
/// many.
struct SymbolAnswer {
  let api: PublicAPI
  let grant: Grant
  /// The entity tags that the asker has.
  let known: [String]

  /// Symbols of one `/v1/snapshot`.
  static let snapshotLimit = 100

  func one(
    _ symbol: String, _ route: Route, _ query: RequestQuery, _ reply: @escaping (HTTPResponse) -> Void,
    _ charge: @escaping (Int) -> HTTPResponse?
  ) throws(RequestProblem) {
    switch route {
    case .ticker: try one(symbol, .ticker, .ticker, "nothing has come for it yet", reply, charge)
    case .trades:
      let limit = try query.number("limit", 1...50, default: 50)
      try one(symbol, .trades, .trades(limit: limit), "it has not traded yet", reply, charge)
    case .sparkline:
      let range = try query.word("range", default: ChartRange.day) { ChartRange(name: $0) }
      let points = try query.number("points", 2...1440, default: 96)
      try one(symbol, .sparkline, .sparkline(range, points: points), "it has not traded yet", reply, charge)
    case .book:
      let depth = try query.number("depth", 1...5000, default: 25, words: ["full": 0])
      try one(symbol, .book, .book(depth: depth), "its book is not in sync", reply, charge)
    default: preconditionFailure("\(route) is not of one symbol")
    }
  }

  /// One symbol's data.
  /// - Parameter why: what to say if there is nothing to show of it.
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
    answer([item], view, isList: false, why, reply, charge)
  }

  func snapshot(
    _ query: RequestQuery, _ reply: @escaping (HTTPResponse) -> Void,
    _ charge: @escaping (Int) -> HTTPResponse?
  ) throws(RequestProblem) {
    for channel in [ChannelName.ticker, .pulse, .sparkline] where !grant.channels.contains(channel) {
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
        "\(symbols.count) symbols; the limit is \(Self.snapshotLimit)", hint: "ask in parts")
    }
    let points = try query.number("points", 2...1440, default: 96)
    guard symbols.count * points <= MarketAnswer.pointLimit else {
      throw RequestQuery.problem(
        "\(symbols.count) symbols of \(points) points are more than \(MarketAnswer.pointLimit) points",
        hint: "ask for at most \(MarketAnswer.pointLimit / symbols.count) points, or in parts")
    }
    var lookup = SymbolLookup()
    let items = symbols.map { api.item(String($0), grant, &lookup) }
    answer(items, .snapshot(points: points), isList: true, "", reply, charge)
  }

  private func answer(
    _ items: [MarketAnswer.Item], _ view: MarketView, isList: Bool, _ nothing: String,
    _ reply: @escaping (HTTPResponse) -> Void, _ charge: @escaping (Int) -> HTTPResponse?
  ) {
    var venues: [String] = []
    for case .market(_, _, let state) in items.map(\.content) where !venues.contains(state.venue) {
      venues.append(state.venue)
    }
    MarketAnswer(items, view, isList: isList, known: known, node: api.node, charge: charge) { [api] outcome in
      reply(api.response(to: outcome, venues: venues, nothing: "\(items[0].symbol): \(nothing)"))
    }.begin()
  }
}
