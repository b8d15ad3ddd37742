import Bytes
import MarketData

/// The progress of a rule as a short JSON object, without fields that have their default value.
extension AlertProgress {
  package var json: String {
    var out = ByteBuffer()
    out.appendObject { writer in
      writer.field("firings", Int64(firings))
      writer.field("acknowledged", Int64(acknowledged))
      for (name, isSet) in [
        ("disabled", !isEnabled), ("paused", isPaused), ("finished", isFinished), ("unarmed", !isArmed),
      ] where isSet {
        writer.field(name, true)
      }
      if !phases.isEmpty { writer.field("phases", phases.map(UInt32.init)) }
      writer.field("quiet_until", quietUntil?.microseconds)
      writer.field("snoozed_until", snoozedUntil?.microseconds)
      writer.field("last_day", lastDay.map(Int64.init))
      writer.field("last_ring", lastRing)
      writer.field("next_ring", nextRing)
      writer.field("skipped_from", skippedFrom)
      writer.field("countdown", countdown)
    }
    return out.description
  }

  /// The most firings that a stored rule can have: room for as many again.
  private static let firingLimit: Int64 = 1 << 31

  /// Reads what `json` writes; skips fields of later versions.
  /// - Throws: also for a number that no rule can have, so that no sum of the engine overflows.
  package init(json bytes: RawSpan) throws(JSONError) {
    self.init()
    var json = JSONScanner(bytes)
    try json.objectStart()
    while let key = try json.nextKey() {
      switch try json.decoded(key) {
      case "firings": firings = UInt32(try Self.number(&json, 0...Self.firingLimit))
      case "acknowledged": acknowledged = UInt32(try Self.number(&json, 0...Self.firingLimit))
      case "disabled": isEnabled = !(try json.bool())
      case "paused": isPaused = try json.bool()
      case "finished": isFinished = try json.bool()
      case "unarmed": isArmed = !(try json.bool())
      case "phases":
        try json.arrayStart()
        while try json.nextElement() {
          guard phases.count < AlertRule.conditionLimit else {
            throw JSONError(reason: .decimal(.overflow), offset: json.offset)
          }
          phases.append(UInt8(try Self.number(&json, 0...255)))
        }
      case "quiet_until": quietUntil = Timestamp(microseconds: try Self.time(&json))
      case "snoozed_until": snoozedUntil = Timestamp(microseconds: try Self.time(&json))
      case "last_day": lastDay = Int32(try Self.number(&json, Self.times(by: Microseconds.day)))
      case "last_ring": lastRing = try Self.number(&json, Self.times(by: Microseconds.second))
      case "next_ring": nextRing = try Self.number(&json, Self.times(by: Microseconds.second))
      case "skipped_from": skippedFrom = try Self.number(&json, Self.times(by: Microseconds.second))
      case "countdown": countdown = try Self.time(&json)
      default: try json.skipValue()
      }
    }
    try json.end()
    acknowledged = min(acknowledged, firings)
  }

  /// The readable times in units of so many µs. A local day may be one less or more.
  private static func times(by unit: Int64) -> ClosedRange<Int64> {
    (Timestamp.readable.lowerBound.microseconds / unit - 1)...(Timestamp.readable.upperBound.microseconds / unit + 1)
  }

  private static func time(_ json: inout JSONScanner) throws(JSONError) -> Int64 { try number(&json, times(by: 1)) }

  private static func number(
    _ json: inout JSONScanner, _ range: ClosedRange<Int64>
  ) throws(JSONError) -> Int64 {
    let offset = json.offset
    let number = try json.int64()
    guard range.contains(number) else { throw JSONError(reason: .decimal(.overflow), offset: offset) }
    return number
  }
}
