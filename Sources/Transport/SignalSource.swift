import Dispatch
import Glibc

/// Signals as calls: the default action is off, and `handler` runs on a private queue instead, until the source is
/// dropped.
package final class SignalSource: @unchecked Sendable {
  // `@unchecked`: constant after `init`, and a dispatch source may be cancelled from any thread
  // (dispatch_source_create(3)).
  private let sources: [any DispatchSourceSignal]

  /// - Parameters:
  ///   - signals: `SIGTERM`, say. They never have their default action again, also after the source is gone.
  ///   - ignoresAtOnce: whether a signal is ignored until the source is in place, some microseconds; otherwise it has
  ///     its default action until then. True for what must not end the process, false for what must.
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
