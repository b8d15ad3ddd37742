import MarketData

/// Waits that double: `first`, 2 × `first` … `limit`. No randomness: these requests are paced, not a crowd of clients.
struct Backoff {
  let first: Int64
  let limit: Int64
  private(set) var failures = 0

  init(first: Int64, limit: Int64) {
    self.first = first
    self.limit = limit
  }

  /// How long to wait after one more failure, µs.
  mutating func next() -> Int64 {
    let wait = min(limit, first << min(failures, 20))
    failures += 1
    return wait
  }

  mutating func reset() { failures = 0 }
}
