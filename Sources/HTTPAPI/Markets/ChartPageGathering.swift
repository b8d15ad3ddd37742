import History
import MarketData
import PubSub
import Transport

/// Collects a page of candles: requests the candles in the rings from the market's loop, and the others from the store,
/// on a separate thread. Owned by the requesting loop.
package struct ChartPageGathering {
  package enum Outcome {
    case page(ChartPage, Instrument)
    /// There has been no price in the range.
    case nothing
    /// Too many requests wait for the store.
    case busy
  }

  private let loops: any Loops
  private let request: ChartPage.Request

  package init(loops: any Loops, request: ChartPage.Request) {
    self.loops = loops
    self.request = request
  }

  /// The candles of the market's loop.
  private struct Rings: Sendable {
    var instrument: Instrument
    var candles: [Candle]
    /// The store's symbol of the instrument; nil if nothing is stored.
    var symbol: String?
    /// Whether there has been any price.
    var hasTraded: Bool
  }

  /// Calls `completion` on the asking loop.
  package func gather(_ loop: Int, _ route: MarketRoute, then completion: @escaping (Outcome) -> Void) {
    let request = request
    loops.askMarkets(loop) { markets -> Rings? in
      let found = markets.publisher.candles(
        request.interval, from: request.from, to: request.to, limit: request.wanted, at: route, now: markets.now())
      guard let (instrument, candles, hasTraded) = found else { return nil }
      return Rings(
        instrument: instrument, candles: candles, symbol: markets.storedSymbol(of: route),
        hasTraded: hasTraded)
    } then: { [self] rings in
      guard let rings else { return completion(.nothing) }
      join(rings, completion)
    }
  }

  private func join(_ rings: Rings, _ completion: @escaping (Outcome) -> Void) {
    let request = request
    let now = loops.now()
    func finish(_ page: ChartPage) {
      completion(page.candles.isEmpty && !rings.hasTraded ? .nothing : .page(page, rings.instrument))
    }
    if let page = ChartPage(rings: rings.candles, request, now: now) { return finish(page) }
    let alone = ChartPage(ringsAlone: rings.candles, request, now: now)
    guard let symbol = rings.symbol else { return finish(alone) }
    let loop = loops.loop
    let done = UncheckedTransfer(value: finish)
    let isTaken = loops.readStore { store in
      try store.page(request, of: symbol, rings.instrument, rings: rings.candles, now: now)
    } then: { (page: ChartPage?) in
      // Without an answer of the store the page has the rings alone; the log and the health say why.
      loop.execute { done.value(page ?? alone) }
    }
    guard let isTaken else { return finish(alone) }
    if !isTaken { completion(.busy) }
  }
}
