/// An alarm's local time on chosen weekdays.
package struct LocalAlarm: Sendable, Hashable {
  /// Seconds from local midnight, 0 ..< 86,400.
  package var second: Int64
  /// Not empty.
  package var days: Weekdays

  package init(second: Int64, days: Weekdays = .all) {
    self.second = second
    self.days = days
  }

  /// The first time after `time` that it rings, in seconds UTC. A local time that clocks skip counts as the first
  /// moment after it; one that occurs twice counts as its first occurrence.
  package func next(after time: Int64, in zone: TimeZoneRules) -> Int64 {
    let day = floorDivide(zone.local(time), CivilDay.seconds)
    // Begins two days earlier: after a clock skipped a whole day, the alarms of both days are due at one moment.
    for day in (day - 2)...(day + 9) where days.hasDay(day) {
      let moment = zone.firstMoment(ofLocal: day * CivilDay.seconds + second)
      if moment > time { return moment }
    }
    return .max / 2_000_000
  }
}

/// The local hours of chosen weekdays.
package struct LocalHours: Sendable, Hashable {
  /// Not empty. Hours over midnight belong to the day in which they begin.
  package var days: Weekdays
  /// Seconds from local midnight, 0 ..< 86,400.
  package var from: Int64
  /// Seconds from local midnight, 0…86,400. Before `from`: on the next day. Equal to it: a whole day.
  package var until: Int64

  package init(days: Weekdays = .all, from: Int64, until: Int64) {
    self.days = days
    self.from = from
    self.until = until
  }

  /// Whether the wall clock of the zone shows one of the hours at `time`.
  package func contains(_ time: Int64, in zone: TimeZoneRules) -> Bool {
    let local = zone.local(time)
    let day = floorDivide(local, CivilDay.seconds)
    let second = floorModulo(local, CivilDay.seconds)
    if from < until { return days.hasDay(day) && second >= from && second < until }
    return (days.hasDay(day) && second >= from) || (days.hasDay(day - 1) && second < until)
  }

  /// A moment after `time` until which `contains` does not change; at most nine days away.
  package func nextLook(after time: Int64, in zone: TimeZoneRules) -> Int64 {
    let today = floorDivide(zone.local(time), CivilDay.seconds)
    var next = zone.change(after: time)?.time ?? .max
    for day in (today - 1)...(today + 9) {
      for second in [from, until] {
        let (first, second) = zone.moments(ofLocal: day * CivilDay.seconds + second)
        if first > time { next = min(next, first) }
        if let second, second > time { next = min(next, second) }
      }
      if next < .max, day > today { break }
    }
    return next
  }
}
