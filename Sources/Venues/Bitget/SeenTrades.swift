import MarketData

/// The newest trades of a market, by number and time, as the venue begins a subscription with trades that it has sent
/// before. A number at another time is another trade: the venue promises nothing of its numbers. Bounded: 8 KB a
/// market.
struct SeenTrades {
  /// More than any first message is said to have.
  static let limit = 512

  private var newest: UInt64 = 0
  private var trades: [(number: UInt64, time: Timestamp)] = []
  private var oldest = 0

  /// Whether the trade has not been seen yet. Numbers mostly rise, so that hardly ever one has to be looked for.
  mutating func insert(_ number: UInt64, at time: Timestamp) -> Bool {
    if number <= newest, trades.contains(where: { $0 == (number, time) }) { return false }
    newest = max(newest, number)
    if trades.count < Self.limit {
      trades.append((number, time))
    } else {
      trades[oldest] = (number, time)
      oldest = (oldest + 1) % Self.limit
    }
    return true
  }
}
