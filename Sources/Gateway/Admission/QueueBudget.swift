import Synchronization

/// The bytes that may wait for all clients of the gateway together. Each loop books what waits for its own clients ten times a
/// second and is told how much of it to let go of: its share of what is too much.
final class QueueBudget: Sendable {
  let limit: Int
  private let parts: Mutex<[Int]>
  private let exceeded = Atomic<Bool>(false)

  /// - Parameter limit: bytes.
  init(limit: Int, loops: Int) {
    self.limit = limit
    parts = Mutex(Array(repeating: 0, count: loops))
  }

  /// Whether more waits than may; new clients are refused while it does.
  var isExceeded: Bool { exceeded.load(ordering: .relaxed) }

  /// All that waits, as last booked.
  var total: Int { parts.withLock { $0.reduce(0, +) } }

  /// Books what waits on a loop; answers the bytes it has to let go of, 0 if the total is within the limit.
  func book(_ bytes: Int, loop: Int) -> Int {
    parts.withLock { parts in
      parts[loop] = bytes
      let total = parts.reduce(0, +)
      let excess = total - limit
      exceeded.store(excess > 0, ordering: .relaxed)
      guard excess > 0, bytes > 0 else { return 0 }
      return max(1, Int((Double(excess) * Double(bytes) / Double(total)).rounded(.up)))
    }
  }
}
