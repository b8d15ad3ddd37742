import Bytes
import Dispatch
import Glibc

/// A serial dispatch queue that owns connections: one epoll set behind one dispatch source, a mailbox, timers.
///
/// All work of a loop runs on its queue, one task at a time. Other queues and threads enter through `execute`. The
/// source's handler starts with the first event and runs until the loop ends, so a call of the queue's own `async`
/// would wait for ever. Therefore the loop has a mailbox, and no other code has the queue.
///
/// A turn is: the events of one `epoll_wait`, timers that are due, mailbox tasks, the `onTurnEnd` bodies, then one send
/// per connection that was written to. A loop lives until `shutdown`; it holds its connections and listeners.
///
/// A driven loop has no thread of a queue: it takes a turn when its driver calls `step`, in the driver's thread and
/// with the time of the driver's `Kernel`. Simulations use such loops.
package final class EventLoop: @unchecked Sendable {
  // `@unchecked`: `mailbox` has its lock and `poller.wake` is one system call; all other state is used only on `queue`,
  // or, in a driven loop, in the one thread of its driver.

  /// The index among the loops of this process, for striping ids.
  package let index: Int
  private let queue: DispatchQueue

  /// The most mailbox tasks in one turn; further tasks wait until after the next events of sockets and timers.
  private static let tasksPerTurn = 1024
  /// How often a turn flushes again because a flush caused more writes; after that, the next turn continues.
  private static let flushRounds = 4
  private static let millisecond: UInt64 = 1_000_000

  /// The loop's access to the operating system, and the source of its time and random numbers.
  package let kernel: any Kernel
  /// Whether `kernel` is the machine's own.
  let isSystemLoop: Bool
  let poller: any Poller
  private let events = PollerEvents()
  let mailbox = Mailbox()
  // `@exclusivity(unchecked)`: confined to the queue; the dynamic check would cost more than the accesses.
  @exclusivity(unchecked) var table = DescriptorTable()
  @exclusivity(unchecked) var timers = TimerHeap()
  /// The buffer for reads, valid while the handler runs. A turn reads at most this many bytes from one connection.
  let readBuffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 64)
  /// The buffer in which several queued items are joined for one send.
  let gatherBuffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 64)
  @exclusivity(unchecked) var spareQueues: ContiguousArray<WriteQueue> = []

  @exclusivity(unchecked) private var dirty = SlotList()
  @exclusivity(unchecked) private var unfinished = SlotList()
  /// The number of the present turn, or of the last one; never 0.
  @exclusivity(unchecked) private var turnNumber: UInt32 = 1
  @exclusivity(unchecked) private var closed: ContiguousArray<(Connection, CloseReason)> = []
  @exclusivity(unchecked) private var tasks: ContiguousArray<Mailbox.Task> = []
  @exclusivity(unchecked) private var nextTask = 0
  @exclusivity(unchecked) private var turnEndBodies: ContiguousArray<() -> Void> = []
  @exclusivity(unchecked) private var now: UInt64 = 0
  @exclusivity(unchecked) private var isInTurn = false
  @exclusivity(unchecked) private var timerSequence: UInt64 = 0
  @exclusivity(unchecked) private var shutdownCompletions: [@Sendable () -> Void]?
  /// The durations of turns and the delays of timers; on the loop only.
  @exclusivity(unchecked) package private(set) var times = LoopTimes()
  /// Whether `shutdown` has been executed; on the loop only.
  @exclusivity(unchecked) package private(set) var hasEnded = false
  /// Nil in a driven loop.
  private let source: (any DispatchSourceRead)?

  private static let ignoreBrokenPipes: Void = {
    // OpenSSL writes with write(2), which raises SIGPIPE on a connection that the peer has closed.
    _ = signal(SIGPIPE, SIG_IGN)
  }()

  /// A serial queue, because all of the few threads of a global queue may be blocked while they wait for this.
  private static let farewells = DispatchQueue(label: "tidegate.shutdown")

  /// - Throws: `.system` if the process has no free descriptors; a loop needs two.
  package init(index: Int, label: String) throws(TransportError) {
    _ = Self.ignoreBrokenPipes
    self.index = index
    kernel = SystemKernel.shared
    isSystemLoop = true
    queue = DispatchQueue(label: label)
    let poller = try SystemPoller.make()
    self.poller = poller
    let source = DispatchSource.makeReadSource(fileDescriptor: poller.descriptor, queue: queue)
    self.source = source
    source.setEventHandler { @Sendable in self.run() }
    source.activate()
  }

  /// A driven loop.
  /// - Parameters:
  ///   - kernel: provides sockets and time.
  ///   - poller: its event queue, which belongs to `kernel`; `wait` is only ever called with 0 ms.
  package init(index: Int, kernel: any Kernel, poller: any Poller) {
    self.index = index
    self.kernel = kernel
    isSystemLoop = kernel is SystemKernel
    self.poller = poller
    queue = DispatchQueue(label: "tidegate.driven.\(index)")
    source = nil
  }

  deinit {
    readBuffer.deallocate()
    gatherBuffer.deallocate()
    events.deallocate()
  }

  // MARK: - Entering

  /// Runs `task` on the loop, soon, after all tasks submitted before. Callable from any thread. After `shutdown` the
  /// task is dropped.
  package func execute(_ task: @escaping @Sendable () -> Void) {
    _ = mailbox.submit(task) { poller.wake() }
  }

  /// Runs `task`, which holds `bytes`, on the loop like `execute`. Returns false and drops the task after `shutdown`,
  /// or if so much already waits that the loop cannot keep up. Use it for work that the sender can merge with its next
  /// work. Callable from any thread.
  package func offer(bytes: Int, _ task: @escaping @Sendable () -> Void) -> Bool {
    mailbox.offer(bytes: bytes, task) { poller.wake() }
  }

  /// In debug builds: stops the process if not on this loop.
  @inline(__always)
  package func assertOnLoop() {
    #if DEBUG
      if source != nil {
        dispatchPrecondition(condition: .onQueue(queue))
      } else {
        precondition(isInTurn, "not on loop \(index)")
      }
    #endif
  }

  /// Monotonic nanoseconds, read once per turn and after each blocking wait; on the loop only.
  package var uptime: UInt64 { isInTurn ? now : kernel.uptime() }

  /// Runs `body` on the loop after `delay` (granularity 1 ms), unless the timer is cancelled; on the loop only.
  /// O(log timers).
  @discardableResult
  package func schedule(after delay: Duration, _ body: @escaping () -> Void) -> LoopTimer {
    schedule(delay.wholeNanoseconds, interval: 0, body)
  }

  /// Runs `body` every `interval` (at least 1 ms) until the timer is cancelled; a late turn skips calls instead of
  /// making them up. On the loop only.
  @discardableResult
  package func scheduleRepeating(every interval: Duration, _ body: @escaping () -> Void) -> LoopTimer {
    let interval = max(interval.wholeNanoseconds, Self.millisecond)
    return schedule(interval, interval: interval, body)
  }

  private func schedule(_ delay: UInt64, interval: UInt64, _ body: @escaping () -> Void) -> LoopTimer {
    assertOnLoop()
    // Rounds up to the next whole millisecond, and never to the present one. So timers that set each other cannot hold
    // the turn, and timers of one millisecond run together.
    let (due, isBeyond) = uptime.addingReportingOverflow(delay)
    let deadline =
      isBeyond || due > UInt64(Int64.max) ? UInt64(Int64.max) : (due / Self.millisecond + 1) * Self.millisecond
    timerSequence += 1
    let timer = LoopTimer(loop: self, deadline: deadline, interval: interval, sequence: timerSequence, body: body)
    timers.insert(timer)
    comeRound()
    return timer
  }

  /// Runs `body` at the end of every turn that did something, before connections are flushed. Here the bytes of a turn
  /// are gathered. On the loop only.
  package func onTurnEnd(_ body: @escaping () -> Void) {
    assertOnLoop()
    turnEndBodies.append(body)
  }

  /// Stops the loop: closes its connections and notifies their handlers. Callable from any thread; `completion` runs on
  /// its own queue.
  package func shutdown(_ completion: @escaping @Sendable () -> Void) {
    let isAccepted = mailbox.submit({ self.end(completion) }) { poller.wake() }
    guard !isAccepted else { return }
    if source != nil { queue.async { @Sendable in self.end(completion) } } else { end(completion) }
  }

  // MARK: - Requests of sockets; on the loop

  /// Watches `occupant`'s descriptor. After an error, the occupant is not watched and keeps its descriptor.
  func watch(_ occupant: PolledDescriptor) throws(TransportError) {
    guard !hasEnded else { throw .system(call: "epoll_ctl", errno: ESHUTDOWN) }
    let token = table.insert(occupant)
    do { try poller.add(occupant.descriptor, token: token) } catch {
      table.remove(occupant)
      throw error
    }
  }

  /// Stops watching `occupant`. Its descriptor stays open, here or elsewhere.
  func unwatch(_ occupant: PolledDescriptor) {
    guard occupant.slot >= 0 else { return }
    poller.remove(occupant.descriptor)
    table.remove(occupant)
  }

  /// Whether any closed connection waits for its peer's end. O(descriptors).
  package var hasLingeringConnections: Bool { table.all().contains { ($0 as? Connection)?.state == .lingering } }

  /// `occupant` will be flushed at the end of the turn.
  @inline(__always)
  func markDirty(_ occupant: Connection) {
    dirty.append(occupant.slot)
    comeRound()
  }

  /// Marks an `occupant` that stopped before it had read all of the kernel's bytes. It gets `.readable` again in the
  /// next turn, only once for any number of marks and events, so that it gets no more than its share of a turn.
  func markUnfinished(_ occupant: PolledDescriptor) {
    guard occupant.unfinishedTurn == 0 else { return }
    occupant.unfinishedTurn = turnNumber
    unfinished.append(occupant.slot)
    comeRound()
  }

  /// Calls the handler of `connection` before the turn ends, but not from inside one of its own calls.
  func markClosed(_ connection: Connection, _ reason: CloseReason) {
    closed.append((connection, reason))
    comeRound()
  }

  /// Blocks on the queue itself run outside turns; work that they cause needs a turn.
  @inline(__always)
  private func comeRound() {
    if !isInTurn { poller.wake() }
  }

  // MARK: - Turns

  private var hasWork: Bool { unfinished.count > 0 || nextTask < tasks.count || dirty.count > 0 || !closed.isEmpty }

  /// The source's handler: turns, until the loop ends. Between turns it waits in the poller, not in Dispatch: a return
  /// to Dispatch and a new call take the manager's thread, a worker and 16 system calls, 150 µs for each message of a
  /// quiet client.
  private func run() {
    guard !hasEnded else { return }
    isInTurn = true
    now = kernel.uptime()
    while !hasEnded {
      let isIdle = !hasWork && mailbox.prepareToSleep()
      let wait = isIdle ? milliseconds(until: timers.nextDeadline ?? UInt64(Int64.max)) : 0
      let count = poller.wait(milliseconds: wait, into: events)
      now = kernel.uptime()
      if turn(events: count) { times.turns.record(kernel.uptime() &- now) }
    }
    isInTurn = false
  }

  /// One turn of a driven loop. Returns whether anything happened.
  package func step() -> Bool {
    precondition(source == nil && !isInTurn, "only a driven loop is stepped, by its driver")
    guard !hasEnded else { return false }
    isInTurn = true
    defer { isInTurn = false }
    now = kernel.uptime()
    return turn(events: poller.wait(milliseconds: 0, into: events))
  }

  /// When a driven loop next needs a turn, apart from socket events and tasks of others: 0 for at once, the uptime of
  /// its next timer, or nil. From now on `execute` wakes its poller. By its driver only.
  package var nextTurn: UInt64? {
    guard !hasEnded else { return nil }
    return hasWork || !mailbox.prepareToSleep() ? 0 : timers.nextDeadline
  }

  private func milliseconds(until deadline: UInt64) -> Int32 {
    deadline <= now ? 0 : Int32(min((deadline - now + Self.millisecond - 1) / Self.millisecond, 1000))
  }

  /// One turn. Returns whether anything happened.
  private func turn(events count: Int) -> Bool {
    var happened = hasWork
    let waiting = unfinished.count
    turnNumber = max(1, turnNumber &+ 1)
    for index in 0..<count {
      let (token, readiness) = events[index]
      if token >= PollerEvents.firstReservedToken { continue }
      happened = true
      guard let occupant = table.occupant(token: token) else { continue }
      // Its event will also finish its unfinished work.
      let rest: Readiness = occupant.unfinishedTurn == 0 ? [] : [.readable, .peerEnded]
      occupant.unfinishedTurn = 0
      occupant.ready(readiness.union(rest))
    }
    if waiting > 0 {
      for index in 0..<waiting {
        // Skip an occupant that had an event in this turn, even if it is unfinished again.
        guard let occupant = table.occupant(at: unfinished[index]), occupant.unfinishedTurn != 0,
          occupant.unfinishedTurn != turnNumber
        else { continue }
        occupant.unfinishedTurn = 0
        occupant.ready([.readable, .peerEnded])
      }
      unfinished.removeFirst(waiting)
    }
    if let due = timers.nextDeadline, due <= now { times.lag.record(now - due) }
    while let body = timers.popDue(now) {
      happened = true
      body()
    }
    if runTasks() { happened = true }
    reportClosed()
    guard happened || dirty.count > 0 else { return false }
    for body in turnEndBodies { body() }
    for _ in 0..<Self.flushRounds where dirty.count > 0 || !closed.isEmpty {
      flushDirty()
      reportClosed()
    }
    return true
  }

  private func runTasks() -> Bool {
    if nextTask == tasks.count {
      // Keeps the memory of an ordinary batch, and frees that of a very large one.
      if nextTask > 0 { tasks.removeAll(keepingCapacity: nextTask <= 4 * Self.tasksPerTurn) }
      nextTask = 0
      mailbox.take(&tasks)
    }
    let end = min(tasks.count, nextTask + Self.tasksPerTurn)
    guard nextTask < end else { return false }
    while nextTask < end, !hasEnded {
      let task = tasks[nextTask]
      nextTask += 1
      task()
    }
    if nextTask == tasks.count, !hasEnded {
      tasks.removeAll(keepingCapacity: nextTask <= 4 * Self.tasksPerTurn)
      nextTask = 0
    }
    return true
  }

  private func flushDirty() {
    let count = dirty.count
    for index in 0..<count {
      // An unset flag shows that another occupant has the slot now.
      table.occupant(at: dirty[index])?.flushIfDirty()
    }
    dirty.removeFirst(count)
  }

  private func reportClosed() {
    guard !closed.isEmpty else { return }
    let batch = closed
    closed = []
    for (connection, reason) in batch { connection.tellClosed(reason) }
  }

  private func end(_ completion: @escaping @Sendable () -> Void) {
    if hasEnded {
      if shutdownCompletions != nil {
        shutdownCompletions?.append(completion)
      } else {
        sayFarewell([completion])
      }
      return
    }
    shutdownCompletions = [completion]
    mailbox.close()
    for occupant in table.all() { occupant.loopEnds() }
    hasEnded = true
    while !closed.isEmpty { reportClosed() }
    timers.removeAll()
    turnEndBodies = []
    tasks = []
    nextTask = 0
    guard let source else {
      shutdownCompletions = nil
      return sayFarewell([completion])
    }
    source.setCancelHandler { @Sendable in
      let completions = self.shutdownCompletions ?? []
      self.shutdownCompletions = nil
      self.sayFarewell(completions)
    }
    source.cancel()
  }

  private func sayFarewell(_ completions: [@Sendable () -> Void]) {
    if source == nil {
      for completion in completions { completion() }
    } else {
      Self.farewells.async { for completion in completions { completion() } }
    }
  }
}
