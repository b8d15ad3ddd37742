/// An order book put together from snapshots and updates.
///
/// Levels stand best first. `apply` costs O(log n) to find a level and O(n) to insert one.
public struct BookView: Sendable, Equatable {
  /// Bids, highest first.
  public private(set) var bids: [BookLevel] = []
  /// Asks, lowest first.
  public private(set) var asks: [BookLevel] = []
  /// Microseconds since 1970, UTC, of the last change.
  public private(set) var time: Int64?
  /// Whether a snapshot has been applied since the last gap; updates are ignored until then.
  public private(set) var isSynced = false
  /// Whether it was synced when the connection ended, and so is again if the stream goes on where it stopped.
  private var wasSynced = false

  /// An empty book that waits for a snapshot.
  public init() {}

  /// Best ask minus best bid; nil if a side is empty.
  public var spread: Double? {
    guard let bid = bids.first, let ask = asks.first else { return nil }
    return ask.price.doubleValue - bid.price.doubleValue
  }

  /// Takes an event in; true if it changed this book. Feed it the events of one stream.
  @discardableResult
  public mutating func apply(_ event: TidegateEvent) -> Bool {
    switch event {
    case .snapshot(_, .book(let levels)): replace(with: levels)
    case .update(_, .book(let levels)) where isSynced: update(with: levels)
    case .gap(let info) where info.channel == .book, .moved(let info, _) where info.channel == .book:
      isSynced = false
      wasSynced = false
    case .outOfSync(let info, _) where info.channel == .book:
      isSynced = false
      wasSynced = false
    case .disconnected:
      wasSynced = isSynced || wasSynced
      isSynced = false
    case .recovered(let info) where info.channel == .book: isSynced = wasSynced
    default: return false
    }
    return true
  }

  /// Replaces everything. O(n log n).
  public mutating func replace(with levels: BookLevels) {
    bids = Self.ordered(levels.bids, sign: -1)
    asks = Self.ordered(levels.asks, sign: 1)
    time = levels.time
    isSynced = true
  }

  /// Best first, each price once.
  private static func ordered(_ levels: [BookLevel], sign: Int) -> [BookLevel] {
    var side: [BookLevel] = []
    for level in levels.lazy.filter({ !$0.size.isZero }).sorted(by: {
      ExactDecimal.order($0.price, $1.price) * sign < 0
    }) where side.last.map({ ExactDecimal.order($0.price, level.price) != 0 }) ?? true {
      side.append(level)
    }
    return side
  }

  /// Applies changed levels.
  public mutating func update(with levels: BookLevels) {
    for level in levels.bids { Self.set(level, in: &bids, sign: -1) }
    for level in levels.asks { Self.set(level, in: &asks, sign: 1) }
    time = levels.time ?? time
  }

  private static func set(_ level: BookLevel, in side: inout [BookLevel], sign: Int) {
    var low = 0
    var high = side.count
    while low < high {
      let middle = (low + high) / 2
      if ExactDecimal.order(side[middle].price, level.price) * sign < 0 { low = middle + 1 } else { high = middle }
    }
    let isThere = low < side.count && ExactDecimal.order(side[low].price, level.price) == 0
    if level.size.isZero {
      if isThere { side.remove(at: low) }
    } else if isThere {
      side[low] = level
    } else {
      side.insert(level, at: low)
    }
  }
}
