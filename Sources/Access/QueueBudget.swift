import Synchronization

/// The bytes that may wait for all clients of the gateway together. Each loop books what waits for its own clients ten
/// times a second and gets back how many bytes it must drop: its share of the excess.
package final class QueueBudget: Sendable {
  /// Bytes; may change while the gateway runs.
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

  /// Whether far more bytes wait than allowed, because closing clients cannot keep up; then new clients are refused.
  /// Slightly over the limit, new clients are not refused: clients that do not read must leave first.
  var isExceeded: Bool { exceeded.load(ordering: .relaxed) }

  /// All that waits, as last booked.
  package var total: Int { parts.withLock { $0.reduce(0, +) } }

  /// Books what waits on a loop; answers the bytes it has to let go of, 0 if the total is within the limit. Once it is
  /// over, an eighth more than the excess goes, so that it is not over again at once.
  package func book(_ bytes: Int, loop: Int) -> Int {
    parts.withLock { parts in
      let total = set(bytes, loop, &parts)
      guard total > limit, bytes > 0 else { return 0 }
      let excess = total - (limit - limit / 8)
      return max(1, Int((Double(excess) * Double(bytes) / Double(total)).rounded(.up)))
    }
  }

  /// Books what is left after letting go.
  package func rebook(_ bytes: Int, loop: Int) { parts.withLock { _ = set(bytes, loop, &$0) } }

  private func set(_ bytes: Int, _ loop: Int, _ parts: inout [Int]) -> Int {
    parts[loop] = bytes
    let total = parts.reduce(0, +)
    exceeded.store(total > limit + limit / 4, ordering: .relaxed)
    return total
  }
}
