import Bytes

/// What longs paid shorts at one moment.
package struct FundingSettlement: Sendable, Equatable {
  package var time: Timestamp
  /// A fraction of the position's value.
  package var rate: Decimal64

  package init(time: Timestamp, rate: Decimal64) {
    self.time = time
    self.rate = rate
  }
}

/// The last settlements of a perpetual's funding as its venue lists them, oldest first, one a moment; at most `limit`.
/// Allocates only at the first one.
package struct FundingHistory: Sendable {
  /// 333 days of a market that settles each 8 h.
  package static let limit = 1_000

  package private(set) var settlements: [FundingSettlement] = []

  package init() {}

  /// Takes settlements in any order. A venue may correct a rate. One that is still to come is left out. Returns whether
  /// something changed. O(n log n).
  mutating func take(_ new: [FundingSettlement], now: Timestamp) -> Bool {
    var byTime: [Timestamp: Decimal64] = [:]
    for settlement in settlements + new where settlement.time <= now { byTime[settlement.time] = settlement.rate }
    let all = byTime.map { FundingSettlement(time: $0.key, rate: $0.value) }.sorted { $0.time < $1.time }
    let kept = Array(all.suffix(Self.limit))
    guard kept != settlements else { return false }
    settlements = kept
    return true
  }

  /// The last `count`, oldest first.
  package func last(_ count: Int) -> ArraySlice<FundingSettlement> { settlements.suffix(count) }
}
