import Bytes
import MarketData

/// Every trade kept, and everything worked out from all of them each time: slow and plain, to compare `Chart` with.
struct NaiveChart {
  struct Entry {
    var price: Int64
    var size: Int64
    /// µs, whole milliseconds.
    var time: Int64
  }

  /// By time, of equal times by arrival.
  private(set) var entries: [Entry] = []
  /// The newest time seen: of a trade, or of `now`.
  private(set) var head = Int64.min
  /// The length of a bucket of `all`, and when its oldest trade was.
  private(set) var allLength = Microseconds.day
  private var allFirst = Int64.max
  private var observed: [(from: Int64, to: Int64)] = []
  private var observedSince: Int64?
  /// Minutes before it are closed.
  private(set) var closedBefore: Int64?
  private var revs: [Int64: UInt32] = [:]
  private(set) var late: Set<Int64> = []

  static func floor(_ a: Int64, _ b: Int64) -> Int64 { a / b - (a % b < 0 ? 1 : 0) }
  static func minute(_ time: Int64) -> Int64 { floor(time, Microseconds.minute) }

  // MARK: What happens

  mutating func add(price: Int64, size: Int64, time: Int64, now: Int64) {
    if closedBefore == nil { closedBefore = Self.minute(now - Microseconds.second) }
    let time = Self.floor(time, 1_000) * 1_000
    let number = Self.minute(time)
    if entries.isEmpty { head = now }
    let oldHead = head
    let isKept = number > Self.minute(oldHead) - 1_456
    let index = entries.lastIndex { $0.time <= time }.map { $0 + 1 } ?? 0
    entries.insert(Entry(price: price, size: size, time: time), at: index)
    head = max(head, time)
    // A trade from before the ring of `all` is only the price before it.
    let bucket = Self.floor(time, allLength)
    if bucket > Self.floor(oldHead, allLength) - Int64(ChartRange.all.bucketCount) { allFirst = min(allFirst, time) }
    growAll()
    if let closedBefore, number < closedBefore, isKept, late.insert(number).inserted {
      revs[number] = min((revs[number] ?? 0) + 1, 255)
    }
  }

  private mutating func growAll() {
    guard allFirst != .max else { return }
    while allLength < 16 * Microseconds.day,
      Self.floor(head, allLength) - Self.floor(allFirst, allLength) >= Int64(ChartRange.all.bucketCount)
    {
      allLength *= 2
    }
  }

  mutating func advance(to now: Int64) {
    guard !entries.isEmpty else { return }
    head = max(head, now)
    growAll()
  }

  mutating func begin(at now: Int64) { observedSince = observedSince ?? now }

  mutating func end(at time: Int64) {
    if let since = observedSince, since < time { observed.append((since, time)) }
    observedSince = nil
  }

  mutating func rescale(priceBy: Int64, sizeBy: Int64) {
    for index in entries.indices {
      entries[index].price *= priceBy
      entries[index].size *= sizeBy
    }
  }

  /// Where the trades from `time` on begin.
  private func index(of time: Int64) -> Int {
    var (low, high) = (0, entries.count)
    while low < high {
      let middle = (low + high) / 2
      if entries[middle].time < time { low = middle + 1 } else { high = middle }
    }
    return low
  }

  // MARK: Lines

  func length(_ range: ChartRange) -> Int64 { range == .all ? allLength : range.bucketLength }

  /// Points, the start of the first, and the price at it.
  func line(
    _ range: ChartRange, points n: Int, now: Int64
  ) -> (from: Int64, step: Int64, points: [Int64], open: Int64?) {
    let length = length(range)
    let count = Int64(range.bucketCount)
    let last = Self.floor(max(head, now), length)
    var points = Int64(min(max(n, 1), range.bucketCount))
    var buckets = count
    var firstSlice: Int64
    var lastSlice: Int64
    if range == .all {
      let inRing = entries.first { Self.floor($0.time, length) > last - count && $0.time >= allFirst }
      let first = inRing.map { max(Self.floor($0.time, length), last - count + 1) } ?? last
      var width: Int64 = 1
      while Self.floor(last, width) - Self.floor(first, width) >= points { width += 1 }
      buckets = width
      points = 1
      firstSlice = Self.floor(first, width)
      lastSlice = Self.floor(last, width)
    } else {
      lastSlice = Self.floor(last * points, buckets)
      firstSlice = lastSlice - points + 1
    }
    var line: [Int64] = []
    var from = Self.floor(lastSlice * buckets * length, points)
    var next = 0
    var price: Int64?
    let before = entries.last { Self.floor(Self.floor($0.time, length) * points, buckets) < firstSlice }
    for slice in firstSlice...lastSlice {
      while next < entries.count, Self.floor(Self.floor(entries[next].time, length) * points, buckets) <= slice {
        price = entries[next].price
        next += 1
      }
      guard let price else { continue }
      if line.isEmpty { from = Self.floor(slice * buckets * length, points) }
      line.append(price)
    }
    return (from, length * buckets / points, line, line.isEmpty ? nil : (before ?? entries.first)?.price)
  }

