import Foundation

/// The price over a span of time, in evenly spaced points. Always whole: the client applies the gateway's changes.
public struct Sparkline: Sendable, Hashable {
  /// `kraken:BTC-USD`.
  public private(set) var symbol: String
  /// The span.
  public internal(set) var range: SparklineRange
  /// Prices, oldest first; nil if no price was known yet.
  public internal(set) var points: [ExactDecimal?] = []
  /// When the gateway began to observe the market, within the line; nil if it observed nothing of it. Points before it
  /// are known prices, but trades between them may be missing.
  public internal(set) var coveredFrom: Date?
  /// Times that were not observed: points in them repeat the price before. Do not draw them as observed.
  public internal(set) var gaps: [Range<Date>] = []
  /// The price at the beginning of the span, or the first known one: for `.day`, the ticker's price of 24 h ago. Nil
  /// while it is unknown.
  public internal(set) var open: ExactDecimal?
  /// From `open` to `last`: for `.day`, the ticker's change of 24 h. Nil while it is unknown.
  public internal(set) var change: ExactDecimal?
  /// `change` in percent, with two digits; nil while it is unknown.
  public internal(set) var changePercent: ExactDecimal?
  /// The sign of the change.
  public internal(set) var trend = Pulse.Direction.flat
  /// As on the wire: microseconds since 1970, and seconds.
  var start: Int64 = 0, stepSeconds: Int64 = 0

  /// The largest number of points, as the protocol says.
  static let pointsLimit = 1440

  init(symbol: String, range: SparklineRange) {
    self.symbol = symbol
    self.range = range
  }

  /// The same line with the name of its market.
  func of(_ symbol: String) -> Sparkline {
    var line = self
    line.symbol = symbol
    return line
  }

  /// The time of the first point.
  public var from: Date { Date(microseconds: start) }
  /// The time between two points.
  public var step: Duration { .seconds(stepSeconds) }

  /// The first known price.
  public var first: ExactDecimal? { points.lazy.compactMap(\.self).first }
  /// The last known price.
  public var last: ExactDecimal? { points.reversed().lazy.compactMap(\.self).first }

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

/// What a message says of the change over a line.
struct SparklineMove: Sendable, Hashable {
  var open: ExactDecimal?, change: ExactDecimal?, percent: ExactDecimal?
  var trend: String?

  var isEmpty: Bool { open == nil && change == nil && percent == nil && trend == nil }
}

extension Sparkline {
  /// Takes over what a message says. A gateway that says nothing is an older one: then the change is from the first
  /// point.
  mutating func take(_ move: SparklineMove) {
    open = move.isEmpty ? first : move.open
    change = move.isEmpty ? last.flatMap { last in first.map { last - $0 } } : move.change
    changePercent = move.percent
    trend =
      switch move.trend {
      case "up": .up
      case "down": .down
      case nil: change.map { $0 > 0 ? .up : $0 < 0 ? .down : .flat } ?? .flat
      default: .flat
      }
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
