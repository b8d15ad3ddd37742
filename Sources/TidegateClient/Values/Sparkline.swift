import Foundation

/// The price over a span of time, in evenly spaced points. Always whole: the client applies the gateway's changes.
public struct Sparkline: Sendable, Hashable {
  /// `kraken:BTC-USD`.
  public let symbol: String
  /// The span.
  public internal(set) var range: SparklineRange
  /// Prices, oldest first; nil if no price was known yet.
  public internal(set) var points: [ExactDecimal?] = []
  /// When the gateway began to observe the market, within the line; nil if it observed nothing of it. Points before it
  /// are known prices, but trades between them may be missing.
  public internal(set) var coveredFrom: Date?
  /// Times that were not observed: points in them repeat the price before. Do not draw them as observed.
  public internal(set) var gaps: [Range<Date>] = []
  /// As on the wire: microseconds since 1970, and seconds.
  var start: Int64 = 0, stepSeconds: Int64 = 0

  /// The largest number of points, as the protocol says.
  static let pointsLimit = 1440

  init(symbol: String, range: SparklineRange) {
    self.symbol = symbol
    self.range = range
  }

  /// The time of the first point.
  public var from: Date { Date(microseconds: start) }
  /// The time between two points.
  public var step: Duration { .seconds(stepSeconds) }

  /// The first known price.
  public var first: ExactDecimal? { points.lazy.compactMap(\.self).first }
  /// The last known price.
  public var last: ExactDecimal? { points.reversed().lazy.compactMap(\.self).first }

  /// From `first` to `last`, exact; nil for an empty line.
  public var change: ExactDecimal? {
    guard let first, let last else { return nil }
    return last - first
  }

  /// The sign of `change`.
  public var trend: Pulse.Direction {
    guard let change else { return .flat }
    return change > 0 ? .up : change < 0 ? .down : .flat
  }

  /// Applies a change of the newest point: drops as many from the front as `from` moved by, and repeats the last one up
  /// to `index`, so that a line of less than the whole span grows. False if it does not fit this line.
  mutating func apply(index: Int64, price: ExactDecimal, from newStart: Int64?) -> Bool {
    guard let last = points.last, (0..<Int64(Self.pointsLimit)).contains(index) else { return false }
    var moved = 0
    if let newStart, newStart != start {
      // If the span does not divide evenly, a step is up to a second longer than `step`.
      let (step, isStepOver) = stepSeconds.multipliedReportingOverflow(by: 1_000_000)
      let (distance, isOver) = newStart.subtractingReportingOverflow(start)
      guard !isStepOver, !isOver, step > 0, distance > 0 else { return false }
      let rounded = distance / step + (distance % step >= step - step / 2 ? 1 : 0)
      moved = Int(min(rounded, Int64(points.count)))
    }
    guard Int(index) >= points.count - moved - 1 else { return false }
    points.removeFirst(moved)
    if let newStart {
      start = newStart
      let first = from
      gaps.removeAll { $0.upperBound <= first }
    }
    while points.count <= Int(index) { points.append(last) }
    points[Int(index)] = price
    return true
  }
}

/// The span of a sparkline.
public enum SparklineRange: OpenState {
  case hour, day, week, month, quarter, year, all
  case unknown(String)

  /// The words that this version knows.
  public static let known: [SparklineRange] = [.hour, .day, .week, .month, .quarter, .year, .all]

  /// The word on the wire.
  public var rawValue: String {
    switch self {
    case .hour: "1h"
    case .day: "24h"
    case .week: "7d"
    case .month: "30d"
    case .quarter: "90d"
    case .year: "1y"
    case .all: "all"
    case .unknown(let text): text
    }
  }
}
