import Synchronization

/// Tasks from other threads for a loop, in the order of submission.
///
/// A sender wakes the loop only if the loop has announced that it is about to wait. A working loop checks the mailbox
/// itself.
///
/// If a loop gets no CPU time, its mailbox must not grow without bound. So there are two ways in. Work that clocks and
/// feeds produce continuously is *offered*: at `byteLimit` and `taskLimit` the mailbox refuses it, and the sender
/// merges it with its next work. A request, an answer, or the end of a connection is *submitted* and never refused: the
/// requesters bound it, because each waits for its answer.
final class Mailbox: Sendable {
  typealias Task = @Sendable () -> Void

  /// The bytes, as counted by the senders, and the tasks at which offered work is refused. A loop that was busy for a
  /// second has some hundred tasks.
  static let byteLimit = 8 << 20
  static let taskLimit = 16_384

  private struct Contents {
    var tasks: ContiguousArray<Task> = []
    var bytes = 0
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

  /// Adds a task that holds `bytes`, as `submit` does, unless the mailbox is full: then the task is dropped and the
  /// result is false. An empty mailbox accepts a task of any size.
  func offer(bytes: Int, _ task: @escaping Task, wake: () -> Void) -> Bool {
    contents.withLock { contents in
      guard !contents.isClosed else { return false }
      guard contents.bytes + bytes <= Self.byteLimit || contents.bytes == 0, contents.tasks.count < Self.taskLimit
      else {
        return false
      }
      contents.tasks.append(task)
      contents.bytes += bytes
      if contents.loopSleeps {
        contents.loopSleeps = false
        wake()
      }
      return true
    }
  }

  /// Whether the loop may wait: nothing is here, and a thread that submits from now on wakes it.
  func prepareToSleep() -> Bool {
    contents.withLock { contents in
      contents.loopSleeps = contents.tasks.isEmpty
      return contents.loopSleeps
    }
  }

  /// Moves the submitted tasks into `batch`, which must be empty. The loop no longer counts as waiting.
  func take(_ batch: inout ContiguousArray<Task>) {
    contents.withLock { contents in
      contents.loopSleeps = false
      contents.bytes = 0
      if !contents.tasks.isEmpty { swap(&contents.tasks, &batch) }
    }
  }

  /// Drops all present and future tasks.
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
