import Build
import Bytes
import HTTP1
import History
import MarketData
import PubSub
import Transport

/// Answers about composite markets (`composite:BTC-USD`), on the routes of a venue's market: book, candles, line and
/// pictures.
///
/// A composite has no state of its own for these: each answer is made of its members' books and candles of one moment.
/// So a venue that is not live is not in the next book, and nothing is computed if nobody asks.
struct CompositeAnswer {
  let api: PublicAPI
  let grant: Grant
  /// The entity tags that the client has.
  let known: [String]

  /// The cost of a member's candle, in points of a sparkline: reading and merging it.
  private static let candleCost = 16

  /// The members that the client may see.
  /// - Throws: if there are none.
  private func members(of symbol: String) throws(RequestProblem) -> [DirectoryEntry] {
    let entries = api.node.hub.members(ofComposite: symbol)
    guard !entries.isEmpty else {
      let pair = symbol.drop { $0 != ":" }.dropFirst()
      let error =
        api.node.hub.listNotReady(of: "*:\(pair)")
        ?? ProtocolError(
          .unknownSymbol, "no venue has \(pair.prefix(80)) as a spot market", hint: "GET /v1/instruments")
      throw RequestProblem(response: api.response(to: error))
    }
    let allowed = entries.filter { grant.allows($0.instrument.symbol) }
    guard !allowed.isEmpty else {
      throw RequestProblem(response: api.forbidden("any market of \(symbol.prefix(80))", grant))
    }
    return allowed
  }

  private func check(_ channels: ChannelName...) throws(RequestProblem) {
    for channel in channels where !grant.channels.contains(channel) {
      throw RequestProblem(response: api.forbidden("the channel \(channel.rawValue)", grant))
    }
  }

  /// One of the routes that `SymbolAnswer` serves.
  func one(
    _ symbol: String, _ route: Route, _ query: RequestQuery, _ reply: @escaping (HTTPResponse) -> Void,
    _ charge: @escaping (Int) -> HTTPResponse?
  ) throws(RequestProblem) {
    switch route {
    case .book: try book(symbol, query, reply, charge)
    case .sparkline: try line(symbol, query, reply, charge)
    default:
      throw RequestProblem(
        response: api.response(
          to: ProtocolError(
            .unknownSymbol, "composite markets have no \(route.path.split(separator: "/")[1])",
            hint: "GET /v1/quotes/\(symbol.prefix(80)) has the last price and the 24 h volumes")))
    }
  }

  private func book(
    _ symbol: String, _ query: RequestQuery, _ reply: @escaping (HTTPResponse) -> Void,
    _ charge: @escaping (Int) -> HTTPResponse?
  ) throws(RequestProblem) {
    try check(.book)
    let asked = try query.number("depth", 1...5000, default: 25, words: ["full": QuoteAnswer.depthLimit])
    let depth = min(asked, QuoteAnswer.depthLimit)
    let hasVenues = try query.word("venues", default: false) { $0 == "true" ? true : $0 == "false" ? false : nil }
    let entries = try members(of: symbol)
    if let refusal = charge(entries.count * (32 + 4 * depth)) { return reply(refusal) }
    QuoteGathering(node: api.node, depth: depth, hasFigures: false).gather(entries) { parts in
      guard let body = CompositeBody.book(symbol, parts, depth: depth, hasVenues: hasVenues) else {
        return reply(notLive(symbol, parts))
      }
      var tag = ContentTag(run: TidegateVersion.current)
      tag.add(body)
      reply(answer(tag, parts) { $0.append(body) })
    }
  }

  private func notLive(_ symbol: String, _ parts: [QuotePart]) -> HTTPResponse {
    let reasons = parts.filter { !$0.market.isLive }.map { "\($0.market.instrument.venue) \($0.market.reason)" }
    return .error(
      503, code: "not_ready", message: "no market of \(symbol.prefix(80)) is live",
      hint: reasons.sorted().joined(separator: ", "), retry: true, retryAfterMilliseconds: 1_000)
  }

  // MARK: Charts

  /// `/v1/candles/composite:…`
  func candles(
    _ symbol: String, _ request: ChartPage.Request, _ reply: @escaping (HTTPResponse) -> Void,
    _ charge: @escaping (Int) -> HTTPResponse?
  ) throws(RequestProblem) {
    let entries = try members(of: symbol)
    if let refusal = charge(entries.count * (128 + Self.candleCost * request.limit)) { return reply(refusal) }
    CompositeGathering(node: api.node, symbol: symbol).gather(entries, request) { outcome in
      guard case .chart(let chart) = outcome else { return reply(response(to: outcome, symbol)) }
      let page = chart.page
      let body = CandlesBody(chart.candles.instrument, request.interval, page.candles, gaps: page.gaps, next: page.next)
      var tag = ContentTag(run: TidegateVersion.current)
      let head = head(symbol, chart)
      tag.add(head)
      body.add(to: &tag)
      reply(
        answer(tag, chart.parts) { out in
          out.append(head)
          body.append(to: &out)
          out.append("}\n")
        })
    }
  }

