import Bytes
import TestSupport
import Testing

@Suite("Backoff")
struct BackoffTests {
  private let backoff = Backoff(first: 250, limit: 30_000)

  @Test("ceilings double from the first to the last and stay there, and are the waits of who waits alone")
  func ceilings() {
    var alone = backoff
    var crowd = backoff
    let wanted: [Int64] = [250, 500, 1000, 2000, 4000, 8000, 16000, 30000, 30000, 30000]
    for ceiling in wanted {
      #expect(alone.ceiling == ceiling && crowd.ceiling == ceiling)
      #expect(alone.next() == ceiling)
      _ = crowd.next(random: 0)
    }
  }

  @Test("the waits of one in a crowd are drawn from 0 to the ceiling, both included")
  func jitter() {
    for seed in testSeeds(20) {
      var random = SeededGenerator(seed: seed)
      var backoff = backoff
      for _ in 0..<50 {
        let ceiling = backoff.ceiling
        #expect((0...ceiling).contains(backoff.next(random: random.next())), "TIDEGATE_SEED=\(seed)")
      }
    }
    var first = backoff
    #expect(first.next(random: 250) == 250)
    var second = backoff
    #expect(second.next(random: 251) == 0)
  }

  @Test("a reset begins again, and a thousand attempts do not overflow, whatever the unit")
  func reset() {
    for (first, limit) in [(250, 30_000), (1, Int64.max), (Int64.max, Int64.max)] as [(Int64, Int64)] {
      var backoff = Backoff(first: first, limit: limit)
      for _ in 0..<1000 { _ = backoff.next(random: .max) }
      #expect(backoff.attempts == 1000 && backoff.ceiling == limit)
      backoff.reset()
      #expect(backoff.attempts == 0 && backoff.ceiling == first)
    }
  }
}
