import Bytes
import Glibc
import Logging

/// One event of the log: its time, level, name and message, then fields sorted by name.
struct LogLine: Sendable {
  let level: Logger.Level
  /// The event's name, for rules and searches: it stays the same when the message's words change.
  let event: String
  let message: String
  let fields: [(key: String, value: String)]

  /// - Parameter event: nil: the event is named after the message.
  init(level: Logger.Level, event: String? = nil, message: String, fields: [(key: String, value: String)] = []) {
    self.level = level
    self.event = event ?? Self.event(of: message)
    self.message = message
    self.fields = fields
  }

  /// The name of an event whose message begins so: its words up to the first punctuation mark, `feed_lost`.
  static func event(of message: String) -> String {
    var name = ""
    for byte in message.utf8 {
      switch byte {
      case UInt8(ascii: ":"), UInt8(ascii: ";"), UInt8(ascii: ","): return trimmed(name)
      case 0x30...0x39, 0x61...0x7A: name.unicodeScalars.append(Unicode.Scalar(byte))
      case 0x41...0x5A: name.unicodeScalars.append(Unicode.Scalar(byte | 0x20))
      case UInt8(ascii: "'"): break
      default: if name.utf8.last != UInt8(ascii: "_"), !name.isEmpty { name += "_" }
      }
      if name.utf8.count == 64 { break }
    }
    return trimmed(name)
  }

  private static func trimmed(_ name: String) -> String { name.hasSuffix("_") ? String(name.dropLast()) : name }

  /// The line, line feed included.
  /// - Parameter time: µs since 1970.
  func text(_ format: LogFormat, time: Int64) -> String {
    switch format {
    case .logfmt:
      var line = "time=" + LogTime.text(time) + " level=\(level.rawValue)"
      Logfmt.append("event", event, to: &line)
      Logfmt.append("msg", message, to: &line)
      for (key, value) in fields { Logfmt.append(key, value, to: &line) }
      return line + "\n"
    case .json:
      var out = ByteBuffer(capacity: 256)
      out.append("{\"time\":\"\(LogTime.text(time))\",\"level\":\"\(level.rawValue)\",\"event\":")
      out.append(json: event)
      out.append(",\"msg\":")
      out.append(json: String(message.unicodeScalars.prefix(Logfmt.valueLimit)))
      // A field with one of the line's own names would appear twice.
      for (key, value) in fields where !["time", "level", "event", "msg"].contains(key) {
        out.append(",")
        out.append(json: key)
        out.append(":")
        out.append(json: String(value.unicodeScalars.prefix(Logfmt.valueLimit)))
      }
      out.append("}\n")
      return String(decoding: out.takeBytes(), as: UTF8.self)
    }
  }
}

/// The time of lines.
package enum LogTime {
  /// The system's clock, µs since 1970.
  package static let wallClock: @Sendable () -> Int64 = {
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    return Int64(now.tv_sec) * 1_000_000 + Int64(now.tv_nsec) / 1_000
  }

  /// `2026-08-21T10:15:00.000042Z` (RFC 3339).
  static func text(_ microseconds: Int64) -> String { CivilTime(microseconds: microseconds).description }
}
