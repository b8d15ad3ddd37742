/// The 24 h figures of an instrument with their sources, the same fields for every venue.
///
/// The venue's own figure has priority, then a figure derived from the venue's other figures, then the gateway's own.
/// Volumes and their average always belong together: with a venue's volume come the venue's average price, and the
/// quote volume derived from both.
///
/// The change of 24 h in all places is the change from this ticker's `open`, or the venue's own change while its `last`
/// is the shown price: see `show(_:of:)`.
package struct DayTicker: Sendable {
  /// The source of the 24 h figures.
  package enum Source: String, Sendable {
    case venue
    case gateway
    /// The venue's, except the figures in `own`.
    case mixed
  }

  /// The figures that the gateway may have to fill.
  package struct Figures: OptionSet, Sendable, Equatable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }
    package static let open = Figures(rawValue: 1)
    package static let high = Figures(rawValue: 2)
    package static let low = Figures(rawValue: 4)
    package static let volume = Figures(rawValue: 8)
    package static let quoteVolume = Figures(rawValue: 16)
    package static let vwap = Figures(rawValue: 32)
    package static let change = Figures(rawValue: 64)
    package static let trades = Figures(rawValue: 128)
  }

  package var ticker: Ticker
  package var source: Source
  /// The figures that are the gateway's own, if the others are the venue's.
  package var own: Figures
  /// From when on the gateway's figures are complete, if they do not cover the whole day.
  package var coveredFrom: Timestamp?

  /// - Parameters:
  ///   - venue: the venue's ticker; nil if it sends none.
  ///   - figures: the gateway's own; `coveredFrom` is `Chart.incompleteSince`.
  package init(
    venue: Ticker?, figures: WindowFigures, lastPrice: Int64?, quote: Quote?, instrument: Instrument,
    coveredFrom: Timestamp?, now: Timestamp
  ) {
    var own = figures.ticker(of: instrument, lastPrice: lastPrice, quote: quote, now: now)
    // A day that was observed and had no trade began at the price before it.
    if own.open == nil, coveredFrom == nil {
      own.open = lastPrice
      own.deriveChange(instrument)
    }
    guard var ticker = venue else {
      self.ticker = own
      source = .gateway
      self.own = []
      self.coveredFrom = coveredFrom
      return
    }
    // Without observation there is no figure.
    if figures.open == nil, coveredFrom != nil { own = Ticker(instrument: instrument.id, time: now) }
    var filled: Figures = []
    ticker.last = ticker.last ?? lastPrice
    if let quote {
      if ticker.bid == nil, quote.bidSize > 0 { ticker.bid = quote.bid }
      if ticker.ask == nil, quote.askSize > 0 { ticker.ask = quote.ask }
    }
    ticker.deriveOpen(instrument)
    Self.fill(&ticker.open, own.open, .open, &filled)
    Self.fill(&ticker.high, own.high, .high, &filled)
    Self.fill(&ticker.low, own.low, .low, &filled)
    ticker.deriveChange(instrument)
    if filled.contains(.open), ticker.change != nil { filled.insert(.change) }
    Self.fill(&ticker.volume, own.volume, .volume, &filled)
    if filled.contains(.volume) {
      Self.fill(&ticker.quoteVolume, own.quoteVolume, .quoteVolume, &filled)
      Self.fill(&ticker.vwap, own.vwap, .vwap, &filled)
    } else {
      // A sum over another period does not fit the venue's volume. The average does, and the sum that follows from it.
      ticker.deriveAverages(instrument)
      Self.fill(&ticker.vwap, own.vwap, .vwap, &filled)
      if ticker.quoteVolume == nil, filled.contains(.vwap) {
        ticker.deriveAverages(instrument)
        if ticker.quoteVolume != nil { filled.insert(.quoteVolume) }
      }
    }
    Self.fill(&ticker.trades, own.trades, .trades, &filled)
    self.ticker = ticker
    self.own = filled
    source = filled.isEmpty ? .venue : .mixed
    self.coveredFrom = filled.isEmpty ? nil : coveredFrom
  }

  /// Sets `last` to the shown price. If the venue's own is another one, the change follows from `open`, and the highest
  /// and lowest price include it.
  package mutating func show(_ price: Int64, of instrument: Instrument) {
    guard ticker.last != price else { return }
    ticker.last = price
    ticker.change = nil
    ticker.changePercent = nil
    ticker.high = ticker.high.map { max($0, price) }
    ticker.low = ticker.low.map { min($0, price) }
    ticker.deriveChange(instrument)
  }

  private static func fill<T>(_ value: inout T?, _ own: T?, _ figure: Figures, _ filled: inout Figures) {
    guard value == nil, let own else { return }
    value = own
    filled.insert(figure)
  }
}

extension InstrumentState {
  /// The price that all places show, at the instrument's scale, and its time; nil before any is known. It is the price
  /// of the newest trade, or that of the venue's ticker if the ticker is newer by more than differences of clocks and
  /// overtaking messages can explain. O(1).
  package var shownPrice: (price: Int64, time: Timestamp)? {
    if let price = lastPrice {
      let trade = lastTrade?.time ?? chart.lines.lastTradeTime ?? .distantPast
      guard let ticker, let last = ticker.last, lastTrade != nil, ticker.time - trade > Market.clockTolerance else {
        return (price, trade)
      }
      return (last, ticker.time)
    }
    guard let ticker, let last = ticker.last else { return nil }
    return (last, ticker.time)
  }

  /// The 24 h figures, the venue's and the gateway's own, with the shown price. O(1), amortised.
  package func dayTicker(now: Timestamp) -> DayTicker {
    var day = DayTicker(
      venue: ticker, figures: dayFigures(now: now), lastPrice: lastPrice, quote: quote, instrument: instrument,
      coveredFrom: incompleteSince(now: now), now: now)
    if let price = shownPrice?.price { day.show(price, of: instrument) }
    return day
  }

  private func incompleteSince(now: Timestamp) -> Timestamp? {
    if let composite { return composite.incompleteSince(now: now) }
    return chart.incompleteSince(now: now)
  }

  /// The 24 h figures, completed by the gateway. O(1), amortised.
  package func ticker(now: Timestamp) -> Ticker { dayTicker(now: now).ticker }

  /// The change of 24 h to a price; nil while it is unknown. O(1), amortised.
  package func dayChange(to price: Int64, now: Timestamp) -> PriceChange? {
    var day = dayTicker(now: now)
    day.show(price, of: instrument)
    return PriceChange(day.ticker)
  }

  /// The change over a range to a price: that of 24 h for `24h`, otherwise from the price at the beginning of the line.
  /// - Parameter open: the line's `open`.
  package func change(over range: ChartRange, from open: Int64?, to price: Int64, now: Timestamp) -> PriceChange? {
    if range == .day { return dayChange(to: price, now: now) }
    return open.flatMap { PriceChange(from: $0, to: price, of: instrument) }
  }
}
