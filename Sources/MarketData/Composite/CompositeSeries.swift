/// The merged candles of one interval of a composite, kept up to date as candles of its members change.
///
/// It stores the merged candles, and of each member only the last few, because older ones rarely change. A change that
/// needs more makes it ask for the history again (`isIncomplete`).
struct CompositeSeries: Sendable {
  /// The candles of each member that may change without the history being read again.
  static let recentLimit = 16
  /// How long after its end a candle waits for members that have not closed theirs, µs. They close it themselves
  /// `Chart.grace` after the end; one that has lost its feed before any trade does not.
  static let patience = 5 * Microseconds.second

  /// The most candles that are kept while the history is being read.
  static let meanwhileLimit = 1_024

  fileprivate struct Member: Sendable {
    let venue: String
    /// The last ones, in order of time, at the composite's scales.
    var recent: [Candle] = []
    /// From when on `recent` has all of them.
    var since = Timestamp.distantPast
  }

  let interval: CandleInterval
  /// The most candles to keep. Some more may be there for a while.
  var limit: Int
  /// In order of time.
  private(set) var candles: [Candle] = []
  /// In the order of their venues.
  private var members: [Member] = []
  /// Whether the history has been read once.
  private(set) var isKnown = false
  /// Whether the history must be read, or read again.
  private(set) var isIncomplete = true
  /// Candles before it are not closed again.
  private var closedBefore = Timestamp.distantPast
  /// What members sent since the history was asked for; nil if it is not being read.
  private var meanwhile: [CompositeCandles.Part]?
  private var meanwhileCount = 0

  init(_ interval: CandleInterval, limit: Int) {
    self.interval = interval
    self.limit = limit
  }

  /// Asks for the history again: a member came or went, or has other candles of the past.
  mutating func invalidate() { isIncomplete = true }

  /// The history is being read from now on. What changes in the meantime is applied to it.
  mutating func beginRestoring() {
    isIncomplete = false
    meanwhile = []
    meanwhileCount = 0
  }

  /// Takes the history of all members. Returns whether merged candles that were there before differ.
  /// O(candles × members).
  mutating func restore(_ parts: [CompositeCandles.Part], of instrument: Instrument) -> Bool {
    let old = candles
    let changes = meanwhile ?? []
    meanwhile = nil
    let parts = parts.sorted { $0.instrument.venue < $1.instrument.venue }
    let sides = parts.map { part in
      part.candles.compactMap { $0.interval == interval ? $0.wider(part.instrument, instrument) : nil }
    }
    candles = CompositeCandles.merge(sides)
    if candles.count > limit { candles.removeFirst(candles.count - limit) }
    members = zip(parts, sides).map { part, side in
      var member = Member(venue: part.instrument.venue, recent: Array(side.suffix(Self.recentLimit)))
      if side.count > Self.recentLimit { member.since = member.recent[0].time }
      return member
    }
    let wasKnown = isKnown
    isKnown = true
    var earliest = Timestamp.distantFuture
    for part in changes { take(part.candles, of: part.instrument, at: instrument, earliest: &earliest) }
    var changed: [Candle] = []
    if earliest != .distantFuture { _ = merge(from: earliest, changed: &changed) }
    guard wasKnown, let first = candles.first?.time else { return wasKnown && !old.isEmpty }
    return old.drop { $0.time < first } != candles[...]
  }

  /// The history could not be read. It is asked for again.
  mutating func failRestoring() {
    meanwhile = nil
    isIncomplete = true
  }

  /// Takes candles of a member that changed or are new. Those that do not fit at the composite's scales are left out.
  /// - Parameter earliest: becomes the time of the earliest one, if that is earlier.
  mutating func take(_ new: [Candle], of own: Instrument, at instrument: Instrument, earliest: inout Timestamp) {
    if meanwhile != nil {
      let own = CompositeCandles.Part(instrument: own, candles: new.filter { $0.interval == interval })
      meanwhileCount += own.candles.count
      if meanwhileCount <= Self.meanwhileLimit { meanwhile?.append(own) } else { isIncomplete = true }
    }
    guard isKnown else { return }
    guard let member = members.firstIndex(where: { $0.venue == own.venue }) else { return invalidate() }
    for candle in new where candle.interval == interval {
      guard let candle = candle.wider(own, instrument) else { continue }
      guard members.allSatisfy({ $0.since <= candle.time }) else {
        invalidate()
        continue
      }
      if members[member].take(candle) { earliest = min(earliest, candle.time) }
    }
  }

  /// Merges again what changed, from a time on, and appends the closed candles that differ. Returns whether the open
  /// one does. O(`recentLimit` × members).
  mutating func merge(from earliest: Timestamp, changed: inout [Candle]) -> Bool {
    // What left `recent` before it was merged is in the history only.
    let complete = members.map(\.since).max() ?? .distantPast
    if earliest < complete { isIncomplete = true }
    let earliest = max(earliest, complete)
    var start = candles.count
    while start > 0, candles[start - 1].time >= earliest { start -= 1 }
    let old = candles[start...]
    let before = start > 0 ? candles[start - 1].close : nil
    let new = CompositeCandles.merge(members.map(\.recent), from: earliest, after: before)
    var isOpenNew = false
    var index = old.startIndex
    for candle in new {
      while index < old.endIndex, old[index].time < candle.time { index += 1 }
      if index < old.endIndex, old[index] == candle { continue }
      if candle.isClosed { changed.append(candle) } else { isOpenNew = true }
    }
    candles.replaceSubrange(start..., with: new)
    if candles.count > limit + 64 { candles.removeFirst(candles.count - limit) }
    return isOpenNew
  }

  /// Closes candles whose members have not closed theirs in time; such a candle is partial.
  /// - Parameter earliest: becomes the time of the earliest one, if that is earlier.
  mutating func close(at now: Timestamp, earliest: inout Timestamp) {
    let due = interval.start(of: now - Self.patience)
    guard due > closedBefore else { return }
    closedBefore = due
    for member in members.indices {
      for index in members[member].recent.indices {
        let candle = members[member].recent[index]
        guard !candle.isClosed, candle.time < due else { continue }
        members[member].recent[index].isClosed = true
        members[member].recent[index].source = .partial
        earliest = min(earliest, candle.time)
      }
    }
  }

  /// The candle that is not closed; nil if there is none.
  var open: Candle? { candles.last.flatMap { $0.isClosed ? nil : $0 } }

  /// Drops everything: the composite's scales are others.
  mutating func forget() {
    candles = []
    members = []
    meanwhile = nil
    (isKnown, isIncomplete) = (false, true)
  }
}

extension CompositeSeries.Member {
  /// Sets a candle; returns whether anything differs. An older state of a closed candle changes nothing.
  fileprivate mutating func take(_ candle: Candle) -> Bool {
    var index = recent.count
    while index > 0, recent[index - 1].time >= candle.time { index -= 1 }
    if index < recent.count, recent[index].time == candle.time {
      let old = recent[index]
      if old == candle || (old.isClosed && (!candle.isClosed || candle.rev < old.rev)) { return false }
      recent[index] = candle
      return true
    }
    recent.insert(candle, at: index)
    if recent.count > CompositeSeries.recentLimit {
      recent.removeFirst()
      since = recent[0].time
    }
    return true
  }
}
