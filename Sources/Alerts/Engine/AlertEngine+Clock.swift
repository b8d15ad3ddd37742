import Bytes
import MarketData

/// The clocks of the engine.
extension AlertEngine {
  /// A backward step of the wall clock by more than this schedules everything anew by its zone's rules, µs.
  private static let step = Microseconds.second / 2

  /// When `advance` is next needed: a steady time and a wall time. Call it also after the wall clock was set.
  package var nextWake: (steady: Int64, wall: Timestamp) {
    (steadyWakes.first, Timestamp(microseconds: wallWakes.first))
  }

  /// Processes everything that is due. O(log n) for each due entry.
  package func advance(to new: AlertMoment) {
    let steppedBy = (new.wall.microseconds - moment.wall.microseconds) - (new.steady - moment.steady)
    moment = new
    while let entry = steadyWakes.popMin(dueAt: new.steady) {
      wakeBySteady(entry)
      settle()
    }
    while let entry = wallWakes.popMin(dueAt: new.wall.microseconds) { wakeByWall(entry) }
    // Only now, after everything that was due before the clock was set back has rung.
    if steppedBy < -Self.step {
      for index in extras.keys.sorted() { rescheduleByWall(index) }
    }
  }

  func wake(steady: Int64, _ index: UInt32, stamp: UInt32, _ kind: WakeHint.Kind) {
    steadyWakes.insert(.init(time: steady, index: index, stamp: stamp, kind: kind))
    if steadyWakes.needsRebuild { steadyWakes.rebuild(onlyDue()) }
  }

  func wake(wall: Int64, _ index: UInt32, stamp: UInt32, _ kind: WakeHint.Kind) {
    wallWakes.insert(.init(time: wall, index: index, stamp: stamp, kind: kind))
    if wallWakes.needsRebuild { wallWakes.rebuild(onlyDue()) }
  }

  /// Whether its rule, leaf or window still waits for an entry.
  private func isDue(_ entry: WakeHint, at time: Int64) -> Bool {
    switch entry.kind {
    case .stale: return leaves[entry.index].stamp == entry.stamp
    case .window: return windows[Int(entry.index)].wake == time
    default: break
    }
    guard rules[entry.index].generation == entry.stamp, let extra = extras[entry.index] else { return false }
    switch entry.kind {
    case .expiry: return extra.expires == time && !rules[entry.index].flags.contains(.isFinished)
    case .hours: return extra.nextLook == time
    case .ring: return extra.nextRing.multipliedReportingOverflow(by: Microseconds.second).partialValue == time
    case .countdown: return extra.countdownEnd == time
    case .snooze: return extra.snoozedUntil == time && rules[entry.index].flags.contains(.isSnoozed)
    case .stale, .window: return false
    }
  }

  /// A filter that keeps valid entries, and only the first of equal ones.
  private func onlyDue() -> (WakeHint) -> Bool {
    var seen: Set<UInt64> = []
    return { entry in
      self.isDue(entry, at: entry.time) && seen.insert(UInt64(entry.kind.rawValue) << 32 | UInt64(entry.index)).inserted
    }
  }

  private func wakeBySteady(_ entry: WakeHint) {
    guard isDue(entry, at: entry.time) else { return }
    switch entry.kind {
    case .stale: staleForSoLong(entry.index)
    case .window:
      let window = Int(entry.index)
      rollWindows(of: Int(windows[window].source), at: moment.steady)
      changed(window: window, at: moment)
      wakeAtEnd(ofWindow: entry.index)
    case .countdown:
      extras[entry.index]?.countdownEnd = .max
      ring(entry.index, lateBy: moment.steady - entry.time, missed: 0)
      finish(entry.index)
    case .snooze:
      rules[entry.index].flags.remove(.isSnoozed)
      markChanged(entry.index)
      let rule = rules[entry.index]
      guard rule.isUnacknowledged else { return }
      output.firings.append(
        AlertFiring(
          alert: id(entry.index), owner: AlertOwner(rawValue: rule.owner), number: rule.firings, time: moment.wall,
          isReminder: true))
    case .expiry, .hours, .ring: break
    }
  }

  private func wakeByWall(_ entry: WakeHint) {
    let index = entry.index
    guard isDue(entry, at: entry.time), let extra = extras[index] else { return }
    switch entry.kind {
    case .expiry: finish(index)
    case .hours:
      guard let hours = extra.hours else { return }
      scheduleLook(index, hours)
      follow(hours, index, extra.zone)
    case .ring: ringDue(index, extra)
    case .countdown, .snooze, .stale, .window: break
    }
  }

  // MARK: Hours

