/// What can be wrong with an answer of candles.
package enum CandleFault: String, Sendable, CaseIterable {
  /// No rows.
  case empty
  /// A row without its last field; of columns, one that is shorter than the others.
  case ragged
  /// Rows left out here and there, where there is no other sign that nothing was traded.
  case holes
  /// Rows from before and behind the window, and the first of them twice.
  case overlapping
  /// Refused as too many requests.
  case limited
  /// Rows of the window before the one that was asked for, the last of them an interval ahead of the clock, and a clock
  /// that is an hour ahead where the answer has one.
  case lying
}
