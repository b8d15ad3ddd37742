import Bytes
import History
import MarketData
import Portfolio
import PubSub
import Transport

/// The value of a portfolio over a range: its quantities at each moment, at the closing prices of candles from memory
/// and history. It does not include positions, whose past is not stored.
///
/// Each asset is converted along its present path. A moment at which the price of a held asset was not observed has no
/// value. The last point is the present value of the holdings, from the same prices as the total.
struct PortfolioCurve {
  let node: LoopNode
  let range: ChartRange
  let scope: [SymbolRules]

  /// The candles of a range's curve, and their number.
  static func interval(of range: ChartRange) -> (interval: CandleInterval, limit: Int) {
    switch range {
    case .hour: (.minute, 60)
    case .day: (.quarterHour, 96)
    case .week: (.hour, 168)
    case .month: (.fourHours, 180)
    case .quarter: (.day, 90)
    case .year: (.day, 365)
    case .all: (.day, 1_440)
    }
  }

  /// An asset with its conversion path to the currency.
  private struct Asset: Sendable {
    var name: String
    var quantities: [(time: Timestamp, quantity: WideDecimal)]
    var path: [String]
  }

  private struct Plan: Sendable {
    var head: String
    var currency: String
    var assets: [Asset]
    var symbols: [String]
    /// The value of the holdings at the prices of the plan; nil if one has no price.
    var present: WideDecimal?
  }

  /// Closing prices of one market by the open time of their candles.
  private struct Line: Sendable {
    var instrument: Instrument
    var closes: [Timestamp: Int64]
  }

  typealias Reply = @Sendable (Result<HTTPResponse, ProtocolError>) -> Void

  func answer(_ id: String, of owner: String, in currency: String?, now: Timestamp, _ reply: @escaping Reply) {
    let desk = node.settings.portfolios
    let (scope, node) = (scope, node)
    desk.read(id, of: owner) { answer in
      let portfolio: KeptPortfolio
      switch answer {
      case .success(let found): portfolio = found
      case .failure(let error): return reply(.failure(error))
      }
      desk.withPrices([]) { board in
        let plan = Self.plan(portfolio, in: currency ?? portfolio.stored.currency, scope, &board)
        node.loop.execute { self.gather(plan, plan.symbols[...], [:], now, reply) }
      }
    }
  }

  private static func plan(
    _ portfolio: KeptPortfolio, in currency: String, _ scope: [SymbolRules], _ board: inout PortfolioBoard
  ) -> Plan {
    var quantities: [String: [(time: Timestamp, quantity: WideDecimal)]] = [:]
    for entry in portfolio.stored.entries {
      let transaction = entry.transaction
      let amount = WideDecimal(transaction.quantity)
      let before = quantities[transaction.asset]?.last?.quantity ?? .zero
      let isIn = transaction.kind == .buy || transaction.kind == .deposit
      // The ledger has summed the same without overflow.
      guard let after = isIn ? try? before.plus(amount) : try? before.minus(amount) else { continue }
      quantities[transaction.asset, default: []].append((transaction.time, after))
    }
    var assets: [Asset] = []
    var symbols: Set<String> = []
    for name in quantities.keys.sorted() {
      let rate = board.rate(.init(name, currency), scope: scope)
      let isReachable = rate.reading.price != nil
      symbols.formUnion(rate.path)
      // An asset without a path has no price at any time; the name of no market stands for that.
      assets.append(Asset(name: name, quantities: quantities[name] ?? [], path: isReachable ? rate.path : [""]))
    }
    let priced = board.value(portfolio.contents, portfolio.ledger, in: currency, scope: scope).priced
    return Plan(
      head: portfolio.head, currency: currency, assets: assets, symbols: symbols.sorted(),
      present: priced.valuation.holdingsValue)
  }

  /// Reads one market after the other. On the asking loop.
  private func gather(
    _ plan: Plan, _ symbols: ArraySlice<String>, _ lines: [String: Line], _ now: Timestamp, _ reply: @escaping Reply
  ) {
    guard let symbol = symbols.first else {
      return reply(.success(.json(body(plan, lines, now))))
    }
    let rest = symbols.dropFirst()
    guard let entry = node.hub.directory.entries[symbol] else { return gather(plan, rest, lines, now, reply) }
    let (interval, limit) = Self.interval(of: range)
    let request = ChartPage.Request(
      interval: interval, from: interval.start(of: now) + -Int64(limit - 1) * interval.length,
      to: interval.start(of: now) + interval.length, limit: limit)
    ChartPageGathering(loops: node, request: request)
      .gather(entry.loop, MarketPlace(market: entry.market, instrument: entry.instrument.id)) { outcome in
        switch outcome {
        case .busy:
          var error = ProtocolError(.notReady, "too many requests wait for stored candles", hint: "try again")
          error.retry = true
          error.retryAfterMilliseconds = 1_000
          reply(.failure(error))
        case .nothing: next(lines)
        case .page(let page, let instrument):
          var lines = lines
          lines[symbol] = Line(
            instrument: instrument,
            closes: Dictionary(page.candles.map { ($0.time, $0.close) }, uniquingKeysWith: { $1 }))
          next(lines)
        }
      }
    func next(_ lines: [String: Line]) {
      // In another turn, so that a hundred markets are not read in one.
      node.loop.execute { self.gather(plan, rest, lines, now, reply) }
    }
  }

  private func body(_ plan: Plan, _ lines: [String: Line], _ now: Timestamp) -> [UInt8] {
    let (interval, limit) = Self.interval(of: range)
    let last = interval.start(of: now)
    let opens = (0..<limit).map { last + -Int64(limit - 1 - $0) * interval.length }
    let moments = opens.map { min($0 + interval.length, now) }
    let assets = plan.assets.map { asset in
      PerformanceCurve.Asset(
        quantities: asset.quantities, prices: opens.map { Self.price(asset, at: $0, lines) })
    }
    let values = PerformanceCurve.values(assets, at: moments).dropLast() + [plan.present]
    // Before the first transaction there was no portfolio.
    let first = plan.assets.compactMap { $0.quantities.first?.time }.min() ?? .distantFuture
    var out = ByteBuffer(capacity: 4_096)
    out.append("{")
    out.append(plan.head)
    out.append("\"currency\":")
    out.append(json: plan.currency)
    out.append(",\"range\":\"")
    out.append(range.name)
    out.append("\",\"step_s\":")
    out.append(integer: interval.length / Microseconds.second)
    out.append(",\"points\":[")
    var isFirst = true
    for (moment, value) in zip(moments, values) {
      guard let value, moment >= first else { continue }
      out.append(isFirst ? "{\"time\":" : ",{\"time\":")
      isFirst = false
      out.append(integer: moment.microseconds)
      out.append(",\"value\":\"")
      value.append(to: &out)
      out.append("\"}")
    }
    out.append("]}")
    return out.takeBytes()
  }

  /// The price of an asset from the closes of the markets on its path; nil if one was not observed.
  private static func price(_ asset: Asset, at open: Timestamp, _ lines: [String: Line]) -> WideDecimal? {
    var price = WideDecimal(1)
    var at = asset.name
    for symbol in asset.path {
      guard let line = lines[symbol], let close = line.closes[open], close > 0 else { return nil }
      let factor = WideDecimal(close, scale: line.instrument.priceScale)
      let isForward = line.instrument.base == at
      guard
        let next = isForward ? try? price.times(factor) : try? price.divided(by: factor, digits: AssetLedger.costDigits)
      else { return nil }
      price = next.rounded(AssetLedger.costDigits)
      at = isForward ? line.instrument.quote : line.instrument.base
    }
    return price
  }
}
