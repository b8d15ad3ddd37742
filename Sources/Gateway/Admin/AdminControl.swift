import Synchronization

/// The operations of operators on the gateway as a whole; the gateway fills them in when it starts.
final class AdminControl: Sendable {
  struct Operations: Sendable {
    /// Reloads, off the loops, and answers on any queue.
    var reload: @Sendable (@escaping @Sendable (ReloadOutcome) -> Void) -> Void
    /// Starts a stopped feed; false if it is not configured.
    var start: @Sendable (_ connection: String) -> Bool
    /// Every setting with its value.
    var settings: @Sendable () -> [(key: String, value: String)]
    /// Ends the process as SIGTERM does; nil: not set.
    var drain: (@Sendable () -> Void)?
    /// Replaces the process by another one; nil: the process cannot be replaced.
    var upgrade: UpgradeDesk?
  }

  private let operations = Mutex<Operations?>(nil)

  func connect(_ operations: Operations) { self.operations.withLock { $0 = operations } }
  func onDrain(_ body: @escaping @Sendable () -> Void) { operations.withLock { $0?.drain = body } }
  func onUpgrade(_ desk: UpgradeDesk) { operations.withLock { $0?.upgrade = desk } }
  var current: Operations? { operations.withLock { $0 } }
}
