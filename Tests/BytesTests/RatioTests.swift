import Bytes
import Testing

@Suite struct RatioTests {
  @Test("quotients are rounded half to even, both signs")
  func rounding() {
    let cases: [(Int128, Int128, Int128)] = [
      (5, 2, 2), (7, 2, 4), (-5, 2, -2), (-7, 2, -4), (6, 4, 2), (2, 4, 0), (3, 4, 1), (-3, 4, -1), (1, 3, 0),
      (2, 3, 1),
      (.max, 1, .max), (.min, 1, .min), (.max, .max, 1),
    ]
    for (numerator, denominator, quotient) in cases {
      #expect(Ratio.divide(numerator, by: denominator) == quotient, "\(numerator)/\(denominator)")
    }
    #expect(Ratio.percent(-127, of: 10_000, digits: 2) == Decimal64(mantissa: -127, scale: 2))
    #expect(Ratio.percent(1, of: 0, digits: 2) == nil)
    #expect(Ratio.percent(.max, of: 1, digits: 2) == nil)
    #expect(Ratio.percent(.max, of: .max, digits: 4) == Decimal64(mantissa: 1_000_000, scale: 4))
    #expect(Ratio.percent(.max - 1, of: .max, digits: 2) == Decimal64(mantissa: 10_000, scale: 2))
    for (part, percent) in [(1, 12), (3, 38), (-1, -12), (-3, -38)] as [(Int64, Int64)] {
      #expect(Ratio.percent(part, of: 800, digits: 2)?.mantissa == percent)
    }
    #expect(Ratio.decimal(Int128(Int64.max) * 10 + 4, scale: 3, digits: 3) == Decimal64(mantissa: .max, scale: 2))
    #expect(Ratio.decimal(.max, scale: 2, digits: 2) == nil)
  }

  @Test("powers of ten go where they belong, and what does not fit is nil")
  func powers() {
    #expect(Ratio.quotient(1, by: 3, powerOfTen: 4) == 3_333)
    #expect(Ratio.quotient(12_345, by: 1, powerOfTen: -2) == 123)
    #expect(Ratio.quotient(1, by: 1, powerOfTen: 19) == nil)
    #expect(Ratio.quotient(.max, by: 1, powerOfTen: 1) == nil)
    #expect(Ratio.quotient(1, by: 1, powerOfTen: 99) == nil)
    #expect(Ratio.rescaled(125, from: 2, to: 1) == 12)
    #expect(Ratio.rescaled(125, from: 2, to: 5) == 125_000)
  }
}
