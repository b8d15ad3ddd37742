import Bytes
import MarketData

/// Watches prices, books, feeds and clocks for the rules of many owners. Data and time go in; firings and changed rules
/// come out.
///
/// It does no I/O and has one owner. Firings are in `takeOutput`; write them to the store before you report them. A
/// rule waits in its series' heaps for the nearest levels that matter to it. A price that reaches none costs two
/// comparisons for any number of rules; a rule that fires costs O(log rules of the series).
///
/// **Only live data fires.** Values of a series whose feed or book is not live are ignored; the first one after a gap
/// fires with the length of the gap in `lateBy`.
package final class AlertEngine {
  package struct Limits: Sendable {
    /// The most rules in total.
    package var rules: Int
    /// The most rules of one owner.
    package var rulesOfOwner: Int

    package init(rules: Int = 1_000_000, rulesOfOwner: Int = 1_000) {
      self.rules = rules
      self.rulesOfOwner = rulesOfOwner
    }
  }

  /// The firings and changes since the last call of `takeOutput`.
  package struct Output: Sendable {
    /// In the order of firing.
    package var firings: [AlertFiring] = []
    /// Rules whose status or progress changed, including those that fired; each once.
    package var changed: [AlertID] = []
  }

  struct OwnerRules {
    var first = RuleRecord.none
    var count = 0
  }

  package let limits: Limits

  var rules = Slab(empty: RuleRecord())
  var leaves = Slab(empty: Leaf())
  var extras: [UInt32: RuleExtra] = [:]
  var owners: [UInt32: OwnerRules] = [:]
  var sources: ContiguousArray<Source> = []
  var sourceNames: [String: UInt32] = [:]
  var series: ContiguousArray<Series> = []
  var freeSeries: [UInt32] = []
  var windows: ContiguousArray<ChangeWindow> = []
  var freeWindows: [UInt32] = []
  var zones: [String: TimeZoneRules] = ["UTC": .utc]
  var steadyWakes = HintHeap<WakeHint>(fewest: 1_024)
  var wallWakes = HintHeap<WakeHint>(fewest: 1_024)
  package internal(set) var ruleCount = 0
  var nextGeneration: UInt32

  /// The present, as of the last call.
  var moment: AlertMoment
  /// The gap that the present value ended.
  var gap: (left: Int64, back: Int64)?

  /// Leaves of rules of several conditions that changed in the present event.
  var unsettled: [UInt32] = []

  var output = Output()

  /// - Parameter firstGeneration: greater than that of every earlier rule in the store (`AlertID`); 1 for an empty
  /// store.
  package init(limits: Limits = Limits(), firstGeneration: UInt32 = 1, at moment: AlertMoment) {
    self.limits = limits
    self.moment = moment
    nextGeneration = firstGeneration
  }

  /// The firings and changes since the last call.
  @discardableResult
  package func takeOutput() -> Output {
    for id in output.changed where id.index < rules.end { rules[id.index].flags.remove(.isChanged) }
    defer { output = Output() }
    return output
  }

  package var hasOutput: Bool { !output.changed.isEmpty || !output.firings.isEmpty }

  func wall(ofSteady steady: Int64) -> Timestamp { moment.wall + (steady - moment.steady) }
  func steady(ofWall wall: Int64) -> Int64 { moment.steady + (wall - moment.wall.microseconds) }

  // MARK: Sources

  /// The source of a symbol, made if it does not exist.
  package func source(_ symbol: String) -> AlertSource {
    if let index = sourceNames[symbol] { return AlertSource(rawValue: index) }
    let index = UInt32(sources.count)
    let price = addSeries(Series(source: index, measure: .price, scale: 0))
    let part = Source.Part(left: moment.steady)
    sources.append(Source(symbol: symbol, price: price, feed: part, book: part))
    sourceNames[symbol] = index
    return AlertSource(rawValue: index)
  }

  package func symbol(of source: AlertSource) -> String { sources[Int(source.rawValue)].symbol }

  /// Sets the scales of a source's figures. The levels of its rules are converted exactly.
  package func describe(_ source: AlertSource, priceScale: UInt8, sizeScale: UInt8) {
    let index = Int(source.rawValue)
    let oldPrice = sources[index].priceScale
    guard oldPrice != priceScale || sources[index].sizeScale != sizeScale else { return }
    sources[index].priceScale = priceScale
    sources[index].sizeScale = sizeScale
    let factor = priceScale >= oldPrice ? Int64(DecimalText.power(priceScale - oldPrice)) : nil
    for window in sources[index].windows { windows[Int(window)].rescale(by: factor) }
    sources[index].bid = factor.flatMap { Self.multiply(sources[index].bid, by: $0) } ?? 0
    sources[index].ask = factor.flatMap { Self.multiply(sources[index].ask, by: $0) } ?? 0
    rescale(sources[index].price, to: priceScale)
    if let spread = sources[index].spread { rescale(spread, to: priceScale) }
    for depth in sources[index].depths { rescale(depth, to: sizeScale) }
  }

  /// The depths that rules need: hand each to `depth` after every change of the book.
  package func depths(of source: AlertSource) -> [(side: AlertThreshold.BookSideName, basisPoints: UInt16)] {
    sources[Int(source.rawValue)].depths.compactMap {
      guard case .depth(let side, let points) = series[Int($0)].measure else { return nil }
      return (side, points)
    }
  }

  /// The figures of a perpetual or dated future that rules need: hand each to `contract` when it changes.
  package func contracts(of source: AlertSource) -> [AlertThreshold.Measure] {
    sources[Int(source.rawValue)].contracts.map { series[Int($0)].measure }
  }

  /// Gives the engine a zone's rules, or newer ones.
  package func setZone(_ name: String, _ zone: TimeZoneRules, at moment: AlertMoment) {
    advance(to: moment)
    zones[name] = zone
    for index in extras.keys.sorted() where extras[index]?.timeZone == name {
      extras[index]!.zone = zone
      rescheduleByWall(index)
    }
  }

  package func hasZone(_ name: String) -> Bool { zones[name] != nil }

  // MARK: Series

  func addSeries(_ new: Series) -> UInt32 {
    if let index = freeSeries.popLast() {
      series[Int(index)] = new
      return index
    }
    series.append(new)
    return UInt32(series.count - 1)
  }

  /// The series of a threshold, made if it does not exist.
  func seriesIndex(_ source: UInt32, _ measure: AlertThreshold.Measure) -> UInt32 {
    let index = Int(source)
    switch measure {
    case .price: return sources[index].price
    case .spread:
      if let spread = sources[index].spread { return spread }
      let new = addBookSeries(source, measure, scale: sources[index].priceScale)
      sources[index].spread = new
      series[Int(new)].hasValue = takeQuote(into: new, source: index)
      return new
    case .spreadPercent:
      if let spread = sources[index].spreadPercent { return spread }
      let new = addBookSeries(source, measure, scale: 4)
      sources[index].spreadPercent = new
      series[Int(new)].hasValue = takeQuote(into: new, source: index)
      return new
    case .depth:
      if let depth = sources[index].depths.first(where: { series[Int($0)].measure == measure }) { return depth }
      let new = addBookSeries(source, measure, scale: sources[index].sizeScale)
      sources[index].depths.append(new)
      return new
    case .funding, .openInterest, .liquidations:
      if let known = sources[index].contracts.first(where: { series[Int($0)].measure == measure }) { return known }
      var new = Series(source: source, measure: measure, scale: measure.contractDigits ?? 0)
      new.isLive = sources[index].feed.isLive
      let made = addSeries(new)
      sources[index].contracts.append(made)
      return made
    case .change(let minutes):
      if let window = sources[index].windows.first(where: { series[Int(windows[Int($0)].series)].measure == measure }) {
        return windows[Int(window)].series
      }
      var new = Series(source: source, measure: measure, scale: 4)
      new.isLive = sources[index].feed.isLive
      let made = addSeries(new)
      let window = ChangeWindow(source: source, series: made, minutes: minutes, steady: moment.steady)
      let slot = addWindow(window)
      sources[index].windows.append(slot)
      windows[Int(slot)].shownFrom = watchingFrom(window: slot)
      wakeAtEnd(ofWindow: slot)
      return made
    }
  }

  private func addBookSeries(_ source: UInt32, _ measure: AlertThreshold.Measure, scale: UInt8) -> UInt32 {
    var new = Series(source: source, measure: measure, scale: scale)
    new.isLive = sources[Int(source)].book.isLive
    return addSeries(new)
  }

  private func addWindow(_ window: ChangeWindow) -> UInt32 {
    if let slot = freeWindows.popLast() {
      windows[Int(slot)] = window
      return slot
    }
    windows.append(window)
    return UInt32(windows.count - 1)
  }

  /// Removes a series that no rule watches, except prices.
  func releaseSeries(_ index: UInt32) {
    let released = series[Int(index)]
    guard released.leafCount == 0 else { return }
    let source = Int(released.source)
    switch released.measure {
    case .price: return
    case .spread: sources[source].spread = nil
    case .spreadPercent: sources[source].spreadPercent = nil
    case .depth: sources[source].depths.removeAll { $0 == index }
    case .funding, .openInterest, .liquidations: sources[source].contracts.removeAll { $0 == index }
    case .change:
      guard let slot = sources[source].windows.first(where: { windows[Int($0)].series == index }) else { return }
      windows[Int(slot)].wake = .max
      sources[source].windows.removeAll { $0 == slot }
      freeWindows.append(slot)
    }
    series[Int(index)] = Series(source: released.source, measure: .price, scale: 0)
    freeSeries.append(index)
  }

  private func rescale(_ index: UInt32, to scale: UInt8) {
    let index = Int(index)
    let old = series[index].scale
    guard old != scale else { return }
    series[index].scale = scale
    let scaled = scale > old ? Self.multiply(series[index].value, by: Int64(DecimalText.power(scale - old))) : nil
    series[index].set(scaled ?? 0)
    if scaled == nil { series[index].hasValue = false }
    let entries = series[index].upper.unordered + series[index].lower.unordered
    series[index].upper = HintHeap(fewest: 64)
    series[index].lower = HintHeap(fewest: 64)
    for entry in entries where leaves[entry.leaf].stamp == entry.stamp {
      // A leaf that waits on both sides appears twice; the second time its stamp has changed.
      watch(entry.leaf)
    }
  }

  static func multiply(_ value: Int64, by factor: Int64) -> Int64? {
    let (product, overflow) = value.multipliedReportingOverflow(by: factor)
    return overflow ? nil : product
  }
}

extension AlertEngine {
  /// Entries of all heaps, void ones included: for tests of bounds.
  package var waitingEntries: Int {
    series.reduce(steadyWakes.count + wallWakes.count) { $0 + $1.upper.count + $1.lower.count }
  }
}
