import Bytes
import Documents
import History
import MarketData
import PubSub
import Transport

/// Answers with the curve of a portfolio: the desk plans it, and this reads the candles of one market after the other.
struct PortfolioCurveGathering {
  typealias Reply = @Sendable (Result<HTTPResponse, ProtocolError>) -> Void

  let loops: any Loops
  let desk: PortfolioDesk
  let curve: PortfolioCurve

  /// - Parameter currency: nil: the portfolio's own.
  func answer(_ id: String, of owner: String, in currency: String?, now: Timestamp, _ reply: @escaping Reply) {
    let (curve, loops) = (curve, loops)
    desk.read(id, of: owner) { answer in
      let portfolio: KeptPortfolio
      switch answer {
      case .success(let found): portfolio = found
      case .failure(let error): return reply(.failure(error))
      }
      desk.withPrices([]) { board in
        let plan = curve.plan(portfolio, in: currency, &board)
        loops.loop.execute { self.gather(plan, plan.symbols[...], [:], now, reply) }
      }
    }
  }

  /// Reads one market after the other. On the asking loop.
  private func gather(
    _ plan: PortfolioCurve.Plan, _ symbols: ArraySlice<String>, _ closes: [String: PortfolioCurve.Closes],
    _ now: Timestamp, _ reply: @escaping Reply
  ) {
    guard let symbol = symbols.first else { return reply(.success(.json(curve.body(plan, closes, now)))) }
    let rest = symbols.dropFirst()
    guard let entry = loops.hub.directory.entries[symbol] else { return gather(plan, rest, closes, now, reply) }
    ChartPageGathering(loops: loops, request: curve.request(now: now))
      .gather(entry.loop, MarketRoute(market: entry.market, instrument: entry.instrument.id)) { outcome in
        switch outcome {
        case .busy:
          var error = ProtocolError(.notReady, "too many requests wait for stored candles", hint: "try again")
          error.retry = true
          error.retryAfterMilliseconds = 1_000
          reply(.failure(error))
        case .nothing: next(closes)
        case .page(let page, let instrument):
          var closes = closes
          closes[symbol] = PortfolioCurve.Closes(page, of: instrument)
          next(closes)
        }
      }
    func next(_ closes: [String: PortfolioCurve.Closes]) {
      // In another turn, so that a hundred markets are not read in one.
      loops.loop.execute { self.gather(plan, rest, closes, now, reply) }
    }
  }
}
