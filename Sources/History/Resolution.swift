import MarketData

/// The lengths of stored candles.
package enum Resolution: Int, Sendable, CaseIterable, Comparable {
  case minute, quarter, hour, day

  /// µs.
  package var length: Int64 {
    switch self {
    case .minute: Microseconds.minute
    case .quarter: 15 * Microseconds.minute
    case .hour: Microseconds.hour
    case .day: Microseconds.day
    }
  }

  /// As in requests and on the command line: `1m`.
  package var name: String {
    switch self {
    case .minute: "1m"
    case .quarter: "15m"
    case .hour: "1h"
    case .day: "1d"
    }
  }

  package init?(name: String) {
    guard let match = Self.allCases.first(where: { $0.name == name }) else { return nil }
    self = match
  }

  /// The resolution whose candles this one's are computed from.
  package var finer: Resolution? { Resolution(rawValue: rawValue - 1) }

  package static func < (a: Resolution, b: Resolution) -> Bool { a.rawValue < b.rawValue }

  var table: String { "candle_\(name)" }

  /// The number of the interval that contains `time`, counted from 1970.
  func number(of time: Timestamp) -> Int64 {
    let (quotient, remainder) = time.microseconds.quotientAndRemainder(dividingBy: length)
    return remainder < 0 ? quotient - 1 : quotient
  }

  /// When interval `number` begins; the nearest readable moment if the calendar ends before.
  func start(of number: Int64) -> Timestamp {
    Timestamp(reading: number, unit: length) ?? Timestamp(clamping: number < 0 ? .min : .max)
  }
}
