import MarketData

/// A rule as the engine stores it: 56 bytes, since there may be a million. State that few rules have is in `RuleExtra`.
struct RuleRecord {
  struct Flags: OptionSet {
    let rawValue: UInt16
    static let isUsed = Flags(rawValue: 1)
    static let isEnabled = Flags(rawValue: 2)
    static let isPaused = Flags(rawValue: 4)
    static let isFinished = Flags(rawValue: 8)
    /// Its leaves wait in their series.
    static let isWatching = Flags(rawValue: 16)
    static let isArmed = Flags(rawValue: 32)
    static let isSnoozed = Flags(rawValue: 64)
    static let isDaily = Flags(rawValue: 128)
    static let isOnce = Flags(rawValue: 256)
    static let hasExtra = Flags(rawValue: 512)
    /// It is in the engine's list of changed rules.
    static let isChanged = Flags(rawValue: 1024)
  }

  static let none = UInt32.max

  var generation: UInt32 = 0
  var owner: UInt32 = 0
  /// Its only leaf; none for clock alarms and for rules of several conditions.
  var leaf = RuleRecord.none
  var firings: UInt32 = 0
  var acknowledged: UInt32 = 0
  /// Seconds.
  var cooldown: UInt32 = 0
  /// The local day of the last firing.
  var lastDay = Int32.min
  /// The owner's rules are a list.
  var next = RuleRecord.none
  var previous = RuleRecord.none
  var flags: Flags = []
  /// Steady time before which it does not fire.
  var quietUntil: Int64 = .min
  /// Steady time since when it watches.
  var watchedFrom: Int64 = 0

  var isUnacknowledged: Bool { acknowledged < firings }
}

/// State that few rules have.
struct RuleExtra {
  enum Step {
    /// The leaf of the rule with this index.
    case leaf(Int)
    /// Joins this many results before it.
    case all(Int)
    case any(Int)
  }

  var timeZone = "UTC"
  var zone = TimeZoneRules.utc
  var hours: LocalHours?
  /// Wall µs.
  var expires: Int64 = .max
  var clock: AlertClock?
  /// A condition of several parts, in postfix order.
  var program: [Step] = []
  var leaves: [UInt32] = []

  /// When `hours` are checked next, wall µs.
  var nextLook: Int64 = .max
  /// Seconds UTC.
  var nextRing: Int64 = .max
  var lastRing: Int64?
  var skippedFrom: Int64?
  /// Steady µs.
  var countdownEnd: Int64 = .max
  /// µs, while it is paused.
  var countdownLeft: Int64?
  /// Steady µs.
  var snoozedUntil: Int64 = .max

  /// The next time of the alarm after `time` that may ring: it has not rung, or was only counted as missed before the
  /// clock was set back.
  func nextRing(_ alarm: LocalAlarm, after time: Int64) -> Int64 {
    let next = alarm.next(after: time, in: zone)
    guard let lastRing, next <= lastRing else { return next }
    if let skippedFrom {
      let skipped = next >= skippedFrom ? next : alarm.next(after: skippedFrom - 1, in: zone)
      if skipped < lastRing { return skipped }
    }
    return alarm.next(after: lastRing, in: zone)
  }
}
