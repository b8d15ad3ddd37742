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
/// | SIGUSR2 | has another process take over from the command; where none can it does nothing |
/// | SIGUSR1 | nothing |
/// | SIGPIPE, SIGXFSZ | nothing: the write fails with EPIPE or EFBIG |
///
/// Make it before anything else. SIGTERM and SIGINT keep the default action until `ends` is asked for: a start is over
/// at once. A SIGHUP that comes before `reload` is given is kept until then.
final class ServiceSignals: Sendable {
  /// What a signal did that the command has no other use for, for its log.
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
    /// Held for as long as the process lives: the default action does not come back, not even in its last moments.
    var sources: [SignalSource] = []
  }

  private let terminal = ControllingTerminal()
  private let upgrades: Bool
  private let state = Mutex(State())
  /// Reading files takes time: signals that end the command do not wait for it.
  private let reloads = DispatchQueue(label: "tidegate.reload")
  /// The numbers of signals that are to end the command, or to have another take over, in the order in which they came.
  /// The command takes a few; it ignores more.
  let ends: AsyncStream<Int32>
  private let continuation: AsyncStream<Int32>.Continuation

  /// - Parameter upgrades: whether SIGUSR2 comes out of `ends`.
  init(upgrades: Bool = false) {
    self.upgrades = upgrades
    (ends, continuation) = AsyncStream<Int32>.makeStream(bufferingPolicy: .bufferingOldest(16))
    _ = signal(SIGPIPE, SIG_IGN)
    _ = signal(SIGXFSZ, SIG_IGN)
    listen([SIGHUP, SIGUSR1, SIGUSR2])
  }

  /// From now on SIGTERM and SIGINT come out of `ends`, and SIGHUP has `reload` called.
  /// - Parameters:
  ///   - notice: called for signals that do nothing else.
  ///   - reload: reads files again and says so, one call at a time, on a queue of its own; nil: there are no files to
  ///     read.
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
    // The cycle keeps both alive, which is what is wanted.
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

  /// However many come while files are being read, they are read once more.
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
