/// The minutes of a day and a little more, with the rolling figures of the day: 99 KiB.
///
/// A late trade counts in its own minute while that is in the ring. Opens and closes are those of the first and last
/// trade by time (to the millisecond), then by arrival. `add` is O(1): the newest minute and the sums of the window
/// change, nothing else. Highs and lows come from monotonic queues over the finished minutes, and from the newest
/// minute. Nothing is allocated after `init`.
///
/// The window is the newest minute and the whole ones before it, so a day begins at most a minute after now − 24 h.
package struct MinuteRing: ~Copyable {
  /// Minutes of the rolling window.
  let window: Int64
  /// The number of stored minutes: more than the window, so that a candle of that length can still be made when it
  /// closes.
  let count: Int64

  /// The newest minute, since 1970; `none` before the first trade.
  private(set) var head = MinuteRing.none
  /// The oldest minute in memory; those before it in the ring have no price.
  private(set) var low = MinuteRing.none
  /// Grows with every change of a minute other than the newest.
  private(set) var lateRevision: UInt32 = 0

  /// The last price before the ring, and its time, µs; `none` if there was no trade.
  private var before: Int64 = 0
  private var beforeTime = MinuteRing.none

  /// Sums over the window.
  private var volume: Int128 = 0
  private var quoteVolume: Int128 = 0
  private var trades: Int64 = 0
  private var withoutQuoteVolume = 0
  private var withoutTrades = 0
  /// The oldest minute of the window with a price; above `head` if there is none.
  private var first = Int64.max
  /// Over the minutes of the window before `head`.
  private var highs: ExtremeQueue
  private var lows: ExtremeQueue
  private var headStart: Int64 = 0
  private var headSlot = 0
  private let minutes: UnsafeMutablePointer<Minute>

  static let none = Int64.min

  /// Bytes of a ring of a day.
  package static var byteCount: Int {
    let count = 1_440 + spare
    return count * MemoryLayout<Minute>.stride + 2 * ExtremeQueue.byteCount(capacity: count)
  }

  /// Enough for the grace of a candle and for clocks that differ.
  static let spare = 16

  /// - Parameters:
  ///   - window: minutes of the rolling window, 1 or more.
  ///   - spare: minutes kept beyond it.
  package init(window: Int = 1_440, spare: Int = MinuteRing.spare) {
    precondition(window > 0 && spare >= 0 && window + spare <= 1 << 15, "a window has minutes")
    self.window = Int64(window)
    count = Int64(window + spare)
    minutes = .allocate(capacity: window + spare)
    highs = ExtremeQueue(capacity: window + spare)
    lows = ExtremeQueue(capacity: window + spare)
  }

  deinit { minutes.deallocate() }

  /// Whether no trade has come yet.
  package var isEmpty: Bool { head == Self.none }

  static func number(of time: Timestamp) -> Int64 { floorDivide(time.rawValue, Microseconds.minute) }

  // MARK: Trades

  /// Adds a trade at its own time; if that is before the ring, the trade can only become the price before the ring.
  /// Returns its minute if that is not the newest. O(1), plus what `advance` costs.
  /// - Parameters:
  ///   - price: above 0.
  ///   - size: above 0.
  @inline(__always)
  @discardableResult
  package mutating func add(price: Int64, size: Int64, time: Timestamp) -> Int64? {
    let sinceHead = time.rawValue &- headStart
    guard head != Self.none, sinceHead >= 0, sinceHead < Microseconds.minute else {
      return addOutsideHead(price, size, time)
    }
    if first > head { first = head }
    add(price, size, offset: UInt16(truncatingIfNeeded: sinceHead / 1_000), slot: headSlot)
    return nil
  }

  @inline(never)
  private mutating func addOutsideHead(_ price: Int64, _ size: Int64, _ time: Timestamp) -> Int64? {
    let number = Self.number(of: time)
    let offset = UInt16(truncatingIfNeeded: (time.rawValue &- number &* Microseconds.minute) / 1_000)
    if head == Self.none || number > head {
      roll(to: number)
      if first > head { first = head }
      add(price, size, offset: offset, slot: headSlot)
      return nil
    }
    guard head - number < count else {
      noteBefore(price, number &* Microseconds.minute &+ Int64(offset) &* 1_000)
      return nil
    }
    extend(to: number)
    let slot = slot(number)
    lateRevision &+= 1
    guard head - number < window else {
      minutes[slot].add(price, size, offset: offset)
      return number
    }
    let (oldHigh, oldLow) = (minutes[slot].high, minutes[slot].low)
    let wasEmpty = !minutes[slot].hasPrice
    add(price, size, offset: offset, slot: slot)
    if number < first { first = number }
    if wasEmpty || price > oldHigh { raise(number, slot) }
    if wasEmpty || price < oldLow { lower(number, slot) }
    return number
  }

  @inline(__always)
  private mutating func add(_ price: Int64, _ size: Int64, offset: UInt16, slot: Int) {
    let minute = minutes + slot
    let (oldVolume, oldQuoteVolume) = (minute.pointee.volume, minute.pointee.quoteVolume)
    let oldTrades = minute.pointee.trades
    minute.pointee.add(price, size, offset: offset)
    volume &+= Int128(minute.pointee.volume &- oldVolume)
    quoteVolume &+= minute.pointee.quoteVolume &- oldQuoteVolume
    trades &+= Int64(minute.pointee.trades &- oldTrades)
  }

  /// Makes the minute of `now` the newest, if there is none yet.
  mutating func begin(at now: Timestamp) { if head == Self.none { roll(to: Self.number(of: now)) } }

  /// Moves the newest minute to the one of `now`; nothing before the first trade. Amortised O(1).
  package mutating func advance(to now: Timestamp) {
    guard head != Self.none, now.rawValue &- headStart >= Microseconds.minute else { return }
    roll(to: Self.number(of: now))
  }

  /// Raises the revision of a minute, if it has a price. O(1).
  mutating func raiseRev(_ number: Int64) {
    guard contains(number) else { return }
    minutes[slot(number)].raiseRev()
  }

  /// Replaces a minute by the figures of a candle of one minute; no effect on minutes before the ring. O(1), without
  /// highs and lows, which `finishRestoring` must then compute.
  /// - Parameter closeOffset: the time of the last trade within the minute, ms, if later trades of it may follow.
  mutating func restore(_ candle: Candle, closeOffset: UInt16 = 59_999) {
    let number = Self.number(of: candle.time)
    if head == Self.none || number > head { roll(to: number) }
    guard head - number < count else { return }
    extend(to: number)
    let slot = slot(number)
    let isInWindow = head - number < window
    if isInWindow { withdraw(slot) }
    minutes[slot].replace(by: candle, closeOffset: closeOffset)
    if isInWindow { count(slot) }
    lateRevision &+= 1
  }

  /// Computes again all values that a replaced minute may have changed. O(minutes).
  mutating func finishRestoring() {
    guard head != Self.none else { return }
    first = .max
    highs.removeAll()
    lows.removeAll()
    for number in max(low, head - window + 1)...head where minutes[slot(number)].hasPrice {
      if first == .max { first = number }
      if number < head { close(slot(number)) }
    }
  }

  /// Drops everything. O(1).
  package mutating func removeAll() {
    head = Self.none
    low = Self.none
    beforeTime = Self.none
    lateRevision &+= 1
    forgetWindow()
  }

  /// Multiplies prices and sizes by powers of ten after their scales were widened. O(minutes). Returns false, and drops
  /// everything, if a price does not fit in an `Int64`.
  package mutating func rescale(priceBy: Int64, sizeBy: Int64) -> Bool {
    guard head != Self.none else { return true }
    forgetWindow()
    if beforeTime != Self.none {
      let (wider, overflow) = before.multipliedReportingOverflow(by: priceBy)
      guard !overflow else {
        removeAll()
        return false
      }
      before = wider
    }
    for number in low...head {
      let slot = slot(number)
      guard minutes[slot].rescale(priceBy: priceBy, sizeBy: sizeBy) else {
        removeAll()
        return false
      }
      if head - number < window { count(slot) }
    }
    lateRevision &+= 1
    finishRestoring()
    return true
  }

  // MARK: Reading

  /// The figures of the window that ends at `now`. O(1), amortised.
  package mutating func figures(now: Timestamp) -> WindowFigures {
    advance(to: now)
    var figures = WindowFigures()
    figures.volume = volume
    figures.quoteVolume = withoutQuoteVolume == 0 ? quoteVolume : nil
    figures.trades = withoutTrades == 0 ? trades : nil
    guard head != Self.none, first <= head else { return figures }
    let newest = minutes[headSlot]
    figures.open = minutes[slot(first)].open
    figures.high = highs.count > 0 ? minutes[highs[0]].high : nil
    figures.low = lows.count > 0 ? minutes[lows[0]].low : nil
    if newest.hasPrice {
      figures.high = max(figures.high ?? newest.high, newest.high)
      figures.low = min(figures.low ?? newest.low, newest.low)
      figures.last = newest.close
    } else if highs.count > 0 {
      // The last entry is the last finished minute with a price.
      figures.last = minutes[highs[highs.count - 1]].close
    }
    return figures
  }

  /// A minute; nil if it has no price or is not in the ring. O(1).
  func minute(_ number: Int64) -> Minute? {
    guard contains(number) else { return nil }
    let minute = minutes[slot(number)]
    return minute.hasPrice ? minute : nil
  }

  /// The newest minute of the window with a price; nil if there is none. O(1).
  var newest: Int64? {
    guard head != Self.none, first <= head else { return nil }
    if minutes[headSlot].hasPrice { return head }
    // The last entry is the last finished minute with a price.
    return highs.count > 0 ? number(ofSlot: highs[highs.count - 1]) : nil
  }

  /// The last price before a minute. O(minutes without trades before it).
  func lastPrice(before number: Int64) -> Int64? {
    guard head != Self.none else { return nil }
    var number = min(number - 1, head)
    while number >= low {
      if let minute = minute(number) { return minute.close }
      number -= 1
    }
    return beforeTime == Self.none ? nil : before
  }

  // MARK: The ring

  private mutating func noteBefore(_ price: Int64, _ time: Int64) {
    guard time >= beforeTime else { return }
    before = price
    beforeTime = time
  }

  /// Notes the last price of a minute that leaves the ring.
  private mutating func noteBefore(minute number: Int64) {
    guard let minute = minute(number) else { return }
    noteBefore(minute.close, number &* Microseconds.minute &+ minute.lastTradeTime)
  }

  private func contains(_ number: Int64) -> Bool { head != Self.none && number >= low && number <= head }

  private func slot(_ number: Int64) -> Int {
    let slot = headSlot &- Int(truncatingIfNeeded: head &- number)
    return slot >= 0 ? slot : slot &+ Int(count)
  }

  private func number(ofSlot slot: Int) -> Int64 {
    let back = headSlot - slot
    return head - Int64(back >= 0 ? back : back + Int(count))
  }

  /// Makes a minute of the ring one that is in memory.
  private mutating func extend(to number: Int64) {
    while low > number {
      low -= 1
      minutes[slot(low)] = Minute()
    }
  }

  private mutating func roll(to number: Int64) {
    if head == Self.none || number &- head >= count {
      if head != Self.none {
        var last = head
        while last > low, minute(last) == nil { last -= 1 }
        noteBefore(minute: last)
      }
      forgetWindow()
      headSlot = 0
      head = number
      low = number
      minutes[0] = Minute()
    }
    while head < number {
      if minutes[headSlot].hasPrice { close(headSlot) }
      if head + 1 - low >= count { noteBefore(minute: low) }
      head += 1
      headSlot = headSlot + 1 == Int(count) ? 0 : headSlot + 1
      let left = head - window
      if left >= low { leave(left) }
      if head - low >= count { low += 1 }
      minutes[headSlot] = Minute()
    }
    headStart = head &* Microseconds.minute
  }

  // MARK: The window

  /// Removes a minute that has left the window.
  private mutating func leave(_ number: Int64) {
    // If the ring is as long as its window, this is the slot of the new head, which still has the old minute.
    let slot = slot(number)
    guard minutes[slot].hasPrice else { return }
    withdraw(slot)
    if highs.count > 0, highs[0] == slot { highs.removeFirst() }
    if lows.count > 0, lows[0] == slot { lows.removeFirst() }
    guard first == number else { return }
    repeat { first += 1 } while first < head && !minutes[self.slot(first)].hasPrice
    // `head` itself is new and has no trade yet.
    if first == head { first = .max }
  }

  private mutating func withdraw(_ slot: Int) {
    let minute = minutes[slot]
    guard minute.hasPrice else { return }
    volume &-= Int128(minute.volume)
    quoteVolume &-= minute.quoteVolume
    trades &-= Int64(minute.trades)
    if !minute.hasQuoteVolume { withoutQuoteVolume -= 1 }
    if !minute.hasTrades { withoutTrades -= 1 }
  }

  private mutating func count(_ slot: Int) {
    let minute = minutes[slot]
    guard minute.hasPrice else { return }
    volume &+= Int128(minute.volume)
    quoteVolume &+= minute.quoteVolume
    trades &+= Int64(minute.trades)
    if !minute.hasQuoteVolume { withoutQuoteVolume += 1 }
    if !minute.hasTrades { withoutTrades += 1 }
  }

  private mutating func forgetWindow() {
    volume = 0
    quoteVolume = 0
    trades = 0
    withoutQuoteVolume = 0
    withoutTrades = 0
    first = .max
    highs.removeAll()
    lows.removeAll()
  }

  /// Adds the newest minute to the queues, because it has ended.
  private mutating func close(_ slot: Int) {
    while highs.count > 0, minutes[highs[highs.count - 1]].high <= minutes[slot].high { highs.removeLast() }
    highs.append(slot)
    while lows.count > 0, minutes[lows[lows.count - 1]].low >= minutes[slot].low { lows.removeLast() }
    lows.append(slot)
  }

  /// The high of an older minute rose.
  private mutating func raise(_ number: Int64, _ slot: Int) {
    let high = minutes[slot].high
    var end = highs.count
    while end > 0, self.number(ofSlot: highs[end - 1]) > number { end -= 1 }
    if end < highs.count, minutes[highs[end]].high >= high { return }
    var start = end
    while start > 0, minutes[highs[start - 1]].high <= high { start -= 1 }
    highs.replace(start..<end, by: slot)
  }

  /// The low of an older minute fell.
  private mutating func lower(_ number: Int64, _ slot: Int) {
    let low = minutes[slot].low
    var end = lows.count
    while end > 0, self.number(ofSlot: lows[end - 1]) > number { end -= 1 }
    if end < lows.count, minutes[lows[end]].low <= low { return }
    var start = end
    while start > 0, minutes[lows[start - 1]].low >= low { start -= 1 }
    lows.replace(start..<end, by: slot)
  }
}
