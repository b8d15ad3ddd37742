/// How far back a chart goes.
package enum ChartRange: UInt8, Sendable, CaseIterable {
  case hour, day, week, month, quarter, year, all

  /// As in requests: `1h`, `24h`, `7d`, `30d`, `90d`, `1y`, `all`.
  package var name: String {
    switch self {
    case .hour: "1h"
    case .day: "24h"
    case .week: "7d"
    case .month: "30d"
    case .quarter: "90d"
    case .year: "1y"
    case .all: "all"
    }
  }

  package init?(name: String) {
    guard let range = Self.allCases.first(where: { $0.name == name }) else { return nil }
    self = range
  }

  /// The length of a bucket, µs. For `all` it is the initial length, which doubles when the history no longer fits.
  package var bucketLength: Int64 {
    switch self {
    case .hour: 10 * Microseconds.second
    case .day: Microseconds.minute
    case .week: 15 * Microseconds.minute
    case .month: Microseconds.hour
    case .quarter: 4 * Microseconds.hour
    case .year, .all: Microseconds.day
    }
  }

  /// How many buckets there are.
  package var bucketCount: Int {
    switch self {
    case .hour: 360
    case .day: 1_440
    case .week: 672
    case .month: 720
    case .quarter: 540
    case .year: 365
    case .all: 980
    }
  }
}
