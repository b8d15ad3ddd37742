import Logging
import Synchronization

/// How lines of the log are written.
package enum LogFormat: String, CaseIterable, Sendable {
  case logfmt, json
}

/// The last station of a line of the log: has the levels and the format, which may change while the gateway runs, asks
/// the fold whether a line is written, and passes its text to the output and the line to operators' pages.
package final class LogSink: Sendable {
  private struct State {
    var format = LogFormat.logfmt
    var levels = LogLevels()
    var fold = LogFold()
  }

  /// The written lines that operators' pages show.
  package let events = EventLog()
  private let state: Mutex<State>
  /// The levels of all parts, four bits each, for the quick check before each line.
  private let packedLevels: Atomic<UInt64>
  private let write: @Sendable (String) -> Void
  private let microseconds: @Sendable () -> Int64

  /// - Parameters:
  ///   - microseconds: the time, µs since 1970, UTC.
  ///   - write: takes a whole line, line feed included.
  package init(
    levels: LogLevels = LogLevels(), format: LogFormat = .logfmt,
    microseconds: @escaping @Sendable () -> Int64 = LogTime.wallClock, write: @escaping @Sendable (String) -> Void
  ) {
    state = Mutex(State(format: format, levels: levels))
    packedLevels = Atomic(Self.packed(levels))
    self.write = write
    self.microseconds = microseconds
  }

  /// A logger that writes to this sink.
  package var logger: Logger { Logger(label: "tidegate") { _ in LogLineHandler(self) } }

  /// Sets the levels and the format of further lines.
  package func apply(_ levels: LogLevels, _ format: LogFormat) {
    packedLevels.store(Self.packed(levels), ordering: .relaxed)
    state.withLock {
      $0.levels = levels
      $0.format = format
    }
  }

  package var levels: LogLevels { state.withLock { $0.levels } }

  private static func packed(_ levels: LogLevels) -> UInt64 {
    LogComponent.allCases.enumerated().reduce(0) { packed, entry in
      let level = Logger.Level.allCases.firstIndex(of: levels[entry.element]) ?? 0
      return packed | UInt64(level) << UInt64(4 * entry.offset)
    }
  }

  func level(at component: Int) -> Logger.Level {
    Logger.Level.allCases[Int(packedLevels.load(ordering: .relaxed) >> UInt64(4 * component) & 15)]
  }

  /// Writes a line.
  /// - Parameter folds: whether the line counts as one of its event; if not, it is always written.
  func take(_ line: LogLine, folds: Bool) {
    let time = microseconds()
    let (format, isWritten, summary) = state.withLock { state in
      let (isWritten, summary) = folds ? state.fold.take(line.event, at: time) : (true, nil)
      return (state.format, isWritten, summary)
    }
    if let summary { write(summary.text(format, time: time)) }
    guard isWritten else { return }
    write(line.text(format, time: time))
    events.note(line, time: time)
  }

  /// Logs due numbers of lines left out; call about once a second.
  package func tell() {
    let time = microseconds()
    let (lines, format) = state.withLock { ($0.fold.end(at: time), $0.format) }
    for line in lines { write(line.text(format, time: time)) }
  }
}
