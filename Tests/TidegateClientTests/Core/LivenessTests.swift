import Testing

@testable import TidegateClient

@Suite("Liveness of a gateway")
struct LivenessTests {
  private var liveness = Liveness()

  @Test("silence is two and a half intervals after the last sign of life, and is none before the answer to hello")
  mutating func silence() {
    #expect(liveness.silentAt == nil && !liveness.isWelcome)
    liveness.hear(now: 5)
    #expect(liveness.silentAt == nil)
    #expect(liveness.welcome(.seconds(4), now: 1_000) == true)
    #expect(liveness.silentAt == 10_000_001_000 && liveness.isWelcome)
    liveness.hear(now: 2_000)
    #expect(liveness.silentAt == 10_000_002_000)
  }

  @Test("a second welcome, for a fresh token, changes the interval and begins nothing")
  mutating func again() {
    #expect(liveness.welcome(.seconds(4), now: 0) == true)
    #expect(liveness.welcome(.seconds(2), now: 10) == false)
    #expect(liveness.silentAt == 5_000_000_010)
  }

  @Test("what was sent and has not arrived is missed once")
  mutating func counts() {
    liveness.countData()
    #expect(liveness.agrees(1) == true)
    #expect(!liveness.agrees(3) && liveness.agrees(3))
    // A gateway may claim any number.
    #expect(liveness.agrees(.max) == false)
    liveness.countData()
    #expect(liveness.agrees(.max) == true)
  }
}
