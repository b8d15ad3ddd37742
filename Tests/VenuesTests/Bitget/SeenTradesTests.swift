import MarketData
import TestSupport
import Testing

@testable import Venues

@Suite("Trades that have been seen")
struct SeenTradesTests {
  @Test("every trade once, in any order, as long as it is among the newest; a number used again is another trade")
  func model() {
    for seed in testSeeds(20) {
      var random = SeededGenerator(seed: seed)
      var seen = SeenTrades()
      var model: [[Int64]] = []
      for _ in 0..<4_000 {
        let number = UInt64.random(in: 1...2_000, using: &random)
        let time = Int64.random(in: 1...3, using: &random)
        let isNew = !model.suffix(SeenTrades.limit).contains([Int64(number), time])
        #expect(seen.insert(number, at: Timestamp(microseconds: time)) == isNew, "TIDEGATE_SEED=\(seed)")
        if isNew { model.append([Int64(number), time]) }
      }
    }
  }
}
