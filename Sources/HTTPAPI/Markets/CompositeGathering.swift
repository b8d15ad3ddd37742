import History
import MarketData
import PubSub
import Transport

/// Collects the candles and quotes of a composite's members. Owned by the requesting loop.
package struct CompositeGathering {
  /// What the members have at one moment.
  struct Chart {
    /// The present values of the members, with the states of their feeds.
    var parts: [QuotePart]
    /// The composite of those that are live.
    var quote: CompositeQuote
    var candles: CompositeCandles
    /// The page that was asked for.
    var page: ChartPage
  }

  enum Outcome {
    case chart(Chart)
    /// No member has had a price.
    case nothing
    /// Too many requests wait for the store.
    case busy
  }

  private let loops: any Loops
  private let symbol: String

  /// - Parameter symbol: the composite's.
  package init(loops: any Loops, symbol: String) {
    self.loops = loops
    self.symbol = symbol
  }

  /// The pages of the members.
  package final class Pages {
    package var parts: [CompositeCandles.Part] = []
    /// Before it, a page of a member does not reach.
    package var next: Timestamp?
    /// Whether one could not be read, because too many requests wait for the store.
    package var isBusy = false
    fileprivate var pending: Int
    fileprivate init(pending: Int) { self.pending = pending }
  }

  /// Calls `completion` on the asking loop.
  /// - Parameter entries: the members, at least one.
  func gather(
    _ entries: [DirectoryEntry], _ request: ChartPage.Request, then completion: @escaping (Outcome) -> Void
  ) {
    var longer = request
    longer.limit += CompositeCandles.lead
    pages(of: entries, longer) { quotes(entries, $0, request, completion) }
  }

  /// Calls `completion` on the asking loop with the candles of the members, live or not.
  package func pages(
    of entries: [DirectoryEntry], _ request: ChartPage.Request, then completion: @escaping (Pages) -> Void
  ) {
    let pages = Pages(pending: entries.count)
    guard !entries.isEmpty else { return completion(pages) }
    for entry in entries {
      let route = MarketRoute(market: entry.market, instrument: entry.instrument.id)
      ChartPageGathering(loops: loops, request: request).gather(entry.loop, route) { outcome in
        switch outcome {
        case .page(let page, let instrument):
          pages.parts.append(.init(instrument: instrument, candles: page.candles))
          if let next = page.next { pages.next = max(pages.next ?? .distantPast, next) }
        case .nothing: break
        case .busy: pages.isBusy = true
        }
        pages.pending -= 1
        if pages.pending == 0 { completion(pages) }
      }
    }
  }

  private func quotes(
    _ entries: [DirectoryEntry], _ pages: Pages, _ request: ChartPage.Request,
    _ completion: @escaping (Outcome) -> Void
  ) {
    guard !pages.isBusy else { return completion(.busy) }
    guard !pages.parts.isEmpty else { return completion(.nothing) }
    QuoteGathering(loops: loops, depth: 0, hasFigures: true).gather(entries) { parts in
      let candles = CompositeCandles(symbol, pages.parts)
      var page = ChartPage(
        ringsAlone: candles.candles.filter { $0.time >= pages.next ?? .distantPast }.suffix(request.wanted), request,
        now: loops.now())
      if page.next == nil { page.next = pages.next }
      completion(
        .chart(
          Chart(parts: parts, quote: CompositeQuote(parts.map(\.market)), candles: candles, page: page)))
    }
  }
}
