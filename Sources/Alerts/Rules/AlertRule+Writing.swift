import Bytes
import MarketData

extension AlertRule {
  /// Appends the rule as JSON that `init(json:)` reads.
  package func append(to out: inout ByteBuffer) {
    out.appendObject { writer in
      writer.value("condition") { condition.append(to: &$0) }
      switch frequency {
      case .once: writer.field("frequency", "once")
      case .daily: writer.field("frequency", "daily")
      case .every(let cooldown): writer.object("frequency") { $0.field("every_s", Int64(cooldown)) }
      }
      if let hours {
        writer.object("hours") { writer in
          writer.field("days", hours.days.list)
          writer.field("from", LocalClock.text(hours.from))
          writer.field("until", LocalClock.text(hours.until))
        }
      }
      if timeZone != "UTC" { writer.field("time_zone", timeZone) }
      writer.field("expires", expires?.microseconds)
    }
  }

  package var json: String {
    var out = ByteBuffer()
    append(to: &out)
    return out.description
  }
}

extension AlertCondition {
  func append(to out: inout ByteBuffer) {
    out.appendObject { writer in
      switch self {
      case .threshold(let threshold): threshold.append(to: &writer)
      case .stale(let staleness):
        writer.field("type", "stale")
        writer.field("symbol", staleness.symbol)
        writer.field("part", staleness.part == .feed ? "feed" : "book")
        writer.field("for_s", Int64(staleness.seconds))
      case .clock(.local(let alarm)):
        writer.field("type", "alarm")
        writer.field("at", LocalClock.text(alarm.second))
        writer.field("days", alarm.days.list)
      case .clock(.moment(let moment)):
        writer.field("type", "alarm")
        writer.field("at", moment.microseconds)
      case .clock(.countdown(let seconds)):
        writer.field("type", "countdown")
        writer.field("for_s", Int64(seconds))
      case .all(let parts): Self.append(parts, "all", to: &writer)
      case .any(let parts): Self.append(parts, "any", to: &writer)
      }
    }
  }

  private static func append(_ parts: [AlertCondition], _ type: String, to writer: inout JSONObjectWriter) {
    writer.field("type", type)
    writer.array("of") { writer in
      for part in parts { writer.value { part.append(to: &$0) } }
    }
  }
}

extension AlertThreshold {
  func append(to writer: inout JSONObjectWriter) {
    var boundName = "value"
    switch measure {
    case .price: writer.field("type", "price")
    case .spread: writer.field("type", "spread")
    case .spreadPercent:
      writer.field("type", "spread")
      boundName = "percent"
    case .depth(let side, let basisPoints):
      writer.field("type", "depth")
      writer.field("side", side == .bids ? "bids" : "asks")
      writer.field("within_percent", Decimal64(mantissa: Int64(basisPoints), scale: 2))
    case .change(let minutes):
      writer.field("type", "change")
      writer.field("window_min", Int64(minutes))
      boundName = "percent"
    case .funding:
      writer.field("type", "funding")
      boundName = "percent"
    case .openInterest(let minutes):
      writer.field("type", "open_interest")
      writer.field("window_min", Int64(minutes))
      boundName = "percent"
    case .liquidations(let minutes):
      writer.field("type", "liquidations")
      writer.field("window_min", Int64(minutes))
    }
    writer.field("symbol", symbol)
    writer.field("is", comparisonName)
    writer.field(boundName, bound)
    if hysteresis.mantissa != 0 { writer.field("hysteresis", hysteresis) }
  }

  private var comparisonName: String {
    switch comparison {
    case .above: "above"
    case .below: "below"
    case .crossesUp: "crosses_up"
    case .crossesDown: "crosses_down"
    case .crosses: "crosses"
    }
  }
}

extension Weekdays {
  /// `["mon","fri"]`
  var list: [String] {
    Weekdays.names.indices.filter { rawValue & (1 << UInt8($0)) != 0 }.map { Weekdays.names[$0] }
  }
}

/// A local time as text.
enum LocalClock {
  /// `07:30`, with seconds if they are not 0.
  static func text(_ second: Int64) -> String {
    var parts = [second / 3_600, second / 60 % 60]
    if second % 60 != 0 { parts.append(second % 60) }
    return parts.map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: ":")
  }
}
