/// What can be wrong with an answer of single trades.
package enum TradeFault: String, Sendable, CaseIterable {
  /// No rows: what is asked for is further back than the venue goes, or not yet there.
  case empty
  /// Every third row left out.
  case holes
  /// A row without its price.
  case ragged
  /// Refused as too many requests.
  case limited
}
