import MarketData
import TestSupport
import Testing

@testable import Venues

@Suite("Watch over a channel's silence")
struct SilenceWatchTests {
  private let start = Timestamp(microseconds: 1_700_000_000_000_000)
  private func after(_ seconds: Int64) -> Timestamp { start + seconds * Microseconds.second }

  @Test("dead when several messages are missing while the connection goes on; then ever later")
  func dies() {
    var watch = SilenceWatch(every: 3 * Microseconds.second)
    watch.heard(now: start)
    var deaths: [Int64] = []
    for second in Int64(1)...400 where watch.isDead(now: after(second), connectionHeard: after(second)) {
      deaths.append(second)
    }
    #expect(deaths == [15, 45, 105, 225])
    watch.heard(now: after(400))
    do {
      let answer = watch.isDead(now: after(414), connectionHeard: after(414))
      #expect(!answer)
    }
    do {
      let answer = watch.isDead(now: after(415), connectionHeard: after(415))
      #expect(answer)
    }
  }

  @Test("a connection that is silent as a whole accuses no channel, nor does one that begins to speak again")
  func connection() {
    var watch = SilenceWatch(every: Microseconds.second)
    watch.heard(now: start)
    for second in Int64(1)...100 {
      let heard = after(second < 5 ? second : 4)
      do {
        let answer = watch.isDead(now: after(second), connectionHeard: heard)
        #expect(!answer)
      }
    }
    // When it goes on, the channel's own message is as late as all others: it has its whole time again.
    for second in Int64(101)...114 {
      do {
        let answer = watch.isDead(now: after(second), connectionHeard: after(second))
        #expect(!answer)
      }
    }
    do {
      let answer = watch.isDead(now: after(115), connectionHeard: after(115))
      #expect(answer)
    }
  }

  @Test("before its first message, and after the connection's end, nothing is expected")
  func unheard() {
    var watch = SilenceWatch(every: Microseconds.second)
    do {
      let answer = watch.isDead(now: after(1_000), connectionHeard: after(1_000))
      #expect(!answer)
    }
    watch.heard(now: after(1_000))
    watch.disconnected()
    do {
      let answer = watch.isDead(now: after(2_000), connectionHeard: after(2_000))
      #expect(!answer)
    }
  }

  @Test("one that keeps its pace is never dead, for a day, whatever jitter it has", arguments: testSeeds(10))
  func lives(_ seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var watch = SilenceWatch(every: 3 * Microseconds.second)
    var now = start
    watch.heard(now: now)
    while now - start < Microseconds.day {
      let next = now + Int64.random(in: 0...(12 * Microseconds.second), using: &random)
      do {
        let answer = watch.isDead(now: next, connectionHeard: next)
        #expect(!answer, "seed \(seed)")
      }
      now = next
      watch.heard(now: now)
    }
  }
}
