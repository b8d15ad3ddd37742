import Bytes
import MarketData

/// The data that the engine watches.
extension AlertEngine {
  /// The price of a live trade, at the source's scale. O(1) if it reaches no rule's level.
  package func price(_ source: AlertSource, _ price: Int64, at moment: AlertMoment) {
    let source = Int(source.rawValue)
    let index = Int(sources[source].price)
    guard series[index].isLive else { return }
    if !sources[source].windows.isEmpty { rollWindows(of: source, at: moment.steady) }
    series[index].set(price)
    if series[index].hasValue, price < series[index].upper.first, ~price < series[index].lower.first {
      guard !sources[source].windows.isEmpty else { return }
      changed(windowsOf: source, at: moment)
      return settle()
    }
    look(at: index, at: moment)
    if !sources[source].windows.isEmpty { changed(windowsOf: source, at: moment) }
    settle()
  }

  /// The best bid and ask of a live book, at the source's price scale; a side without orders is 0.
  package func quote(_ source: AlertSource, bid: Int64, ask: Int64, at moment: AlertMoment) {
    let source = Int(source.rawValue)
    guard sources[source].book.isLive else { return }
    sources[source].bid = bid
    sources[source].ask = ask
    for index in [sources[source].spread, sources[source].spreadPercent] {
      guard let index, takeQuote(into: index, source: source) else { continue }
      look(at: Int(index), at: moment)
    }
    settle()
  }

  /// The size within a number of basis points of the best price of a live book, at the source's size scale.
  package func depth(
    _ source: AlertSource, _ side: AlertThreshold.BookSideName, basisPoints: UInt16, size: Int64, at moment: AlertMoment
  ) {
    let measure = AlertThreshold.Measure.depth(side, basisPoints: basisPoints)
    let depths = sources[Int(source.rawValue)].depths
    guard let index = depths.first(where: { series[Int($0)].measure == measure }).map(Int.init) else { return }
    guard series[index].isLive else { return }
    series[index].set(size)
    look(at: index, at: moment)
    settle()
  }

  /// A figure of a perpetual or dated future whose feed is live (`ContractFigures`).
  package func contract(
    _ source: AlertSource, _ measure: AlertThreshold.Measure, _ value: Int64, at moment: AlertMoment
  ) {
    let contracts = sources[Int(source.rawValue)].contracts
    guard let index = contracts.first(where: { series[Int($0)].measure == measure }).map(Int.init) else { return }
    guard series[index].isLive else { return }
    series[index].set(value)
    look(at: index, at: moment)
    settle()
  }

  /// Sets whether a source's feed (prices) is live.
  /// - Parameter isFirst: the feed was live before without a report: its first value ends no gap.
  package func setFeed(_ source: AlertSource, isLive: Bool, isFirst: Bool = false, at moment: AlertMoment) {
    let source = Int(source.rawValue)
    guard sources[source].feed.isLive != isLive else { return }
    self.moment = moment
    rollWindows(of: source, at: moment.steady)
    set(&sources[source].feed, isLive, isFirst: isFirst)
    set(sources[source].price, isLive)
    for index in sources[source].contracts { set(index, isLive) }
    for window in sources[source].windows {
      set(windows[Int(window)].series, isLive)
      tellWatching(window)
    }
    staleness(of: sources[source].feed)
    settle()
  }

  /// Sets whether a source's book (spread, depth) is live.
  package func setBook(_ source: AlertSource, isLive: Bool, isFirst: Bool = false, at moment: AlertMoment) {
    let source = Int(source.rawValue)
    guard sources[source].book.isLive != isLive else { return }
    self.moment = moment
    set(&sources[source].book, isLive, isFirst: isFirst)
    sources[source].bid = 0
    sources[source].ask = 0
    for index in [sources[source].spread, sources[source].spreadPercent] {
      if let index { set(index, isLive) }
    }
    for index in sources[source].depths { set(index, isLive) }
    staleness(of: sources[source].book)
    settle()
  }

  /// After a restart, sets when the source was last known to be live, so that late firings can say how late they may
  /// be.
  package func wasLive(_ source: AlertSource, until time: Timestamp, at moment: AlertMoment) {
    let source = Int(source.rawValue)
    let steady = moment.steady - (moment.wall - time)
    if !sources[source].feed.isLive { sources[source].feed.left = min(sources[source].feed.left, steady) }
    if !sources[source].book.isLive { sources[source].book.left = min(sources[source].book.left, steady) }
  }

  private func set(_ part: inout Source.Part, _ isLive: Bool, isFirst: Bool) {
    part.isLive = isLive
    if !isLive { part.left = moment.steady } else { part.back = isFirst ? .min : moment.steady }
  }

