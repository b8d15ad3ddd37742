import Bytes
import MarketData

/// What channels read of an instrument beyond its plain properties.
extension InstrumentState {
  /// Whether there is anything to say in a ticker: the venue's figures, or a trade to make our own from.
  var hasTicker: Bool { ticker != nil || lastPrice != nil }

  /// The 24 h figures; nil before there are any.
  func knownDay(now: Timestamp) -> DayTicker? { hasTicker ? dayTicker(now: now) : nil }

  /// The price 24 h ago, at the instrument's scale: the venue's, or what follows from its change, or the gateway's own.
  func dayOpen(now: Timestamp) -> Int64? {
    guard var figures = ticker else { return dayFigures(now: now).open }
    figures.deriveOpen(instrument)
    return figures.open ?? dayFigures(now: now).open
  }
}
