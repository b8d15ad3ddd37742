import Bytes
import MarketData

extension AlertRule {
  /// Appends the rule as JSON that `init(json:)` reads.
  package func append(to out: inout ByteBuffer) {
    out.append("{\"condition\":")
    condition.append(to: &out)
    switch frequency {
    case .once: out.append(",\"frequency\":\"once\"")
    case .daily: out.append(",\"frequency\":\"daily\"")
    case .every(let cooldown):
      out.append(",\"frequency\":{\"every_s\":")
      out.append(integer: Int64(cooldown))
      out.append("}")
    }
    if let hours {
      out.append(",\"hours\":{\"days\":")
      hours.days.append(to: &out)
      out.append(",\"from\":")
      LocalClock.append(hours.from, to: &out)
      out.append(",\"until\":")
      LocalClock.append(hours.until, to: &out)
      out.append("}")
    }
    if timeZone != "UTC" {
      out.append(",\"time_zone\":")
      out.append(json: timeZone)
    }
    if let expires {
      out.append(",\"expires\":")
      out.append(integer: expires.microseconds)
    }
    out.append("}")
  }

  package var json: String {
    var out = ByteBuffer()
    append(to: &out)
    return out.description
  }
}

extension AlertCondition {
  func append(to out: inout ByteBuffer) {
    switch self {
    case .threshold(let threshold): threshold.append(to: &out)
    case .stale(let staleness):
      out.append("{\"type\":\"stale\",\"symbol\":")
      out.append(json: staleness.symbol)
      out.append(staleness.part == .feed ? ",\"part\":\"feed\"" : ",\"part\":\"book\"")
      out.append(",\"for_s\":")
      out.append(integer: Int64(staleness.seconds))
      out.append("}")
    case .clock(.local(let alarm)):
      out.append("{\"type\":\"alarm\",\"at\":")
      LocalClock.append(alarm.second, to: &out)
      out.append(",\"days\":")
      alarm.days.append(to: &out)
      out.append("}")
    case .clock(.moment(let moment)):
      out.append("{\"type\":\"alarm\",\"at\":")
      out.append(integer: moment.microseconds)
      out.append("}")
    case .clock(.countdown(let seconds)):
      out.append("{\"type\":\"countdown\",\"for_s\":")
      out.append(integer: Int64(seconds))
      out.append("}")
    case .all(let parts): Self.append(parts, "all", to: &out)
    case .any(let parts): Self.append(parts, "any", to: &out)
    }
  }

  private static func append(_ parts: [AlertCondition], _ type: StaticString, to out: inout ByteBuffer) {
    out.append("{\"type\":\"")
    out.append(type)
    out.append("\",\"of\":[")
    for (index, part) in parts.enumerated() {
      if index > 0 { out.append(",") }
      part.append(to: &out)
    }
    out.append("]}")
  }
}

extension AlertThreshold {
  func append(to out: inout ByteBuffer) {
    var boundName: StaticString = ",\"value\":\""
    switch measure {
    case .price: out.append("{\"type\":\"price\"")
    case .spread: out.append("{\"type\":\"spread\"")
    case .spreadPercent:
      out.append("{\"type\":\"spread\"")
      boundName = ",\"percent\":\""
    case .depth(let side, let basisPoints):
      out.append(side == .bids ? "{\"type\":\"depth\",\"side\":\"bids\"" : "{\"type\":\"depth\",\"side\":\"asks\"")
      out.append(",\"within_percent\":\"")
      out.append(decimal: Int64(basisPoints), scale: 2)
      out.append("\"")
    case .change(let minutes):
      out.append("{\"type\":\"change\",\"window_min\":")
      out.append(integer: Int64(minutes))
      boundName = ",\"percent\":\""
    }
    out.append(",\"symbol\":")
    out.append(json: symbol)
    switch comparison {
    case .above: out.append(",\"is\":\"above\"")
    case .below: out.append(",\"is\":\"below\"")
    case .crossesUp: out.append(",\"is\":\"crosses_up\"")
    case .crossesDown: out.append(",\"is\":\"crosses_down\"")
    case .crosses: out.append(",\"is\":\"crosses\"")
    }
    out.append(boundName)
    out.append(bound)
    if hysteresis.mantissa != 0 {
      out.append("\",\"hysteresis\":\"")
      out.append(hysteresis)
    }
    out.append("\"}")
  }
}

extension Weekdays {
  /// `["mon","fri"]`
  func append(to out: inout ByteBuffer) {
    out.append("[")
    var isFirst = true
    for (index, name) in Weekdays.names.enumerated() where rawValue & (1 << UInt8(index)) != 0 {
      if !isFirst { out.append(",") }
      isFirst = false
      out.append(json: name)
    }
    out.append("]")
  }
}

/// A local time as text.
enum LocalClock {
  /// `"07:30"`, with seconds if they are not 0.
  static func append(_ second: Int64, to out: inout ByteBuffer) {
    out.append("\"")
    var parts = [second / 3_600, second / 60 % 60]
    if second % 60 != 0 { parts.append(second % 60) }
    for (index, part) in parts.enumerated() {
      if index > 0 { out.append(":") }
      if part < 10 { out.append("0") }
      out.append(integer: part)
    }
    out.append("\"")
  }
}
