/// The 24 h figures of an instrument with their sources, the same fields for every venue.
///
/// The venue's own figure has priority, then a figure derived from the venue's other figures, then the gateway's own.
/// Volumes and their average always belong together: with a venue's volume come the venue's average price, and the
/// quote volume derived from both.
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

  private static func fill<T>(_ value: inout T?, _ own: T?, _ figure: Figures, _ filled: inout Figures) {
    guard value == nil, let own else { return }
    value = own
    filled.insert(figure)
  }
}

extension InstrumentState {
  /// The 24 h figures, the venue's and the gateway's own. O(1), amortised.
  package func dayTicker(now: Timestamp) -> DayTicker {
    DayTicker(
      venue: ticker, figures: dayFigures(now: now), lastPrice: lastPrice, quote: quote, instrument: instrument,
      coveredFrom: chart.incompleteSince(now: now), now: now)
  }

  /// The venue's 24 h figures, completed by the gateway. O(1), amortised.
  package func ticker(now: Timestamp) -> Ticker { dayTicker(now: now).ticker }
}
