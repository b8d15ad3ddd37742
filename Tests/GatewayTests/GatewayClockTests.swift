import Synchronization
import Testing
import Transport

@testable import Gateway

@Suite("The gateway's clock")
struct GatewayClockTests {
  /// A machine whose clocks the test sets.
  private final class FakeKernel: Kernel, @unchecked Sendable {
    // `@unchecked`: the clocks are behind a lock.
    private let clocks = Mutex<(wall: Int64, monotonic: Int64)>((1_790_000_000_000_000, 5_000_000))

    func pass(_ microseconds: Int64) {
      clocks.withLock {
        $0.wall += microseconds
        $0.monotonic += microseconds
      }
    }
    func set(by microseconds: Int64) { clocks.withLock { $0.wall += microseconds } }
    override func uptime() -> UInt64 { clocks.withLock { UInt64($0.monotonic) * 1_000 } }
    override func wallMicroseconds() -> Int64 { clocks.withLock { $0.wall } }
  }

  @Test("goes with the wall clock, and forward with its steps, which it tells")
  func forward() {
    let kernel = FakeKernel()
    var clock = GatewayClock(kernel: kernel)
    let start = clock.now()
    kernel.pass(1_000_000)
    #expect(clock.now() - start == 1_000_000)
    #expect(clock.follow() == nil)
    kernel.set(by: 3_600_000_000)
    #expect(clock.now() - start == 1_000_000)
    #expect(clock.follow() == 3_600_000_000)
    #expect(clock.now() - start == 3_601_000_000)
    #expect(clock.follow() == nil)
  }

  @Test("a step back is told once; time goes on all the same, a little slower, until the wall clock has come up to it")
  func backward() {
    let kernel = FakeKernel()
    var clock = GatewayClock(kernel: kernel)
    let start = clock.now()
    kernel.set(by: -3_600_000_000)
    #expect(clock.follow() == -3_600_000_000)
    var last = clock.now()
    for _ in 0..<100 {
      kernel.pass(1_000_000)
      #expect(clock.follow() == nil)
      let now = clock.now()
      #expect(now - last == 999_500 || now - last == 1_000_000 || last == start)
      #expect(now > last)
      last = now
    }
    // Corrections of a few milliseconds are caught up with.
    kernel.set(by: 3_600_000_000)
    _ = clock.follow()
    kernel.set(by: -2_000)
    for _ in 0..<5 {
      kernel.pass(1_000_000)
      #expect(clock.follow() == nil)
    }
    #expect(clock.now().microseconds == kernel.wallMicroseconds())
  }
}
