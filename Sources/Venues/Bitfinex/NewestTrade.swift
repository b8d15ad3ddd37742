import MarketData

/// The newest trade of a market on earlier connections, by its number and, apart from that, its time.
struct NewestTrade {
  private var number: UInt64 = 0
  private var time = Timestamp.distantPast

  mutating func note(_ trade: Trade) {
    number = max(number, trade.id.number ?? 0)
    time = max(time, trade.time)
  }

  /// Whether a trade from before a subscription has not come yet: it has a higher number, or a later time under
  /// whatever number.
  func isOlder(than trade: Trade) -> Bool {
    guard let other = trade.id.number, other > 0 else { return true }
    return other > number || trade.time > time
  }
}