  // MARK: Figures

  func figures(now: Int64) -> WindowFigures {
    let last = Self.minute(max(head, now))
    let trades = entries.filter { Self.minute($0.time) > last - 1_440 }
    var figures = WindowFigures()
    figures.open = trades.first?.price
    figures.last = trades.last?.price
    figures.high = trades.map(\.price).max()
    figures.low = trades.map(\.price).min()
    for trade in trades {
      figures.volume += Int128(trade.size)
      figures.quoteVolume! += Int128(trade.size) * Int128(trade.price)
    }
    figures.trades = Int64(trades.count)
    return figures
  }

  // MARK: Coverage

  func isObserved(_ from: Int64, _ to: Int64) -> Bool {
    if let since = observedSince, since <= from { return true }
    return observed.contains { $0.from <= from && $0.to >= to }
  }

  func isObservedInPart(_ from: Int64, _ to: Int64) -> Bool {
    if let since = observedSince, since < to { return true }
    return observed.contains { $0.from < to && $0.to > from }
  }

  // MARK: Candles

  /// - Parameter start: its first minute.
  func candle(_ interval: CandleInterval, _ start: Int64, now: Int64) -> Candle? {
    let time = start * Microseconds.minute
    let trades = entries[index(of: time)..<index(of: time + interval.length)]
    let known = max(time, min(time + interval.length, now))
    let isCovered = isObserved(time, known)
    var candle = Candle(
      instrument: .init(0), interval: interval, time: Timestamp(microseconds: time), open: 0, high: 0, low: 0, close: 0,
      volume: 0, quoteVolume: 0, trades: Int64(trades.count), source: isCovered ? .own : .partial,
      isClosed: start + interval.minutes <= closedBefore ?? .min)
    if let first = trades.first, let last = trades.last {
      candle.open = first.price
      candle.close = last.price
      candle.high = trades.map(\.price).max()!
      candle.low = trades.map(\.price).min()!
      for trade in trades {
        candle.volume += Int128(trade.size)
        candle.quoteVolume! += Int128(trade.size) * Int128(trade.price)
      }
      candle.rev = (start..<(start + interval.minutes)).reduce(0) { $0 + (revs[$1] ?? 0) }
    } else {
      guard isObservedInPart(time, known) || known == time, let before = entries[..<index(of: time)].last else {
        return nil
      }
      (candle.open, candle.high, candle.low, candle.close) = (before.price, before.price, before.price, before.price)
    }
    return candle
  }

  /// Whether nothing of a candle has been forgotten.
  func isWhole(_ start: Int64) -> Bool { start > Self.minute(head) - 1_456 }

  /// The candles that close by `now`.
  mutating func close(now: Int64) -> [Candle] {
    advance(to: now)
    guard !entries.isEmpty else { return [] }
    let end = Self.minute(now - Microseconds.second)
    var candles: [Candle] = []
    for minute in max(closedBefore ?? end, end - 1_440)..<max(end, closedBefore ?? end) {
      closedBefore = minute + 1
      for interval in CandleInterval.allCases where (minute + 1) % interval.minutes == 0 {
        let start = minute + 1 - interval.minutes
        if isWhole(start), let candle = candle(interval, start, now: now) { candles.append(candle) }
      }
    }
    return candles
  }

  mutating func reissue(now: Int64) -> [Candle] {
    var candles: [Candle] = []
    var issued: Set<[Int64]> = []
    for minute in late.sorted() {
      for interval in CandleInterval.allCases {
        let start = Self.floor(minute, interval.minutes) * interval.minutes
        guard start + interval.minutes <= closedBefore!, isWhole(start),
          issued.insert([interval.minutes, start]).inserted, let candle = candle(interval, start, now: now)
        else { continue }
        candles.append(candle)
      }
    }
    late = []
    return candles
  }
}
