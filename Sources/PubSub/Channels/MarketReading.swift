import Bytes
import MarketData

/// Values that channels derive from an instrument's properties.
extension InstrumentState {
  /// Whether a ticker has data: the venue's figures, or a trade to compute figures from.
  var hasTicker: Bool { ticker != nil || lastPrice != nil }

  /// The 24 h figures; nil before there are any.
  func knownDay(now: Timestamp) -> DayTicker? { hasTicker ? dayTicker(now: now) : nil }

  /// The price 24 h ago, at the instrument's scale: the venue's, or computed from the venue's change, or the gateway's
  /// own.
  func dayOpen(now: Timestamp) -> Int64? {
    guard var figures = ticker else { return dayFigures(now: now).open }
    figures.deriveOpen(instrument)
    return figures.open ?? dayFigures(now: now).open
  }
}
