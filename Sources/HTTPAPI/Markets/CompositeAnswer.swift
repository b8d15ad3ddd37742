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
  let request: APIRequest
  private var api: PublicAPI { request.api }
  private var query: RequestQuery { request.query }
  private var symbol: String { request.symbol }

  init(_ request: APIRequest) { self.request = request }

  /// The cost of a member's candle, in points of a sparkline: reading and merging it.
  private static let candleCost = 16

  /// The members that the client may see.
  /// - Throws: if there are none.
  private func members() throws(RequestProblem) -> [DirectoryEntry] {
    let entries = request.loops.hub.members(ofComposite: symbol)
    guard !entries.isEmpty else {
      let pair = symbol.drop { $0 != ":" }.dropFirst()
      let error =
        request.loops.hub.listNotReady(of: "*:\(pair)")
        ?? ProtocolError(
          .unknownSymbol, "no venue has \(pair.prefix(80)) as a spot market or perpetual", hint: "GET /v1/instruments")
      throw RequestProblem(error)
    }
    let allowed = entries.filter { request.grant.allows($0.instrument.symbol) }
    guard !allowed.isEmpty else {
      throw RequestProblem(response: api.forbidden("any market of \(symbol.prefix(80))", request.grant))
    }
    return allowed
  }

  /// The refusal of a route that only markets of venues have.
  /// - Parameter what: what composite markets do not have: `trades`.
  func nothing(_ what: String) -> RequestProblem {
    RequestProblem(
      ProtocolError(
        .unknownSymbol, "composite markets have no \(what)",
        hint: "GET /v1/quotes/\(symbol.prefix(80)) has the last price and the 24 h volumes"))
  }

  func book() throws(RequestProblem) {
    let asked = try query.number("depth", default: 25, word: QuoteAnswer.depthLimit)
    let depth = min(asked, QuoteAnswer.depthLimit)
    let hasVenues = try query.word("venues", default: false) { $0 == "true" ? true : $0 == "false" ? false : nil }
    let entries = try members()
    try request.pay(entries.count * (32 + 4 * depth))
    QuoteGathering(loops: request.loops, depth: depth, hasFigures: false).gather(entries) { parts in
      guard let body = CompositeBody.book(symbol, parts, depth: depth, hasVenues: hasVenues) else {
        return request.reply(notLive(parts))
      }
      var tag = ContentTag(run: TidegateVersion.current)
      tag.add(body)
      request.reply(answer(tag, parts) { $0.append(body) })
    }
  }

  private func notLive(_ parts: [QuotePart]) -> HTTPResponse {
    let reasons = parts.filter { !$0.market.isLive }.map { "\($0.market.instrument.venue) \($0.market.reason)" }
    return .error(
      503, code: "not_ready", message: "no market of \(symbol.prefix(80)) is live",
      hint: reasons.sorted().joined(separator: ", "), retry: true, retryAfterMilliseconds: 1_000)
  }

  // MARK: Charts

  /// `/v1/candles/composite:…`
  func candles(_ wanted: ChartPage.Request) throws(RequestProblem) {
    let entries = try members()
    try request.pay(entries.count * (128 + Self.candleCost * wanted.limit))
    CompositeGathering(loops: request.loops, symbol: symbol).gather(entries, wanted) { outcome in
      guard case .chart(let chart) = outcome else { return request.reply(response(to: outcome)) }
      let page = chart.page
      let body = CandlesBody(chart.candles.instrument, wanted.interval, page.candles, gaps: page.gaps, next: page.next)
      var tag = ContentTag(run: TidegateVersion.current)
      let head = head(chart)
      tag.add(head)
      body.add(to: &tag)
      request.reply(
        answer(tag, chart.parts) { out in
          out.append(head)
          body.append(to: &out)
          out.append("}\n")
        })
    }
  }

  func line() throws(RequestProblem) {
    let range = try query.word("range", default: ChartRange.day) { ChartRange(name: $0) }
    let points = try query.number("points", default: 96)
    try gather(range) { chart in
      let now = request.loops.now()
      let line = chart.candles.line(range, points: points, price: chart.quote.last?.price(chart), now: now).line
      guard !line.points.isEmpty else { return response(to: .nothing) }
      var out = ByteBuffer(capacity: 256 + 16 * points)
      out.append(head(chart))
      CompositeBody.append(line, of: chart.candles.instrument, to: &out)
      out.append("}\n")
      let bytes = out.takeBytes()
      var tag = ContentTag(run: TidegateVersion.current)
      tag.add(bytes)
      return answer(tag, chart.parts) { $0.append(bytes) }
    }
  }

  /// Answers with the picture that `draw` makes of a composite's data and state.
  func picture(
    _ range: ChartRange, points: Int, draw: @escaping (CardFigures, DataState) -> HTTPResponse
  ) throws(RequestProblem) {
    try gather(range) { chart in
      let now = request.loops.now()
      let price = chart.quote.last?.price(chart)
      let (line, figures) = chart.candles.line(range, points: points, price: price, now: now)
      guard !line.points.isEmpty else { return response(to: .nothing) }
      let card = CardFigures(
        instrument: chart.candles.instrument, price: line.points.last, line: line,
        high: range == .day ? figures.high : nil, low: range == .day ? figures.low : nil, volume: chart.quote.volume,
        time: chart.quote.lastTime == .distantPast ? nil : chart.quote.lastTime, since: line.lateStart(now: now))
      return draw(card, state(chart))
    }
  }

  /// Answers with what `body` makes of the candles of a range.
  private func gather(
    _ range: ChartRange, _ body: @escaping (CompositeGathering.Chart) -> HTTPResponse
  ) throws(RequestProblem) {
    let entries = try members()
    let (interval, count) = range.candles
    try request.pay(entries.count * (128 + Self.candleCost * count))
    let now = request.loops.now()
    let wanted = ChartPage.Request(
      interval: interval, from: Timestamp(microseconds: 0), to: now + interval.length, limit: count)
    CompositeGathering(loops: request.loops, symbol: symbol).gather(entries, wanted) { outcome in
      guard case .chart(let chart) = outcome else { return request.reply(response(to: outcome)) }
      request.reply(body(chart))
    }
  }

  private func state(_ chart: CompositeGathering.Chart) -> DataState {
    let live = chart.parts.filter { chart.quote.venues.contains($0.market.instrument.venue) }
    return DataState(
      venue: CompositeSymbol.venue, state: chart.quote.venues.isEmpty ? .stale : .live,
      source: QuoteAnswer.source(of: live.isEmpty ? chart.parts : live))
  }

  /// The object up to where the data begins.
  private func head(_ chart: CompositeGathering.Chart) -> [UInt8] {
    let route = MarketRoute(market: 0, instrument: chart.candles.instrument.id)
    return MarketAnswer.Item(symbol: symbol, content: .market(loop: 0, route, state(chart))).head
  }

  private func answer(
    _ tag: ContentTag, _ parts: [QuotePart], _ write: (inout ByteBuffer) -> Void
  ) -> HTTPResponse {
    let text = EntityTag.text(tag)
    let venues = parts.map(\.market.instrument.venue).sorted()
    if let held = EntityTag.match(request.known, text) {
      return api.response(to: .unchanged(tag: held), venues: venues, nothing: "")
    }
    var out = ByteBuffer(capacity: 4_096)
    write(&out)
    return api.response(to: .body(out.takeBytes(), tag: text), venues: venues, nothing: "")
  }

  private func response(to outcome: CompositeGathering.Outcome) -> HTTPResponse {
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
