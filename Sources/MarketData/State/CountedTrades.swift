/// Which trades the charts of an instrument already have, so that what a venue sends at the beginning of a subscription
/// counts once: some begin each with their last trades, and after a lost connection those are mostly known.
struct CountedTrades {
  /// Ids kept of one time. Beyond that, a trade from before a subscription that has that time counts as known.
  static let limit = 64

  /// From which time on, and up to which, trades have come; nil before the first.
  private var span: (from: Timestamp, newest: Timestamp)?
  /// Those of the newest time.
  private var ids: [TradeID] = []
  /// Whether a connection was lost, and no trade has come since that is newer than all before.
  private var isResuming = false

  /// Notes a trade that counts. O(1).
  mutating func note(_ trade: Trade, at time: Timestamp) {
    guard let known = span, time <= known.newest else {
      span = (span?.from ?? time, time)
      isResuming = false
      ids.removeAll(keepingCapacity: true)
      return ids.append(trade.id)
    }
    if time == known.newest, ids.count < Self.limit { ids.append(trade.id) }
  }

  /// The charts have everything until a trade of an earlier run, that one included.
  mutating func restore(until trade: Trade) {
    guard span == nil else { return }
    span = (.distantPast, trade.time)
    ids = [trade.id]
  }

  mutating func disconnected() { isResuming = span != nil }

  mutating func removeAll() { self = CountedTrades() }

  /// Whether a trade has been counted. One that is no backlog is known only if it is exactly the newest again, after a
  /// lost connection. O(1), at most O(`limit`).
  func contains(_ trade: Trade, at time: Timestamp) -> Bool {
    guard trade.isBacklog || isResuming, let span, time <= span.newest else { return false }
    if time < span.newest { return trade.isBacklog && time >= span.from }
    if !trade.id.isEmpty, ids.contains(trade.id) { return true }
    return trade.isBacklog && ids.count == Self.limit
  }
}

extension Chart {
  /// Whether the minute of `time` was observed from its beginning to its end, or restored whole. O(log spans).
  func hasWholeMinute(of time: Timestamp) -> Bool {
    let start = Timestamp(microseconds: MinuteRing.number(of: time) &* Microseconds.minute)
    return coverage[Int(ChartRange.day.rawValue)].covers(TimeSpan(from: start, to: start + Microseconds.minute))
  }

  /// Whether the minute of `time` has a price.
  func hasMinute(of time: Timestamp) -> Bool { minutes.minute(MinuteRing.number(of: time)) != nil }
}
