import Foundation
import MarketData

@testable import VenueSimulator

/// A bar as a test has read it from a venue's answer.
struct ReadCandle: Equatable {
  /// When it opens, ms since 1970.
  var start: Int64
  var open: Double
  var high: Double
  var low: Double
  var close: Double
  /// In the units that the venue counts volumes of bars in.
  var volume: Double
  var trades: Int64?
  /// What the row says of itself; nil if it says nothing.
  var isClosed: Bool?
}

/// How one venue's candles are asked for and read, written from what is known of the venue and sharing nothing with its
/// simulation.
struct CandleSheet: Sendable, CustomStringConvertible {
  struct Request {
    var path: String
    var query: [(name: String, value: String)] = []
    /// Of a POST.
    var body: String?
  }

  let venue: String
  /// By the venue's name.
  let symbol: String
  /// Of 1, 5, 15 minutes, 1, 4 and 24 hours; nil for one that there is not.
  let names: [String?]
  var isNewestFirst = false
  /// Whether an interval without a trade has a row.
  var isFilled = true
  /// Whether the bar under way comes with the others.
  var hasRunning = true
  /// How far behind midnight UTC a day begins, hours.
  var dayOffset: Int64 = 0
  let request: @Sendable (_ symbol: String, _ interval: String, _ from: Int64, _ to: Int64) -> Request
  let rows: @Sendable (Any) -> [Any]
  let read: @Sendable (Any) -> ReadCandle?

  var description: String { "\(venue) \(symbol)" }

  static let lengths: [Int64] = [60, 300, 900, 3_600, 14_400, 86_400]

  /// Asks for the bars that open from `from` to `to`, in seconds since 1970; nil if the answer is a refusal.
  func ask(_ simulated: SimulatedVenue, _ interval: String, _ from: Int64, _ to: Int64) -> [ReadCandle]? {
    let response = Self.answer(simulated, request(symbol, interval, from, to))
    guard response.status == 200, let json = Self.json(response.body) else { return nil }
    return rows(json).compactMap(read)
  }

  static func answer(_ simulated: SimulatedVenue, _ request: Request) -> SimulatedResponse {
    guard let body = request.body else { return simulated.respond(path: request.path, query: request.query) }
    return Array(body.utf8).withUnsafeBytes { simulated.respond(path: request.path, body: RawSpan(_unsafeBytes: $0)) }
  }

  static func json(_ text: String) -> Any? {
    try? JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)
  }

  /// The number in a field, bare or in quotes.
  static func number(_ value: Any?) -> Double? { (value as? String).flatMap(Double.init) ?? (value as? Double) }

  /// A row whose fields stand at these places; the time in units of `unit` ms.
  static func array(
    unit: Int64, open: Int, high: Int, low: Int, close: Int, volume: Int, trades: Int? = nil, closed: Int? = nil,
    count: Int
  ) -> @Sendable (Any) -> ReadCandle? {
    { row in
      guard let row = row as? [Any], row.count == count else { return nil }
      let numbers = row.map(number)
      guard let start = numbers[0], let o = numbers[open], let h = numbers[high], let l = numbers[low],
        let c = numbers[close], let v = numbers[volume]
      else { return nil }
      return ReadCandle(
        start: Int64(start) * unit, open: o, high: h, low: l, close: c, volume: v,
        trades: trades.flatMap { numbers[$0] }.map { Int64($0) },
        isClosed: closed.flatMap { row[$0] as? String }.map { $0 == "1" || $0 == "true" })
    }
  }

  static func object(
    unit: Int64, start: String, names: [String], trades: String? = nil
  ) -> @Sendable (Any) -> ReadCandle? {
    { row in
      guard let row = row as? [String: Any], let start = number(row[start]) else { return nil }
      let numbers = (names + (trades.map { [$0] } ?? [])).compactMap { number(row[$0]) }
      guard numbers.count == (trades == nil ? 5 : 6) else { return nil }
      return ReadCandle(
        start: Int64(start) * unit, open: numbers[0], high: numbers[1], low: numbers[2], close: numbers[3],
        volume: numbers[4], trades: trades == nil ? nil : Int64(numbers[5]))
    }
  }

  static func list(_ keys: String...) -> @Sendable (Any) -> [Any] {
    { json in
      var value: Any? = json
      for key in keys { value = (value as? [String: Any])?[key] }
      return value as? [Any] ?? []
    }
  }

  static func iso(_ seconds: Int64) -> String {
    let format = ISO8601DateFormatter()
    return format.string(from: Date(timeIntervalSince1970: TimeInterval(seconds)))
  }

  static let all = SimulationRegistry.trials.flatMap { $0.candleSheets }
}
