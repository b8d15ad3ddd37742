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
  private let queue: LoopQueue

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
  @exclusivity(unchecked) var memory = LoopMemory()
  @exclusivity(unchecked) private var turn = LoopTurn()
  @exclusivity(unchecked) private var tasks = TaskBatch()
  @exclusivity(unchecked) private var pending = PendingConnections()
  @exclusivity(unchecked) private var ending = LoopEnding()

  private static let ignoreBrokenPipes: Void = {
    // OpenSSL writes with write(2), which raises SIGPIPE on a connection that the peer has closed.
    _ = signal(SIGPIPE, SIG_IGN)
  }()

  /// - Throws: `.system` if the process has no free descriptors; a loop needs two.
  package init(index: Int, label: String) throws(TransportError) {
    _ = Self.ignoreBrokenPipes
    self.index = index
    kernel = SystemKernel.shared
    isSystemLoop = true
    let poller = try SystemPoller.make()
    self.poller = poller
    queue = LoopQueue(label: label, watching: poller.descriptor)
    queue.start { @Sendable in self.run() }
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
    queue = LoopQueue(label: "tidegate.driven.\(index)", watching: nil)
  }

  deinit { events.deallocate() }

  /// The durations of turns and the delays of timers; on the loop only.
  package var times: LoopTimes { turn.times }
  /// Whether `shutdown` has been executed; on the loop only.
  package var hasEnded: Bool { ending.isOver }

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
      if queue.isDriven {
        precondition(turn.isRunning, "not on loop \(index)")
      } else {
        queue.assertOnQueue()
      }
    #endif
  }

  /// Monotonic nanoseconds, read once per turn and after each blocking wait; on the loop only.
  package var uptime: UInt64 { turn.isRunning ? turn.now : kernel.uptime() }

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
    let timer = LoopTimer(loop: self, deadline: deadline, interval: interval, body: body)
    timers.insert(timer)
    comeRound()
    return timer
  }

  /// Runs `body` at the end of every turn that did something, before connections are flushed. Here the bytes of a turn
  /// are gathered. On the loop only.
  package func onTurnEnd(_ body: @escaping () -> Void) {
    assertOnLoop()
    turn.endBodies.append(body)
  }

  /// Stops the loop: closes its connections and notifies their handlers. Callable from any thread; `completion` runs on
  /// its own queue.
  package func shutdown(_ completion: @escaping @Sendable () -> Void) {
    let isAccepted = mailbox.submit({ self.end(completion) }) { poller.wake() }
    guard !isAccepted else { return }
    queue.runOutside { @Sendable in self.end(completion) }
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
    pending.dirty.append(occupant.slot)
    comeRound()
  }

  /// Marks an `occupant` that stopped before it had read all of the kernel's bytes. It gets `.readable` again in the
  /// next turn, only once for any number of marks and events, so that it gets no more than its share of a turn.
  func markUnfinished(_ occupant: PolledDescriptor) {
    guard occupant.unfinishedTurn == 0 else { return }
    occupant.unfinishedTurn = turn.number
    pending.unfinished.append(occupant.slot)
    comeRound()
  }

  /// Calls the handler of `connection` before the turn ends, but not from inside one of its own calls.
  func markClosed(_ connection: Connection, _ reason: CloseReason) {
    pending.closed.append((connection, reason))
    comeRound()
  }

  /// Blocks on the queue itself run outside turns; work that they cause needs a turn.
  @inline(__always)
  private func comeRound() {
    if !turn.isRunning { poller.wake() }
  }

  // MARK: - Turns

  private var hasWork: Bool { !pending.isEmpty || !tasks.isEmpty }

  /// The source's handler: turns, until the loop ends. Between turns it waits in the poller, not in Dispatch: a return
  /// to Dispatch and a new call take the manager's thread, a worker and 16 system calls, 150 µs for each message of a
  /// quiet client.
  private func run() {
    guard !hasEnded else { return }
    turn.isRunning = true
    turn.now = kernel.uptime()
    while !hasEnded {
      let isIdle = !hasWork && mailbox.prepareToSleep()
      let wait = isIdle ? milliseconds(until: timers.nextDeadline ?? UInt64(Int64.max)) : 0
      let count = poller.wait(milliseconds: wait, into: events)
      turn.now = kernel.uptime()
      if runTurn(events: count) { turn.times.turns.record(kernel.uptime() &- turn.now) }
    }
    turn.isRunning = false
  }

  /// One turn of a driven loop. Returns whether anything happened.
  package func step() -> Bool {
    precondition(queue.isDriven && !turn.isRunning, "only a driven loop is stepped, by its driver")
    guard !hasEnded else { return false }
    turn.isRunning = true
    defer { turn.isRunning = false }
    turn.now = kernel.uptime()
    return runTurn(events: poller.wait(milliseconds: 0, into: events))
  }

  /// When a driven loop next needs a turn, apart from socket events and tasks of others: 0 for at once, the uptime of
  /// its next timer, or nil. From now on `execute` wakes its poller. By its driver only.
  package var nextTurn: UInt64? {
    guard !hasEnded else { return nil }
    return hasWork || !mailbox.prepareToSleep() ? 0 : timers.nextDeadline
  }

  private func milliseconds(until deadline: UInt64) -> Int32 {
    deadline <= turn.now ? 0 : Int32(min((deadline - turn.now + Self.millisecond - 1) / Self.millisecond, 1000))
  }

  /// One turn. Returns whether anything happened.
  private func runTurn(events count: Int) -> Bool {
    var happened = hasWork
    let waiting = pending.unfinished.count
    turn.begin()
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
    if waiting > 0 { finishReading(waiting) }
    if let due = timers.nextDeadline, due <= turn.now { turn.times.lag.record(turn.now - due) }
    while let body = timers.popDue(turn.now) {
      happened = true
      body()
    }
    if runTasks() { happened = true }
    reportClosed()
    guard happened || pending.dirty.count > 0 else { return false }
    for body in turn.endBodies { body() }
    for _ in 0..<Self.flushRounds where pending.dirty.count > 0 || !pending.closed.isEmpty {
      flushDirty()
      reportClosed()
    }
    return true
  }

  /// Calls the first `count` occupants that stopped in an earlier turn before they had read everything.
  private func finishReading(_ count: Int) {
    for index in 0..<count {
      // Skip an occupant that had an event in this turn, even if it is unfinished again.
      guard let occupant = table.occupant(at: pending.unfinished[index]), occupant.unfinishedTurn != 0,
        occupant.unfinishedTurn != turn.number
      else { continue }
      occupant.unfinishedTurn = 0
      occupant.ready([.readable, .peerEnded])
    }
    pending.unfinished.removeFirst(count)
  }

  private func runTasks() -> Bool {
    var left = tasks.take(from: mailbox)
    guard left > 0 else { return false }
    while left > 0, !hasEnded {
      left -= 1
      tasks.next()()
    }
    tasks.drop()
    return true
  }

  private func flushDirty() {
    let count = pending.dirty.count
    for index in 0..<count {
      // An unset flag shows that another occupant has the slot now.
      table.occupant(at: pending.dirty[index])?.flushIfDirty()
    }
    pending.dirty.removeFirst(count)
  }

  private func reportClosed() {
    guard !pending.closed.isEmpty else { return }
    for (connection, reason) in pending.takeClosed() { connection.tellClosed(reason) }
  }

  private func end(_ completion: @escaping @Sendable () -> Void) {
    if hasEnded {
      if !ending.add(completion) { queue.sayFarewell([completion]) }
      return
    }
    mailbox.close()
    for occupant in table.all() { occupant.loopEnds() }
    ending.begin(completion)
    while !pending.closed.isEmpty { reportClosed() }
    timers.removeAll()
    turn.endBodies = []
    tasks.removeAll()
    queue.stop { @Sendable in self.queue.sayFarewell(self.ending.finish()) }
  }
}
