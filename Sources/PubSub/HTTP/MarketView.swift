import MarketData

/// A part of an instrument's data that HTTP shows.
package enum MarketView: Sendable, Hashable {
  /// Ticker, last pulse and sparkline, with one price in all of them.
  case snapshot(points: Int)
  case ticker
  case derivative
  /// The last settlements of funding, at most `limit`, 1…1,000.
  case funding(limit: Int)
  /// The last trades, at most `limit`, 1…50.
  case trades(limit: Int)
  /// - Parameter points: 2…1440.
  case sparkline(ChartRange = .day, points: Int)
  /// The levels a side, 0 for all.
  case book(depth: Int)

  /// The data that the venue sends on request only.
  package var wishes: MarketWishes {
    switch self {
    case .derivative: .derivative
    case .funding: .fundingHistory
    case .snapshot, .ticker, .trades, .sparkline, .book: []
    }
  }

  /// The cost of making the text, in points of a sparkline (about 20 ns each). A request's other parameters do not
  /// matter. A sparkline reads its whole history for any number of points.
  package var cost: Int {
    switch self {
    case .ticker, .derivative: 16
    case .trades(let limit): 8 * limit
    case .funding(let limit): 16 + 2 * limit
    case .snapshot(let points): 128 + points
    case .sparkline(_, let points): 128 + points
    // Two numbers a level, two sides; a book keeps 5,000 levels a side.
    case .book(let depth): 4 * (depth == 0 ? Market.defaultDepthLimit : depth)
    }
  }
}

/// One instrument of an answer, with the location of its data.
package struct MarketRoute: Sendable, Hashable {
  /// The slot of its market in the publisher.
  package var market: Int
  package var instrument: InstrumentID
  package init(market: Int, instrument: InstrumentID) {
    self.market = market
    self.instrument = instrument
  }
}

/// The text of a view, with the tag of its content.
package struct MarketText: Sendable {
  package var tag: UInt64
  /// Fields of an object, each with a comma before it.
  package var fields: [UInt8]
}

/// One price and one change for all parts of an instrument's answer, although the venue's ticker, the pulse and the
/// sparkline change at different moments.
struct MarketSummary {
  /// The price of all parts, at the instrument's scale; nil before any is known.
  var price: Int64?
  var day: DayTicker?
  var pulse: Pulse?

  init(_ instrument: PublishedInstrument, now: Timestamp) {
    let state = instrument.state
    day = state.shownDay(now: now)
    price = state.shownPrice?.price
    guard let price else { return }
    pulse = instrument.lastPulse
    if let last = pulse, last.price != price {
      // The change that the next pulse will report.
      pulse = Pulse(
        instrument: last.instrument, price: price, previous: last.price, merged: 1,
        time: max(last.time, state.lastTrade?.time ?? last.time))
    }
  }

  /// In percent, with two digits.
  var changePercent: Int64? { day.flatMap { TickerChannel.changePercent(of: $0.ticker) } }
}

extension InstrumentState {
  /// Its figures as a derivative; nil if the venue has sent none.
  func shownDerivative(now: Timestamp) -> Derivative? {
    derivative.map { $0.shown(at: now) }.flatMap { $0.isEmpty ? nil : $0 }
  }

  /// The 24 h figures. If the gateway computes them itself, their time is that of the newest trade or candle. Nil
  /// before the first figures.
  func shownDay(now: Timestamp) -> DayTicker? {
    guard var shown = knownDay(now: now) else { return nil }
    if ticker == nil, let time = lastTrade?.time ?? chart.lines.lastTradeTime { shown.ticker.time = time }
    return shown
  }
}
