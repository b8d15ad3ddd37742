import Bytes

/// The whole state of one instrument. Only the `Market` that made it changes it.
package final class InstrumentState {
  package internal(set) var instrument: Instrument {
    didSet {
      revision.raise(.book)
      revision.raise(.figures)
    }
  }
  package internal(set) var book: OrderBook
  package internal(set) var bookState: BookState = .absent { didSet { revision.raise(.book) } }
  /// The venue's time of the last book message applied.
  package internal(set) var bookTime: Timestamp = .distantPast { didSet { revision.raise(.book) } }
  /// The newest trade by the venue's time, backlog included.
  package internal(set) var lastTrade: Trade? { didSet { revision.raise(.figures) } }
  /// The best bid and ask; nil while unknown. A quote from a book is unknown as soon as the book is out of sync.
  package internal(set) var quote: Quote? { didSet { revision.raise(.figures) } }
  /// The venue's own 24 h figures.
  package internal(set) var ticker: Ticker? { didSet { revision.raise(.figures) } }
  /// Its figures as a derivative; nil until the venue sends some.
  package internal(set) var derivative: Derivative?
  /// Whether the venue tells of its liquidations.
  package internal(set) var liquidationFeed = LiquidationFeed.none
  package internal(set) var liquidations = RecentLiquidations()
  package internal(set) var fundingHistory = FundingHistory()
  /// Lines, candles and rolling figures. Every change of it must raise the revision.
  package internal(set) var chart: Chart
  /// For a composite: what it shows in place of a chart.
  var composite: CompositeCharts?
  package internal(set) var pulse: PulseMerger
  /// Grows with every change of shown data.
  package let revision = ContentRevision()

  /// The number of book deltas that arrived while the book was not live.
  package internal(set) var ignoredDeltas = 0
  /// The number of trades whose venue time was off by more than `Market.clockTolerance`.
  package internal(set) var clockWarnings = 0
  /// The number of removals of missing book levels.
  package var unknownDeletes: Int { book.unknownDeletes }

  /// The number of the venue's checksums that matched the book.
  package internal(set) var checksumsOK = 0

  /// Since when the book is crossed.
  var crossedSince: Timestamp?
  /// Whether the book is hidden because it is crossed. It still applies updates, so if it uncrosses, it need not be
  /// rebuilt.
  package var isCrossedForNow: Bool { crossedSince != nil }
  /// Whether deltas are applied to the book: it is live, or crossed for now.
  package var isKept: Bool { bookState == .live || isCrossedForNow }
  /// The contradictions of the book since its last change.
  var frozen = FrozenBook()
  /// The contradictions of the channels beside the book.
  var doubts = ChannelDoubts()
  /// The venue's last figures by REST; only for comparison.
  var witness: Ticker?
  /// The channels beside the book that are silent although others of the instrument contradict that.
  package var silent: MarketChannels { doubts.dead }
  /// Whether a channel beside the book is one of `silent`.
  @inline(__always)
  package func isSilent(_ channel: MarketChannel) -> Bool { doubts.isDead(channel) }
  /// The number of consecutive wrong checksums.
  var checksumMisses = 0
  /// The venue time of `lastTrade`, limited to near the gateway's clock.
  var lastTradeTime = Timestamp.distantPast
  /// Whether the instrument is observed, so that silence means that nothing happened.
  var isObserved = false { didSet { revision.raise(.figures) } }
  /// The bridge from the trades of an earlier run to those of this one, until they have joined.
  var bridge: TradeBridge?
  /// The trades that the charts have.
  var counted = CountedTrades()
  /// The venue's numbers of trades, where it numbers them.
  var numbering = TradeNumbering()
  /// How the trades of an earlier run and those of this one have joined; nil while that is not known. `.gap` without an
  /// earlier run.
  package internal(set) var junction: TradeJunction?
  /// When the gateway's own ticker was last published.
  var tickerTime = Timestamp.distantPast
  /// When a change of `derivative` was last reported.
  var derivativeTime = Timestamp.distantPast
  /// The kinds that are in the market's deadline heap.
  var isPulseScheduled = false
  var isTickerScheduled = false
  var isCrossedScheduled = false
  var isFrozenScheduled = false
  var isLeadScheduled = false
  var isReissueScheduled = false

  init(instrument: Instrument, book: OrderBook, chart: consuming Chart = Chart()) {
    self.instrument = instrument
    self.book = book
    self.chart = chart
    self.pulse = PulseMerger(instrument: instrument.id)
  }

  /// The price of the last trade; nil before the first.
  package var lastPrice: Int64? {
    if let composite { return composite.lastPrice }
    return chart.lastPrice
  }

  /// Whether it is a composite, whose line may change anywhere when a candle closes.
  package var isComposite: Bool { composite != nil }

  /// Whether a line of a range can be shown.
  package func hasLine(_ range: ChartRange) -> Bool { hasCandles(range.candles.interval) }

  /// Whether candles of an interval can be shown.
  package func hasCandles(_ interval: CandleInterval) -> Bool {
    lastPrice != nil && composite?.isKnown(interval) ?? true
  }

  /// The gateway's own figures of the last 24 h, even if the venue has its own. O(1), amortised; of a composite
  /// O(minutes).
  package func dayFigures(now: Timestamp) -> WindowFigures {
    if let composite { return composite.figures(now: now) }
    return chart.figures(now: now)
  }

  /// The line of a range, with its change. O(buckets).
  /// - Parameter price: replaces its last point.
  package func sparkline(
    _ range: ChartRange = .day, points: Int, price: Int64? = nil, now: Timestamp
  ) -> Sparkline {
    var line =
      if let composite {
        composite.line(range, points: points, now: now)
      } else {
        chart.line(range, points: points, now: now)
      }
    guard let last = line.points.last else { return line }
    line.points[line.points.count - 1] = price ?? last
    line.change = change(over: range, from: line.open, to: price ?? last, now: now)
    return line
  }

  /// The price at the beginning of that line; nil before any price. O(buckets without trades before the line).
  package func lineOpen(_ range: ChartRange, points: Int, now: Timestamp) -> Int64? {
    if let composite { return composite.line(range, points: points, now: now).open }
    return chart.open(range, points: points, now: now)
  }

  /// From when on that line was observed, apart from gaps. O(1).
  package func observed(
    _ range: ChartRange, points: Int, now: Timestamp
  ) -> (from: Timestamp?, gaps: [TimeSpan]) {
    if let composite {
      let line = composite.line(range, points: points, now: now)
      return (line.coveredFrom, line.gaps)
    }
    return chart.observed(range, points: points, now: now)
  }

  /// The first moment after `now` at which that line may change without new data. O(1).
  package func nextLineChange(_ range: ChartRange, after now: Timestamp) -> Timestamp {
    chart.nextLineChange(range, after: now)
  }

  /// The same for the figures of the last 24 h. O(1).
  package func nextFigureChange(after now: Timestamp) -> Timestamp { chart.nextFigureChange(after: now) }

  /// The newest point of that line, for updates; nil before any price. O(1), of a composite O(candles).
  package func sparklineTip(_ range: ChartRange = .day, points: Int, now: Timestamp) -> SparklineTip? {
    if let composite { return composite.line(range, points: points, now: now).tip }
    return chart.tip(range, points: points, now: now)
  }

  /// The candle that is open at `now`; nil before any price. O(1), amortised.
  package func openCandle(_ interval: CandleInterval, now: Timestamp) -> Candle? {
    if let composite { return composite.openCandle(interval) }
    return chart.openCandle(interval, of: instrument.id, now: now)
  }

  /// The candles of [`from`, `to`) that are made of the last 24 h, in order of time, at most the last `limit`; a
  /// composite's may be older. O(1,440).
  package func candles(
    _ interval: CandleInterval, from: Timestamp, to: Timestamp, limit: Int, now: Timestamp
  ) -> [Candle] {
    if let composite { return composite.candles(interval, from: from, to: to, limit: limit) }
    return chart.candles(interval, from: from, to: to, limit: limit, of: instrument.id, now: now)
  }

  /// Takes over a changed description. Wider scales multiply all values. If a value then does not fit, or a scale
  /// became narrower, the values concerned are dropped. Returns the reason if the book must be rebuilt.
  func update(_ new: Instrument, now: Timestamp) -> ResyncReason? {
    let old = instrument
    instrument = new
    guard new.priceScale != old.priceScale || new.sizeScale != old.sizeScale else { return nil }
    guard new.priceScale >= old.priceScale, new.sizeScale >= old.sizeScale,
      new.priceScale - old.priceScale <= DecimalText.scaleLimit, new.sizeScale - old.sizeScale <= DecimalText.scaleLimit
    else {
      forgetValues(now: now)
      return .venueReset
    }
    let price = Int64(DecimalText.power(new.priceScale - old.priceScale))
    let size = Int64(DecimalText.power(new.sizeScale - old.sizeScale))
    lastTrade = lastTrade.flatMap { trade in
      var trade = trade
      return trade.price.scale(by: price) && trade.size.scale(by: size) ? trade : nil
    }
    bridge?.rescale(priceBy: price, sizeBy: size)
    quote = quote.flatMap { quote in
      var quote = quote
      return quote.bid.scale(by: price) && quote.ask.scale(by: price) && quote.bidSize.scale(by: size)
        && quote.askSize.scale(by: size) ? quote : nil
    }
    ticker = ticker.map { ticker in
      var ticker = ticker
      for path in [\Ticker.last, \.bid, \.ask, \.open, \.high, \.low] {
        guard var value = ticker[keyPath: path] else { continue }
        ticker[keyPath: path] = value.scale(by: price) ? value : nil
      }
      return ticker
    }
    // What is left of a minute must not look like all of it.
    if !chart.rescale(priceBy: price, sizeBy: size) { chart.removeAll(now: now) }
    _ = pulse.rescale(by: price)
    do {
      try book.rescale(priceBy: price, sizeBy: size)
      return nil
    } catch {
      return .malformed
    }
  }

  private func forgetValues(now: Timestamp) {
    lastTrade = nil
    bridge?.forget()
    counted.removeAll()
    lastTradeTime = .distantPast
    quote = nil
    ticker = nil
    chart.removeAll(now: now)
    pulse = PulseMerger(instrument: instrument.id)
  }
}

extension Int64 {
  /// Multiplies in place; returns false and changes nothing if the result does not fit.
  fileprivate mutating func scale(by factor: Int64) -> Bool {
    let (value, overflow) = multipliedReportingOverflow(by: factor)
    if !overflow { self = value }
    return !overflow
  }
}
