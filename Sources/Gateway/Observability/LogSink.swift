import Bytes
import Feeds
import Foundation
import Logging
import Synchronization

/// How lines of the log are written.
package enum LogFormat: String, CaseIterable, Sendable {
  case logfmt, json
}

/// The sink of all log lines. It has the levels and the format, which may change while the gateway runs, and folds
/// repeated events.
///
/// It writes a burst of lines of each event in ten seconds, counts further ones, and then writes one line with their
/// number. So even a fast series of failures writes only these lines.
package final class LogSink: Sendable {
  /// Lines of one event in one interval.
  static let burst = 20
  /// µs.
  static let interval: Int64 = 10_000_000
  /// Events that are counted one by one; all others share one.
  static let eventLimit = 256

  private struct Fold {
    var begunAt: Int64
    var written = 0
    var leftOut = 0
  }
  private struct State {
    var format = LogFormat.logfmt
    var levels = LogLevels()
    var folds: [String: Fold] = [:]
  }

  /// The written lines that operators' pages show.
  let events = EventLog()
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

  func take(_ line: LogLine, folds: Bool) {
    let time = microseconds()
    var summary: LogLine?
    let format: LogFormat? = state.withLock { state in
      guard folds else { return state.format }
      let name = state.folds[line.event] != nil || state.folds.count < Self.eventLimit ? line.event : "other"
      var fold = state.folds[name] ?? Fold(begunAt: time)
      if time - fold.begunAt >= Self.interval || time < fold.begunAt {
        summary = Self.summary(name, fold)
        fold = Fold(begunAt: time)
      }
      defer { state.folds[name] = fold }
      if fold.written < Self.burst {
        fold.written += 1
        return state.format
      }
      fold.leftOut += 1
      return nil
    }
    if let summary { write(summary.text(format ?? state.withLock { $0.format }, time: time)) }
    guard let format else { return }
    write(line.text(format, time: time))
    events.note(line, time: time)
  }

  /// Logs due numbers of lines left out; call about once a second.
  package func tell() {
    let time = microseconds()
    let (lines, format): ([LogLine], LogFormat) = state.withLock { state in
      var lines: [LogLine] = []
      for (name, fold) in state.folds.sorted(by: { $0.key < $1.key }) where time - fold.begunAt >= Self.interval {
        state.folds[name] = nil
        if let line = Self.summary(name, fold) { lines.append(line) }
      }
      return (lines, state.format)
    }
    for line in lines { write(line.text(format, time: time)) }
  }

  private static func summary(_ event: String, _ fold: Fold) -> LogLine? {
    guard fold.leftOut > 0 else { return nil }
    return LogLine(
      level: .notice, message: "lines of an event were left out",
      fields: [("count", "\(fold.leftOut)"), ("of", event), ("seconds", "\(interval / 1_000_000)")])
  }
}

/// Passes a logger's lines to the sink, as lines of one part.
struct LogLineHandler: LogHandler {
  static let componentKey = "component"
  /// The key for an event that is not named after its message.
  static let eventKey = FeedSession.eventKey
  /// The key of a line that already stands for many: it is always written, without this field.
  static let foldedKey = "folded"

  var metadata: Logger.Metadata = [:] {
    didSet {
      let name = metadata[Self.componentKey].map { $0.description } ?? ""
      component = LogComponent.allCases.firstIndex { $0.rawValue == name } ?? 0
    }
  }
  var metadataProvider: Logger.MetadataProvider?
  private let sink: LogSink
  /// The index in `LogComponent.allCases`.
  private var component = 0
  /// The logger's own level; nil: the sink's levels apply.
  private var ownLevel: Logger.Level?

  init(_ sink: LogSink) { self.sink = sink }

  var logLevel: Logger.Level {
    get { ownLevel ?? sink.level(at: component) }
    set { ownLevel = newValue }
  }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    var all = metadata
    if let provided = metadataProvider?.get() { all.merge(provided) { $1 } }
    if let own = event.metadata { all.merge(own) { $1 } }
    let name = all.removeValue(forKey: Self.eventKey)?.description
    let isFolded = all.removeValue(forKey: Self.foldedKey) != nil
    let fields = all.sorted { $0.key < $1.key }.map { (key: $0.key, value: $0.value.description) }
    // The access log has a rate of its own.
    sink.take(
      LogLine(level: event.level, event: name, message: event.message.description, fields: fields),
      folds: !isFolded && LogComponent.allCases[component] != .access)
  }
}
