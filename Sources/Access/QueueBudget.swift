import Synchronization

/// The limit of the bytes that are queued for all clients of the gateway. Ten times a second, each loop reports the
/// queued bytes of its clients, and learns how many bytes it must drop: its share of the excess.
package final class QueueBudget: Sendable {
  /// The limit in bytes; may change while the gateway runs.
  package var limit: Int {
    get { bytes.load(ordering: .relaxed) }
    set { bytes.store(newValue, ordering: .relaxed) }
  }
  private let bytes: Atomic<Int>
  private let parts: Mutex<[Int]>
  private let exceeded = Atomic<Bool>(false)

  /// - Parameter limit: bytes.
  package init(limit: Int, loops: Int) {
    bytes = Atomic(limit)
    parts = Mutex(Array(repeating: 0, count: loops))
  }

  /// Whether far more bytes are queued than allowed, because closing clients cannot keep up; then new clients are
  /// refused. Slightly over the limit, new clients are not refused, because clients that do not read must be closed
  /// first.
  var isExceeded: Bool { exceeded.load(ordering: .relaxed) }

  /// All queued bytes, as last reported.
  package var total: Int { parts.withLock { $0.reduce(0, +) } }

  /// Reports the queued bytes of a loop. Returns the bytes that the loop must drop, 0 if the total is within the limit.
  /// Over the limit, it is an eighth more than the excess, so that the total does not exceed the limit again at once.
  package func book(_ bytes: Int, loop: Int) -> Int {
    parts.withLock { parts in
      let total = set(bytes, loop, &parts)
      guard total > limit, bytes > 0 else { return 0 }
      let excess = total - (limit - limit / 8)
      return max(1, Int((Double(excess) * Double(bytes) / Double(total)).rounded(.up)))
    }
  }

  /// Reports the bytes that are left after dropping.
  package func rebook(_ bytes: Int, loop: Int) { parts.withLock { _ = set(bytes, loop, &$0) } }

  private func set(_ bytes: Int, _ loop: Int, _ parts: inout [Int]) -> Int {
    parts[loop] = bytes
    let total = parts.reduce(0, +)
    exceeded.store(total > limit + limit / 4, ordering: .relaxed)
    return total
  }
}
