import Synchronization

/// What other threads want done on a loop, in the order they asked.
///
/// The loop is woken only where it has said that it is about to wait; a loop at work looks in by itself. It has no bound of its
/// own: senders submit batches, and each of them bounds what it has outstanding.
final class Mailbox: Sendable {
  typealias Task = @Sendable () -> Void

  private struct Contents {
    var tasks: ContiguousArray<Task> = []
    var loopSleeps = true
    var isClosed = false
  }
  private let contents = Mutex(Contents())

  /// Adds `task` and calls `wake` if the loop waits. `wake` runs under the lock, so it cannot race with `close`.
  /// Returns false, dropping the task, once closed.
  @inline(__always)
  func submit(_ task: @escaping Task, wake: () -> Void) -> Bool {
    contents.withLock { contents in
      guard !contents.isClosed else { return false }
      contents.tasks.append(task)
      if contents.loopSleeps {
        contents.loopSleeps = false
        wake()
      }
      return true
    }
  }

  /// Whether the loop may wait: nothing is here, and whoever submits from now on wakes it.
  func prepareToSleep() -> Bool {
    contents.withLock { contents in
      contents.loopSleeps = contents.tasks.isEmpty
      return contents.loopSleeps
    }
  }

  /// Swaps what was submitted into `batch`, which must be empty. The loop no longer counts as waiting.
  func take(_ batch: inout ContiguousArray<Task>) {
    contents.withLock { contents in
      contents.loopSleeps = false
      if !contents.tasks.isEmpty { swap(&contents.tasks, &batch) }
    }
  }

  /// Drops what is here and what comes.
  func close() {
    let dropped = contents.withLock { contents in
      contents.isClosed = true
      let tasks = contents.tasks
      contents.tasks = []
      return tasks
    }
    _ = dropped  // Released outside the lock: a task's captures may submit from their `deinit`.
  }
}
