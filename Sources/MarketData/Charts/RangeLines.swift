/// The last price of every bucket of every range, in 60 KiB.
///
/// A close is that of the last trade by time, of equal times by arrival; moments are kept to the millisecond. A
/// trade that arrives late counts in its own bucket of each range that still has it. A trade in the newest 10 s changes
/// two numbers and nothing else: rings are written when those seconds are over. So `add` is O(1), amortised, and
/// nothing is allocated after `init`, but for the copy that `all` makes when its buckets double.
package struct RangeLines: ~Copyable {
  /// One range's ring. Bucket n begins at n × `length`.
  struct Ring {
    var length: Int64
    let count: Int64
    /// The newest bucket, and the oldest that is kept; the oldest has a price. Meaningless while the ring is empty.
    var head: Int64 = 0
    var low: Int64 = 0
    /// When the newest bucket began, and where in the ring it is.
    var headStart: Int64 = 0
    var headSlot = 0
    /// Where the slots of the ring begin.
    let offset: Int
    var isEmpty = true
    /// The last price before the ring; its time says whether there is one.
    var before: Int64 = 0
    var beforeTime = RangeLines.never
    /// Raised when the close of a bucket other than the newest changed: a line drawn before is wrong further back.
    var revision: UInt32 = 0
  }

  /// Price of the last trade by time; nil before the first.
  package var lastPrice: Int64? { lastTime == Self.never ? nil : newestPrice }
  /// When that was, to the millisecond.
  package var lastTradeTime: Timestamp? { lastTime == Self.never ? nil : Timestamp(microseconds: lastTime) }

  /// The earliest known price; nil before any.
  package var firstPrice: Int64? { firstTime == Self.never ? nil : oldestPrice }

  /// Raised whenever a line may look different: a price that moved, a bucket that began, a late close.
  package private(set) var changes: UInt32 = 0

  private var newestPrice: Int64 = 0
  private var lastTime = RangeLines.never
  /// The earliest known price, and its time, µs.
  private var oldestPrice: Int64 = 0
  private var firstTime = RangeLines.never
  /// The newest bucket of 10 s.
  private var tipStart = RangeLines.never
  /// Whether `newestPrice` must still be written into rings whose newest bucket is open.
  private var isTipPending = false
  private let rings: UnsafeMutablePointer<Ring>
  private let closes: UnsafeMutablePointer<Int64>
  /// The time of the close within its bucket, ms; `noTrade` in a bucket without trades.
  private let times: UnsafeMutablePointer<UInt32>

  static let never = Int64.min
  static let noTrade = UInt32.max
  private static let tipLength = ChartRange.hour.bucketLength
  /// The longest bucket of `all`, µs: about 43 years fit in 980 buckets of 16 days.
  static let longestBucket = 16 * Microseconds.day

  /// Bytes of all ranges.
  package static var byteCount: Int {
    let slots = ChartRange.allCases.reduce(0) { $0 + $1.bucketCount }
    return slots * 12 + ChartRange.allCases.count * MemoryLayout<Ring>.stride
  }

  /// - Parameter bucketLimit: the most buckets that a range keeps, 1 or more.
  package init(bucketLimit: Int = .max) {
    let ranges = ChartRange.allCases
    let slots = ranges.reduce(0) { $0 + min($1.bucketCount, bucketLimit) }
    closes = .allocate(capacity: slots)
    closes.initialize(repeating: 0, count: slots)
    times = .allocate(capacity: slots)
    times.initialize(repeating: Self.noTrade, count: slots)
    rings = .allocate(capacity: ranges.count)
    var offset = 0
    for range in ranges {
      let count = min(range.bucketCount, bucketLimit)
      let ring = Ring(length: range.bucketLength, count: Int64(count), offset: offset)
      (rings + Int(range.rawValue)).initialize(to: ring)
      offset += count
    }
  }

  deinit {
    closes.deallocate()
    times.deallocate()
    rings.deallocate()
  }

  // MARK: Trades

  /// Adds a trade at its own time. O(1), amortised.
  @inline(__always)
  package mutating func add(price: Int64, time: Timestamp) {
    let sinceTip = time.rawValue &- tipStart
    if sinceTip >= 0, sinceTip < Self.tipLength, tipStart != Self.never {
      let time = Self.rounded(time)
      guard time >= lastTime else { return noteFirst(price, time) }
      lastTime = time
      if price != newestPrice {
        newestPrice = price
        changes &+= 1
      }
      isTipPending = true
      return
    }
    addOutsideTip(price, Self.rounded(time))
  }

  @inline(never)
  private mutating func addOutsideTip(_ price: Int64, _ time: Int64) {
    noteFirst(price, time)
    if tipStart == Self.never || time >= tipStart {
      // No stored price is later than the newest 10 s.
      roll(to: time)
      lastTime = time
      newestPrice = price
      isTipPending = true
      changes &+= 1
      return
    }
    flush()
    for range in ChartRange.allCases { enter(price, time, in: rings + Int(range.rawValue)) }
    if time >= lastTime {
      lastTime = time
      if price != newestPrice { changes &+= 1 }
      newestPrice = price
    }
  }

  /// A late trade may be the earliest of all, and lines that begin with it change.
  private mutating func noteFirst(_ price: Int64, _ time: Int64) {
    guard firstTime == Self.never || time < firstTime else { return }
    let isKnown = firstTime != Self.never
    firstTime = time
    oldestPrice = price
    guard isKnown else { return }
    changes &+= 1
    for range in ChartRange.allCases { rings[Int(range.rawValue)].revision &+= 1 }
  }

  /// Moves every ring to the bucket of `now`; nothing before the first trade. Amortised O(1).
  package mutating func advance(to now: Timestamp) {
    guard tipStart != Self.never, now.rawValue &- tipStart >= Self.tipLength else { return }
    roll(to: now.rawValue)
  }

  /// Moves every ring to the end of the candles that will be restored. Otherwise each of them, in the order of time,
  /// would move the short rings, by 96 buckets for a day. O(buckets).
  package mutating func beginRestoring(until end: Timestamp) {
    flush()
    let time = Self.rounded(end) - Microseconds.millisecond
    if tipStart == Self.never || time >= tipStart + Self.tipLength { roll(to: time) }
  }

  /// Adds the close of a restored candle, as the price just before its end, to the ranges without own data there.
  /// O(ranges).
  mutating func restore(_ candle: Candle, unless isKnown: (ChartRange) -> Bool) {
    flush()
    noteFirst(candle.open, Self.rounded(candle.time))
    let (close, time) = (candle.close, Self.rounded(candle.end) - Microseconds.millisecond)
    if tipStart == Self.never || time >= tipStart + Self.tipLength { roll(to: time) }
    for range in ChartRange.allCases {
      if lastTime != Self.never, isKnown(range) { continue }
      let ring = rings + Int(range.rawValue)
      if range == .all { makeRoom(for: time, in: ring) }
      enter(close, time, in: ring, isRestored: true)
    }
    if time >= lastTime, lastTime == Self.never || !isKnown(.day) {
      lastTime = time
      newestPrice = close
    }
    changes &+= 1
  }

  /// Drops everything. O(1).
  package mutating func removeAll() {
    changes &+= 1
    lastTime = Self.never
    firstTime = Self.never
    tipStart = Self.never
    isTipPending = false
    for range in ChartRange.allCases {
      let ring = rings + Int(range.rawValue)
      ring.pointee.isEmpty = true
      ring.pointee.beforeTime = Self.never
      ring.pointee.length = range.bucketLength
      ring.pointee.revision &+= 1
    }
  }

  /// Multiplies prices after their scale was widened. O(buckets). Returns false, and drops everything, if one does not
  /// fit.
  package mutating func rescale(by factor: Int64) -> Bool {
    flush()
    var overflowed = false
    func wider(_ price: Int64) -> Int64 {
      let (value, overflow) = price.multipliedReportingOverflow(by: factor)
      if overflow { overflowed = true }
      return value
    }
    if lastTime != Self.never { newestPrice = wider(newestPrice) }
    if firstTime != Self.never { oldestPrice = wider(oldestPrice) }
    for range in ChartRange.allCases {
      let ring = rings + Int(range.rawValue)
      ring.pointee.revision &+= 1
      if ring.pointee.beforeTime != Self.never { ring.pointee.before = wider(ring.pointee.before) }
      guard !ring.pointee.isEmpty else { continue }
      for number in ring.pointee.low...ring.pointee.head {
        let slot = slot(number, ring)
        if times[slot] != Self.noTrade { closes[slot] = wider(closes[slot]) }
      }
    }
    if overflowed { removeAll() }
    return !overflowed
  }

  // MARK: Reading

  /// The state of a range's ring, with the newest price in it.
  mutating func ring(_ range: ChartRange) -> Ring {
    flush()
    return rings[Int(range.rawValue)]
  }

  /// The last price in a bucket; nil if it has none or is not in the ring. O(1). After `ring(_:)`.
  func close(_ number: Int64, _ range: ChartRange) -> Int64? {
    let ring = rings + Int(range.rawValue)
    guard !ring.pointee.isEmpty, number >= ring.pointee.low, number <= ring.pointee.head else { return nil }
    let slot = slot(number, ring)
    return times[slot] == Self.noTrade ? nil : closes[slot]
  }

  /// The last price before bucket `number`. O(number − oldest bucket). After `ring(_:)`.
  func lastPrice(before number: Int64, _ range: ChartRange) -> Int64? {
    let ring = rings[Int(range.rawValue)]
    let outside = ring.beforeTime == Self.never ? nil : ring.before
    guard !ring.isEmpty, number > ring.low else { return outside }
    var index = min(number - 1, ring.head)
    while index >= ring.low {
      if let close = close(index, range) { return close }
      index -= 1
    }
    return outside
  }

  // MARK: Rings

  private static func rounded(_ time: Timestamp) -> Int64 { time.rawValue &- floorRemainder(time.rawValue, 1_000) }

  private func slot(_ number: Int64, _ ring: UnsafeMutablePointer<Ring>) -> Int {
    let slot = ring.pointee.headSlot &- Int(truncatingIfNeeded: ring.pointee.head &- number)
    return ring.pointee.offset &+ (slot >= 0 ? slot : slot &+ Int(ring.pointee.count))
  }

  /// Writes the newest price into every ring.
  private mutating func flush() {
    guard isTipPending else { return }
    isTipPending = false
    for index in 0..<ChartRange.allCases.count { writeHead(rings + index) }
  }

  /// Writes the newest price into the newest bucket, if it belongs there.
  private func writeHead(_ ring: UnsafeMutablePointer<Ring>) {
    let sinceStart = lastTime &- ring.pointee.headStart
    guard lastTime != Self.never, sinceStart >= 0 else { return }
    let slot = ring.pointee.offset &+ ring.pointee.headSlot
    closes[slot] = newestPrice
    times[slot] = UInt32(truncatingIfNeeded: sinceStart / 1_000)
  }

  /// Makes the bucket of `time` the newest of each ring in which it is not an older one.
  private mutating func roll(to time: Int64) {
    tipStart = floorDivide(time, Self.tipLength) &* Self.tipLength
    for index in 0..<ChartRange.allCases.count {
      let ring = rings + index
      let sinceHead = time &- ring.pointee.headStart
      if sinceHead < ring.pointee.length, !ring.pointee.isEmpty { continue }
      roll(ring, to: time, isAll: index == Int(ChartRange.all.rawValue))
    }
  }

  private mutating func roll(_ ring: UnsafeMutablePointer<Ring>, to time: Int64, isAll: Bool) {
    if !ring.pointee.isEmpty {
      writeHead(ring)
      if isAll { makeRoom(for: time, in: ring) }
    }
    let number = floorDivide(time, ring.pointee.length)
    if ring.pointee.isEmpty || number - ring.pointee.head >= ring.pointee.count {
      if lastTime != Self.never, lastTime >= ring.pointee.beforeTime {
        ring.pointee.before = newestPrice
        ring.pointee.beforeTime = lastTime
      }
      ring.pointee.isEmpty = false
      ring.pointee.head = number
      ring.pointee.low = number
      ring.pointee.headSlot = 0
      times[ring.pointee.offset] = Self.noTrade
    }
    while ring.pointee.head < number { extend(ring) }
    ring.pointee.headStart = number &* ring.pointee.length
  }

  private func extend(_ ring: UnsafeMutablePointer<Ring>) {
    ring.pointee.head += 1
    ring.pointee.headSlot = ring.pointee.headSlot + 1 == Int(ring.pointee.count) ? 0 : ring.pointee.headSlot + 1
    // The slot of the new bucket is still that of the oldest one.
    let slot = ring.pointee.offset &+ ring.pointee.headSlot
    if ring.pointee.head - ring.pointee.low >= ring.pointee.count {
      if times[slot] != Self.noTrade {
        ring.pointee.before = closes[slot]
        ring.pointee.beforeTime = ring.pointee.low &* ring.pointee.length &+ Int64(times[slot]) * 1_000
      }
      ring.pointee.low += 1
    }
    times[slot] = Self.noTrade
  }

  /// Puts a price into its bucket, if it is the last one there, or stores it as the price before the ring.
  /// - Parameter isRestored: then it need not be the newest price where it is the close of the newest bucket.
  private mutating func enter(
    _ price: Int64, _ time: Int64, in ring: UnsafeMutablePointer<Ring>, isRestored: Bool = false
  ) {
    let number = floorDivide(time, ring.pointee.length)
    guard ring.pointee.head - number < ring.pointee.count else {
      guard time >= ring.pointee.beforeTime else { return }
      ring.pointee.before = price
      ring.pointee.beforeTime = time
      ring.pointee.revision &+= 1
      changes &+= 1
      return
    }
    while ring.pointee.low > number {
      ring.pointee.low -= 1
      times[slot(ring.pointee.low, ring)] = Self.noTrade
    }
    let slot = slot(number, ring)
    let offset = UInt32(truncatingIfNeeded: (time &- number &* ring.pointee.length) / 1_000)
    guard times[slot] == Self.noTrade || offset >= times[slot] else { return }
    if number != ring.pointee.head || isRestored, times[slot] == Self.noTrade || closes[slot] != price {
      ring.pointee.revision &+= 1
      changes &+= 1
    }
    closes[slot] = price
    times[slot] = offset
  }

  /// Doubles the buckets of `all` until `time` and all that it has fit.
  private func makeRoom(for time: Int64, in ring: UnsafeMutablePointer<Ring>) {
    while ring.pointee.length < Self.longestBucket {
      let number = floorDivide(time, ring.pointee.length)
      guard max(number, ring.pointee.head) - min(number, ring.pointee.low) >= ring.pointee.count else { return }
      coarsen(ring)
    }
  }

  private func coarsen(_ ring: UnsafeMutablePointer<Ring>) {
    let numbers = ring.pointee.low...ring.pointee.head
    let old = numbers.map { number in
      (number: number, close: closes[slot(number, ring)], time: times[slot(number, ring)])
    }
    let half = UInt32(truncatingIfNeeded: ring.pointee.length / 1_000)
    ring.pointee.length *= 2
    ring.pointee.low = floorDivide(ring.pointee.low, 2)
    ring.pointee.head = floorDivide(ring.pointee.head, 2)
    ring.pointee.headStart = ring.pointee.head &* ring.pointee.length
    ring.pointee.revision &+= 1
    for number in ring.pointee.low...ring.pointee.head { times[slot(number, ring)] = Self.noTrade }
    for entry in old where entry.time != Self.noTrade {
      let slot = slot(floorDivide(entry.number, 2), ring)
      closes[slot] = entry.close
      times[slot] = entry.time + (floorRemainder(entry.number, 2) == 1 ? half : 0)
    }
  }
}
