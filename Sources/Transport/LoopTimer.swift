/// A scheduled call. Dropping it does not cancel it. Used on its loop only.
package final class LoopTimer {
  fileprivate(set) var deadline: UInt64
  /// Decides between equal deadlines: first scheduled, first run.
  fileprivate var sequence: UInt64 = 0
  fileprivate let interval: UInt64
  fileprivate var body: (() -> Void)?
  fileprivate var heapIndex = -1
  private unowned let loop: EventLoop

  init(loop: EventLoop, deadline: UInt64, interval: UInt64, body: @escaping () -> Void) {
    self.loop = loop
    self.deadline = deadline
    self.interval = interval
    self.body = body
  }

  /// The body will not run (again) and is released. O(log n). Does nothing on a timer that has run.
  package func cancel() {
    guard body != nil else { return }
    body = nil
    if heapIndex >= 0 { loop.timers.remove(self) }
  }
}

/// The timers of a loop: a binary heap whose members have their index. So a cancelled timer is removed at once, and the
/// unused time-outs of connections do not accumulate.
struct TimerHeap: ~Copyable {
  private var heap: ContiguousArray<LoopTimer> = []
  /// The number of timers so far.
  private var inserted: UInt64 = 0

  var count: Int { heap.count }

  /// When the first is due; nil without timers.
  @inline(__always)
  var nextDeadline: UInt64? { heap.isEmpty ? nil : heap[0].deadline }

  /// O(log n).
  mutating func insert(_ timer: LoopTimer) {
    inserted += 1
    timer.sequence = inserted
    timer.heapIndex = heap.count
    heap.append(timer)
    siftUp(heap.count - 1)
  }

  /// O(log n).
  mutating func remove(_ timer: LoopTimer) {
    let index = timer.heapIndex
    timer.heapIndex = -1
    let last = heap.removeLast()
    guard last !== timer else { return }
    heap[index] = last
    last.heapIndex = index
    siftUp(index)
    siftDown(last.heapIndex)
  }

  /// Removes the first timer that is due at `now`. A repeating one is added again for the next future multiple of its
  /// interval.
  mutating func popDue(_ now: UInt64) -> (() -> Void)? {
    guard let first = heap.first, first.deadline <= now else { return nil }
    let body = first.body
    if first.interval > 0 {
      first.deadline += (now - first.deadline) / first.interval * first.interval + first.interval
      siftDown(0)
    } else {
      remove(first)
      first.body = nil
    }
    return body
  }

  /// Drops all.
  mutating func removeAll() {
    for timer in heap {
      timer.heapIndex = -1
      timer.body = nil
    }
    heap = []
  }

  private func isBefore(_ a: LoopTimer, _ b: LoopTimer) -> Bool {
    a.deadline != b.deadline ? a.deadline < b.deadline : a.sequence < b.sequence
  }

  private mutating func siftUp(_ start: Int) {
    var index = start
    while index > 0 {
      let parent = (index - 1) / 2
      guard isBefore(heap[index], heap[parent]) else { return }
      exchange(index, parent)
      index = parent
    }
  }

  private mutating func siftDown(_ start: Int) {
    var index = start
    while true {
      var least = index
      for child in [2 * index + 1, 2 * index + 2] where child < heap.count && isBefore(heap[child], heap[least]) {
        least = child
      }
      guard least != index else { return }
      exchange(index, least)
      index = least
    }
  }

  private mutating func exchange(_ a: Int, _ b: Int) {
    heap.swapAt(a, b)
    heap[a].heapIndex = a
    heap[b].heapIndex = b
  }
}
