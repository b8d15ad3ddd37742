import Foundation

extension ExactDecimal {
  /// Converts a `Decimal` exactly; nil if it is not a number.
  public init?(_ value: Decimal) { self.init(value.description) }

  /// The same number as a `Decimal`; nil if it has more than 38 digits or is out of that type's range.
  public var decimalValue: Decimal? {
    switch storage {
    case .small(let mantissa, let scale):
      return Decimal(
        sign: mantissa < 0 ? .minus : .plus, exponent: -Int(scale), significand: Decimal(mantissa.magnitude))
    case .wide(let number):
      let number = number.stripped
      guard number.digits.count <= 38, number.scale <= 127 else { return nil }
      return Decimal(string: number.description, locale: nil)
    }
  }
}

extension Date {
  /// From the protocol's time, microseconds since 1970, UTC.
  init(microseconds: Int64) { self.init(timeIntervalSince1970: Double(microseconds) / 1e6) }
}
