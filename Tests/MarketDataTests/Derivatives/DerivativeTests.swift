import Bytes
import Testing

@testable import MarketData

@Suite("What a venue says of a derivative")
struct DerivativeTests {
  private static let start = Timestamp(microseconds: 1_790_000_000_000_000)

  private static func decimal(_ mantissa: Int64, _ scale: UInt8) -> Decimal64 {
    Decimal64(mantissa: mantissa, scale: scale)
  }

  private static func report(
    _ seconds: Int64 = 0, _ source: Derivative.Source = .venue, _ fill: (inout DerivativeReport) -> Void = { _ in }
  ) -> DerivativeReport {
    var report = DerivativeReport(
      instrument: InstrumentID(0), time: start + seconds * Microseconds.second, source: source)
    fill(&report)
    return report
  }

  @Test("a message changes what it mentions; the rest stays, with its own age")
  func merges() {
    var derivative = Derivative(instrument: InstrumentID(0))
    #expect(derivative.isEmpty)
    let change1 = derivative.take(Self.report { $0.mark = .value(Self.decimal(6_412_34, 1)) })
    #expect(change1)
    let change2 = derivative.take(Self.report(5) { $0.index = .value(Self.decimal(6_412_00, 1)) })
    #expect(change2)
    #expect(derivative.mark?.time == Self.start && derivative.index?.time == Self.start + 5_000_000)
    let change3 = derivative.take(Self.report(6) { $0.index = .value(Self.decimal(6_412_00, 1)) })
    #expect(!change3, "only the age changed")
    #expect(derivative.index?.time == Self.start + 6_000_000)
  }

  @Test("a message of changes confirms what the stream said before, and no answer to a request")
  func confirms() {
    var derivative = Derivative(instrument: InstrumentID(0))
    _ = derivative.take(Self.report { $0.mark = .value(Self.decimal(100, 0)) })
    _ = derivative.take(Self.report(0, .polled) { $0.fundingInterval = .value(8 * Microseconds.hour) })
    let isNews = derivative.take(
      Self.report(9) {
        $0.confirmsOthers = true
        $0.index = .value(Self.decimal(99, 0))
      })
    #expect(isNews && derivative.mark?.time == Self.start + 9_000_000)
    #expect(derivative.fundingInterval?.time == Self.start)
  }

  @Test("absent is not zero: funding that does not apply goes, and a rate of 0 stays")
  func absent() {
    var derivative = Derivative(instrument: InstrumentID(0))
    _ = derivative.take(
      Self.report {
        $0.fundingRate = .value(Self.decimal(0, 0))
        $0.nextFunding = .value(Self.start + Microseconds.hour)
      })
    #expect(derivative.fundingRate?.value.mantissa == 0)
    let isNews = derivative.take(
      Self.report(1) {
        $0.fundingRate = .absent
        $0.nextFunding = .absent
      })
    #expect(isNews && derivative.fundingRate == nil && derivative.nextFunding == nil)
    let change4 = derivative.take(Self.report(2) { $0.fundingRate = .absent })
    #expect(!change4)
  }

  @Test("open interest in the quote currency is computed at the mark, unless the venue says it")
  func quoteInterest() {
    var derivative = Derivative(instrument: InstrumentID(0))
    _ = derivative.take(Self.report { $0.openInterest = .value(Self.decimal(68_744_761, 3)) })
    #expect(derivative.openInterestQuote == nil, "without a mark")
    _ = derivative.take(Self.report(1) { $0.mark = .value(Self.decimal(1_721_733, 2)) })
    // 68744.761 × 17217.33
    #expect(derivative.openInterestQuote?.value == Self.decimal(118_360_123_590_813, 5))
    #expect(derivative.openInterestQuote?.source == .computed && derivative.openInterestQuote?.time == Self.start)
    _ = derivative.take(Self.report(2) { $0.openInterestQuote = .value(Self.decimal(1_183_601_236, 0)) })
    _ = derivative.take(Self.report(3) { $0.mark = .value(Self.decimal(1_800_000, 2)) })
    #expect(derivative.openInterestQuote?.value == Self.decimal(1_183_601_236, 0), "the venue's own figure")
    // 10^18 × 10^18 does not fit with any digits.
    var large = Derivative(instrument: InstrumentID(0))
    _ = large.take(
      Self.report {
        $0.openInterest = .value(Self.decimal(1_000_000_000_000_000_000, 0))
        $0.mark = .value(Self.decimal(1_000_000_000_000_000_000, 0))
      })
    #expect(large.openInterestQuote == nil && large.openInterest != nil)
  }

