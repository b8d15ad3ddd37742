import Bytes
import MarketData

/// The search for the trades of one hole.
struct TradeSearch {
  /// Answers that had none of the missing trades, after which the search ends. The venue's REST may be seconds behind
  /// its stream.
  static let attempts = 5
  /// Answers in all.
  static let pageLimit = 60
  /// How long the search goes on, µs; a lost connection counts.
  static let patience = 10 * Microseconds.minute
  /// How long the first request waits, µs: for trades that are on their way.
  static let delay = Microseconds.second

  var index: Int
  var hole: TradeHole
  /// What is missing, in rising order; never empty while the search goes on. At most one range more than numbers that
  /// were found.
  var missing: [ClosedRange<Int64>]
  /// What REST has brought; published when the search ends.
  var found: [Trade] = []
  var notBefore: Timestamp
  let givesUp: Timestamp
  var backoff = Backoff(first: Microseconds.second, limit: 8 * Microseconds.second)
  var pages = 0
  /// The request that is under way, and when it was sent.
  var request: (number: Int, sent: Timestamp)?
  /// Between these times the missing trades are, as far as answers have shown.
  var from: Timestamp
  var to: Timestamp

  init(index: Int, hole: TradeHole, now: Timestamp) {
    self.index = index
    self.hole = hole
    missing = [hole.first...hole.last]
    notBefore = now + Self.delay
    givesUp = now + Self.patience
    (from, to) = (hole.from, max(hole.from, hole.to))
  }

  /// Takes numbers out of what is missing. Returns how many of them were. O(ranges).
  mutating func remove(_ numbers: ClosedRange<Int64>) -> Int64 {
    var removed: Int64 = 0
    var index = missing.firstIndex { $0.upperBound >= numbers.lowerBound } ?? missing.count
    while index < missing.count, missing[index].lowerBound <= numbers.upperBound {
      let old = missing[index]
      let taken = old.clamped(to: numbers)
      removed += taken.upperBound - taken.lowerBound + 1
      var rest: [ClosedRange<Int64>] = []
      if old.lowerBound < taken.lowerBound { rest.append(old.lowerBound...(taken.lowerBound - 1)) }
      if old.upperBound > taken.upperBound { rest.append((taken.upperBound + 1)...old.upperBound) }
      missing.replaceSubrange(index...index, with: rest)
      index += rest.count
    }
    hole.found += removed
    return removed
  }

  func contains(_ number: Int64) -> Bool { missing.contains { $0.contains(number) } }

  /// Takes a page's trades. Returns whether one of them was missing.
  mutating func take(_ trades: [Trade]) -> Bool {
    guard let first = missing.first?.lowerBound, let last = missing.last?.upperBound else { return false }
    var isNews = false
    for trade in trades {
      guard let number = trade.id.number.flatMap({ Int64(exactly: $0) }), trade.price > 0, trade.size > 0 else {
        continue
      }
      if number < first {
        from = max(from, min(trade.time, to))
      } else if number > last {
        to = min(to, max(trade.time, from))
      } else if remove(number...number) > 0 {
        isNews = true
        var trade = trade
        trade.isLate = true
        found.append(trade)
      }
    }
    return isNews
  }

  /// Brings what was found to wider scales; what does not fit is missing again.
  mutating func rescale(priceBy: Int64, sizeBy: Int64) {
    for index in found.indices {
      let (price, isPriceLarge) = found[index].price.multipliedReportingOverflow(by: priceBy)
      let (size, isSizeLarge) = found[index].size.multipliedReportingOverflow(by: sizeBy)
      // Impossible: left out when it is published.
      (found[index].price, found[index].size) = isPriceLarge || isSizeLarge ? (0, 0) : (price, size)
    }
  }
}
