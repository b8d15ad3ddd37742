/// A rate with a burst of one second's worth, as the generic cell rate algorithm keeps it (ITU-T I.371): each bucket is
/// one number, the theoretical arrival time of the next event, and nothing is refilled.
package struct Rate: Sendable, Equatable {
  /// The time that one event costs, µs.
  private let increment: Int64
  /// How far the arrival time may be ahead, µs.
  private let tolerance: Int64

  /// - Parameter perSecond: 1…1,000,000.
  package init(perSecond: Int) {
    precondition((1...1_000_000).contains(perSecond), "a rate is 1 to 1,000,000 per second")
    increment = 1_000_000 / Int64(perSecond)
    tolerance = 1_000_000 - increment
  }

  /// Counts an event at `now` (µs) and returns nil if it is within the rate. Otherwise counts nothing and returns the
  /// µs after which it would be.
  package func take(_ arrival: inout Int64, now: Int64) -> Int64? {
    let ahead = max(arrival, now) - now
    guard ahead <= tolerance else { return ahead - tolerance }
    arrival = now + ahead + increment
    return nil
  }
}
