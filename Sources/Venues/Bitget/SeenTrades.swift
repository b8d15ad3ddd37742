import MarketData

/// The newest trades of a market, by their numbers, as the venue begins a subscription with trades that it has sent
/// before. Bounded: 4 KB a market.
struct SeenTrades {
  /// More than any first message is said to have.
  static let limit = 512

  private var newest: UInt64 = 0
  private var numbers: [UInt64] = []
  private var oldest = 0

  /// Whether the trade has not been seen yet. Numbers rise, so that hardly ever one has to be looked for.
  mutating func insert(_ number: UInt64) -> Bool {
    if number <= newest, numbers.contains(number) { return false }
    newest = max(newest, number)
    if numbers.count < Self.limit {
      numbers.append(number)
    } else {
      numbers[oldest] = number
      oldest = (oldest + 1) % Self.limit
    }
    return true
  }
}
