import Dispatch
import Synchronization

/// Reads the data file for clients, one read after the other: a slow disk holds up other reads, and no loop or desk.
package final class BoundedReader: Sendable {
  /// Reads that may wait.
  package let limit: Int

  private let queue: DispatchQueue
  private let waiting = Atomic<Int>(0)

  /// - Parameters:
  ///   - label: the queue's, for debuggers.
  ///   - limit: 64 reads of a few ms each, or fewer of longer ones.
  package init(label: String, limit: Int = 64) {
    self.limit = limit
    queue = DispatchQueue(label: label)
  }

  /// Calls `body` on the reader's queue. False, without a call, while `limit` reads wait.
  package func read(_ body: @escaping @Sendable () -> Void) -> Bool {
    guard waiting.add(1, ordering: .relaxed).newValue <= limit else {
      waiting.subtract(1, ordering: .relaxed)
      return false
    }
    queue.async { [self] in
      waiting.subtract(1, ordering: .relaxed)
      body()
    }
    return true
  }

  /// Returns when all reads so far have ended. Not on the reader's queue.
  package func finish() { queue.sync {} }
}
