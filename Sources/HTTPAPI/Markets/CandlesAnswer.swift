import Build
import Bytes
import History
import MarketData
import PubSub

/// `/v1/candles/{symbol}`: joins candles in memory with stored ones.
struct CandlesAnswer: RouteAnswer {
  /// The cost of a candle, in points of a sparkline: it has eleven numbers.
  private static let candleCost = 16

  let request: APIRequest
  private var api: PublicAPI { request.api }

  init(_ request: APIRequest) { self.request = request }

  func page() throws(RequestProblem) {
    let (query, symbol) = (request.query, request.symbol)
    let interval = try query.word("interval", default: CandleInterval.minute) { CandleInterval(name: $0) }
    let from = try query.number("from", default: 0)
    let to = try query.number("to", default: 10_000_000_000_000_000)
    let limit = try query.number("limit", default: 100)
    let wanted = ChartPage.Request(
      interval: interval, from: Timestamp(microseconds: Int64(from)), to: Timestamp(microseconds: Int64(to)),
      limit: limit)
    if CompositeSymbol.isOne(symbol) { return try CompositeAnswer(request).candles(wanted) }
    var lookup = SymbolLookup()
    let item = api.item(symbol, request.grant, &lookup)
    guard case .market(let loop, let route, let state) = item.content else {
      if case .failed(let error) = item.content { throw RequestProblem(error) }
      return
    }
    // Rings scan a day of minutes; the store scans up to five times as many candles as it returns.
    try request.pay(128 + Self.candleCost * limit)
    let head = item.head
    ChartPageGathering(loops: request.loops, request: wanted).gather(loop, route) { outcome in
      switch outcome {
      case .page(let page, let instrument):
        request.reply(response(head, page, interval, instrument, venue: state.venue))
      case .nothing:
        request.reply(api.response(to: .nothing, venues: [state.venue], nothing: "\(symbol): it has not traded yet"))
      case .busy:
        request.reply(
          .error(
            503, code: "not_ready", message: "too many requests wait for stored candles",
            hint: "try again, or request fewer pages at a time", retryAfterMilliseconds: 1_000))
      }
    }
  }

  private func response(
    _ head: [UInt8], _ page: ChartPage, _ interval: CandleInterval, _ instrument: Instrument, venue: String
  ) -> HTTPResponse {
    let body = CandlesBody(instrument, interval, page.candles, gaps: page.gaps, next: page.next)
    // The tag depends on content alone: pages of the past keep it when the gateway restarts.
    var tag = ContentTag(run: TidegateVersion.current)
    tag.add(head)
    body.add(to: &tag)
    let text = EntityTag.text(tag)
    if let held = EntityTag.match(request.known, text) {
      return api.response(to: .unchanged(tag: held), venues: [venue], nothing: "")
    }
    if let made = request.loops.compressor.cache.body(text) {
      return api.response(to: .body(made, tag: text), venues: [venue], nothing: "")
    }
    var out = ByteBuffer(capacity: 256 + page.candles.count * 220)
    out.append(head)
    body.append(to: &out)
    out.append("}\n")
    let bytes = out.takeBytes()
    request.loops.compressor.cache.keep(bytes, as: text)
    return api.response(to: .body(bytes, tag: text), venues: [venue], nothing: "")
  }
}
