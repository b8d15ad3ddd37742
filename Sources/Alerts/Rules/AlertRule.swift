import Bytes
import MarketData

/// An owner's alert rule. A plain value: the engine compiles it, the store keeps it as JSON.
package struct AlertRule: Sendable, Hashable {
  package var condition: AlertCondition
  package var frequency: AlertFrequency
  /// Outside these hours the rule is `scheduled` and does not watch; nil: it always watches. Not for clock alarms.
  package var hours: LocalHours?
  /// The IANA zone of `hours`, of a clock alarm and of the day in "once a day".
  package var timeZone: String
  /// Wall time from which the rule is `disabled`.
  package var expires: Timestamp?

  package init(
    _ condition: AlertCondition, frequency: AlertFrequency = .once, hours: LocalHours? = nil,
    timeZone: String = "UTC", expires: Timestamp? = nil
  ) {
    self.condition = condition
    self.frequency = frequency
    self.hours = hours
    self.timeZone = timeZone
    self.expires = expires
  }
}

/// How often a rule fires.
package enum AlertFrequency: Sendable, Hashable {
  /// Once; after its acknowledgement it is `disabled`.
  case once
  /// Each time that its condition becomes true, but not again on the local day of the last firing.
  case daily
  /// Each time that its condition becomes true, but not within `cooldown` seconds of the last firing. A condition that
  /// becomes true within them is not reported later.
  case every(cooldown: UInt32)

  /// The shortest and longest cooldown, seconds.
  package static let cooldowns: ClosedRange<UInt32> = 1...2_592_000
}

/// The condition of a rule. A rule fires on an edge: the condition was false, or the rule just began to watch, and the
/// condition is true now.
package indirect enum AlertCondition: Sendable, Hashable {
  case threshold(AlertThreshold)
  case stale(AlertStaleness)
  case clock(AlertClock)
  /// True while all parts are. Parts may be neither clocks nor crossings.
  case all([AlertCondition])
  /// True while at least one part is. Parts may be neither clocks nor crossings.
  case any([AlertCondition])
}

/// A comparison of a market's figure with a bound.
package struct AlertThreshold: Sendable, Hashable {
  package enum Measure: Sendable, Hashable {
    /// The price of the last trade.
    case price
    /// Best ask less best bid, in quote units.
    case spread
    /// Best ask less best bid in percent of their mean, with four digits.
    case spreadPercent
    /// The size in base units on one side of the book within `basisPoints` of its best price.
    case depth(BookSideName, basisPoints: UInt16)
    /// The change of the price in percent over a number of minutes, 1…1,440, with four digits.
    case change(minutes: UInt16)
    /// The funding rate of a perpetual in percent per interval of its market, with eight digits.
    case funding
    /// The change of the open interest in percent over a number of minutes, 1…1,440, with four digits.
    case openInterest(minutes: UInt16)
    /// The value of all liquidations within a number of minutes, 1…1,440, in the quote currency with two digits.
    case liquidations(minutes: UInt16)
  }

  package enum BookSideName: UInt8, Sendable, Hashable { case bids, asks }

  package enum Comparison: UInt8, Sendable, Hashable {
    /// At or above the bound; false again when at or below the bound less the hysteresis, or below the bound if that
    /// is 0.
    case above
    /// At or below the bound; false again when at or above the bound plus the hysteresis, or above the bound if that
    /// is 0.
    case below
    /// The figure was below the bound, in the sense that `above` was false, and is at or above it.
    case crossesUp
    /// The figure was above the bound, in the sense that `below` was false, and is at or below it.
    case crossesDown
    /// A crossing in either direction.
    case crosses

    /// Whether the crossing itself counts, so that the rule fires even if the figure has crossed back since.
    package var isCrossing: Bool { rawValue >= Self.crossesUp.rawValue }
  }

  /// `kraken:BTC-USD`, `composite:BTC-USD`.
  package var symbol: String
  package var measure: Measure
  package var comparison: Comparison
  package var bound: Decimal64
  /// In the unit of `bound`, 0 or more.
  package var hysteresis: Decimal64

  package init(
    _ symbol: String, _ measure: Measure = .price, _ comparison: Comparison, _ bound: Decimal64,
    hysteresis: Decimal64 = Decimal64(mantissa: 0, scale: 0)
  ) {
    self.symbol = symbol
    self.measure = measure
    self.comparison = comparison
    self.bound = bound
    self.hysteresis = hysteresis
  }
}

/// A feed or a book that is not live for a time.
package struct AlertStaleness: Sendable, Hashable {
  package enum Part: UInt8, Sendable, Hashable { case feed, book }
  package var symbol: String
  package var part: Part
  /// 1…86,400.
  package var seconds: UInt32

  package init(_ symbol: String, _ part: Part, seconds: UInt32) {
    self.symbol = symbol
    self.part = part
    self.seconds = seconds
  }
}

/// A time to ring at.
package enum AlertClock: Sendable, Hashable {
  /// A local time of the rule's zone.
  case local(LocalAlarm)
  /// One moment of the wall clock.
  case moment(Timestamp)
  /// A number of seconds after its start, 1…604,800, independent of the wall clock.
  case countdown(seconds: UInt32)
}

