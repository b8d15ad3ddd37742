import MarketData

/// How many connections a venue takes from one address in a span of time.
package struct ConnectLimit: Sendable, Equatable {
  package let count: Int
  /// µs
  package let interval: Int64

  package init(count: Int, interval: Int64) {
    precondition(count > 0 && interval > 0)
    self.count = count
    self.interval = interval
  }

  /// Where a venue says nothing: one a second is taken everywhere.
  package static let usual = ConnectLimit(count: 60, interval: Microseconds.minute)
}
