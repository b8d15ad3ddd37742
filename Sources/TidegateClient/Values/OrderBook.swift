import Foundation

/// The order book of one market, merged from the gateway's snapshot and updates: always whole.
///
/// Levels are sorted, the best first. The client changes it in place: O(log n) to find a level and O(n) to insert one.
public struct OrderBook: Sendable, Hashable {
  /// A level: the total size at one price.
  public struct Level: Sendable, Hashable {
    /// The price of the level.
    public var price: ExactDecimal
    /// The amount at it.
    public var size: ExactDecimal
  }

  /// A level as a depth chart draws it.
  public struct DepthLevel: Sendable, Hashable {
    /// The price of the level.
    public var price: ExactDecimal
    /// The amount at it.
    public var size: ExactDecimal
    /// The amount at it and at all better prices, exact.
    public var total: ExactDecimal
    /// `total` over the larger total of the two sides, 0…1: the length of the bar.
    public var share: Double
  }

  /// The same number of best levels of both sides.
  public struct Depth: Sendable, Hashable {
    /// Best first.
    public var bids: [DepthLevel], asks: [DepthLevel]
  }

  /// `kraken:BTC-USD`.
  public let symbol: String
  /// Bids, highest first.
  public internal(set) var bids: [Level] = []
  /// Asks, lowest first.
  public internal(set) var asks: [Level] = []
  /// When it last changed.
  public internal(set) var time: Date

  /// An empty book.
  public init(symbol: String, time: Date) {
    self.symbol = symbol
    self.time = time
  }

  /// The highest bid.
  public var bestBid: Level? { bids.first }
  /// The lowest ask.
  public var bestAsk: Level? { asks.first }

  /// Best ask minus best bid, exact; nil if a side is empty.
  public var spread: ExactDecimal? {
    guard let bid = bids.first, let ask = asks.first else { return nil }
    return ask.price - bid.price
  }

  /// The middle of best bid and best ask, exact; nil if a side is empty.
  public var mid: ExactDecimal? {
    guard let bid = bids.first, let ask = asks.first else { return nil }
    return .middle(bid.price, ask.price)
  }

  /// The spread in percent of the middle, with four digits, rounded half to even; nil if a side is empty.
  public var spreadPercent: ExactDecimal? {
    guard let spread, let mid else { return nil }
    return spread.percent(of: mid, digits: 4)
  }

  /// The `count` best levels of each side with their running totals. O(count).
  public func depth(_ count: Int) -> Depth {
    func rows(_ side: [Level]) -> [DepthLevel] {
      var total = ExactDecimal.zero
      return side.prefix(max(0, count)).map { level in
        total += level.size
        return DepthLevel(price: level.price, size: level.size, total: total, share: 0)
      }
    }
    var depth = Depth(bids: rows(bids), asks: rows(asks))
    let whole = max(depth.bids.last?.total ?? 0, depth.asks.last?.total ?? 0).doubleValue
    guard whole > 0, whole.isFinite else { return depth }
    for index in depth.bids.indices { depth.bids[index].share = depth.bids[index].total.doubleValue / whole }
    for index in depth.asks.indices { depth.asks[index].share = depth.asks[index].total.doubleValue / whole }
    return depth
  }

  // MARK: Merging

  /// Replaces everything. O(n log n).
  mutating func replace(with levels: BookLevels) {
    bids = Self.ordered(levels.bids, sign: -1)
    asks = Self.ordered(levels.asks, sign: 1)
    time = levels.time
  }

  /// With more changed levels of a side than this, the whole side is merged: an inserted level moves all levels after
  /// it, and a gateway may send any number of them.
  private static let placedLimit = 64

  /// Applies changed levels. O(n) for each of a few, O(n log n) for many.
  mutating func update(with levels: BookLevels) {
    Self.apply(levels.bids, to: &bids, sign: -1)
    Self.apply(levels.asks, to: &asks, sign: 1)
    time = levels.time
  }

  private static func apply(_ changes: [Level], to side: inout [Level], sign: Int) {
    guard changes.count > placedLimit else {
      for level in changes { set(level, in: &side, sign: sign) }
      return
    }
    // The latest level of each price.
    var latest: [ExactDecimal: Level] = [:]
    for level in changes { latest[level.price] = level }
    side = ordered(side.filter { latest[$0.price] == nil } + latest.values, sign: sign)
  }

  /// Sorted, the best first, each price once, without levels of size zero.
  private static func ordered(_ levels: [Level], sign: Int) -> [Level] {
    var side: [Level] = []
    side.reserveCapacity(levels.count)
    let sorted = levels.lazy.filter { $0.size > 0 }.sorted { ExactDecimal.order($0.price, $1.price) * sign < 0 }
    for level in sorted where side.last.map({ $0.price != level.price }) ?? true { side.append(level) }
    return side
  }

  private static func set(_ level: Level, in side: inout [Level], sign: Int) {
    var low = 0
    var high = side.count
    while low < high {
      let middle = (low + high) / 2
      if ExactDecimal.order(side[middle].price, level.price) * sign < 0 { low = middle + 1 } else { high = middle }
    }
    let isThere = low < side.count && side[low].price == level.price
    if level.size <= 0 {
      if isThere { side.remove(at: low) }
    } else if isThere {
      side[low] = level
    } else {
      side.insert(level, at: low)
    }
  }
}

/// Levels as the gateway sends them: all in a snapshot, the changed ones in an update, where size zero removes.
struct BookLevels: Sendable, Equatable {
  var bids: [OrderBook.Level] = []
  var asks: [OrderBook.Level] = []
  var time: Date
}
