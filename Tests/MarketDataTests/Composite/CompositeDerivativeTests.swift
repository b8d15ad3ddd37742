import Bytes
import Testing

@testable import MarketData

@Suite("What venues say of the same perpetual, together")
struct CompositeDerivativeTests {
  private static let start = Timestamp(microseconds: 1_790_000_000_000_000)

  private static func decimal(_ mantissa: Int64, _ scale: UInt8 = 0) -> Decimal64 {
    Decimal64(mantissa: mantissa, scale: scale)
  }

  /// - Parameter hours: the interval of funding.
  private static func part(
    open: Decimal64?, rate: Decimal64? = nil, hours: Int64? = 8, mark: Decimal64? = nil, index: Decimal64? = nil,
    age: Int64 = 0
  ) -> Derivative {
    var report = DerivativeReport(instrument: InstrumentID(0), time: start + -age)
    if let open { report.openInterest = .value(open) }
    if let rate { report.fundingRate = .value(rate) }
    if let hours { report.fundingInterval = .value(hours * Microseconds.hour) }
    if let mark { report.mark = .value(mark) }
    if let index { report.index = .value(index) }
    var derivative = Derivative(instrument: InstrumentID(0))
    _ = derivative.take(report)
    return derivative
  }

  @Test("open interest adds up; rates are brought to 8 h and weighted by it")
  func funding() {
    let it = CompositeDerivative(
      [
        Self.part(open: Self.decimal(300), rate: Self.decimal(1, 4)),
        Self.part(open: Self.decimal(1_005, 1), rate: Self.decimal(-5, 5), hours: 4, age: 7),
        Self.part(open: Self.decimal(995, 1), rate: Self.decimal(2, 5), hours: 1),
      ], spot: nil)
    #expect(it.openInterest == Self.decimal(5_000, 1))
    // (300 × 0.0001 + 100.5 × −0.0001 + 99.5 × 0.00016) ÷ 500 = 0.00007174.
    #expect(it.fundingRate == Self.decimal(71_740_000, 12))
    #expect(it.times.fundingRate == Self.start + -7 && it.times.openInterest == Self.start + -7)
    #expect(it.mark == nil && it.basisPercent == nil && it.times.mark == nil)
  }

  @Test("what a venue does not say counts nowhere; without open interest nothing has a weight")
  func missing() {
    let it = CompositeDerivative(
      [
        Self.part(open: Self.decimal(10), rate: Self.decimal(1, 4), mark: Self.decimal(100)),
        // No interval, no open interest, an open interest of 0.
        Self.part(open: Self.decimal(10), rate: Self.decimal(9, 1), hours: nil, mark: Self.decimal(102)),
        Self.part(open: nil, rate: Self.decimal(9, 1), mark: Self.decimal(900)),
        Self.part(open: Self.decimal(0), rate: Self.decimal(9, 1), mark: Self.decimal(900)),
      ], spot: Self.decimal(1_000, 1))
    #expect(it.fundingRate == Self.decimal(100_000_000, 12))
    #expect(it.mark == Self.decimal(10_100_000_000, 8) && it.index == nil)
    // 101 above 100.
    #expect(it.basisPercent == Self.decimal(10_000, 4))
    #expect(it.openInterest == Self.decimal(20))
    let none = CompositeDerivative([Self.part(open: nil, rate: Self.decimal(1, 4), mark: Self.decimal(5))], spot: nil)
    #expect(none.mark == nil && none.fundingRate == nil && none.openInterest == nil)
    #expect(CompositeDerivative([], spot: Self.decimal(1)).openInterest == nil)
  }

  @Test("sums that do not fit are unknown, and no trap")
  func extremes() {
    let huge = Self.decimal(.max)
    let it = CompositeDerivative(
      (0..<50).map { _ in Self.part(open: huge, rate: huge, mark: huge, index: Self.decimal(1, 18)) },
      spot: Self.decimal(1, 18))
    #expect(it.openInterest == nil && it.mark == nil && it.fundingRate == nil && it.basisPercent == nil)
  }
}
