import Synchronization

/// The orders of operators to the gateway as a whole; the gateway fills them in when it starts.
package final class AdminControl: Sendable {
  package struct Orders: Sendable {
    /// Reloads, off the loops, and answers on any queue.
    var reload: @Sendable (@escaping @Sendable (ReloadOutcome) -> Void) -> Void
    /// Starts a stopped feed; false if it is not configured.
    var start: @Sendable (_ connection: String) -> Bool
    /// Every setting with its value.
    var settings: @Sendable () -> [(key: String, value: String)]
    /// Ends the process as SIGTERM does; nil: not set.
    fileprivate(set) var drain: (@Sendable () -> Void)?
    /// Nil: the process cannot be replaced.
    fileprivate(set) var upgrade: Upgrade?

    package init(
      reload: @escaping @Sendable (@escaping @Sendable (ReloadOutcome) -> Void) -> Void,
      start: @escaping @Sendable (_ connection: String) -> Bool,
      settings: @escaping @Sendable () -> [(key: String, value: String)]
    ) {
      (self.reload, self.start, self.settings) = (reload, start, settings)
    }
  }

  /// The replacement of the process by another one.
  package struct Upgrade: Sendable {
    /// Begins it. Answers on any queue, with the reason if none can begin.
    var request: @Sendable (@escaping @Sendable (_ refusal: String?) -> Void) -> Void
    /// How far it is.
    var report: @Sendable () -> UpgradeReport

    package init(
      request: @escaping @Sendable (@escaping @Sendable (_ refusal: String?) -> Void) -> Void,
      report: @escaping @Sendable () -> UpgradeReport
    ) {
      (self.request, self.report) = (request, report)
    }
  }

  private let orders = Mutex<Orders?>(nil)

  package init() {}

  package func connect(_ orders: Orders) { self.orders.withLock { $0 = orders } }
  package func onDrain(_ body: @escaping @Sendable () -> Void) { orders.withLock { $0?.drain = body } }
  package func onUpgrade(_ upgrade: Upgrade) { orders.withLock { $0?.upgrade = upgrade } }
  var current: Orders? { orders.withLock { $0 } }
}

/// The outcome of a reload.
package enum ReloadOutcome: Sendable, Equatable {
  /// No setting has changed, for these reasons. Certificates, roots or keys may have been replaced.
  case refused([String])
  /// Texts that name each change, and each change that needs a restart of the process.
  case done(changed: [String], needsRestart: [String])
}
