import Access
import MarketData
import PubSub

/// Answers that combine venues: `/v1/quotes/{symbol}` of a market or a composite, and `/v1/rates` between two assets.
struct ComparisonAnswer: RouteAnswer {
  let request: APIRequest
  private var api: PublicAPI { request.api }
  private var grant: Grant { request.grant }

  init(_ request: APIRequest) { self.request = request }

  /// Answers with the quote of a symbol, or of all venues together (`composite:BTC-USD`).
  func quote() throws(RequestProblem) {
    let symbol = request.symbol
    let depth = try request.query.number("depth", default: 0)
    guard depth == 0 || grant.channels.contains(.book) else {
      throw RequestProblem(response: api.forbidden("the channel book, which `depth` shows", grant))
    }
    var entries = request.loops.hub.members(ofComposite: symbol)
    let isComposite = !entries.isEmpty
    entries.removeAll { !grant.allows($0.instrument.symbol) }
    if !isComposite {
      var lookup = SymbolLookup()
      if case .failed(let error) = api.item(symbol, grant, &lookup).content {
        throw RequestProblem(error)
      }
      if let entry = request.loops.hub.directory.entries[symbol] { entries = [entry] }
    }
    guard !entries.isEmpty else {
      throw RequestProblem(response: api.forbidden("any market of \(symbol.prefix(80))", grant))
    }
    try request.pay(entries.count * (32 + 4 * depth))
    QuoteGathering(loops: request.loops, depth: depth, hasFigures: true).gather(entries) { parts in
      guard let body = QuoteAnswer.quote(symbol, parts, depth: depth, isComposite: isComposite) else {
        let reasons = parts.map { "\($0.market.instrument.venue) \($0.market.reason)" }.sorted()
        return request.reply(
          .error(
            503, code: "not_ready", message: "no market of \(symbol.prefix(80)) is live",
            hint: reasons.joined(separator: ", "), retry: true, retryAfterMilliseconds: 1_000))
      }
      let venues = Set(parts.map(\.market.instrument.venue)).sorted()
      request.reply(api.response(to: outcome(body), venues: venues, nothing: ""))
    }
  }

  /// The answer, or that the client has it.
  private func outcome(_ body: [UInt8]) -> MarketAnswer.Outcome {
    var content = ContentTag(run: request.loops.run)
    content.add(body)
    let tag = EntityTag.text(content)
    if let held = EntityTag.match(request.known, tag) { return .unchanged(tag: held) }
    return .body(body, tag: tag)
  }

  /// Answers with the rate between two assets, through live markets.
  func rate() throws(RequestProblem) {
    guard let base = request.query.text("base"), let quote = request.query.text("quote") else {
      throw RequestQuery.problem("base and quote are both needed", hint: "/v1/rates?base=ZEC&quote=USD")
    }
    // The common table takes a few ns a market to search. A token with limited symbols needs a table of its own.
    let markets = request.loops.hub.directory.entries.count
    try request.pay(grant.allowsAllSymbols ? 32 + markets / 4 : 32 + 8 * markets)
    api.rateBook.table(now: request.loops.now()) { table, parts in
      let allowed = grant.allowsAllSymbols ? parts : parts.filter { grant.allows($0.market.instrument.symbol) }
      let table = grant.allowsAllSymbols ? table : ConversionTable(allowed.map(\.market))
      guard let conversion = table.convert(base, to: quote) else {
        let names = table.assetNames
        for asset in [base, quote] where !names.contains(asset) {
          return request.reply(
            .error(
              404, code: "not_found",
              message: "no live market has the asset \(asset.prefix(20))\(NearNames.question(asset, among: names))",
              hint: "assets are written as in symbols: ZEC, USD"))
        }
        return request.reply(
          .error(
            503, code: "not_ready",
            message: "no chain of at most \(ConversionTable.longest) live markets leads from \(base) to \(quote)",
            retry: true, retryAfterMilliseconds: 1_000))
      }
      let legs = allowed.filter { conversion.path.contains($0.market.instrument.symbol) }
      let body = QuoteAnswer.rate(conversion, base: base, quote: quote, source: QuoteAnswer.source(of: legs))
      let venues = Set(legs.map(\.market.instrument.venue)).sorted()
      request.reply(api.response(to: outcome(body), venues: venues, nothing: ""))
    }
  }
}
