/// How much a client's compressed requests may grow to in a second: a few bytes become thousands, so what they cost is not bounded
/// by what comes in, and the request rate is looked at when it has been paid.
struct InflateBudget {
  /// Bytes a second.
  let limit: UInt64
  private var since: Int64
  private var before: UInt64 = 0

  /// Twice what the client may ask for: its full rate of requests of the full size. At the defaults 2.6 MB, some 10 ms of a core.
  init(requestsPerSecond: Int, messageBytes: Int, now: Int64) {
    limit = 2 * UInt64(max(requestsPerSecond, 1)) * UInt64(max(messageBytes, 1))
    since = now
  }

  /// Whether `total` bytes since the connection began are within the budget at `now`, monotonic µs.
  mutating func allows(_ total: UInt64, at now: Int64) -> Bool {
    if now - since >= 1_000_000 {
      since = now
      before = total
      return true
    }
    return total - before <= limit
  }
}
