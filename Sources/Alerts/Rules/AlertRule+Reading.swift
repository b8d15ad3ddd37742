import Bytes
import MarketData

/// Rules as JSON, as clients and the store write them.
///
///     {"condition":{"type":"price","symbol":"kraken:BTC-USD","is":"above","value":"70000","hysteresis":"50"},
///      "frequency":{"every_s":300},"hours":{"days":["mon","fri"],"from":"09:00","until":"17:30"},
///      "time_zone":"Europe/Berlin","expires":1900000000000000}
extension AlertRule {
  /// The most bytes of a rule's text.
  package static let textLimit = 8_192

  /// Reads and checks a rule. Unknown fields are refused by name.
  /// - Throws: `.invalid`.
  package init(json bytes: RawSpan) throws(AlertRuleError) {
    guard bytes.byteCount <= Self.textLimit else {
      throw .invalid(field: "body", reason: "at most \(Self.textLimit) bytes")
    }
    var json = JSONScanner(bytes)
    self = try RuleReader.rule(&json)
    do {
      try json.end()
    } catch {
      throw .invalid(field: "body", reason: "one JSON object: see byte \(error.offset)")
    }
    try validate()
  }
}

/// Reads the parts of a rule.
private enum RuleReader {
  static func rule(_ json: inout JSONScanner) throws(AlertRuleError) -> AlertRule {
    var condition: AlertCondition?
    var frequency: AlertFrequency?
    var hours: LocalHours?
    var timeZone = "UTC"
    var expires: Timestamp?
    try open(&json, "body")
    while let key = try key(&json) {
      switch key {
      case "condition": condition = try self.condition(&json, depth: 0)
      case "frequency": frequency = try self.frequency(&json)
      case "hours": hours = try self.hours(&json)
      case "time_zone": timeZone = try text(&json, key)
      case "expires": expires = try time(&json, key)
      default: throw unknown(key, "condition, frequency, hours, time_zone, expires")
      }
    }
    guard let condition else { throw .invalid(field: "condition", reason: "is missing") }
    var rule = AlertRule(condition, hours: hours, timeZone: timeZone, expires: expires)
    // An alarm on weekdays rings on each of them unless it says "once".
    if case .clock(.local) = condition { rule.frequency = .daily }
    if let frequency { rule.frequency = frequency }
    return rule
  }

  static func frequency(_ json: inout JSONScanner) throws(AlertRuleError) -> AlertFrequency {
    if json.peek() == .string {
      switch try text(&json, "frequency") {
      case "once": return .once
      case "daily": return .daily
      default: break
      }
      throw .invalid(field: "frequency", reason: "once, daily or {\"every_s\":60}")
    }
    var cooldown: UInt32?
    try open(&json, "frequency")
    while let key = try key(&json) {
      guard key == "every_s" else { throw unknown(key, "every_s") }
      cooldown = try seconds(&json, key)
    }
    guard let cooldown else { throw .invalid(field: "every_s", reason: "is missing") }
    return .every(cooldown: cooldown)
  }

  static func hours(_ json: inout JSONScanner) throws(AlertRuleError) -> LocalHours {
    var hours = LocalHours(from: 0, until: CivilDay.seconds)
    try open(&json, "hours")
    while let key = try key(&json) {
      switch key {
      case "days": hours.days = try days(&json)
      case "from": hours.from = try clock(&json, key)
      case "until": hours.until = try clock(&json, key)
      default: throw unknown(key, "days, from, until")
      }
    }
    return hours
  }

  /// The fields of a condition's object; its type determines which are required.
  struct Fields {
    var type: String?
    var symbol: String?
    var comparison: String?
    var value: Decimal64?
    var percent: Decimal64?
    var hysteresis = Decimal64(mantissa: 0, scale: 0)
    var side: String?
    var within: Decimal64?
    var window: Int64?
    var part: String?
    var seconds: UInt32?
    var at: String?
    var moment: Timestamp?
    var days: Weekdays?
    var parts: [AlertCondition]?
    var names: Set<String> = []
  }

  static func condition(_ json: inout JSONScanner, depth: Int) throws(AlertRuleError) -> AlertCondition {
    guard depth <= AlertRule.depthLimit else {
      throw .invalid(field: "of", reason: "at most \(AlertRule.depthLimit) levels")
    }
    var fields = Fields()
    try open(&json, "condition")
    while let key = try key(&json) {
      guard fields.names.insert(key).inserted else { throw .invalid(field: key, reason: "appears twice") }
      switch key {
      case "type": fields.type = try text(&json, key)
      case "symbol": fields.symbol = try text(&json, key)
      case "is": fields.comparison = try text(&json, key)
      case "value": fields.value = try decimal(&json, key)
      case "percent": fields.percent = try decimal(&json, key)
      case "hysteresis": fields.hysteresis = try decimal(&json, key)
      case "side": fields.side = try text(&json, key)
      case "within_percent": fields.within = try decimal(&json, key)
      case "window_min": fields.window = try integer(&json, key)
      case "part": fields.part = try text(&json, key)
      case "for_s": fields.seconds = try seconds(&json, key)
      case "at":
        if json.peek() == .number { fields.moment = try time(&json, key) } else { fields.at = try text(&json, key) }
      case "days": fields.days = try days(&json)
      case "of":
        var parts: [AlertCondition] = []
        try array(&json, key)
        while try element(&json, key) {
          guard parts.count < AlertRule.conditionLimit else {
            throw .invalid(field: key, reason: "at most \(AlertRule.conditionLimit) conditions")
          }
          parts.append(try condition(&json, depth: depth + 1))
        }
        fields.parts = parts
      default:
        throw unknown(
          key,
          "type, symbol, is, value, percent, hysteresis, side, within_percent, window_min, part, for_s, at, days, of")
      }
    }
    return try condition(fields)
  }

