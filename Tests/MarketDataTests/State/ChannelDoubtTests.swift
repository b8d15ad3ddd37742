import Bytes
import TestSupport
import Testing

@testable import MarketData

@Suite("Signs that a channel has died")
struct ChannelDoubtTests {
  private func time(_ seconds: Int64) -> Timestamp {
    Timestamp(microseconds: 1_700_000_000_000_000 + seconds * Microseconds.second)
  }

  @Test("a lasting sign suffices after its patience, then after twice the time of each attempt, up to ten minutes")
  func lasting() {
    var doubt = ChannelDoubt()
    #expect(doubt.due(patience: 20 * Microseconds.second) == nil)
    doubt.begin(now: time(0))
    doubt.begin(now: time(5))
    var dead: [Int64] = []
    for second in 0..<Int64(4_000) where doubt.isDead(patience: 20 * Microseconds.second, now: time(second)) {
      dead.append(second)
    }
    #expect(dead == [20, 60, 140, 300, 620, 1_220, 1_820, 2_420, 3_020, 3_620])
    doubt.end()
    #expect(doubt.first == nil && doubt.attempts == 0)
  }

  @Test("a patience above the longest is never shortened")
  func longPatience() {
    var doubt = ChannelDoubt()
    doubt.begin(now: time(0))
    let patience = 2 * ChannelDoubt.longestPatience
    var dead: [Int64] = []
    for second in 0..<Int64(3_000) where doubt.isDead(patience: patience, now: time(second)) { dead.append(second) }
    #expect(dead == [1_200, 2_400])
  }

  /// The same by a list of all signs that count.
  private struct Model {
    var signs: [Timestamp] = []
    /// When the last sign came, whether or not it still counts.
    var last = Timestamp.distantPast
    var attempts = 0

    mutating func note(_ patience: Int64, _ memory: Int64, _ resumed: Timestamp, _ now: Timestamp) -> Bool {
      if let first = signs.first, first < resumed || now - last > memory { signs = [] }
      signs.append(now)
      last = now
      var limit = patience
      for _ in 0..<attempts { limit = min(2 * limit, max(patience, ChannelDoubt.longestPatience)) }
      guard signs.count > 1, now - signs[0] >= limit else { return false }
      signs = [now]
      attempts += 1
      return true
    }
  }

  @Test("of signs of a moment two are needed, in one memory, one stream of messages and with the patience between them")
  func moments() {
    for seed in testSeeds(50) {
      var random = SeededGenerator(seed: seed)
      let patience = Int64.random(in: 1...30, using: &random) * Microseconds.second
      let memory = Int64.random(in: 10...90, using: &random) * Microseconds.second
      var (doubt, model) = (ChannelDoubt(), Model())
      var now = time(0)
      var resumed = Timestamp.distantPast
      var found = 0
      for _ in 0..<400 {
        now = now + Int64.random(in: 0...12, using: &random) * Microseconds.second
        switch Int.random(in: 0..<40, using: &random) {
        case 0:
          doubt.end()
          (model.signs, model.attempts) = ([], 0)
        case 1:
          doubt.forget()
          model.signs = []
        case 2: resumed = now
        default:
          let isDead = doubt.note(patience: patience, memory: memory, since: resumed, now: now)
          #expect(isDead == model.note(patience, memory, resumed, now), "TIDEGATE_SEED=\(seed)")
          #expect(doubt.first == model.signs.first && doubt.attempts == model.attempts, "TIDEGATE_SEED=\(seed)")
          found += isDead ? 1 : 0
        }
      }
      #expect(found > 0, "TIDEGATE_SEED=\(seed)")
    }
  }
}
