import Bytes
import MarketData

/// Adding and removing rules, and the actions of their owners.
extension AlertEngine {
  /// Generations from here on are refused, those of a store included: two billion rules may still follow.
  package static let generationLimit: UInt32 = 1 << 31

  /// Adds a rule and evaluates it at once: if the data is live and the condition true, it fires.
  /// - Throws: `.invalid`, `.unknownTimeZone`, `.tooManyOfOwner`, `.tooMany`; then nothing has changed.
  package func insert(_ rule: AlertRule, owner: AlertOwner, at moment: AlertMoment) throws(AlertRuleError) -> AlertID {
    self.moment = moment
    try check(rule)
    guard ruleCount < limits.rules, nextGeneration < .max else { throw .tooMany(limit: limits.rules) }
    guard owners[owner.rawValue]?.count ?? 0 < limits.rulesOfOwner else {
      throw .tooManyOfOwner(limit: limits.rulesOfOwner)
    }
    let index = rules.take()
    rules[index] = RuleRecord(generation: nextGeneration, owner: owner.rawValue)
    nextGeneration += 1
    rules[index].flags = [.isUsed, .isEnabled, .isArmed]
    link(index)
    compile(rule, into: index)
    start(index)
    markChanged(index)
    return id(index)
  }

  /// Restores a rule of the store, without a check of the owner's limit, which it was within. Call `finishRestoring`
  /// after the last.
  /// - Throws: `.invalid`, `.unknownTimeZone`, and `.tooMany` if its number is taken or too large.
  package func restore(
    _ rule: AlertRule, _ id: AlertID, owner: AlertOwner, _ progress: AlertProgress, at moment: AlertMoment
  ) throws(AlertRuleError) {
    self.moment = moment
    try check(rule)
    guard id.index < 2 * limits.rules + 1_000_000, id.generation < Self.generationLimit else {
      throw .tooMany(limit: limits.rules)
    }
    rules.extend(to: id.index + 1)
    guard !rules[id.index].flags.contains(.isUsed) else { throw .tooMany(limit: limits.rules) }
    let index = UInt32(id.index)
    nextGeneration = max(nextGeneration, id.generation + 1)
    rules[index] = RuleRecord(generation: id.generation, owner: owner.rawValue)
    rules[index].flags = [.isUsed]
    if progress.isEnabled { rules[index].flags.insert(.isEnabled) }
    if progress.isPaused { rules[index].flags.insert(.isPaused) }
    if progress.isFinished { rules[index].flags.insert(.isFinished) }
    rules[index].firings = progress.firings
    rules[index].acknowledged = progress.acknowledged
    rules[index].lastDay = progress.lastDay ?? .min
    if let quiet = progress.quietUntil { rules[index].quietUntil = steady(ofWall: quiet.microseconds) }
    link(index)
    compile(rule, into: index)
    if var extra = extras[index] {
      extra.lastRing = progress.lastRing
      extra.skippedFrom = progress.skippedFrom
      extra.nextRing = progress.nextRing ?? .max
      if case .countdown = extra.clock, let countdown = progress.countdown {
        if progress.isPaused {
          extra.countdownLeft = countdown
        } else {
          extra.countdownEnd = steady(ofWall: countdown)
        }
      }
      extras[index] = extra
    }
    if let snoozed = progress.snoozedUntil { snooze(index, until: steady(ofWall: snoozed.microseconds)) }
    start(index, progress)
  }

  /// Frees the unused entries between restored rules.
  package func finishRestoring() {
    for index in (0..<rules.end).reversed() where !rules[index].flags.contains(.isUsed) { rules.release(UInt32(index)) }
  }

  /// - Throws: `.unknownAlert`.
  package func remove(_ id: AlertID, at moment: AlertMoment) throws(AlertRuleError) {
    self.moment = moment
    let index = try index(of: id)
    dismantle(index)
    unlink(index)
    output.firings.removeAll { $0.alert == id }
    output.changed.removeAll { $0 == id }
    rules[index] = RuleRecord()
    rules.release(index)
  }

  /// Replaces a rule's text. The rule keeps its id, its firings and whether it is enabled and paused; it starts to
  /// watch afresh.
  /// - Throws: `.unknownAlert`, `.invalid`, `.unknownTimeZone`; then nothing has changed.
  package func replace(_ id: AlertID, by rule: AlertRule, at moment: AlertMoment) throws(AlertRuleError) {
    self.moment = moment
    let index = try index(of: id)
    try check(rule)
    dismantle(index)
    rules[index].quietUntil = .min
    rules[index].lastDay = .min
    rules[index].flags.formIntersection([.isUsed, .isEnabled, .isPaused, .isChanged])
    compile(rule, into: index)
    start(index)
    markChanged(index)
  }

