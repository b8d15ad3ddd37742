/// The digits after the point that decimals are read with, and what follows from their number once for all of them.
@frozen
@usableFromInline
package struct DecimalScale: Sendable {
  /// 0…18. Beyond 10, nothing is read in the short way.
  @usableFromInline let digits: UInt8
  /// 10^`digits` where that is needed.
  @usableFromInline let power: UInt64
  /// Which of the first eight digits after the point the scale cannot hold.
  @usableFromInline let beyond: UInt64
  /// How many of them it holds, and by what their number is multiplied.
  @usableFromInline let wordDigits: Int
  @usableFromInline let wordPower: UInt64

  @inlinable
  package init(_ digits: UInt8) {
    self.digits = digits
    power = digits <= 10 ? DecimalText.power(digits) : 0
    beyond = UInt64.max << (8 * UInt64(digits))
    wordDigits = min(Int(digits), 8)
    wordPower = digits > 8 && digits <= 10 ? DecimalText.power(digits - 8) : 1
  }
}
