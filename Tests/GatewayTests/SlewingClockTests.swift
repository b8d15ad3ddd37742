import MarketData
import Testing

@testable import Gateway

@Suite("Time that follows a wall clock")
struct SlewingClockTests {
  /// A machine whose clocks the test sets, and the time that follows them.
  private struct Machine {
    var wall: Int64 = 1_790_000_000_000_000
    var monotonic: Int64 = 5_000_000
    var time = SlewingClock(wall: 1_790_000_000_000_000, monotonic: 5_000_000)

    var now: Int64 { mutating get { time.now(monotonic: monotonic).microseconds } }
    mutating func pass(_ microseconds: Int64) {
      wall += microseconds
      monotonic += microseconds
    }
    mutating func follow() -> Int64? { time.follow(wall: wall, monotonic: monotonic) }
  }

  @Test("goes with the wall clock, and forward with its steps, which it tells")
  func forward() {
    var machine = Machine()
    let start = machine.now
    machine.pass(1_000_000)
    var now = machine.now
    #expect(now - start == 1_000_000)
    var step = machine.follow()
    #expect(step == nil)
    machine.wall += 3_600_000_000
    now = machine.now
    #expect(now - start == 1_000_000)
    step = machine.follow()
    #expect(step == 3_600_000_000)
    now = machine.now
    #expect(now - start == 3_601_000_000)
    step = machine.follow()
    #expect(step == nil)
  }

  @Test("a step back is told once; time goes on all the same, a little slower, until the wall clock has come up to it")
  func backward() {
    var machine = Machine()
    machine.wall -= 3_600_000_000
    var step = machine.follow()
    #expect(step == -3_600_000_000)
    var last = machine.now
    for _ in 0..<100 {
      machine.pass(1_000_000)
      step = machine.follow()
      #expect(step == nil)
      let now = machine.now
      #expect((999_000...1_000_000).contains(now - last))
      last = now
    }
    machine.wall += 3_600_000_000
    _ = machine.follow()
    // Corrections of a few milliseconds are caught up with.
    machine.wall -= 2_000
    for _ in 0..<5 {
      machine.pass(1_000_000)
      step = machine.follow()
      #expect(step == nil)
    }
    let now = machine.now
    #expect(now == machine.wall)
  }
}
