import Bytes
import Dispatch
import History
import MarketData
import Portfolio
import PubSub

/// The desk's source of prices and receiver of values: the gateway's loops. Called on the desk's queue.
package protocol PortfolioOutlet: Sendable {
  /// Gathers markets: all spot markets, or only `symbols`; and `others` in either case.
  func gather(
    _ symbols: Set<String>?, and others: Set<String>, completion: @escaping @Sendable ([QuotePart]) -> Void)
  /// Publishes to the streams of portfolios.
  func publish(_ values: [(subject: PortfolioSubject, text: SharedBytes)])
}

/// Values the portfolios of streams, once a second.
extension PortfolioDesk {
  /// How often values are published, ms.
  private static let interval = 1_000
  /// How soon after a collection a new subscriber causes another one, µs.
  private static let pause = 200 * Microseconds.millisecond

  func startTimer() {
    timer.start(queue, everyMilliseconds: Self.interval) { [weak self] in self?.everySecond() }
  }

  /// A stream begins or stops showing a portfolio. From loop 0.
  package func demand(_ demand: StreamDocumentDemand) {
    queue.async { [self] in
      switch demand {
      case .wanted(let name):
        guard let subject = name.portfolio else { return }
        board.remove(subject)
        board.add(subject)
        gatherSoon()
      case .unwanted(let name):
        if let subject = name.portfolio { board.remove(subject) }
      }
    }
  }

  /// A stored portfolio has changed; its subscribers see the change in the next round.
  func portfolioChanged(_ id: Int64) {
    guard board.order.contains(where: { $0.id == String(id) }) else { return }
    board.isSearching = true
    gatherSoon()
  }

  private func everySecond() {
    guard !board.order.isEmpty || !prices.waiting.isEmpty else { return }
    gather()
  }

  /// Collects prices for new subscribers, together for all that arrive within a moment.
  private func gatherSoon() {
    guard !prices.isGathering, !prices.isDue else { return }
    prices.isDue = true
    let wait = max(0, Self.pause - (context.now - board.partsTime))
    queue.asyncAfter(deadline: .now() + .microseconds(Int(min(wait, Self.pause)))) { [self] in
      prices.isDue = false
      gather()
    }
  }

  private func gather() {
    guard !prices.isGathering, let outlet else { return }
    prices.isGathering = true
    let isWhole = board.needsAll(context.now) || !prices.waiting.isEmpty
    var others = board.positionSymbols { shelf[$0]?.contents }
    for request in prices.waiting { others.formUnion(request.symbols) }
    outlet.gather(isWhole ? nil : board.symbols, and: others) { [self] parts in
      queue.async { self.gathered(parts, isWhole: isWhole) }
    }
  }

  private func gathered(_ parts: [QuotePart], isWhole: Bool) {
    prices.isGathering = false
    board.take(parts, isWhole: isWhole, now: context.now)
    var values: [(subject: PortfolioSubject, text: SharedBytes)] = []
    for subject in board.round() {
      let (text, symbols) = text(of: subject)
      if board.keep(text, symbols, of: subject) { values.append((subject, text)) }
    }
    if isWhole {
      let answered = prices.waiting
      prices.waiting = []
      for request in answered { request.body(&board) }
    }
    for start in stride(from: 0, to: values.count, by: 64) {
      outlet?.publish(Array(values[start..<min(start + 64, values.count)]))
    }
    if !prices.waiting.isEmpty || board.isSearching { gatherSoon() }
  }

  /// Calls `body` with fresh prices of all markets, on the desk's queue.
  /// - Parameter symbols: the symbols of positions.
  package func withPrices(_ symbols: [String], _ body: @escaping @Sendable (inout PortfolioBoard) -> Void) {
    context.assertOnQueue()
    prices.waiting.append(.init(symbols: symbols, body: body))
    gatherSoon()
  }

  /// The gathering of prices from the loops, one at a time.
  struct PriceRequests {
    /// A request that needs prices once.
    struct Request {
      var symbols: [String]
      var body: @Sendable (inout PortfolioBoard) -> Void
    }

    /// At most as many as there are requests under way.
    var waiting: [Request] = []
    var isGathering = false
    /// Whether one begins within a moment.
    var isDue = false
  }

  private func text(of subject: PortfolioSubject) -> (SharedBytes, symbols: [String]) {
    var out = ByteBuffer(capacity: 4_096)
    var symbols: [String] = []
    switch subject.source {
    case .sent(let contents):
      let (priced, source) = board.value(contents, nil, in: contents.currency, scope: subject.scope)
      PortfolioChannel.append(priced, source: source, to: &out)
      symbols = priced.symbols
    case .kept(let id, let owner):
      if let number = PortfolioCall.id(id), let portfolio = shelf[number], portfolio.stored.owner == owner {
        let (priced, source) = board.value(
          portfolio.contents, portfolio.ledger, in: subject.currency ?? portfolio.stored.currency, scope: subject.scope)
        PortfolioChannel.append(priced, head: portfolio.head, source: source, to: &out)
        symbols = priced.symbols
      } else {
        out.append("{\"portfolio\":")
        out.append(json: id)
        out.append(",\"state\":\"deleted\"}")
      }
    }
    return (SharedBytes(out.unsafeBytes), symbols)
  }
}