  /// Enables a rule again: a rule that fired once watches again, a countdown starts from its beginning.
  /// - Throws: `.unknownAlert`.
  package func enable(_ id: AlertID, at moment: AlertMoment) throws(AlertRuleError) {
    self.moment = moment
    let index = try index(of: id)
    let flags = rules[index].flags
    guard !flags.contains(.isEnabled) || flags.contains(.isFinished) else { return }
    rules[index].flags.insert(.isEnabled)
    rules[index].flags.remove([.isFinished, .isPaused])
    rules[index].quietUntil = .min
    extras[index]?.countdownLeft = nil
    extras[index]?.countdownEnd = .max
    start(index)
    markChanged(index)
  }

  /// Stops a rule, and acknowledges its firings.
  /// - Throws: `.unknownAlert`.
  package func disable(_ id: AlertID, at moment: AlertMoment) throws(AlertRuleError) {
    self.moment = moment
    let index = try index(of: id)
    stop(index)
    rules[index].flags.remove([.isEnabled, .isPaused, .isSnoozed])
    rules[index].acknowledged = rules[index].firings
    markChanged(index)
  }

  /// Stops watching, or holds a countdown, until `resume`.
  /// - Throws: `.unknownAlert`.
  package func pause(_ id: AlertID, at moment: AlertMoment) throws(AlertRuleError) {
    self.moment = moment
    let index = try index(of: id)
    guard rules[index].flags.contains(.isEnabled), rules[index].flags.isDisjoint(with: [.isPaused, .isFinished]) else {
      return
    }
    if let end = extras[index]?.countdownEnd, end < .max {
      extras[index]?.countdownLeft = max(0, end - moment.steady)
    }
    stop(index)
    rules[index].flags.insert(.isPaused)
    markChanged(index)
  }

  /// Watches again, afresh.
  /// - Throws: `.unknownAlert`.
  package func resume(_ id: AlertID, at moment: AlertMoment) throws(AlertRuleError) {
    self.moment = moment
    let index = try index(of: id)
    guard rules[index].flags.contains(.isPaused) else { return }
    rules[index].flags.remove(.isPaused)
    start(index)
    markChanged(index)
  }

  /// Silences a rule that is `alerting`; it rings again after `seconds` unless it has been acknowledged. In the
  /// meantime it does not fire. False if it is not alerting.
  /// - Throws: `.unknownAlert`.
  package func snooze(_ id: AlertID, seconds: UInt32, at moment: AlertMoment) throws(AlertRuleError) -> Bool {
    self.moment = moment
    let index = try index(of: id)
    guard rules[index].isUnacknowledged else { return false }
    snooze(index, until: moment.steady + Int64(seconds) * Microseconds.second)
    markChanged(index)
    return true
  }

  /// Acknowledges firings up to a number; nil: all.
  /// - Throws: `.unknownAlert`.
  package func acknowledge(_ id: AlertID, through number: UInt32? = nil, at moment: AlertMoment) throws(AlertRuleError)
  {
    self.moment = moment
    let index = try index(of: id)
    let through = min(number ?? .max, rules[index].firings)
    guard through > rules[index].acknowledged else { return }
    rules[index].acknowledged = through
    if !rules[index].isUnacknowledged { rules[index].flags.remove(.isSnoozed) }
    markChanged(index)
  }

  // MARK: Reading

  /// The owner of a rule; nil if there is no rule with that number.
  package func owner(of id: AlertID) -> AlertOwner? {
    (try? index(of: id)).map { AlertOwner(rawValue: rules[$0].owner) }
  }

  /// An owner's rules, oldest first. O(their number × log).
  package func alerts(of owner: AlertOwner) -> [AlertID] {
    var ids: [AlertID] = []
    var index = owners[owner.rawValue]?.first ?? RuleRecord.none
    while index != RuleRecord.none {
      ids.append(id(index))
      index = rules[index].next
    }
    return ids.sorted()
  }

  package func count(of owner: AlertOwner) -> Int { owners[owner.rawValue]?.count ?? 0 }

  /// - Throws: `.unknownAlert`.
  package func status(of id: AlertID) throws(AlertRuleError) -> AlertStatus {
    let index = try index(of: id)
    let rule = rules[index]
    return AlertStatus(
      state: state(index), firings: rule.firings, acknowledged: rule.acknowledged, next: nextTime(index),
      watchingFrom: watchingFrom(index))
  }

