/// The present turn of a loop, or the last one.
struct LoopTurn {
  /// Never 0.
  private(set) var number: UInt32 = 1
  var isRunning = false
  /// Monotonic ns, read once per turn and after each blocking wait.
  var now: UInt64 = 0
  var times = LoopTimes()
  /// Called at the end of every turn that did something.
  var endBodies: ContiguousArray<() -> Void> = []

  mutating func begin() { number = max(1, number &+ 1) }
}

/// The tasks that a loop has taken out of its mailbox. Empty, it holds no task that has run.
struct TaskBatch {
  /// The most tasks in one turn; further tasks wait until after the next events of sockets and timers.
  static let perTurn = 1024

  private var tasks: ContiguousArray<Mailbox.Task> = []
  private var index = 0

  /// Whether all have run.
  var isEmpty: Bool { index == tasks.count }

  /// The number of tasks to run in this turn; an empty batch takes new ones first.
  mutating func take(from mailbox: Mailbox) -> Int {
    if isEmpty { mailbox.take(&tasks) }
    return min(tasks.count - index, Self.perTurn)
  }

  /// The next task; there must be one.
  @inline(__always)
  mutating func next() -> Mailbox.Task {
    index += 1
    return tasks[index - 1]
  }

  /// Frees the tasks once all have run. Keeps the memory of an ordinary batch, and frees that of a very large one.
  mutating func drop() {
    guard isEmpty else { return }
    tasks.removeAll(keepingCapacity: index <= 4 * Self.perTurn)
    index = 0
  }

  mutating func removeAll() { (tasks, index) = ([], 0) }
}

/// The connections that a turn of a loop must still serve.
struct PendingConnections: ~Copyable {
  /// Slots with bytes to send.
  var dirty = SlotList()
  /// Slots that have not read all of the kernel's bytes.
  var unfinished = SlotList()
  /// Connections whose handlers have not learned of their end.
  var closed: ContiguousArray<(Connection, CloseReason)> = []

  var isEmpty: Bool { unfinished.count == 0 && dirty.count == 0 && closed.isEmpty }

  mutating func takeClosed() -> ContiguousArray<(Connection, CloseReason)> {
    defer { closed = [] }
    return closed
  }
}

/// The end of a loop, and the completions that wait for it.
struct LoopEnding {
  private(set) var isOver = false
  /// Nil before the end, and after all have been called.
  private var completions: [@Sendable () -> Void]?

  mutating func begin(_ completion: @escaping @Sendable () -> Void) {
    isOver = true
    completions = [completion]
  }

  /// Adds one more; false if all have been called.
  mutating func add(_ completion: @escaping @Sendable () -> Void) -> Bool {
    completions?.append(completion) != nil
  }

  /// The completions to call now.
  mutating func finish() -> [@Sendable () -> Void] {
    defer { completions = nil }
    return completions ?? []
  }
}

/// The memory that the connections of a loop share, one after the other.
struct LoopMemory: ~Copyable {
  /// The buffer for reads, valid while the handler runs. A turn reads at most this many bytes from one connection.
  let read = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 64)
  /// The buffer in which several queued items are joined for one send.
  let gather = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 64)
  private var queues: ContiguousArray<WriteQueue> = []

  /// The number of queues that are kept for reuse; others are freed.
  private static let queuesKept = 64

  deinit {
    read.deallocate()
    gather.deallocate()
  }

  mutating func borrowQueue() -> WriteQueue { queues.popLast() ?? WriteQueue() }

  mutating func giveBack(_ queue: WriteQueue) {
    guard queues.count < Self.queuesKept, queue.isWorthKeeping else { return }
    queue.removeAll()
    queues.append(queue)
  }
}
