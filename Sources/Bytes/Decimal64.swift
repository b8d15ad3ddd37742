/// A decimal number with a scale of its own: `mantissa` × 10^-`scale`. Exact; never a binary fraction.
///
/// Prices and sizes of one instrument share a scale and travel as bare `Int64` counts of it. This type is for numbers
/// that have no common scale: 24 h volumes, averages, percentages, increments.
@frozen
@usableFromInline
package struct Decimal64: Sendable, Hashable {
  @usableFromInline package var mantissa: Int64
  /// Digits after the point, 0…18.
  @usableFromInline package var scale: UInt8

  @inlinable
  package init(mantissa: Int64, scale: UInt8) {
    self.mantissa = mantissa
    self.scale = scale
  }
}

/// Why a number's text was refused.
@usableFromInline
package enum DecimalError: Error, Sendable, Equatable {
  /// Not a decimal number (`"0.-10000"`, `""`, `"1e"`).
  case malformed
  /// Does not fit in an `Int64` at the scale asked for.
  case overflow
  /// Has `needed` digits after the point that are not trailing zeros, more than the scale asked for: widen it.
  case tooPrecise(needed: UInt8)
}
