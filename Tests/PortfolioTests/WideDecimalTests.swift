import Bytes
import Portfolio
import TestSupport
import Testing

@Suite("Wide decimals")
struct WideDecimalTests {
  private func wide(_ mantissa: Int64, _ scale: UInt8 = 0) -> WideDecimal { WideDecimal(mantissa, scale: scale) }

  @Test("products and quotients of up to 77 digits undo each other")
  func inverse() throws {
    var random = SeededGenerator(seed: testSeeds(1)[0])
    for _ in 0..<20_000 {
      let factors = (0..<3).map { _ in
        Int64.random(in: 1...(.max >> Int64.random(in: 0...60, using: &random)), using: &random)
      }
      let product = try factors.reduce(wide(1)) { try $0.times(wide($1)) }
      let back = try product.divided(by: wide(factors[0]).times(wide(factors[1])), digits: 0)
      #expect(back == wide(factors[2]), "\(factors)")
      let more = try product.plus(wide(factors[0] - 1)).divided(by: wide(factors[0]), digits: 3)
      let less = try more.minus(try wide(factors[1]).times(wide(factors[2])))
      #expect(try !WideDecimal.isLess(wide(1), less) && !less.isBelowZero)
    }
  }

  @Test("halves are rounded to even, negative ones too")
  func halves() throws {
    #expect(wide(25, 1).rounded(0).text == "2")
    #expect(wide(35, 1).rounded(0).text == "4")
    #expect(wide(-25, 1).rounded(0).text == "-2")
    #expect(wide(-251, 2).rounded(0).text == "-3")
    #expect(try wide(1).divided(by: wide(8), digits: 2).text == "0.12")
    #expect(try wide(-2).divided(by: wide(3), digits: 4).text == "-0.6667")
  }

  @Test("what does not fit is said, not wrapped")
  func overflow() throws {
    var number = wide(.max)
    #expect(throws: WideDecimal.Failure.overflow) { for _ in 0..<5 { number = try number.times(wide(.max)) } }
    #expect(throws: WideDecimal.Failure.divisionByZero) { try wide(1).divided(by: .zero, digits: 2) }
    // 40 digits after the point twice: beyond the limit unless zeros can go.
    let small = try wide(1, 18).times(wide(1, 18)).times(wide(1, 4))
    #expect(throws: WideDecimal.Failure.overflow) { try small.times(small) }
  }

  @Test(
    "text has no zeros at its end, and one before the point",
    arguments: [
      (100, 2, "1"), (-5, 3, "-0.005"), (0, 9, "0"), (1_230, 2, "12.3"), (.max, 18, "9.223372036854775807"),
    ] as [(Int64, UInt8, String)])
  func text(mantissa: Int64, scale: UInt8, text: String) { #expect(wide(mantissa, scale).text == text) }
}