  /// The state of a rule for the store.
  /// - Throws: `.unknownAlert`.
  package func progress(of id: AlertID) throws(AlertRuleError) -> AlertProgress {
    let index = try index(of: id)
    let rule = rules[index]
    var progress = AlertProgress()
    progress.isEnabled = rule.flags.contains(.isEnabled)
    progress.isPaused = rule.flags.contains(.isPaused)
    progress.isFinished = rule.flags.contains(.isFinished)
    progress.isArmed = rule.flags.contains(.isArmed)
    progress.firings = rule.firings
    progress.acknowledged = rule.acknowledged
    progress.phases = leafIndices(of: index).map { leaves[$0].phase.rawValue }
    if rule.quietUntil > moment.steady { progress.quietUntil = wall(ofSteady: rule.quietUntil) }
    if rule.lastDay > .min { progress.lastDay = rule.lastDay }
    guard let extra = extras[index] else { return progress }
    progress.lastRing = extra.lastRing
    progress.skippedFrom = extra.skippedFrom
    if extra.nextRing < .max { progress.nextRing = extra.nextRing }
    progress.countdown = extra.countdownLeft
    if extra.countdownEnd < .max, extra.countdownLeft == nil {
      progress.countdown = wall(ofSteady: extra.countdownEnd).microseconds
    }
    if rule.flags.contains(.isSnoozed) { progress.snoozedUntil = wall(ofSteady: extra.snoozedUntil) }
    return progress
  }

  func state(_ index: UInt32) -> AlertState {
    let rule = rules[index]
    guard rule.flags.contains(.isEnabled) else { return .disabled }
    if rule.isUnacknowledged, !rule.flags.contains(.isSnoozed) { return .alerting }
    if rule.flags.contains(.isSnoozed) { return .scheduled }
    if rule.flags.contains(.isFinished) { return .disabled }
    if rule.flags.contains(.isPaused) { return .paused }
    guard rule.flags.contains(.hasExtra), let extra = extras[index] else { return .running }
    switch extra.clock {
    case .local, .moment: return .scheduled
    case .countdown: return .running
    case nil: return rule.flags.contains(.isWatching) ? .running : .scheduled
    }
  }

  private func nextTime(_ index: UInt32) -> Timestamp? {
    guard let extra = extras[index] else { return nil }
    if rules[index].flags.contains(.isSnoozed) { return wall(ofSteady: extra.snoozedUntil) }
    guard rules[index].flags.isDisjoint(with: [.isPaused, .isFinished]), rules[index].flags.contains(.isEnabled) else {
      return nil
    }
    switch extra.clock {
    case .local: return Timestamp(microseconds: extra.nextRing * Microseconds.second)
    case .moment(let moment): return moment
    case .countdown: return extra.countdownEnd < .max ? wall(ofSteady: extra.countdownEnd) : nil
    case nil:
      guard let hours = extra.hours, !rules[index].flags.contains(.isWatching) else { return nil }
      var look = extra.nextLook / Microseconds.second
      // The hours may still be closed then: at a change of the clock, or on a day that does not count.
      for _ in 0..<8 where !hours.contains(look, in: extra.zone) { look = hours.nextLook(after: look, in: extra.zone) }
      return Timestamp(microseconds: look * Microseconds.second)
    }
  }

  // MARK: Parts

  func id(_ index: UInt32) -> AlertID { AlertID(index: index, generation: rules[index].generation) }

  func index(of id: AlertID) throws(AlertRuleError) -> UInt32 {
    guard id.index < rules.end, rules[id.index].flags.contains(.isUsed), rules[id.index].generation == id.generation
    else { throw .unknownAlert }
    return UInt32(id.index)
  }

  func markChanged(_ index: UInt32) {
    guard !rules[index].flags.contains(.isChanged) else { return }
    rules[index].flags.insert(.isChanged)
    output.changed.append(id(index))
  }

  private func check(_ rule: AlertRule) throws(AlertRuleError) {
    try rule.validate()
    guard zones[rule.timeZone] != nil else { throw .unknownTimeZone(rule.timeZone) }
  }

  private func link(_ index: UInt32) {
    let owner = rules[index].owner
    var list = owners[owner] ?? OwnerRules()
    rules[index].next = list.first
    if list.first != RuleRecord.none { rules[list.first].previous = index }
    list.first = index
    list.count += 1
    owners[owner] = list
    ruleCount += 1
  }

  private func unlink(_ index: UInt32) {
    let rule = rules[index]
    if rule.next != RuleRecord.none { rules[rule.next].previous = rule.previous }
    if rule.previous != RuleRecord.none {
      rules[rule.previous].next = rule.next
    } else {
      owners[rule.owner]?.first = rule.next
    }
    owners[rule.owner]?.count -= 1
    if owners[rule.owner]?.count == 0 { owners[rule.owner] = nil }
    ruleCount -= 1
  }

