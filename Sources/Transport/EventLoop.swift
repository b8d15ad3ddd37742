import Bytes
import Dispatch

/// A serial dispatch queue that owns connections: one epoll set behind one dispatch source, a mailbox, timers.
///
/// Everything that happens on a loop happens on its queue, one thing at a time. Other queues and threads enter through
/// `execute`. While the source's handler lingers for events (about 5 ms), the queue's own `async` would wait, hence the mailbox.
package final class EventLoop: Sendable {
  /// The place among the loops of this process, for striping ids.
  package let index: Int
  package let queue: DispatchQueue

  package init(index: Int, label: String) throws(TransportError) { fatalError("being written") }

  /// Runs `task` on the loop, soon, after what was submitted before it. Callable from anywhere. 23–60 ns.
  package func execute(_ task: @escaping @Sendable () -> Void) { fatalError("being written") }

  /// In debug builds: stops the process if not on this loop.
  package func assertOnLoop() { fatalError("being written") }

  /// Monotonic nanoseconds, read once per turn and after each blocking wait; on the loop only.
  package var uptime: UInt64 { fatalError("being written") }

  /// Runs `body` on the loop after `delay` ns (granularity 1 ms), unless the timer is cancelled; on the loop only.
  @discardableResult
  package func schedule(after delay: UInt64, _ body: @escaping () -> Void) -> LoopTimer { fatalError("being written") }

  /// Runs `body` every `interval` ns until the timer is cancelled; a late turn skips rather than bunches. On the loop only.
  @discardableResult
  package func scheduleRepeating(every interval: UInt64, _ body: @escaping () -> Void) -> LoopTimer {
    fatalError("being written")
  }

  /// Runs `body` at the end of every turn that did something, before connections are flushed: what one turn owes is gathered
  /// there. On the loop only.
  package func onTurnEnd(_ body: @escaping () -> Void) { fatalError("being written") }

  /// Stops the loop; its connections are closed. Callable from anywhere; `completion` runs on a global queue.
  package func shutdown(_ completion: @escaping @Sendable () -> Void) { fatalError("being written") }
}

/// A scheduled call. Dropping it does not cancel it.
package final class LoopTimer {
  package func cancel() { fatalError("being written") }
}
