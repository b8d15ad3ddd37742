import MarketData

/// Weight that may be spent in any minute, wherever it begins.
///
/// Counted by seconds: what was spent in one comes back when a minute has passed since that second ended, so up to a
/// second late and never early. 61 numbers, however many requests there are.
struct MinuteBudget {
  private static let slots = 61

  /// Weight a minute.
  var limit: Int
  private var spent = Array(repeating: 0, count: slots)
  private var sum = 0
  /// The newest second that was told.
  private var second: Int64?

  init(limit: Int) { self.limit = limit }

  /// What may be spent now. A time before the newest one counts as that. O(1); O(61) after a pause.
  mutating func left(now: Timestamp) -> Int {
    advance(now)
    return max(0, limit - sum)
  }

  mutating func spend(_ weight: Int, now: Timestamp) {
    advance(now)
    spent[Self.slot(second ?? 0)] += weight
    sum += weight
  }

  private static func slot(_ second: Int64) -> Int {
    Int(((second % Int64(slots)) + Int64(slots)) % Int64(slots))
  }

  private mutating func advance(_ now: Timestamp) {
    let new = now.microseconds / Microseconds.second
    guard let old = second else {
      second = new
      return
    }
    guard new > old else { return }
    second = new
    if new - old >= Int64(Self.slots) {
      spent = Array(repeating: 0, count: Self.slots)
      sum = 0
      return
    }
    for passed in (old + 1)...new {
      sum -= spent[Self.slot(passed)]
      spent[Self.slot(passed)] = 0
    }
  }
}
