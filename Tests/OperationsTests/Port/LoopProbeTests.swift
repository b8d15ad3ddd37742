import Dispatch
import Synchronization
import TestTraits
import Testing
import Transport

@testable import Operations

@Suite("Whether loops turn", .realTime)
struct LoopProbeTests {
  @Test("a loop that stands still is named, and only that")
  func silent() async throws {
    let loops = try (0..<3).map { try EventLoop(index: $0, label: "test.probe") }
    defer { for loop in loops { loop.shutdown {} } }
    func probe() async -> [Int] {
      await withCheckedContinuation { done in LoopProbe.run(loops, from: loops[0]) { done.resume(returning: $0) } }
    }
    #expect(await probe() == [])
    let gate = DispatchSemaphore(value: 0)
    loops[2].execute { gate.wait() }
    #expect(await probe() == [2])
    gate.signal()
    #expect(await probe() == [])
  }
}
