/// A moment: microseconds since 1970-01-01T00:00:00 UTC.
///
/// `now` parameters are timestamps of the gateway's own clock, which never goes back: it runs on the monotonic clock
/// and is set by the wall clock. Venue times are those that the venue sends.
@frozen
@usableFromInline
package struct Timestamp: Sendable, Hashable, Comparable, RawRepresentable {
  @usableFromInline package var rawValue: Int64

  @inlinable package init(rawValue: Int64) { self.rawValue = rawValue }
  @inlinable package init(microseconds: Int64) { self.rawValue = microseconds }
  @inlinable package init(milliseconds: Int64) { self.rawValue = milliseconds * 1000 }

  /// Microseconds since 1970.
  @inlinable package var microseconds: Int64 { rawValue }

  @inlinable package static func < (a: Timestamp, b: Timestamp) -> Bool { a.rawValue < b.rawValue }
  /// Adds microseconds.
  @inlinable package static func + (a: Timestamp, b: Int64) -> Timestamp { Timestamp(rawValue: a.rawValue &+ b) }
  /// Subtracts microseconds.
  @inlinable package static func - (a: Timestamp, b: Int64) -> Timestamp { Timestamp(rawValue: a.rawValue &- b) }
  /// Microseconds from `b` to `a`.
  @inlinable package static func - (a: Timestamp, b: Timestamp) -> Int64 { a.rawValue &- b.rawValue }

  /// A moment before every other one: "never".
  package static let distantPast = Timestamp(rawValue: .min / 2)
  /// A moment after every other one.
  package static let distantFuture = Timestamp(rawValue: .max / 2)
}

/// Moments from outside: of a client, a venue, a file or a store.
extension Timestamp {
  /// The moments that outside data may name: the years 1970 to 9999. No sum of a few of them, in µs, overflows.
  package static let readable = Timestamp(rawValue: 0)...Timestamp(rawValue: 253_402_300_799_999_999)

  /// The moment that is `number` units after 1970 began; nil if it is not `readable`.
  /// - Parameter unit: in µs, above 0.
  package init?(reading number: Int64, unit: Int64 = 1) {
    let (value, overflow) = number.multipliedReportingOverflow(by: unit)
    guard !overflow, Self.readable.contains(Timestamp(rawValue: value)) else { return nil }
    self.init(rawValue: value)
  }

  /// The nearest `readable` moment, for a store, whose other columns stay valid whatever one says.
  package init(clamping microseconds: Int64) {
    self = min(max(Timestamp(rawValue: microseconds), Self.readable.lowerBound), Self.readable.upperBound)
  }
}

/// Spans of time in microseconds, the unit of `Timestamp` differences.
package enum Microseconds {
  package static let millisecond: Int64 = 1_000
  package static let second: Int64 = 1_000_000
  package static let minute: Int64 = 60_000_000
  package static let hour: Int64 = 3_600_000_000
  package static let day: Int64 = 86_400_000_000
}