  private func set(_ index: UInt32, _ isLive: Bool) {
    series[Int(index)].isLive = isLive
    series[Int(index)].hasValue = false
  }

  /// Writes the spread of the source's quote; false if it has none.
  func takeQuote(into index: UInt32, source: Int) -> Bool {
    let (bid, ask) = (sources[source].bid, sources[source].ask)
    guard bid > 0, ask > 0, series[Int(index)].isLive else { return false }
    let (spread, overflow) = ask.subtractingReportingOverflow(bid)
    guard !overflow else { return false }
    if series[Int(index)].measure == .spread {
      series[Int(index)].set(spread)
      return true
    }
    // In percent of the mean: 2 (ask − bid) ÷ (ask + bid).
    let percent = Ratio.divide(Int128(spread) * 2_000_000, by: Int128(bid) + Int128(ask))
    guard let narrow = Int64(exactly: percent) else { return false }
    series[Int(index)].set(narrow)
    return true
  }

  // MARK: Levels

  /// Applies the present value of a series to the rules that it reaches.
  func look(at index: Int, at moment: AlertMoment) {
    self.moment = moment
    let value = series[index].value
    let isFirst = !series[index].hasValue
    if isFirst {
      series[index].hasValue = true
      let source = sources[Int(series[index].source)]
      let part = series[index].measure.isOfBook ? source.book : source.feed
      gap = (part.left, part.back)
    }
    while value >= series[index].upper.first, let entry = series[index].upper.popMin() {
      if leaves[entry.leaf].stamp == entry.stamp { take(value, entry.leaf) }
    }
    while ~value >= series[index].lower.first, let entry = series[index].lower.popMin() {
      if leaves[entry.leaf].stamp == entry.stamp { take(value, entry.leaf) }
    }
    if isFirst {
      // A condition that became true while another part of its rule was not live counts from now on.
      unsettled += series[index].treeLeaves
      gap = nil
    }
  }

  /// Gives a value to a leaf that waits for it, or that begins to watch its series.
  func take(_ value: Int64, _ index: UInt32) {
    let levels = LeafLevels(leaves[index], scale: series[Int(leaves[index].series)].scale)
    let before = leaves[index].phase
    let isTrue = leaves[index].take(value, levels)
    let rule = leaves[index].rule
    watch(index, levels)
    if leaves[index].phase != before { markChanged(rule) }
    if rules[rule].leaf == index {
      if isTrue { trigger(rule, because: index) }
    } else if leaves[index].phase != before {
      unsettled.append(index)
    }
  }

  /// Evaluates rules of several conditions after an event has changed all of their conditions. If it made one true and
  /// another false, both would seem true in between.
  func settle() {
    guard !unsettled.isEmpty else { return }
    let changed = unsettled
    unsettled.removeAll(keepingCapacity: true)
    for leaf in changed { reconsider(leaves[leaf].rule, because: leaf) }
  }

  func watch(_ index: UInt32) {
    watch(index, LeafLevels(leaves[index], scale: series[Int(leaves[index].series)].scale))
  }

  private func watch(_ index: UInt32, _ levels: LeafLevels) {
    let leaf = leaves[index]
    let watch = leaf.watch(levels)
    let stamp = leaf.stamp &+ 1
    leaves[index].stamp = stamp
    let at = Int(leaf.series)
    if let upper = watch.upper {
      series[at].upper.insert(.init(level: upper, leaf: index, stamp: stamp))
      if series[at].upper.needsRebuild { series[at].upper.rebuild { leaves[$0.leaf].stamp == $0.stamp } }
    }
    if let lower = watch.lower {
      series[at].lower.insert(.init(level: ~lower, leaf: index, stamp: stamp))
      if series[at].lower.needsRebuild { series[at].lower.rebuild { leaves[$0.leaf].stamp == $0.stamp } }
    }
  }

  /// Schedules the staleness leaves of a part that is not live, and clears those of a live one.
  private func staleness(of part: Source.Part) {
    for leaf in part.leaves where rules[leaves[leaf].rule].flags.contains(.isWatching) {
      watchStaleness(leaf, part)
    }
  }

  func watchStaleness(_ index: UInt32, _ part: Source.Part) {
    leaves[index].stamp &+= 1
    guard part.isLive else {
      guard leaves[index].phase == .outside else { return }
      let due = part.left.addingReportingOverflow(leaves[index].bound).partialValue
      guard due <= moment.steady else { return wake(steady: due, index, stamp: leaves[index].stamp, .stale) }
      return staleForSoLong(index)
    }
    guard leaves[index].phase == .inside else { return }
    leaves[index].phase = .outside
    let rule = leaves[index].rule
    markChanged(rule)
    if rules[rule].leaf != index { unsettled.append(index) }
  }
}

