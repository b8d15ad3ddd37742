import TestSupport
import Testing

@testable import Gateway

@Suite("Backoff")
struct BackoffTests {
  @Test("ceilings double from 250 ms to 30 s and stay there")
  func ceilings() {
    var backoff = Backoff()
    var ceilings: [UInt64] = []
    for _ in 0..<10 {
      ceilings.append(backoff.ceiling)
      _ = backoff.next(random: 0)
    }
    #expect(ceilings == [250, 500, 1000, 2000, 4000, 8000, 16000, 30000, 30000, 30000])
  }

  @Test("waits are drawn from 0 to the ceiling, both included")
  func jitter() {
    for seed in testSeeds(20) {
      var random = SeededGenerator(seed: seed)
      var backoff = Backoff()
      for _ in 0..<50 {
        let ceiling = backoff.ceiling
        #expect(backoff.next(random: random.next()) <= ceiling, "seed \(seed)")
      }
    }
    var first = Backoff()
    #expect(first.next(random: 250) == 250)
    var second = Backoff()
    #expect(second.next(random: 251) == 0)
  }

  @Test("a reset begins again, and a thousand attempts do not overflow")
  func reset() {
    var backoff = Backoff()
    for _ in 0..<1000 { _ = backoff.next(random: .max) }
    #expect(backoff.attempt == 1000)
    #expect(backoff.ceiling == 30_000)
    backoff.reset()
    #expect(backoff.attempt == 0)
    #expect(backoff.ceiling == 250)
  }
}
