import Bytes

/// What venues say of derivatives beside trades and books.
extension InstrumentState {
  /// After this long a change is reported though only ages changed, µs.
  static let derivativeInterval = 5 * Microseconds.second
  /// A liquidation that is older than this is of the past: a venue repeats it to a new connection, µs. The slowest
  /// venue sends them 20 s late.
  static let liquidationAge = Microseconds.minute

  /// Takes over what a message says.
  func take(_ report: DerivativeReport, now: Timestamp, into changes: inout MarketChanges) {
    if !report.settlements.isEmpty, fundingHistory.take(report.settlements, now: now) { revision.raise(.figures) }
    guard report.hasFields else { return }
    var report = report
    // A time that is still to come would make later values look old.
    report.time = min(report.time, now)
    var new = derivative ?? Derivative(instrument: instrument.id)
    let hasChanged = new.take(report)
    derivative = new
    guard hasChanged || now - derivativeTime >= Self.derivativeInterval else { return }
    derivativeTime = now
    revision.raise(.figures)
    changes.items.append(.derivative(instrument.id))
  }

  /// Takes a liquidation, unless it is known. One of the past is kept and not reported. Returns false if its values are
  /// impossible.
  func take(_ liquidation: Liquidation, now: Timestamp, into changes: inout MarketChanges) -> Bool {
    guard liquidation.price.mantissa > 0, liquidation.size.mantissa > 0 else { return false }
    guard liquidations.add(liquidation) else { return true }
    revision.raise(.figures)
    if now - liquidation.time <= Self.liquidationAge { changes.append(liquidation) }
    return true
  }
}
