/// Trades summed up over one span of time.
package struct Bucket: Sendable, Equatable {
  package var open: Int64 = 0
  package var high: Int64 = 0
  package var low: Int64 = 0
  package var close: Int64 = 0
  /// At the size scale. Saturates at the ends of `Int128`.
  package var volume: Int128 = 0
  /// Sum of price × size, at the price scale plus the size scale. Saturates at the ends of `Int128`.
  package var quoteVolume: Int128 = 0
  /// Zero in a bucket that saw no trade; then the rest means nothing.
  package var trades: UInt32 = 0
  /// When in the bucket the first and the last trade were, in steps of 2^`timeShift` µs.
  var firstOffset: UInt32 = 0
  var lastOffset: UInt32 = 0

  init() {}
}

/// A fixed number of time buckets of one length, in one allocation: the newest is the one of the latest trade or of the
/// time last advanced to, and older ones fall out as time goes on.
///
/// Buckets start at multiples of their length since 1970. A late trade goes to its own bucket if that is still in the
/// ring, and opens and closes are those of the first and last trade by time, of equal times by arrival. `add` is O(1)
/// and `advance` amortised O(1); nothing is allocated after `init`. Memory is touched only as far back as there are
/// trades: 80 bytes per bucket.
package struct BucketRing: ~Copyable {
  /// What became of a trade.
  package enum Placement: Sendable, Equatable {
    /// In the newest bucket.
    case newest
    /// In an older bucket.
    case late
    /// Older than the ring; only remembered as the price before it, if there is no later one.
    case tooOld
  }

  /// The length of a bucket, µs.
  package let length: Int64
  /// How many buckets there are.
  package let count: Int
  /// How long all of them are together, µs.
  package var span: Int64 { length &* Int64(count) }

  /// The number of the newest bucket; `none` before the first trade. Bucket n starts at n × `length`.
  private(set) var head = BucketRing.none
  /// The oldest bucket that is in memory; those before it in the ring saw no trade.
  private(set) var low = BucketRing.none
  /// Price of the last trade by time, in the ring or before it; nil before the first.
  package private(set) var lastPrice: Int64?
  /// Raised by every trade.
  private(set) var revision: UInt32 = 0
  /// Raised when anything changed in a bucket other than the newest.
  package private(set) var lateRevision: UInt32 = 0
  /// Raised when the close of a bucket other than the newest changed, so that a line drawn before is wrong further
  /// back.
  package private(set) var closeRevision: UInt32 = 0

  private var headStart: Int64 = 0
  private var headSlot = 0
  /// The time of `lastPrice`, as exactly as buckets tell times apart.
  private var lastTime = Int64.min
  /// The last price before the ring.
  private var before: Int64?
  private var beforeTime: Int64 = .min
  private let timeShift: UInt8
  private let storage: UnsafeMutablePointer<Bucket>

  static let none = Int64.min

  /// The ring of a rolling day: 1,440 buckets of a minute.
  package static func day() -> BucketRing { BucketRing(length: Microseconds.minute, count: 1_440) }

  /// - Parameters:
  ///   - length: of a bucket, µs, 1 or more.
  ///   - count: of buckets, 1 or more.
  package init(length: Int64, count: Int) {
    precondition(length > 0 && count > 0, "a ring has buckets and they last")
    self.length = length
    self.count = count
    // So that an offset in a bucket fits in 32 bits: 32 µs steps in a bucket of a day.
    self.timeShift = UInt8(max(0, 32 - length.leadingZeroBitCount))
    self.storage = .allocate(capacity: count)
  }

  deinit { storage.deallocate() }

  /// Whether no trade has come yet.
  package var isEmpty: Bool { head == Self.none }

  /// The number of the bucket of a moment. O(1).
  package func number(of time: Timestamp) -> Int64 { floorDivide(time.rawValue, length) }

  /// Adds a trade at its own time. O(1), plus what `advance` costs.
  @discardableResult
  package mutating func add(price: Int64, size: Int64, time: Timestamp) -> Placement {
    let sinceHead = time.rawValue &- headStart
    if head != Self.none, sinceHead >= 0, sinceHead < length {
      add(price, size, offset: UInt32(truncatingIfNeeded: sinceHead >> Int64(timeShift)), slot: headSlot, number: head)
      return .newest
    }
    let number = number(of: time)
    if head == Self.none || number > head {
      roll(to: number)
      let offset = UInt32(truncatingIfNeeded: (time.rawValue &- headStart) >> Int64(timeShift))
      add(price, size, offset: offset, slot: headSlot, number: head)
      return .newest
    }
    guard head - number < Int64(count) else {
      let start = number &* length
      let offset = (time.rawValue &- start) >> Int64(timeShift)
      let time = start &+ offset << Int64(timeShift)
      if before == nil || time >= beforeTime {
        before = price
        beforeTime = time
        revision &+= 1
        lateRevision &+= 1
        closeRevision &+= 1
      }
      if time >= lastTime {
        lastPrice = price
        lastTime = time
      }
      return .tooOld
    }
    while low > number {
      low -= 1
      (storage + slot(low)).initialize(to: Bucket())
    }
    let slot = slot(number)
    let offset = UInt32(truncatingIfNeeded: (time.rawValue &- number &* length) >> Int64(timeShift))
    let wasEmpty = storage[slot].trades == 0
    let oldClose = storage[slot].close
    add(price, size, offset: offset, slot: slot, number: number)
    lateRevision &+= 1
    if wasEmpty || storage[slot].close != oldClose { closeRevision &+= 1 }
    return .late
  }

  /// Moves the newest bucket to the one of `now`; does nothing before the first trade or if it is there already.
  /// Returns whether it moved. Amortised O(1).
  @discardableResult
  package mutating func advance(to now: Timestamp) -> Bool {
    guard head != Self.none, now.rawValue &- headStart >= length else { return false }
    roll(to: number(of: now))
    return true
  }

  /// Forgets everything. O(1).
  package mutating func removeAll() {
    head = Self.none
    low = Self.none
    lastTime = .min
    lastPrice = nil
    before = nil
    beforeTime = .min
    lateRevision &+= 1
    closeRevision &+= 1
  }

  /// Multiplies prices and sizes by powers of ten after their scales were widened. O(n).
  /// Returns false, and forgets everything, if a price does not fit in an `Int64`.
  package mutating func rescale(priceBy: Int64, sizeBy: Int64) -> Bool {
    guard head != Self.none || before != nil else { return true }
    var overflowed = false
    func wider(_ price: Int64) -> Int64 {
      let (value, overflow) = price.multipliedReportingOverflow(by: priceBy)
      if overflow { overflowed = true }
      return value
    }
    if let old = before { before = wider(old) }
    if let old = lastPrice { lastPrice = wider(old) }
    if head != Self.none {
      for number in low...head where storage[slot(number)].trades > 0 {
        let bucket = storage + slot(number)
        bucket.pointee.open = wider(bucket.pointee.open)
        bucket.pointee.high = wider(bucket.pointee.high)
        bucket.pointee.low = wider(bucket.pointee.low)
        bucket.pointee.close = wider(bucket.pointee.close)
        bucket.pointee.volume = saturatingMultiply(bucket.pointee.volume, Int128(sizeBy))
        bucket.pointee.quoteVolume = saturatingMultiply(bucket.pointee.quoteVolume, Int128(priceBy) * Int128(sizeBy))
      }
    }
    lateRevision &+= 1
    closeRevision &+= 1
    if overflowed { removeAll() }
    return !overflowed
  }

  /// The bucket of a number, nil if it saw no trade or is not in the ring. O(1).
  package func bucket(_ number: Int64) -> Bucket? {
    guard head != Self.none, number >= low, number <= head else { return nil }
    let bucket = storage[slot(number)]
    return bucket.trades > 0 ? bucket : nil
  }

  /// The newest bucket of a window that ends at `now`.
  func windowHead(now: Timestamp) -> Int64 { max(head, number(of: now)) }

  /// The last price before bucket `number`. O(number − oldest bucket).
  func lastPrice(before number: Int64) -> Int64? {
    guard head != Self.none, number > low else { return before }
    var place = min(number - 1, head)
    while place >= low {
      let bucket = storage + slot(place)
      if bucket.pointee.trades > 0 { return bucket.pointee.close }
      place -= 1
    }
    return before
  }

  /// Whether a price from before bucket `number` is known. O(1): while nothing has fallen out, the oldest bucket has a
  /// trade.
  func hasPrice(before number: Int64) -> Bool { before != nil || (head != Self.none && low < number) }

  private func slot(_ number: Int64) -> Int {
    let slot = headSlot &- Int(truncatingIfNeeded: head &- number)
    return slot >= 0 ? slot : slot &+ count
  }

  private mutating func roll(to number: Int64) {
    if head == Self.none || number &- head >= Int64(count) {
      if head != Self.none, let last = lastPrice(before: head + 1) {
        before = last
        // No trade of a bucket is later than the newest of all.
        beforeTime = lastTime
      }
      headSlot = 0
      head = number
      low = number
      storage.initialize(to: Bucket())
    } else {
      while head < number {
        head += 1
        headSlot = headSlot + 1 == count ? 0 : headSlot + 1
        if head - low >= Int64(count) {
          // The slot of the new bucket is still that of the oldest one.
          let oldest = storage + headSlot
          if oldest.pointee.trades > 0 {
            before = oldest.pointee.close
            beforeTime = low &* length &+ Int64(oldest.pointee.lastOffset) << Int64(timeShift)
          }
          low += 1
        }
        (storage + headSlot).initialize(to: Bucket())
      }
    }
    headStart = head &* length
  }

  @inline(__always)
  private mutating func add(_ price: Int64, _ size: Int64, offset: UInt32, slot: Int, number: Int64) {
    let bucket = storage + slot
    let (high, low) = price.multipliedFullWidth(by: size)
    let value = Int128(_low: low, _high: high)
    if bucket.pointee.trades == 0 {
      bucket.pointee.open = price
      bucket.pointee.high = price
      bucket.pointee.low = price
      bucket.pointee.close = price
      bucket.pointee.firstOffset = offset
      bucket.pointee.lastOffset = offset
    } else {
      if price > bucket.pointee.high { bucket.pointee.high = price }
      if price < bucket.pointee.low { bucket.pointee.low = price }
      if offset < bucket.pointee.firstOffset {
        bucket.pointee.firstOffset = offset
        bucket.pointee.open = price
      }
      if offset >= bucket.pointee.lastOffset {
        bucket.pointee.lastOffset = offset
        bucket.pointee.close = price
      }
    }
    bucket.pointee.volume = saturatingAdd(bucket.pointee.volume, Int128(size))
    bucket.pointee.quoteVolume = saturatingAdd(bucket.pointee.quoteVolume, value)
    bucket.pointee.trades &+= bucket.pointee.trades == .max ? 0 : 1
    let time = number &* length &+ Int64(offset) << Int64(timeShift)
    if time >= lastTime {
      lastTime = time
      lastPrice = price
    }
    revision &+= 1
  }
}
