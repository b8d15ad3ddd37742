import Dispatch
import Glibc

/// Delivers signals as calls: `handler` runs on a private queue instead of the default action, until the source is
/// released.
package final class SignalSource: @unchecked Sendable {
  // `@unchecked`: constant after `init`, and a dispatch source may be cancelled from any thread
  // (dispatch_source_create(3)).
  private let sources: [any DispatchSourceSignal]

  /// - Parameters:
  ///   - signals: for example `SIGTERM`. They never have their default action again, also after the release of the
  ///     source.
  ///   - ignoresAtOnce: whether a signal is ignored for the microseconds until the source works; otherwise it has its
  ///     default action until then. Pass true for signals that must not end the process, false for those that must.
  package init(_ signals: [Int32], ignoresAtOnce: Bool = true, handler: @escaping @Sendable (Int32) -> Void) {
    let queue = DispatchQueue(label: "tidegate.signals")
    sources = signals.map { number in
      if ignoresAtOnce { _ = signal(number, SIG_IGN) }
      let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
      source.setEventHandler { @Sendable in handler(number) }
      source.activate()
      return source
    }
  }

  deinit {
    for source in sources { source.cancel() }
  }
}
