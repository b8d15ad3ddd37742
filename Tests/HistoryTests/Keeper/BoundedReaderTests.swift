import Dispatch
import Synchronization
import Testing

@testable import History

@Suite("Reads of the data file for clients")
struct BoundedReaderTests {
  @Test("are refused while as many wait as may, and are taken again afterwards")
  func limit() {
    let reader = BoundedReader(label: "test")
    let (isReading, mayEnd) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let done = Atomic<Int>(0)
    // One reads, and waits no more.
    let isTaken = reader.read {
      isReading.signal()
      mayEnd.wait()
    }
    isReading.wait()
    let taken = (0..<(reader.limit + 10)).count { _ in
      reader.read { _ = done.add(1, ordering: .relaxed) }
    }
    #expect(isTaken && taken == reader.limit && done.load(ordering: .relaxed) == 0)
    mayEnd.signal()
    reader.finish()
    #expect(done.load(ordering: .relaxed) == reader.limit)
    #expect(reader.read {})
    reader.finish()
  }
}