  private func line(
    _ symbol: String, _ query: RequestQuery, _ reply: @escaping (HTTPResponse) -> Void,
    _ charge: @escaping (Int) -> HTTPResponse?
  ) throws(RequestProblem) {
    try check(.sparkline)
    let range = try query.word("range", default: ChartRange.day) { ChartRange(name: $0) }
    let points = try query.number("points", 2...1440, default: 96)
    try gather(symbol, range, reply, charge) { chart in
      let now = api.node.clock.now()
      let line = chart.candles.line(range, points: points, price: chart.quote.last?.price(chart), now: now).line
      guard !line.points.isEmpty else { return response(to: .nothing, symbol) }
      var out = ByteBuffer(capacity: 256 + 16 * points)
      out.append(head(symbol, chart))
      CompositeBody.append(line, of: chart.candles.instrument, to: &out)
      out.append("}\n")
      let bytes = out.takeBytes()
      var tag = ContentTag(run: TidegateVersion.current)
      tag.add(bytes)
      return answer(tag, chart.parts) { $0.append(bytes) }
    }
  }

  /// The data of a picture of a composite, and its state; `reply` gets the refusal, or the picture that `draw` makes.
  func figures(
    _ symbol: String, _ range: ChartRange, points: Int, _ reply: @escaping (HTTPResponse) -> Void,
    _ charge: @escaping (Int) -> HTTPResponse?, draw: @escaping (CardFigures, DataState) -> HTTPResponse
  ) throws(RequestProblem) {
    try gather(symbol, range, reply, charge) { chart in
      let now = api.node.clock.now()
      let price = chart.quote.last?.price(chart)
      let (line, figures) = chart.candles.line(range, points: points, price: price, now: now)
      guard !line.points.isEmpty else { return response(to: .nothing, symbol) }
      let card = CardFigures(
        instrument: chart.candles.instrument, price: line.points.last, line: line,
        high: range == .day ? figures.high : nil, low: range == .day ? figures.low : nil, volume: chart.quote.volume,
        time: chart.quote.lastTime == .distantPast ? nil : chart.quote.lastTime, since: line.lateStart(now: now))
      return draw(card, state(chart))
    }
  }

  private func gather(
    _ symbol: String, _ range: ChartRange, _ reply: @escaping (HTTPResponse) -> Void,
    _ charge: @escaping (Int) -> HTTPResponse?, _ body: @escaping (CompositeGathering.Chart) -> HTTPResponse
  ) throws(RequestProblem) {
    let entries = try members(of: symbol)
    let (interval, count) = range.candles
    if let refusal = charge(entries.count * (128 + Self.candleCost * count)) { return reply(refusal) }
    let now = api.node.clock.now()
    let request = ChartPage.Request(
      interval: interval, from: Timestamp(microseconds: 0), to: now + interval.length, limit: count)
    CompositeGathering(node: api.node, symbol: symbol).gather(entries, request) { outcome in
      guard case .chart(let chart) = outcome else { return reply(response(to: outcome, symbol)) }
      reply(body(chart))
    }
  }

  private func state(_ chart: CompositeGathering.Chart) -> DataState {
    let live = chart.parts.filter { chart.quote.venues.contains($0.market.instrument.venue) }
    return DataState(
      venue: CompositeSymbol.venue, state: chart.quote.venues.isEmpty ? .stale : .live,
      source: QuoteAnswer.source(of: live.isEmpty ? chart.parts : live))
  }

  /// The object up to where the data begins.
  private func head(_ symbol: String, _ chart: CompositeGathering.Chart) -> [UInt8] {
    let place = MarketPlace(market: 0, instrument: chart.candles.instrument.id)
    return MarketAnswer.Item(symbol: symbol, content: .market(loop: 0, place, state(chart))).head
  }

  private func answer(
    _ tag: ContentTag, _ parts: [QuotePart], _ write: (inout ByteBuffer) -> Void
  ) -> HTTPResponse {
    let text = EntityTag.text(tag)
    let venues = parts.map(\.market.instrument.venue).sorted()
    if let held = EntityTag.match(known, text) {
      return api.response(to: .unchanged(tag: held), venues: venues, nothing: "")
    }
    var out = ByteBuffer(capacity: 4_096)
    write(&out)
    return api.response(to: .body(out.takeBytes(), tag: text), venues: venues, nothing: "")
  }

  private func response(to outcome: CompositeGathering.Outcome, _ symbol: String) -> HTTPResponse {
    if case .busy = outcome {
      return .error(
        503, code: "not_ready", message: "too many requests wait for stored candles",
        hint: "try again, or request fewer pages at a time", retryAfterMilliseconds: 1_000)
    }
    return api.response(to: .nothing, venues: [], nothing: "\(symbol.prefix(80)): it has not traded yet")
  }
}

extension CompositeQuote.Side {
  /// The price at the scale of the chart's candles; nil if it does not fit.
  fileprivate func price(_ chart: CompositeGathering.Chart) -> Int64? {
    Ratio.rescaled(price, from: chart.quote.priceScale, to: chart.candles.instrument.priceScale)
  }
}
