import Bytes
import MarketData

/// The way from a true condition to a firing.
extension AlertEngine {
  /// Begins to watch, or to wait for the rule's hours or time. With `progress`, continues as before a restart.
  func start(_ index: UInt32, _ progress: AlertProgress? = nil) {
    let flags = rules[index].flags
    guard flags.contains(.isEnabled), flags.isDisjoint(with: [.isPaused, .isFinished]) else {
      if let progress { setPhases(index, progress) }
      return
    }
    if extras[index] != nil, extras[index]!.expires <= moment.wall.microseconds { return finish(index) }
    guard let extra = extras[index] else { return watch(rule: index, progress) }
    if let clock = extra.clock { return start(clock, index) }
    if let hours = extra.hours {
      scheduleLook(index, hours)
      guard hours.contains(moment.wallSeconds, in: extra.zone) else {
        if let progress { setPhases(index, progress) }
        return
      }
    }
    watch(rule: index, progress)
  }

  /// Takes a rule's leaves out of their series.
  func stop(_ index: UInt32) {
    rules[index].flags.remove(.isWatching)
    for leaf in leafIndices(of: index) { leaves[leaf].stamp &+= 1 }
    extras[index]?.nextLook = .max
    extras[index]?.nextRing = .max
    extras[index]?.countdownEnd = .max
  }

  private func setPhases(_ index: UInt32, _ progress: AlertProgress) {
    for (leaf, phase) in zip(leafIndices(of: index), progress.phases) {
      leaves[leaf].phase = Leaf.Phase(rawValue: phase) ?? .outside
    }
  }

  func watch(rule index: UInt32, _ progress: AlertProgress? = nil) {
    rules[index].flags.insert([.isWatching, .isArmed])
    rules[index].watchedFrom = moment.steady
    let own = leafIndices(of: index)
    for leaf in own { leaves[leaf].phase = .outside }
    if let progress {
      // As before the restart: a level that was reached during the gap fires late.
      rules[index].watchedFrom = .min / 2
      setPhases(index, progress)
      if !progress.isArmed { rules[index].flags.remove(.isArmed) }
    }
    for leaf in own {
      guard rules[index].flags.contains(.isWatching) else { return }
      if leaves[leaf].kind == .stale {
        let source = sources[Int(leaves[leaf].series)]
        watchStaleness(leaf, leaves[leaf].boundScale == 0 ? source.feed : source.book)
        continue
      }
      let at = Int(leaves[leaf].series)
      if series[at].isLive, series[at].hasValue {
        take(series[at].value, leaf)
      } else {
        watch(leaf)
      }
    }
    settle()
  }

  /// Evaluates a rule of several conditions after one of them changed, or its data is live again.
  func reconsider(_ index: UInt32, because leaf: UInt32) {
    guard rules[index].flags.contains(.isWatching), let extra = extras[index] else { return }
    guard evaluate(extra, onlyLive: false) else {
      if !rules[index].flags.contains(.isArmed) {
        rules[index].flags.insert(.isArmed)
        markChanged(index)
      }
      return
    }
    guard rules[index].flags.contains(.isArmed), evaluate(extra, onlyLive: true) else { return }
    rules[index].flags.remove(.isArmed)
    markChanged(index)
    trigger(index, because: leaf)
  }

  private func evaluate(_ extra: RuleExtra, onlyLive: Bool) -> Bool {
    var stack: [Bool] = []
    for step in extra.program {
      switch step {
      case .leaf(let number):
        let leaf = leaves[extra.leaves[number]]
        let isKnown = leaf.kind == .stale || !onlyLive || series[Int(leaf.series)].hasValue
        stack.append(leaf.phase == .inside && isKnown)
      case .all(let count):
        let parts = stack.suffix(count)
        let result = parts.allSatisfy { $0 }
        stack.removeLast(count)
        stack.append(result)
      case .any(let count):
        let result = stack.suffix(count).contains(true)
        stack.removeLast(count)
        stack.append(result)
      }
    }
    return stack.last ?? false
  }

  /// The condition has become true: fires, unless the rule's frequency or a snooze forbids it.
  func trigger(_ index: UInt32, because leaf: UInt32) {
    let rule = rules[index]
    guard rule.flags.contains(.isWatching), !rule.flags.contains(.isSnoozed), moment.steady >= rule.quietUntil else {
      return
    }
    if rule.flags.contains(.isDaily) {
      let zone = rule.flags.contains(.hasExtra) ? extras[index]?.zone ?? .utc : .utc
      let day = Int32(clamping: floorDivide(zone.local(moment.wallSeconds), CivilDay.seconds))
      guard day != rule.lastDay else { return }
      rules[index].lastDay = day
    }
    let at = leaves[leaf]
    var firing = AlertFiring(
      alert: id(index), owner: AlertOwner(rawValue: rule.owner), number: rule.firings + 1, time: moment.wall)
    if at.kind == .stale {
      firing.source = AlertSource(rawValue: at.series)
    } else {
      let from = series[Int(at.series)]
      firing.source = AlertSource(rawValue: from.source)
      firing.value = Decimal64(mantissa: from.value, scale: from.scale)
      firing.lateBy = lateness(rule)
    }
    rules[index].firings = firing.number
    rules[index].quietUntil = moment.steady + Int64(rule.cooldown) * Microseconds.second
    if rule.flags.contains(.isOnce) { finish(index) }
    output.firings.append(firing)
    markChanged(index)
  }

  /// The longest time since the condition can have become true, µs.
  private func lateness(_ rule: RuleRecord) -> Int64 {
    guard let gap, gap.back > rule.watchedFrom else { return 0 }
    return max(1, moment.steady - max(gap.left, rule.watchedFrom))
  }

  /// Ends a rule: it fires no more.
  func finish(_ index: UInt32) {
    stop(index)
    rules[index].flags.insert(.isFinished)
    markChanged(index)
  }
}
