import TestSupport
import Testing

@testable import Venues

@Suite("Trades that have been seen")
struct SeenTradesTests {
  @Test("every number once, in any order, as long as it is among the newest")
  func model() {
    for seed in testSeeds(20) {
      var random = SeededGenerator(seed: seed)
      var seen = SeenTrades()
      var model: [UInt64] = []
      for _ in 0..<4_000 {
        let number = UInt64.random(in: 1...2_000, using: &random)
        let isNew = !model.suffix(SeenTrades.limit).contains(number)
        #expect(seen.insert(number) == isNew, "TIDEGATE_SEED=\(seed)")
        if isNew { model.append(number) }
      }
    }
  }
}
