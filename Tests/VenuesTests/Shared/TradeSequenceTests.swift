import Testing

@testable import Venues

@Suite("Numbers of trades")
struct TradeSequenceTests {
  @Test(
    "what lies between two numbers was missed, whatever they are",
    arguments: [
      (7, 8, 0), (7, 10, 2), (7, 7, 0), (10, 7, 0), (0, 500, 0), (.max, .max, 0), (1, .max, Int.max - 2),
      (.max, .min, 0), (5, .min, 0), (.min, .max, 0),
    ] as [(Int64, Int64, Int)])
  func missed(_ last: Int64, _ next: Int64, _ count: Int) {
    #expect(TradeSequence.missed(after: last, before: next) == count)
  }

  @Test("the largest update number has no successor, and asking for it is no accident")
  func largest() {
    let rule = SequenceRule.binanceSpot
    #expect(!rule.follows(UpdateNumbers(first: 5, last: 6), .max))
    #expect(!rule.joins(UpdateNumbers(first: 5, last: .max), .max))
    #expect(rule.isOld(UpdateNumbers(first: .min, last: .max), .max))
  }
}
