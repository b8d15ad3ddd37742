/// A minute that the next run may complete, as one run passes it to the next.
package struct OpenMinute: Sendable, Equatable {
  /// Its trades so far.
  package var candle: Candle
  /// The time of its last trade, to the millisecond: a later trade makes the close.
  package var closeTime: Timestamp

  package init(candle: Candle, closeTime: Timestamp) {
    self.candle = candle
    self.closeTime = closeTime
  }
}

extension Chart {
  /// The most minutes that are open at a time: the present one, the one in its grace time, and one more for a venue
  /// whose clock is ahead.
  package static let openLimit = 3

  /// The minutes with trades that have not closed at `now`, and closed ones that lack trades: the venue may send these
  /// again. Of the last minutes until the newest trade, the oldest first. O(1).
  package mutating func openMinutes(of id: InstrumentID, now: Timestamp) -> [OpenMinute] {
    advance(to: now)
    guard let newest = minutes.newest, lastPrice != nil else { return [] }
    var result: [OpenMinute] = []
    for number in max(minutes.low, newest - Int64(Self.openLimit - 1))...newest {
      guard let minute = minutes.minute(number) else { continue }
      var sums = CandleSums()
      sums.append(minute)
      guard let candle = candle(.minute, number, sums, before: nil, of: id, now: now),
        number >= closedBefore || candle.source == .partial
      else { continue }
      result.append(OpenMinute(candle: candle, closeTime: candle.time + minute.lastTradeTime))
    }
    return result
  }

  /// The closed minutes that late trades have changed, and that have not been issued again since (`reissue`), oldest
  /// first. O(minutes between them).
  package mutating func unissuedMinutes(of id: InstrumentID, now: Timestamp) -> [Candle] {
    guard let late = lateRange else { return [] }
    advance(to: now)
    return late.compactMap { number in
      guard isLate(number), number >= oldestWhole, let minute = minutes.minute(number) else { return nil }
      var sums = CandleSums()
      sums.append(minute)
      return candle(.minute, number, sums, before: nil, of: id, now: now)
    }
  }

  /// Continues the minutes that an earlier run left open, and marks a time as observed by it. Call it after `restore`,
  /// and before the trades that only this run has are added: they then complete these minutes. A minute with trades
  /// stays as it is. Returns the number of used minutes. O(minutes of a day).
  /// - Parameter observed: the end of the earlier run's observation, from the beginning of the oldest of the minutes or
  ///   later.
  package mutating func restore(
    open minutes: [OpenMinute], observed: TimeSpan?, of id: InstrumentID, now: Timestamp
  ) -> Int {
    if closedBefore == MinuteRing.none { startMinutes(at: now) }
    var restored = 0
    for minute in minutes.suffix(Self.openLimit) {
      let candle = minute.candle
      let offset = minute.closeTime - candle.time
      guard candle.instrument == id, candle.interval == .minute, candle.isPossible, candle.volume > 0,
        offset >= 0, offset < Microseconds.minute, candle.time <= now + Market.clockTolerance,
        self.minutes.minute(MinuteRing.number(of: candle.time)) == nil
      else { continue }
      self.minutes.restore(candle, closeOffset: UInt16(truncatingIfNeeded: offset / Microseconds.millisecond))
      lines.add(price: candle.close, time: minute.closeTime)
      restored += 1
    }
    if let observed { noteObserved(observed) }
    if restored > 0 {
      self.minutes.finishRestoring()
      revision &+= 1
    }
    return restored
  }

  /// Marks a time as observed because the venue has shown that no trade of it is missing. Returns whether closed
  /// candles
  /// changed, so that `reissue` has work. O(minutes of the time, at most those of a day).
  package mutating func join(_ span: TimeSpan) -> Bool {
    noteObserved(span)
    revision &+= 1
    guard !minutes.isEmpty else { return false }
    var hasChanged = false
    var number = max(MinuteRing.number(of: span.from), minutes.low)
    let last = min(MinuteRing.number(of: span.to), minutes.head)
    while number <= last {
      if minutes.minute(number) != nil, markLate(number) { hasChanged = true }
      number += 1
    }
    return hasChanged
  }

  private mutating func noteObserved(_ span: TimeSpan) {
    coverageRevision &+= 1
    for index in coverage.indices { coverage[index].insert(span) }
  }
}