  func scheduleLook(_ index: UInt32, _ hours: LocalHours) {
    guard let zone = extras[index]?.zone else { return }
    let look = hours.nextLook(after: moment.wallSeconds, in: zone) * Microseconds.second
    extras[index]!.nextLook = look
    wake(wall: look, index, stamp: rules[index].generation, .hours)
  }

  /// Starts or stops watching, as the hours require.
  private func follow(_ hours: LocalHours, _ index: UInt32, _ zone: TimeZoneRules) {
    let isOpen = hours.contains(moment.wallSeconds, in: zone)
    let isWatching = rules[index].flags.contains(.isWatching)
    guard isOpen != isWatching else { return }
    markChanged(index)
    if isOpen { return watch(rule: index) }
    rules[index].flags.remove(.isWatching)
    for leaf in leafIndices(of: index) {
      leaves[leaf].stamp &+= 1
      // Watching starts afresh after that, even after a restart.
      leaves[leaf].phase = .outside
    }
  }

  // MARK: Alarms

  func start(_ clock: AlertClock, _ index: UInt32) {
    let generation = rules[index].generation
    switch clock {
    case .local(let alarm):
      guard let extra = extras[index] else { return }
      // After a restart a time that has passed rings late and is not lost; the clock may have been set back, too.
      let isBack = extra.nextRing < .max
      let next = extra.nextRing(alarm, after: moment.wallSeconds - (isBack ? 1 : 0))
      scheduleRing(index, min(extra.nextRing, next))
    case .moment(let time):
      scheduleRing(index, floorDivide(time.microseconds + Microseconds.second - 1, Microseconds.second))
    case .countdown(let seconds):
      var end = extras[index]?.countdownEnd ?? .max
      if end == .max {
        let left = extras[index]?.countdownLeft ?? Int64(seconds) * Microseconds.second
        end = moment.steady + left
      }
      extras[index]?.countdownLeft = nil
      extras[index]?.countdownEnd = end
      wake(steady: end, index, stamp: generation, .countdown)
    }
  }

  private func scheduleRing(_ index: UInt32, _ time: Int64) {
    extras[index]?.nextRing = time
    let (wall, overflow) = time.multipliedReportingOverflow(by: Microseconds.second)
    wake(wall: overflow ? .max : wall, index, stamp: rules[index].generation, .ring)
  }

  /// Rings once for all of the alarm's times that have passed, and counts the others as missed.
  private func ringDue(_ index: UInt32, _ extra: RuleExtra) {
    guard case .local(let alarm) = extra.clock else {
      ring(index, lateBy: moment.wall.microseconds - extra.nextRing * Microseconds.second, missed: 0)
      return finish(index)
    }
    let now = moment.wallSeconds
    var time = extra.nextRing
    var firstMissed: Int64?
    var missed: UInt32 = 0
    while true {
      let next = extra.nextRing(alarm, after: time)
      guard next <= now else { break }
      firstMissed = firstMissed ?? time
      missed += 1
      time = next
    }
    let lastRing = extra.lastRing ?? .min
    var skippedFrom: Int64? = time + 1
    if time > lastRing {
      extras[index]!.lastRing = time
      skippedFrom = firstMissed.map { max($0, lastRing == .min ? .min : lastRing + 1) }
    }
    extras[index]!.skippedFrom = skippedFrom.flatMap { $0 < extras[index]!.lastRing! ? $0 : nil }
    ring(index, lateBy: moment.wall.microseconds - time * Microseconds.second, missed: missed)
    if rules[index].flags.contains(.isOnce) { return finish(index) }
    scheduleRing(index, extras[index]!.nextRing(alarm, after: now))
  }

  private func ring(_ index: UInt32, lateBy: Int64, missed: UInt32) {
    rules[index].flags.remove(.isSnoozed)
    rules[index].firings += 1
    markChanged(index)
    output.firings.append(
      AlertFiring(
        alert: id(index), owner: AlertOwner(rawValue: rules[index].owner), number: rules[index].firings,
        // A timer may be late by less than a second; that does not count as a late alarm.
        time: moment.wall, lateBy: lateBy >= Microseconds.second ? lateBy : 0, missed: missed))
  }

  /// Schedules a rule anew, after the wall clock was set back or the zone's rules changed.
  func rescheduleByWall(_ index: UInt32) {
    let flags = rules[index].flags
    guard flags.contains(.isEnabled), flags.isDisjoint(with: [.isPaused, .isFinished]), let extra = extras[index] else {
      return
    }
    if let hours = extra.hours {
      scheduleLook(index, hours)
      follow(hours, index, extra.zone)
    }
    if case .local(let alarm) = extra.clock {
      scheduleRing(index, extra.nextRing(alarm, after: moment.wallSeconds - 1))
      markChanged(index)
    }
  }
}
