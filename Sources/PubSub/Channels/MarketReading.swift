import Bytes
import MarketData

/// Values that channels derive from an instrument's properties.
extension InstrumentState {
  /// Whether a ticker has data: the venue's figures, or a trade to compute figures from.
  var hasTicker: Bool { ticker != nil || lastPrice != nil }

  /// The 24 h figures; nil before there are any.
  func knownDay(now: Timestamp) -> DayTicker? { hasTicker ? dayTicker(now: now) : nil }
}
