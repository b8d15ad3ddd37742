import Bytes
import MarketData

/// The state of a rule, in the words that clients see.
package enum AlertState: String, Sendable, CaseIterable {
  /// Waits for its time: a clock alarm, a rule outside its hours, or a snoozed rule.
  case scheduled
  /// Watches or counts down.
  case running
  case paused
  /// Has fired and is not acknowledged.
  case alerting
  /// Does nothing: the owner disabled it, it fired once and was acknowledged, or it expired.
  case disabled
}

/// A rule's id: the index of its entry in the engine's table, and its generation there. Never used twice.
package struct AlertID: Sendable, Hashable, Comparable, RawRepresentable {
  package let rawValue: UInt64
  package init(rawValue: UInt64) { self.rawValue = rawValue }

  init(index: UInt32, generation: UInt32) { rawValue = UInt64(generation) << 32 | UInt64(index) }
  package var index: Int { Int(truncatingIfNeeded: rawValue & 0xFFFF_FFFF) }
  package var generation: UInt32 { UInt32(truncatingIfNeeded: rawValue >> 32) }

  package static func < (a: AlertID, b: AlertID) -> Bool { a.rawValue < b.rawValue }
}

/// The owner of rules: a dense number that the desk gives to a subject.
package struct AlertOwner: Sendable, Hashable, RawRepresentable {
  package let rawValue: UInt32
  package init(rawValue: UInt32) { self.rawValue = rawValue }
}

/// A market that rules watch, with its feed and book: a dense number.
package struct AlertSource: Sendable, Hashable, RawRepresentable {
  package let rawValue: UInt32
  package init(rawValue: UInt32) { self.rawValue = rawValue }
}

/// The present in two clocks.
package struct AlertMoment: Sendable, Hashable {
  /// µs of a clock that neither stops nor steps (monotonic, from any zero): durations are measured on it.
  package var steady: Int64
  /// Wall time, which clock alarms, hours and days follow.
  package var wall: Timestamp

  package init(steady: Int64, wall: Timestamp) {
    self.steady = steady
    self.wall = wall
  }

  var wallSeconds: Int64 { floorDivide(wall.microseconds, Microseconds.second) }
}

/// A firing of a rule.
package struct AlertFiring: Sendable, Hashable {
  package var alert: AlertID
  package var owner: AlertOwner
  /// 1 for a rule's first firing, then without gaps. Together with the rule's id it names the firing, however often
  /// that is delivered.
  package var number: UInt32
  /// Wall time of the firing.
  package var time: Timestamp
  /// The market, and the figure that made the condition true; nil for clocks and staleness.
  package var source: AlertSource?
  package var value: Decimal64?
  /// The longest time that the event may have preceded the firing, µs; 0: on time.
  package var lateBy: Int64
  /// Whether it rings again after a snooze.
  package var isReminder: Bool
  /// The number of earlier times of a clock alarm that passed without ringing and are reported with this one.
  package var missed: UInt32

  package init(
    alert: AlertID, owner: AlertOwner, number: UInt32, time: Timestamp, source: AlertSource? = nil,
    value: Decimal64? = nil, lateBy: Int64 = 0, isReminder: Bool = false, missed: UInt32 = 0
  ) {
    self.alert = alert
    self.owner = owner
    self.number = number
    self.time = time
    self.source = source
    self.value = value
    self.lateBy = lateBy
    self.isReminder = isReminder
    self.missed = missed
  }
}

/// The stored state of a rule beside its text, with which it continues after a restart.
package struct AlertProgress: Sendable, Hashable {
  package var isEnabled = true
  package var isPaused = false
  /// Whether it fires no more: it fired once, or has expired.
  package var isFinished = false
  package var firings: UInt32 = 0
  /// Firings up to this number are acknowledged.
  package var acknowledged: UInt32 = 0
  /// The phase of each threshold, in the order of the rule (`Leaf.Phase`).
  package var phases: [UInt8] = []
  /// Whether the condition has been false since the last firing.
  package var isArmed = true
  /// Wall time before which it does not fire (cooldown).
  package var quietUntil: Timestamp?
  /// Wall time at which it rings again.
  package var snoozedUntil: Timestamp?
  /// The local day (`CivilDay`) of the last firing.
  package var lastDay: Int32?
  /// The last reported time of a clock alarm, s UTC.
  package var lastRing: Int64?
  /// The next time of a clock alarm, s UTC; if it has passed when the rule comes back from the store, it rings late.
  package var nextRing: Int64?
  /// Times of a clock alarm from here to `lastRing` that were only counted as missed, s UTC.
  package var skippedFrom: Int64?
  /// The wall time at which a countdown ends; while it is paused, the remaining µs.
  package var countdown: Int64?

  package init() {}
}

/// A rule's present state, for its owner.
package struct AlertStatus: Sendable, Hashable {
  package var state: AlertState
  package var firings: UInt32
  package var acknowledged: UInt32
  /// When it rings next, wall time: clock alarms, countdowns, snoozes, hours that begin.
  package var next: Timestamp?
  /// From when on it watches, if it is `running` and does not know yet which prices to compare with; wall time.
  package var watchingFrom: Timestamp?

  package init(
    state: AlertState, firings: UInt32, acknowledged: UInt32, next: Timestamp?, watchingFrom: Timestamp? = nil
  ) {
    self.state = state
    self.firings = firings
    self.acknowledged = acknowledged
    self.next = next
    self.watchingFrom = watchingFrom
  }
}