/// Why a rule was refused.
package enum AlertRuleError: Error, Sendable, Equatable {
  /// A field, as in JSON, and what is wrong with it.
  case invalid(field: String, reason: String)
  /// The engine does not have the zone.
  case unknownTimeZone(String)
  case tooManyOfOwner(limit: Int)
  case tooMany(limit: Int)
  case unknownAlert
}

extension AlertRule {
  /// The most conditions in one rule.
  package static let conditionLimit = 16
  /// The most levels of `all` and `any`.
  package static let depthLimit = 4
  /// The most bytes of a symbol.
  package static let symbolLimit = 100
  /// Why a decimal number is refused.
  static let decimalReason =
    "a decimal number of at most 18 digits, plainly written as text: \"70000.5\", not \"7e4\", \"+7\" or \".5\""
  /// Why a time is refused.
  static let timeReason = "microseconds since 1970, up to the year 9999"

  /// - Throws: `.invalid`.
  package func validate() throws(AlertRuleError) {
    var count = 0
    try validate(condition, depth: 0, count: &count)
    if case .every(let cooldown) = frequency, !AlertFrequency.cooldowns.contains(cooldown) {
      throw .invalid(field: "every_s", reason: "must be 1 to 2592000 seconds")
    }
    if let expires, !Timestamp.readable.contains(expires) {
      throw .invalid(field: "expires", reason: Self.timeReason)
    }
    if let hours {
      guard !isClock else { throw .invalid(field: "hours", reason: "a clock alarm has its own days and time") }
      guard !hours.days.isEmpty else { throw .invalid(field: "days", reason: "name at least one weekday") }
      guard (0..<CivilDay.seconds).contains(hours.from), (0...CivilDay.seconds).contains(hours.until) else {
        throw .invalid(field: "hours", reason: "must be 00:00 to 24:00")
      }
    }
  }

  /// Refuses a rule that would never watch. Stored rules expire in the engine instead.
  /// - Throws: `.invalid`.
  package func checkExpiry(now: Timestamp) throws(AlertRuleError) {
    guard let expires, expires <= now else { return }
    throw .invalid(
      field: "expires", reason: "has passed: \(expires.microseconds) is before now, \(now.microseconds) µs since 1970")
  }

  /// Whether the rule rings by a clock.
  package var isClock: Bool {
    if case .clock = condition { true } else { false }
  }

  private func validate(_ condition: AlertCondition, depth: Int, count: inout Int) throws(AlertRuleError) {
    count += 1
    guard count <= Self.conditionLimit else {
      throw .invalid(field: "condition", reason: "at most \(Self.conditionLimit) conditions")
    }
    switch condition {
    case .threshold(let threshold):
      try Self.validate(symbol: threshold.symbol)
      guard depth == 0 || !threshold.comparison.isCrossing else {
        throw .invalid(field: "is", reason: "a crossing is a moment: within all and any, use above or below")
      }
      guard threshold.hysteresis.mantissa >= 0 else {
        throw .invalid(field: "hysteresis", reason: "0 or more")
      }
      switch threshold.measure {
      case .change(let minutes), .openInterest(let minutes), .liquidations(let minutes):
        guard (1...1_440).contains(minutes) else { throw .invalid(field: "window_min", reason: "1 to 1440 minutes") }
      case .price, .spread, .spreadPercent, .depth, .funding: break
      }
      if case .depth(_, let points) = threshold.measure, !(1...5_000).contains(points) {
        throw .invalid(field: "within_percent", reason: "0.01 to 50")
      }
    case .stale(let staleness):
      try Self.validate(symbol: staleness.symbol)
      guard (1...86_400).contains(staleness.seconds) else {
        throw .invalid(field: "for_s", reason: "1 to 86400 seconds")
      }
    case .clock(let clock):
      guard depth == 0 else {
        throw .invalid(
          field: "condition", reason: "a time is a moment: it cannot be within all and any; use hours instead")
      }
      switch clock {
      case .local(let alarm):
        guard !alarm.days.isEmpty else { throw .invalid(field: "days", reason: "name at least one weekday") }
        guard (0..<CivilDay.seconds).contains(alarm.second) else {
          throw .invalid(field: "at", reason: "00:00 to 23:59:59")
        }
      case .moment(let time):
        guard Timestamp.readable.contains(time) else { throw .invalid(field: "at", reason: Self.timeReason) }
      case .countdown(let seconds):
        guard (1...604_800).contains(seconds) else { throw .invalid(field: "for_s", reason: "1 to 604800 seconds") }
      }
    case .all(let parts), .any(let parts):
      guard depth < Self.depthLimit else {
        throw .invalid(field: "condition", reason: "at most \(Self.depthLimit) levels of all and any")
      }
      guard !parts.isEmpty else { throw .invalid(field: "of", reason: "name at least one condition") }
      for part in parts { try validate(part, depth: depth + 1, count: &count) }
    }
  }

  private static func validate(symbol: String) throws(AlertRuleError) {
    guard !symbol.isEmpty, symbol.utf8.count <= symbolLimit else {
      throw .invalid(field: "symbol", reason: "1 to \(symbolLimit) letters")
    }
  }
}