  @Test("an answer that is older than what the stream said since changes nothing")
  func late() {
    var derivative = Derivative(instrument: InstrumentID(0))
    _ = derivative.take(Self.report(10) { $0.mark = .value(Self.decimal(101, 0)) })
    let change5 = derivative.take(Self.report(9, .polled) { $0.mark = .value(Self.decimal(100, 0)) })
    #expect(!change5)
    #expect(derivative.mark?.value == Self.decimal(101, 0) && derivative.mark?.source == .venue)
  }

  @Test("what nothing confirms goes after its own time, and the expiry is announced")
  func ages() {
    var derivative = Derivative(instrument: InstrumentID(0))
    _ = derivative.take(
      Self.report {
        $0.mark = .value(Self.decimal(100, 0))
        $0.fundingInterval = .value(Microseconds.hour)
      })
    _ = derivative.take(Self.report(60) { $0.index = .value(Self.decimal(99, 0)) })
    let now = Self.start + 60 * Microseconds.second
    #expect(derivative.nextExpiry(after: now) == Self.start + Derivative.patience + 1)
    let shown = derivative.shown(at: Self.start + Derivative.patience + 1)
    #expect(shown.mark == nil && shown.index != nil && shown.fundingInterval != nil)
    #expect(derivative.shown(at: Self.start + Derivative.patience).mark != nil)
    let later = derivative.shown(at: Self.start + 2 * Microseconds.hour)
    #expect(later.index == nil && later.fundingInterval != nil)
    #expect(derivative.shown(at: Self.start + Derivative.intervalPatience + 1).isEmpty)
    #expect(derivative.nextExpiry(after: .distantFuture) == .distantFuture)
  }

  @Test("a settlement that is over is not shown as the next one")
  func settlement() {
    var derivative = Derivative(instrument: InstrumentID(0))
    let next = Self.start + Microseconds.minute
    _ = derivative.take(Self.report { $0.nextFunding = .value(next) })
    _ = derivative.take(
      Self.report(300) {
        $0.confirmsOthers = true
        $0.mark = .value(Self.decimal(1, 0))
      })
    let now = next + Derivative.patience + 1
    #expect(derivative.shown(at: now - 1).nextFunding != nil && derivative.shown(at: now).nextFunding == nil)
  }

  @Test("the market reports a change of a value at once, and of ages alone every 5 s")
  func market() {
    var scene = MarketScene()
    func apply(_ mark: Int64, after seconds: Double) -> [String] {
      scene.now = scene.now + Int64(seconds * 1_000_000)
      var report = DerivativeReport(instrument: InstrumentID(0), time: scene.now)
      report.mark = .value(Self.decimal(mark, 0))
      scene.batch.append(derivative: report)
      scene.apply()
      return scene.words
    }
    #expect(apply(100, after: 0) == ["derivative 0"])
    #expect(apply(100, after: 1) == [])
    #expect(apply(101, after: 1) == ["derivative 0"])
    #expect(apply(101, after: 4.9) == [])
    #expect(apply(101, after: 0.1) == ["derivative 0"])
    #expect(scene.market[InstrumentID(0)].derivative?.mark?.time == scene.now)
  }
}