  static func condition(_ fields: Fields) throws(AlertRuleError) -> AlertCondition {
    switch fields.type {
    case "price":
      try only(fields, ["symbol", "is", "value", "hysteresis"])
      return try threshold(fields, .price, try need(fields.value, "value"))
    case "change":
      try only(fields, ["symbol", "is", "percent", "hysteresis", "window_min"])
      return try threshold(fields, .change(minutes: try minutes(fields)), try need(fields.percent, "percent"))
    case "funding":
      try only(fields, ["symbol", "is", "percent", "hysteresis"])
      return try threshold(fields, .funding, try need(fields.percent, "percent"))
    case "open_interest":
      try only(fields, ["symbol", "is", "percent", "hysteresis", "window_min"])
      return try threshold(fields, .openInterest(minutes: try minutes(fields)), try need(fields.percent, "percent"))
    case "liquidations":
      try only(fields, ["symbol", "is", "value", "hysteresis", "window_min"])
      return try threshold(fields, .liquidations(minutes: try minutes(fields)), try need(fields.value, "value"))
    case "spread":
      try only(fields, ["symbol", "is", "value", "percent", "hysteresis"])
      if let value = fields.value, fields.percent == nil { return try threshold(fields, .spread, value) }
      guard let percent = fields.percent, fields.value == nil else {
        throw .invalid(field: "value", reason: "a spread has either a value or a percent")
      }
      return try threshold(fields, .spreadPercent, percent)
    case "depth":
      try only(fields, ["symbol", "is", "value", "hysteresis", "side", "within_percent"])
      let within = try need(fields.within, "within_percent")
      // Two digits: more would not be a whole number of basis points.
      let factor = within.scale <= 2 ? Int64(DecimalText.power(2 - within.scale)) : 0
      let points = within.mantissa.multipliedReportingOverflow(by: factor)
      guard factor > 0, !points.overflow, let basisPoints = UInt16(exactly: points.partialValue) else {
        throw .invalid(field: "within_percent", reason: "0.01 to 50, with two digits")
      }
      let side: AlertThreshold.BookSideName
      switch fields.side {
      case "bids": side = .bids
      case "asks": side = .asks
      default: throw .invalid(field: "side", reason: "bids or asks")
      }
      return try threshold(fields, .depth(side, basisPoints: basisPoints), try need(fields.value, "value"))
    case "stale":
      try only(fields, ["symbol", "part", "for_s"])
      let part: AlertStaleness.Part
      switch fields.part {
      case "feed", nil: part = .feed
      case "book": part = .book
      default: throw .invalid(field: "part", reason: "feed or book")
      }
      return .stale(
        AlertStaleness(try need(fields.symbol, "symbol"), part, seconds: try need(fields.seconds, "for_s")))
    case "alarm":
      try only(fields, ["at", "days"])
      if let moment = fields.moment, fields.days == nil { return .clock(.moment(moment)) }
      let second = try clock(try need(fields.at, "at"), "at")
      return .clock(.local(LocalAlarm(second: second, days: fields.days ?? .all)))
    case "countdown":
      try only(fields, ["for_s"])
      return .clock(.countdown(seconds: try need(fields.seconds, "for_s")))
    case "all":
      try only(fields, ["of"])
      return .all(try need(fields.parts, "of"))
    case "any":
      try only(fields, ["of"])
      return .any(try need(fields.parts, "of"))
    default:
      throw .invalid(
        field: "type",
        reason: "price, change, spread, depth, funding, open_interest, liquidations, stale, alarm, countdown, all, any")
    }
  }

  static func threshold(
    _ fields: Fields, _ measure: AlertThreshold.Measure, _ bound: Decimal64
  ) throws(AlertRuleError) -> AlertCondition {
    let names = ["above", "below", "crosses_up", "crosses_down", "crosses"]
    guard let name = fields.comparison, let index = names.firstIndex(of: name) else {
      throw .invalid(field: "is", reason: names.joined(separator: ", "))
    }
    return .threshold(
      AlertThreshold(
        try need(fields.symbol, "symbol"), measure, AlertThreshold.Comparison(rawValue: UInt8(index))!, bound,
        hysteresis: fields.hysteresis))
  }

