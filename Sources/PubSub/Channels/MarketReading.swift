import Bytes
import MarketData

/// What channels read of an instrument beyond its plain properties.
extension InstrumentState {
  /// Whether there is anything to say in a ticker: the venue's figures, or a trade to make our own from.
  var hasTicker: Bool { ticker != nil || lastPrice != nil }

  /// The 24 h figures; nil before there are any.
  func knownTicker(now: Timestamp) -> Ticker? { hasTicker ? ticker(now: now) : nil }

  /// The price 24 h ago, at the instrument's scale: the venue's, from its `open` or its `last` and `change`, or the gateway's own.
  func dayOpen(now: Timestamp) -> Int64? {
    guard let ticker else { return dayFigures(now: now).open }
    if let open = ticker.open { return open }
    guard let last = ticker.last, let change = ticker.change,
      let scaled = Percent.rescaled(change.mantissa, from: change.scale, to: instrument.priceScale)
    else { return nil }
    return last &- scaled
  }
}
