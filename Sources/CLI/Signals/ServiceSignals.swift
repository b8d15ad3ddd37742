import Dispatch
import Glibc
import Synchronization
import Transport

/// The signals of a command that runs until a signal ends it: `serve`, `record`, `simulate`. No signal that operators
/// or their tools send ends the process by the system's default action.
///
/// | signal | what it does |
/// |---|---|
/// | SIGTERM, SIGINT | ends the command |
/// | SIGHUP | reads files again; ends the command like SIGTERM if the terminal it was started in was closed |
/// | SIGUSR2 | starts another process that takes over; nothing in a command without upgrades |
/// | SIGUSR1 | nothing |
/// | SIGPIPE, SIGXFSZ | nothing: the write fails with EPIPE or EFBIG |
///
/// Make it before anything else. SIGTERM and SIGINT keep the default action until `begin`, so they end a start at once.
/// A SIGHUP before `begin` is kept until then.
final class ServiceSignals: Sendable {
  /// A signal without effect, for the command's log.
  enum Notice: Sendable {
    /// SIGHUP, and the command reads no files.
    case nothingToRead
    /// The command does nothing at this signal.
    case ignored(String)
  }

  private struct State {
    var reload: (@Sendable () -> Void)?
    var notice: @Sendable (Notice) -> Void = { _ in }
    var isReady = false
    /// A SIGHUP has arrived and is not handled yet.
    var isReloadDue = false
    /// Held for the life of the process, so that the default action never returns.
    var sources: [SignalSource] = []
  }

  private let terminal = ControllingTerminal()
  private let upgrades: Bool
  private let state = Mutex(State())
  /// Reading files takes time: signals that end the command do not wait for it.
  private let reloads = DispatchQueue(label: "tidegate.reload")
  /// The signals that end the command or start an upgrade, in the order of their arrival. The command takes a few and
  /// ignores more.
  let ends: AsyncStream<Int32>
  private let continuation: AsyncStream<Int32>.Continuation

  /// - Parameter upgrades: whether `ends` includes SIGUSR2.
  init(upgrades: Bool = false) {
    self.upgrades = upgrades
    (ends, continuation) = AsyncStream<Int32>.makeStream(bufferingPolicy: .bufferingOldest(16))
    _ = signal(SIGPIPE, SIG_IGN)
    _ = signal(SIGXFSZ, SIG_IGN)
    listen([SIGHUP, SIGUSR1, SIGUSR2])
  }

  /// From now on `ends` includes SIGTERM and SIGINT, and SIGHUP calls `reload`.
  /// - Parameters:
  ///   - notice: called for signals that do nothing else.
  ///   - reload: reads files again and logs it, one call at a time, on its own queue; nil: there are no files to read.
  func begin(notice: @escaping @Sendable (Notice) -> Void, reload: (@Sendable () -> Void)? = nil) {
    listen([SIGINT, SIGTERM], ignoresAtOnce: false)
    let isDue = state.withLock { state in
      state.notice = notice
      state.reload = reload
      state.isReady = true
      return state.isReloadDue
    }
    if isDue { reloads.async { self.reload() } }
  }

  private func listen(_ numbers: [Int32], ignoresAtOnce: Bool = true) {
    // The reference cycle keeps both alive on purpose.
    let source = SignalSource(numbers, ignoresAtOnce: ignoresAtOnce) { [self] in received($0) }
    state.withLock { $0.sources.append(source) }
  }

  private func received(_ number: Int32) {
    switch number {
    case SIGHUP where !terminal.isGone: requestReload()
    case SIGUSR1: say(.ignored("SIGUSR1"))
    case SIGUSR2 where !upgrades: say(.ignored("SIGUSR2"))
    default: continuation.yield(number)
    }
  }

  /// Any number of signals during a reload causes one more reload.
  private func requestReload() {
    let begins = state.withLock { state in
      defer { state.isReloadDue = true }
      return state.isReady && !state.isReloadDue
    }
    if begins { reloads.async { self.reload() } }
  }

  private func reload() {
    let reload = state.withLock { state in
      state.isReloadDue = false
      return state.reload
    }
    if let reload { reload() } else { say(.nothingToRead) }
  }

  private func say(_ notice: Notice) { state.withLock { $0.notice }(notice) }
}
