import Bytes
import MarketData
import Recordings

/// A message of a client that controls its replay: `{"op":"seek","time":1788000000000000}`.
package enum ReplayControl: Equatable, Sendable {
  case pause, resume
  case seek(Timestamp)
  case speed(ReplaySpeed)

  /// Why a message is none: what is wrong, and what would be right.
  package struct Problem: Error, Equatable {
    package let message: String
    package let hint: String
  }

  /// Reads a message. O(length).
  package init(_ message: RawSpan) throws(Problem) {
    var json = JSONScanner(message)
    let fields: Fields
    do throws(JSONError) {
      fields = try Self.read(&json)
    } catch {
      throw Problem(message: "the message is no JSON object", hint: "{\"op\":\"pause\"}")
    }
    switch fields.op {
    case "pause": self = .pause
    case "resume": self = .resume
    case "seek":
      guard let time = fields.time else {
        throw Problem(message: "`time` must be a moment, in µs since 1970", hint: "{\"op\":\"seek\",\"time\":…}")
      }
      self = .seek(time)
    case "speed":
      guard let speed = fields.speed.flatMap({ ReplaySpeed($0) }) else {
        throw Problem(message: "`speed` must be \(ReplaySpeed.allowed)", hint: "{\"op\":\"speed\",\"speed\":10}")
      }
      self = .speed(speed)
    default:
      throw Problem(
        message: fields.op.map { "there is no op `\($0.prefix(40))` here" } ?? "`op` is missing",
        hint: "the ops are pause, resume, seek, speed")
    }
  }

  private struct Fields {
    var op: String?
    var time: Timestamp?
    var speed: String?
  }

  private static func read(_ json: inout JSONScanner) throws(JSONError) -> Fields {
    var fields = Fields()
    try json.objectStart()
    while let key = try json.nextKey() {
      if json.equals(key, "op"), json.peek() == .string {
        let text = try json.string()
        fields.op = try json.decoded(text)
      } else if json.equals(key, "speed"), json.peek() == .string {
        let text = try json.string()
        fields.speed = try json.decoded(text)
      } else if json.equals(key, "speed"), json.peek() == .number {
        let number = try json.number()
        fields.speed = json.text(number).withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
      } else if json.equals(key, "time"), json.peek() == .number {
        fields.time = try json.wholeNumber().flatMap { Timestamp(reading: $0) }
      } else {
        try json.skipValue()
      }
    }
    try json.end()
    return fields
  }
}
