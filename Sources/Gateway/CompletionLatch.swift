import Synchronization

/// Calls `body` once, when `arrive` has been called `count` times. Callable from any thread.
final class CompletionLatch: Sendable {
  private let remaining: Mutex<Int>
  private let body: @Sendable () -> Void

  init(_ count: Int, _ body: @escaping @Sendable () -> Void) {
    self.remaining = Mutex(count)
    self.body = body
  }

  func arrive() {
    let isLast = remaining.withLock { count in
      count -= 1
      return count == 0
    }
    if isLast { body() }
  }
}
