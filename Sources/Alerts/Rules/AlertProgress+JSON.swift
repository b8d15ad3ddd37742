import Bytes
import MarketData

/// The progress of a rule as a short JSON object, without fields that have their default value.
extension AlertProgress {
  package var json: String {
    var out = ByteBuffer()
    out.append("{\"firings\":")
    out.append(integer: Int64(firings))
    out.append(",\"acknowledged\":")
    out.append(integer: Int64(acknowledged))
    for (name, isSet) in [
      ("disabled", !isEnabled), ("paused", isPaused), ("finished", isFinished), ("unarmed", !isArmed),
    ] where isSet {
      out.append(",\"\(name)\":true")
    }
    if !phases.isEmpty {
      out.append(",\"phases\":[")
      for (index, phase) in phases.enumerated() {
        if index > 0 { out.append(",") }
        out.append(integer: Int64(phase))
      }
      out.append("]")
    }
    let numbers: [(String, Int64?)] = [
      ("quiet_until", quietUntil?.microseconds), ("snoozed_until", snoozedUntil?.microseconds),
      ("last_day", lastDay.map(Int64.init)), ("last_ring", lastRing), ("next_ring", nextRing),
      ("skipped_from", skippedFrom), ("countdown", countdown),
    ]
    for (name, number) in numbers {
      guard let number else { continue }
      out.append(",\"\(name)\":")
      out.append(integer: number)
    }
    out.append("}")
    return out.description
  }

  /// Reads what `json` writes; skips fields of later versions.
  package init(json bytes: RawSpan) throws(JSONError) {
    self.init()
    var json = JSONScanner(bytes)
    try json.objectStart()
    while let key = try json.nextKey() {
      switch try json.decoded(key) {
      case "firings": firings = UInt32(clamping: try json.int64())
      case "acknowledged": acknowledged = UInt32(clamping: try json.int64())
      case "disabled": isEnabled = !(try json.bool())
      case "paused": isPaused = try json.bool()
      case "finished": isFinished = try json.bool()
      case "unarmed": isArmed = !(try json.bool())
      case "phases":
        try json.arrayStart()
        while try json.nextElement() { phases.append(UInt8(clamping: try json.int64())) }
      case "quiet_until": quietUntil = Timestamp(microseconds: try json.int64())
      case "snoozed_until": snoozedUntil = Timestamp(microseconds: try json.int64())
      case "last_day": lastDay = Int32(clamping: try json.int64())
      case "last_ring": lastRing = try json.int64()
      case "next_ring": nextRing = try json.int64()
      case "skipped_from": skippedFrom = try json.int64()
      case "countdown": countdown = try json.int64()
      default: try json.skipValue()
      }
    }
    try json.end()
  }
}
