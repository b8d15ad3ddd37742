import Bytes
import MarketData

/// A trade of one market, by the venue's own name for it.
struct TradeKey: TradeName {
  let instrument: Int32
  let id: TradeID

  func isAfter(_ other: TradeKey) -> Bool { false }
}

/// The trades of two connections of one feed while both are there: each is to be published once.
///
/// Before the change, what the old connection publishes is noted and what the new one gets is held; at the change,
/// what is held and was not published is published; after it, what comes from the new connection and had been
/// published is left out, for `tail`. Confined to the feed's loop.
final class TradeOverlap {
  /// A trade of the new connection, at the scales that it was read with.
  struct Held {
    var key: TradeKey
    var trade: Trade
    var priceScale: UInt8
    var sizeScale: UInt8
  }

  /// How much later than the old connection the new one may bring a trade, µs.
  static let tail = 30 * Microseconds.second

  /// Trades that are remembered, and trades that are held: more than half a minute of the busiest venue.
  static let limit = 65_536

  private var published = TradeOverlap.newMemory
  private var received = TradeOverlap.newMemory
  private var held: [Held] = []
  private var pruneAt = 1_024
  /// Published since the new connection was to have everything, and not had by it yet.
  private var missing: [TradeKey: Timestamp] = [:]
  private var isComparing = false
  /// Instruments that the new connection is not to have, by their indices.
  var ignored: Set<Int32> = []
  /// When trades need not be looked at any more; nil before the change.
  private(set) var endsAt: Timestamp?
  private(set) var droppedTwice = 0

  /// The old connection's trade of `time` is about to be published.
  /// - Parameter isAwaited: whether the new connection brings it, too: not what REST has brought.
  func willPublish(_ key: TradeKey, at time: Timestamp, isAwaited: Bool = true, now: Timestamp) {
    // A trade without a name cannot be recognised.
    if !key.id.isEmpty { published.insert(key, at: time) }
    guard isComparing, isAwaited, !ignored.contains(key.instrument), !key.id.isEmpty,
      missing.count < Self.limit, !received.contains(key, at: time)
    else { return }
    missing[key] = now
  }

  /// The new connection got a trade.
  func hold(_ trade: Held) {
    if !trade.key.id.isEmpty { received.insert(trade.key, at: trade.trade.time) }
    missing[trade.key] = nil
    guard !isPublished(trade) else { return }
    if held.count >= pruneAt {
      held.removeAll(where: isPublished)
      if held.count >= Self.limit { held.removeFirst(held.count / 2) }
      pruneAt = max(1_024, held.count * 2)
    }
    held.append(trade)
  }

  /// From now on the new connection is to have every trade of the old one.
  func compare() {
    missing.removeAll()
    isComparing = true
  }

  /// When the first trade was published that the new connection still lacks.
  var missingSince: Timestamp? { missing.values.min() }

  /// The change: the trades to be published now, in the order they came. What came before them is known by its name
  /// for `tail` longer.
  func change(now: Timestamp) -> [Held] {
    let rest = held.filter { !isPublished($0) }
    held = []
    missing = [:]
    isComparing = false
    received = Self.newMemory
    endsAt = now + Self.tail
    return rest
  }

  /// Two connections may date the same trade that far apart.
  private static var newMemory: SeenTrades<TradeKey> { SeenTrades(limit: limit, tolerance: Market.clockTolerance) }

  private func isPublished(_ held: Held) -> Bool { published.contains(held.key, at: held.trade.time) }

  /// Whether a trade of the new connection has been published from the old one.
  func isKnown(_ key: TradeKey, at time: Timestamp) -> Bool {
    guard published.contains(key, at: time) else { return false }
    droppedTwice += 1
    return true
  }
}
