import Testing

@testable import Gateway

@Suite("What compressed requests may grow to")
struct InflateBudgetTests {
  @Test("twice the full rate of full requests is allowed, one byte more is not, and a new second begins anew")
  func bound() {
    var budget = InflateBudget(requestsPerSecond: 20, messageBytes: 1000, now: 5)
    #expect(budget.limit == 40_000)
    let answers = [
      budget.allows(40_000, at: 1_000_004),
      budget.allows(40_001, at: 1_000_004),
      budget.allows(40_001, at: 1_000_005),
      budget.allows(80_001, at: 1_500_000),
      budget.allows(80_002, at: 1_500_000),
    ]
    #expect(answers == [true, false, true, true, false])
  }
}
