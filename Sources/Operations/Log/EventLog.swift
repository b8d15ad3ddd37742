import Logging
import Synchronization

/// The last notable lines of the log, for operators: notices and worse, and the states of feeds.
package final class EventLog: Sendable {
  /// The kept lines, fields of a line, and characters of a value: as a rule some 10 kB, at most 130 kB of ASCII.
  static let limit = 60
  static let fieldLimit = 12
  static let textLimit = 160

  package struct Entry: Sendable {
    /// µs since 1970.
    let time: Int64
    let level: Logger.Level
    let event: String
    let message: String
    let fields: [(key: String, value: String)]
  }

  private struct State {
    var entries: [Entry] = []
    /// The index of the oldest entry, once all are used.
    var oldest = 0
  }
  private let state = Mutex(State())

  /// Keeps a notable line. O(1), under 1 µs.
  func note(_ line: LogLine, time: Int64) {
    guard line.level >= .notice || line.event == "feed_state" else { return }
    let entry = Entry(
      time: time, level: line.level, event: Self.cut(line.event), message: Self.cut(line.message),
      fields: line.fields.prefix(Self.fieldLimit).map { (Self.cut($0.key), Self.cut($0.value)) })
    state.withLock { state in
      if state.entries.count < Self.limit {
        state.entries.append(entry)
      } else {
        state.entries[state.oldest] = entry
        state.oldest = (state.oldest + 1) % Self.limit
      }
    }
  }

  /// The newest first.
  package var entries: [Entry] {
    state.withLock { Array($0.entries[$0.oldest...] + $0.entries[..<$0.oldest]).reversed() }
  }

  private static func cut(_ text: String) -> String {
    text.utf8.count <= textLimit ? text : String(text.unicodeScalars.prefix(textLimit)) + "…"
  }
}
