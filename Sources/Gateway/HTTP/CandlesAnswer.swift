import Build
import Bytes
import History
import MarketData
import PubSub

/// `/v1/candles/{symbol}`: joins candles in memory with stored ones.
struct CandlesAnswer {
  let api: PublicAPI

  /// The cost of a candle, in points of a sparkline: it has eleven numbers.
  private static let candleCost = 16

  func answer(
    _ symbol: String, _ query: RequestQuery, _ grant: Grant, _ known: [String],
    _ reply: @escaping (HTTPResponse) -> Void, _ charge: @escaping (Int) -> HTTPResponse?
  ) throws(RequestProblem) {
    guard grant.channels.contains(.candles) else {
      throw RequestProblem(response: api.forbidden("the channel candles", grant))
    }
    let interval = try query.word("interval", default: CandleInterval.minute) { CandleInterval(name: $0) }
    // 10^16 µs are the year 2286.
    let from = try query.number("from", 0...10_000_000_000_000_000, default: 0)
    let to = try query.number("to", 0...10_000_000_000_000_000, default: 10_000_000_000_000_000)
    let limit = try query.number("limit", 1...1440, default: 100)
    let request = ChartPage.Request(
      interval: interval, from: Timestamp(microseconds: Int64(from)), to: Timestamp(microseconds: Int64(to)),
      limit: limit)
    if CompositeSymbol.isOne(symbol) {
      return try CompositeAnswer(api: api, grant: grant, known: known).candles(symbol, request, reply, charge)
    }
    var lookup = SymbolLookup()
    let item = api.item(symbol, grant, &lookup)
    guard case .market(let loop, let place, let state) = item.content else {
      if case .failed(let error) = item.content { throw RequestProblem(response: api.response(to: error)) }
      return
    }
    // Rings scan a day of minutes; the store scans up to five times as many candles as it returns.
    if let refusal = charge(128 + Self.candleCost * limit) { return reply(refusal) }
    let head = item.head
    ChartPageGathering(node: api.node, request: request).gather(loop, place) { outcome in
      switch outcome {
      case .page(let page, let instrument):
        reply(response(head, page, interval, instrument, known, venue: state.venue, symbol))
      case .nothing:
        reply(api.response(to: .nothing, venues: [state.venue], nothing: "\(symbol): it has not traded yet"))
      case .busy:
        reply(
          .error(
            503, code: "not_ready", message: "too many requests wait for stored candles",
            hint: "try again, or request fewer pages at a time", retryAfterMilliseconds: 1_000))
      }
    }
  }

  private func response(
    _ head: [UInt8], _ page: ChartPage, _ interval: CandleInterval, _ instrument: Instrument, _ known: [String],
    venue: String, _ symbol: String
  ) -> HTTPResponse {
    let body = CandlesBody(instrument, interval, page.candles, gaps: page.gaps, next: page.next)
    // The tag depends on content alone: pages of the past keep it when the gateway restarts.
    var tag = ContentTag(run: TidegateVersion.current)
    tag.add(head)
    body.add(to: &tag)
    let text = EntityTag.text(tag)
    if let held = EntityTag.match(known, text) {
      return api.response(to: .unchanged(tag: held), venues: [venue], nothing: "")
    }
    if let made = api.node.compressor.cache.body(text) {
      return api.response(to: .body(made, tag: text), venues: [venue], nothing: "")
    }
    var out = ByteBuffer(capacity: 256 + page.candles.count * 220)
    out.append(head)
    body.append(to: &out)
    out.append("}\n")
    let bytes = out.takeBytes()
    api.node.compressor.cache.keep(bytes, as: text)
    return api.response(to: .body(bytes, tag: text), venues: [venue], nothing: "")
  }
}
