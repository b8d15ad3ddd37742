import Bytes
import MarketData

/// A figure of a market that rules watch.
struct Series {
  var source: UInt32
  var measure: AlertThreshold.Measure
  var scale: UInt8
  /// Whether its feed, or its book, is live.
  var isLive = false
  /// Whether `value` is from the present live time.
  var hasValue = false
  private(set) var value: Int64 = 0
  /// Leaves that watch it.
  var leafCount: Int32 = 0
  var upper = HintHeap<LevelHint>(fewest: 64)
  /// Levels are complemented (`~level`), so that the highest is first.
  var lower = HintHeap<LevelHint>(fewest: 64)
  /// Leaves of rules of several conditions.
  var treeLeaves: [UInt32] = []

  /// Sets the value. The ends of `Int64` are levels that no value reaches: those beyond the range of the scale
  /// (`LeafLevels`), and the first of an empty heap. A leaf that such a value reached would wait for it again at once,
  /// without end.
  mutating func set(_ figure: Int64) { value = min(max(figure, .min + 1), .max - 1) }
}

/// A market with its feed and its book.
struct Source {
  /// Whether a part is live, and when it was last not.
  struct Part {
    var isLive = false
    /// When it ceased to be live, and when it became live again, steady µs.
    var left: Int64
    var back: Int64 = .min
    /// Staleness leaves that watch it.
    var leaves: [UInt32] = []
  }

  let symbol: String
  var priceScale: UInt8 = 0
  var sizeScale: UInt8 = 0
  let price: UInt32
  var spread: UInt32?
  var spreadPercent: UInt32?
  var depths: [UInt32] = []
  /// The series of what only perpetuals and dated futures have.
  var contracts: [UInt32] = []
  /// Change windows, as indices of the engine's table.
  var windows: [UInt32] = []
  var bid: Int64 = 0
  var ask: Int64 = 0
  var feed: Part
  var book: Part
}

/// The prices of a window in 60 equal parts, for its change in percent.
///
/// The reference is the last price of the part before the oldest: 60 to 61 parts ago. It is unknown if the feed was not
/// live at the end of that part.
struct ChangeWindow {
  static let parts: Int64 = 60
  private static let ring = Int(parts) + 2

  let source: UInt32
  let series: UInt32
  /// Length of a part, µs.
  let width: Int64
  /// The part that `closes` are complete before.
  private var part: Int64
  private var closes: ContiguousArray<Int64?>
  /// When the window is evaluated next, steady µs.
  var wake: Int64 = .max
  /// The `watchingFrom` that the status of its rules shows.
  var shownFrom: Int64?

  init(source: UInt32, series: UInt32, minutes: UInt16, steady: Int64) {
    self.source = source
    self.series = series
    width = Int64(minutes) * Microseconds.minute / Self.parts
    part = floorDivide(steady, width)
    closes = ContiguousArray(repeating: nil, count: Self.ring)
  }

  /// Ends the parts before `steady` with `last`, the price at the end of each; nil: not known.
  mutating func roll(to steady: Int64, last: Int64?) {
    let now = floorDivide(steady, width)
    guard now > part else { return }
    for ended in max(part, now - Int64(Self.ring))..<now { closes[slot(ended)] = last }
    part = now
  }

  /// When the present part ends.
  var end: Int64 { (part + 1) * width }

  /// The reference price; nil if it is not known.
  var reference: Int64? { closes[slot(part - Self.parts - 1)] }

  mutating func rescale(by factor: Int64?) {
    for index in closes.indices {
      guard let close = closes[index] else { continue }
      let product = factor.map { close.multipliedReportingOverflow(by: $0) }
      closes[index] = product.flatMap { $0.overflow ? nil : $0.partialValue }
    }
  }

  /// From when on the reference is known if prices go on, steady µs; nil: it is known now. O(`parts`).
  var watchingFrom: Int64? {
    guard reference == nil else { return nil }
    let last = part + Self.parts + 1
    let first = (part + 1..<last).first { closes[slot($0 - Self.parts - 1)] != nil }
    return (first ?? last) * width
  }

  /// How much older than the end of a part a price may be that stands for it: the closes of minutes.
  private static let reach = Microseconds.minute
  /// The shortest window that closes of minutes are exact enough for, in minutes: they shift its beginning by a tenth.
  static let shortestPrimed: Int64 = 10

  /// Fills unknown parts with prices from before the window existed, in order of time (steady µs).
  mutating func prime(_ samples: [(steady: Int64, price: Int64)]) {
    guard width >= Self.shortestPrimed * Microseconds.minute / Self.parts else { return }
    var next = 0
    for ended in (part - Int64(Self.ring) + 1)..<part {
      let end = (ended + 1) * width
      while next < samples.count, samples[next].steady <= end { next += 1 }
      guard next > 0, closes[slot(ended)] == nil, end - samples[next - 1].steady < Self.reach else { continue }
      closes[slot(ended)] = samples[next - 1].price
    }
  }

  private func slot(_ part: Int64) -> Int { Int(floorModulo(part, Int64(Self.ring))) }
}
