import Testing
import Transport

@testable import Operations

@Suite("Giving memory back")
struct HeapTrimmerTests {
  private static let mb = 1 << 20

  @Test("much that stays idle is given back, what is in use or comes and goes is not")
  func policy() {
    var policy = TrimPolicy(resident: 33 * Self.mb, inUse: 1 * Self.mb)
    #expect(!policy.isOfInterest(resident: 60 * Self.mb))
    #expect(policy.isOfInterest(resident: 500 * Self.mb))
    let used = [
      policy.isDue(resident: 500 * Self.mb, inUse: 440 * Self.mb),
      policy.isDue(resident: 500 * Self.mb, inUse: 440 * Self.mb),
    ]
    #expect(used == [false, false])
    // Idle, in use again, idle: nothing is done before it stays so.
    let changing = [12, 440, 12, 12].map { policy.isDue(resident: 523 * Self.mb, inUse: $0 * Self.mb) }
    #expect(changing == [false, false, false, true])
  }

  @Test("what could not be given back is not tried for again until there is more")
  func stubborn() {
    var policy = TrimPolicy(resident: 33 * Self.mb, inUse: 1 * Self.mb)
    let first = (0..<2).map { _ in policy.isDue(resident: 300 * Self.mb, inUse: 100 * Self.mb) }
    #expect(first == [false, true])
    policy.trimmed(resident: 280 * Self.mb, inUse: 100 * Self.mb)
    let again = (0..<3).map { _ in policy.isDue(resident: 290 * Self.mb, inUse: 90 * Self.mb) }
    #expect(again == [false, false, false])
    let more = (0..<2).map { _ in policy.isDue(resident: 380 * Self.mb, inUse: 100 * Self.mb) }
    #expect(more == [false, true])
  }

  @Test("the figures of this process are plausible, and giving back leaves what is in use alone")
  func figures() throws {
    let block = [UInt8](repeating: 7, count: 64 << 10)
    let resident = try #require(Heap.resident)
    #expect(resident > Self.mb && resident < 1 << 40)
    // 0 where a sanitizer has put its own allocator in place.
    #expect(Heap.inUse < resident + (1 << 30))
    Heap.trim()
    #expect(block.allSatisfy { $0 == 7 })
  }
}