/// The windows of rules that watch a change in percent.
extension AlertEngine {
  /// The lengths of the windows that rules need of a source, in minutes, in order.
  package func windows(of source: AlertSource) -> [UInt16] {
    sources[Int(source.rawValue)].windows.compactMap {
      guard case .change(let minutes) = series[Int(windows[Int($0)].series)].measure else { return nil }
      return minutes
    }.sorted()
  }

  /// Takes prices from before the rules for changes existed, or from within a gap: the closes of minutes, in order of
  /// time. Windows of 10 minutes or more are then known as far back as the prices reach; in shorter ones a minute is
  /// too long. O(prices × windows).
  package func prime(_ source: AlertSource, _ samples: [(time: Timestamp, price: Int64)], at moment: AlertMoment) {
    self.moment = moment
    let index = Int(source.rawValue)
    rollWindows(of: index, at: moment.steady)
    let offset = moment.steady - moment.wall.microseconds
    let steady = samples.map { (steady: $0.time.microseconds + offset, price: $0.price) }
    for window in sources[index].windows { windows[Int(window)].prime(steady) }
    changed(windowsOf: index, at: moment)
    settle()
  }

  func rollWindows(of source: Int, at steady: Int64) {
    let price = Int(sources[source].price)
    let last = series[price].hasValue ? series[price].value : nil
    for window in sources[source].windows { windows[Int(window)].roll(to: steady, last: last) }
  }

  func changed(windowsOf source: Int, at moment: AlertMoment) {
    for window in sources[source].windows { changed(window: Int(window), at: moment) }
  }

  func changed(window: Int, at moment: AlertMoment) {
    let index = Int(windows[window].series)
    let price = Int(sources[Int(windows[window].source)].price)
    tellWatching(UInt32(window))
    guard series[index].isLive, series[price].hasValue, let reference = windows[window].reference else {
      series[index].hasValue = false
      return
    }
    let (moved, overflow) = series[price].value.subtractingReportingOverflow(reference)
    guard !overflow, let percent = Ratio.percent(moved, of: reference, digits: 4) else { return }
    series[index].set(percent.mantissa)
    look(at: index, at: moment)
  }

  func wakeAtEnd(ofWindow slot: UInt32) {
    windows[Int(slot)].wake = windows[Int(slot)].end
    steadyWakes.insert(.init(time: windows[Int(slot)].wake, index: slot, stamp: 0, kind: .window))
  }

  // MARK: From when on a rule watches

  /// From when on all changes of a rule can be compared, if prices go on; nil: from now on, or its market is not live
  /// or has not traded yet. Whole seconds. O(its conditions × 60).
  func watchingFrom(_ index: UInt32) -> Timestamp? {
    guard rules[index].flags.contains(.isWatching) else { return nil }
    var latest: Int64?
    for leaf in leafIndices(of: index) where leaves[leaf].kind != .stale {
      let at = leaves[leaf].series
      let source = Int(series[Int(at)].source)
      guard case .change = series[Int(at)].measure,
        let slot = sources[source].windows.first(where: { windows[Int($0)].series == at }),
        let from = watchingFrom(window: slot)
      else { continue }
      latest = max(latest ?? .min, from)
    }
    guard let latest else { return nil }
    let second = Microseconds.second
    return Timestamp(microseconds: floorDivide(wall(ofSteady: latest).microseconds + second - 1, second) * second)
  }

  func watchingFrom(window slot: UInt32) -> Int64? {
    let window = windows[Int(slot)]
    let price = series[Int(sources[Int(window.source)].price)]
    return price.isLive && price.hasValue ? window.watchingFrom : nil
  }

  /// Marks the rules of a window as changed when the time from which they watch is another one. O(1) while they watch.
  func tellWatching(_ slot: UInt32) {
    let from = watchingFrom(window: slot)
    guard from != windows[Int(slot)].shownFrom else { return }
    windows[Int(slot)].shownFrom = from
    let watched = series[Int(windows[Int(slot)].series)]
    for entry in watched.upper.unordered + watched.lower.unordered where leaves[entry.leaf].stamp == entry.stamp {
      markChanged(leaves[entry.leaf].rule)
    }
  }
}

extension AlertEngine {
  /// A part was not live for as long as a staleness leaf waits.
  func staleForSoLong(_ leaf: UInt32) {
    leaves[leaf].phase = .inside
    let rule = leaves[leaf].rule
    markChanged(rule)
    if rules[rule].leaf == leaf { trigger(rule, because: leaf) } else { unsettled.append(leaf) }
  }
}

extension AlertThreshold.Measure {
  /// Whether the measure comes from the book, not from trades.
  var isOfBook: Bool {
    switch self {
    case .price, .change, .funding, .openInterest, .liquidations: false
    case .spread, .spreadPercent, .depth: true
    }
  }
}