  /// Makes a rule's leaves and its other state.
  private func compile(_ rule: AlertRule, into index: UInt32) {
    switch rule.frequency {
    case .once: rules[index].flags.insert(.isOnce)
    case .daily: rules[index].flags.insert(.isDaily)
    case .every(let cooldown): rules[index].cooldown = cooldown
    }
    var extra = RuleExtra()
    extra.timeZone = rule.timeZone
    extra.zone = zones[rule.timeZone] ?? .utc
    extra.hours = rule.hours
    extra.expires = rule.expires?.microseconds ?? .max
    switch rule.condition {
    case .threshold(let threshold): rules[index].leaf = makeLeaf(threshold, rule: index)
    case .stale(let staleness): rules[index].leaf = makeLeaf(staleness, rule: index)
    case .clock(let clock): extra.clock = clock
    case .all, .any: compile(rule.condition, into: &extra, rule: index)
    }
    let isPlain = extra.hours == nil && extra.clock == nil && extra.program.isEmpty && extra.expires == .max
    guard !isPlain || (rule.frequency == .daily && rule.timeZone != "UTC") else { return }
    extras[index] = extra
    rules[index].flags.insert(.hasExtra)
    if extra.expires < .max {
      wake(wall: extra.expires, index, stamp: rules[index].generation, .expiry)
    }
  }

  private func compile(_ condition: AlertCondition, into extra: inout RuleExtra, rule: UInt32) {
    switch condition {
    case .threshold(let threshold):
      let leaf = makeLeaf(threshold, rule: rule)
      series[Int(leaves[leaf].series)].treeLeaves.append(leaf)
      extra.program.append(.leaf(extra.leaves.count))
      extra.leaves.append(leaf)
    case .stale(let staleness):
      extra.program.append(.leaf(extra.leaves.count))
      extra.leaves.append(makeLeaf(staleness, rule: rule))
    case .clock: preconditionFailure("refused by AlertRule.validate")
    case .all(let parts):
      for part in parts { compile(part, into: &extra, rule: rule) }
      extra.program.append(.all(parts.count))
    case .any(let parts):
      for part in parts { compile(part, into: &extra, rule: rule) }
      extra.program.append(.any(parts.count))
    }
  }

  private func makeLeaf(_ threshold: AlertThreshold, rule: UInt32) -> UInt32 {
    let source = source(threshold.symbol)
    let at = seriesIndex(source.rawValue, threshold.measure)
    series[Int(at)].leafCount += 1
    let index = leaves.take()
    // The stamp continues, so that entries of the leaf before stay void.
    var leaf = Leaf(stamp: leaves[index].stamp &+ 1)
    leaf.bound = threshold.bound.mantissa
    leaf.boundScale = threshold.bound.scale
    leaf.hysteresis = threshold.hysteresis.mantissa
    leaf.hysteresisScale = threshold.hysteresis.scale
    leaf.rule = rule
    leaf.series = at
    leaf.kind = Leaf.Kind(rawValue: threshold.comparison.rawValue)!
    leaves[index] = leaf
    return index
  }

  private func makeLeaf(_ staleness: AlertStaleness, rule: UInt32) -> UInt32 {
    let source = source(staleness.symbol).rawValue
    let index = leaves.take()
    var leaf = Leaf(stamp: leaves[index].stamp &+ 1)
    leaf.bound = Int64(staleness.seconds) * Microseconds.second
    // A staleness stores its part in this field.
    leaf.boundScale = staleness.part.rawValue
    leaf.rule = rule
    leaf.series = source
    leaf.kind = .stale
    leaves[index] = leaf
    if staleness.part == .feed {
      sources[Int(source)].feed.leaves.append(index)
    } else {
      sources[Int(source)].book.leaves.append(index)
    }
    return index
  }

  /// Removes everything that `compile` made.
  private func dismantle(_ index: UInt32) {
    stop(index)
    for leaf in leafIndices(of: index) {
      leaves[leaf].stamp &+= 1
      let at = Int(leaves[leaf].series)
      if leaves[leaf].kind == .stale {
        sources[at].feed.leaves.removeAll { $0 == leaf }
        sources[at].book.leaves.removeAll { $0 == leaf }
      } else {
        series[at].leafCount -= 1
        if rules[index].leaf != leaf { series[at].treeLeaves.removeAll { $0 == leaf } }
        releaseSeries(UInt32(at))
      }
      leaves.release(leaf)
    }
    rules[index].leaf = RuleRecord.none
    rules[index].cooldown = 0
    rules[index].flags.remove([.isOnce, .isDaily, .hasExtra])
    extras[index] = nil
  }

  func leafIndices(of index: UInt32) -> [UInt32] {
    if rules[index].leaf != RuleRecord.none { return [rules[index].leaf] }
    return extras[index]?.leaves ?? []
  }

  private func snooze(_ index: UInt32, until steady: Int64) {
    rules[index].flags.insert([.isSnoozed, .hasExtra])
    extras[index, default: RuleExtra()].snoozedUntil = steady
    wake(steady: steady, index, stamp: rules[index].generation, .snooze)
  }
}
