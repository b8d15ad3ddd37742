import MarketData
import TestSupport
import TestTraits
import Testing

@testable import Venues

@Suite("Weight that may be spent in a minute")
struct MinuteBudgetTests {
  private let start = Timestamp(microseconds: 1_700_000_000_400_000)

  @Test("all at once, then nothing until the minute is over, and at most a second longer")
  func burst() {
    var budget = MinuteBudget(limit: 100)
    budget.spend(100, now: start)
    #expect(budget.left(now: start) == 0 && budget.left(now: start + Microseconds.minute - 1) == 0)
    #expect(budget.left(now: start + Microseconds.minute + Microseconds.second) == 100)
  }

  @Test(
    "a limit that is lowered leaves nothing, one that is raised leaves more; time that goes back gives nothing back")
  func changes() {
    var budget = MinuteBudget(limit: 100)
    budget.spend(60, now: start)
    budget.limit = 50
    #expect(budget.left(now: start) == 0)
    budget.limit = 200
    #expect(budget.left(now: start - Microseconds.hour) == 140)
    budget.spend(10, now: start - Microseconds.hour)
    #expect(budget.left(now: start) == 130)
    #expect(budget.left(now: start + Microseconds.day) == 200)
  }

  @Test(
    "no minute, wherever it begins, has more than the limit, and what a minute leaves is given", .longComputation,
    arguments: testSeeds(200))
  func sliding(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let limit = Int.random(in: 1...400, using: &random)
    var budget = MinuteBudget(limit: limit)
    var spent: [(at: Timestamp, weight: Int)] = []
    var now = start
    func sum(_ span: Int64) -> Int { spent.reduce(0) { now - $1.at < span ? $0 + $1.weight : $0 } }
    let pauses: [ClosedRange<Int64>] = [0...1, 0...3_000_000, 0...200_000, 20_000_000...90_000_000]
    for _ in 0..<400 {
      now = now + Int64.random(in: pauses.randomElement(using: &random)!, using: &random)
      let left = budget.left(now: now)
      // A naive model, to the second: it gives back a little sooner at the earliest, and never later than what is given
      // here.
      #expect(left <= limit - sum(Microseconds.minute), "TIDEGATE_SEED=\(seed)")
      #expect(left >= limit - sum(Microseconds.minute + Microseconds.second), "TIDEGATE_SEED=\(seed)")
      let weight = Int.random(in: 0...max(1, limit / 3), using: &random)
      guard weight <= left else { continue }
      budget.spend(weight, now: now)
      spent.append((now, weight))
    }
  }
}