  private static func minutes(_ fields: Fields) throws(AlertRuleError) -> UInt16 {
    guard let minutes = UInt16(exactly: try need(fields.window, "window_min")) else {
      throw .invalid(field: "window_min", reason: "1 to 1440 minutes")
    }
    return minutes
  }

  private static func need<Value>(_ value: Value?, _ field: String) throws(AlertRuleError) -> Value {
    guard let value else { throw .invalid(field: field, reason: "is missing") }
    return value
  }

  /// Refuses fields that conditions of this type do not have; otherwise they would be ignored silently.
  private static func only(_ fields: Fields, _ names: Set<String>) throws(AlertRuleError) {
    if let name = fields.names.subtracting(names).subtracting(["type"]).sorted().first {
      throw .invalid(field: name, reason: "does not belong to the type \(fields.type ?? "")")
    }
  }

  // MARK: Values

  private static func unknown(_ key: String, _ known: String) -> AlertRuleError {
    .invalid(field: key.isEmpty ? "\"\"" : String(key.prefix(40)), reason: "is not a field here; fields: \(known)")
  }

  private static func open(_ json: inout JSONScanner, _ field: String) throws(AlertRuleError) {
    do { try json.objectStart() } catch { throw .invalid(field: field, reason: "an object is expected") }
  }

  private static func array(_ json: inout JSONScanner, _ field: String) throws(AlertRuleError) {
    do { try json.arrayStart() } catch { throw .invalid(field: field, reason: "an array is expected") }
  }

  private static func element(_ json: inout JSONScanner, _ field: String) throws(AlertRuleError) -> Bool {
    do { return try json.nextElement() } catch { throw .invalid(field: field, reason: "is not JSON") }
  }

  private static func key(_ json: inout JSONScanner) throws(AlertRuleError) -> String? {
    do {
      guard let key = try json.nextKey() else { return nil }
      return try json.decoded(key)
    } catch {
      throw .invalid(field: "body", reason: "is not JSON at byte \(error.offset)")
    }
  }

  private static func text(_ json: inout JSONScanner, _ field: String) throws(AlertRuleError) -> String {
    do {
      return try json.decoded(try json.string())
    } catch {
      throw .invalid(field: field, reason: "a text is expected")
    }
  }

  private static func integer(_ json: inout JSONScanner, _ field: String) throws(AlertRuleError) -> Int64 {
    let isNumber = json.peek() == .number
    guard isNumber, let number = try? json.plainDecimal64(), number.scale == 0 else {
      throw .invalid(field: field, reason: "a whole number is expected, without quotes or exponent")
    }
    return number.mantissa
  }

  private static func time(_ json: inout JSONScanner, _ field: String) throws(AlertRuleError) -> Timestamp {
    guard let time = Timestamp(reading: try integer(&json, field)) else {
      throw .invalid(field: field, reason: AlertRule.timeReason)
    }
    return time
  }

  private static func seconds(_ json: inout JSONScanner, _ field: String) throws(AlertRuleError) -> UInt32 {
    guard let seconds = UInt32(exactly: try integer(&json, field)) else {
      throw .invalid(field: field, reason: "seconds, 1 or more")
    }
    return seconds
  }

  private static func decimal(_ json: inout JSONScanner, _ field: String) throws(AlertRuleError) -> Decimal64 {
    do {
      return try json.plainDecimal64()
    } catch {
      throw .invalid(field: field, reason: AlertRule.decimalReason)
    }
  }

  private static func days(_ json: inout JSONScanner) throws(AlertRuleError) -> Weekdays {
    var days: Weekdays = []
    try array(&json, "days")
    while try element(&json, "days") {
      let name = try text(&json, "days")
      guard let index = Weekdays.names.firstIndex(of: name) else {
        throw .invalid(field: "days", reason: Weekdays.names.joined(separator: ", "))
      }
      days.insert(Weekdays(rawValue: 1 << UInt8(index)))
    }
    return days
  }

  private static func clock(_ json: inout JSONScanner, _ field: String) throws(AlertRuleError) -> Int64 {
    try clock(try text(&json, field), field)
  }

  /// `07:30` or `07:30:15`, up to `24:00`.
  private static func clock(_ text: String, _ field: String) throws(AlertRuleError) -> Int64 {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    let numbers = parts.compactMap { part -> Int64? in
      guard part.utf8.count == 2, part.utf8.allSatisfy({ $0 &- UInt8(ascii: "0") < 10 }) else { return nil }
      return Int64(part)
    }
    guard numbers.count == parts.count, (2...3).contains(numbers.count) else {
      throw .invalid(field: field, reason: "a local time is written 07:30 or 07:30:15")
    }
    let second = numbers[0] * 3_600 + numbers[1] * 60 + (numbers.count == 3 ? numbers[2] : 0)
    guard numbers[1] < 60, numbers.last! < 60 || numbers.count == 2, second <= CivilDay.seconds else {
      throw .invalid(field: field, reason: "00:00 to 24:00")
    }
    return second
  }
}
