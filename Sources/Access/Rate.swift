/// A rate with a burst of one second's worth, as the generic cell rate algorithm keeps it (ITU-T I.371): one number per
/// bucket, the theoretical arrival time of the next event, and nothing to refill.
package struct Rate: Sendable, Equatable {
  /// Time that one event costs, µs.
  private let increment: Int64
  /// How far the arrival time may be ahead, µs.
  private let tolerance: Int64

  /// - Parameter perSecond: 1…1,000,000.
  package init(perSecond: Int) {
    precondition((1...1_000_000).contains(perSecond), "a rate is 1 to 1,000,000 per second")
    increment = 1_000_000 / Int64(perSecond)
    tolerance = 1_000_000 - increment
  }

  /// Counts an event at `now` (µs); nil if it is within the rate, else the µs after which it would be, and nothing is
  /// counted.
  package func take(_ arrival: inout Int64, now: Int64) -> Int64? {
    let ahead = max(arrival, now) - now
    guard ahead <= tolerance else { return ahead - tolerance }
    arrival = now + ahead + increment
    return nil
  }
}
