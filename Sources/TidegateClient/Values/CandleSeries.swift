import Foundation

/// The candles of one market at one interval, oldest first: the gateway's snapshot and what has changed since.
public struct CandleSeries: Sendable, Hashable {
  /// The trades of one interval.
  public struct Candle: Sendable, Hashable {
    /// When the interval begins.
    public var time: Date { Date(microseconds: start) }
    /// First, highest, lowest and last price.
    public internal(set) var open: ExactDecimal, high: ExactDecimal, low: ExactDecimal, close: ExactDecimal
    /// The volume, in the base and the quote currency; nil if unknown.
    public internal(set) var volume: ExactDecimal?, quoteVolume: ExactDecimal?
    /// The number of trades; nil if unknown.
    public internal(set) var trades: Int?
    /// Whether the interval is over. A late trade may still change it, with a higher `revision`.
    public internal(set) var isClosed: Bool
    /// Grows when a closed candle is corrected.
    public internal(set) var revision: Int
    /// The source of the candle.
    public internal(set) var source: CandleSource
    /// Microseconds since 1970, UTC.
    var start: Int64
  }

  /// `kraken:BTC-USD`.
  public let symbol: String
  /// The length of each candle.
  public let interval: CandleInterval
  /// Oldest first; a time that was not observed has none.
  public internal(set) var candles: [Candle] = []

  /// The number of newest candles that are kept. A snapshot has a hundred.
  public static let limit = 1_000

  init(symbol: String, interval: CandleInterval) {
    self.symbol = symbol
    self.interval = interval
  }

  /// The open candle; nil if the newest is closed.
  public var current: Candle? { candles.last.flatMap { $0.isClosed ? nil : $0 } }

  /// Replaces the candle with the same time, unless that one has a later revision. O(log n) for each, O(n) for one that
  /// is new and not the newest.
  mutating func merge(_ changes: [Candle]) {
    for candle in changes {
      var low = 0
      var high = candles.count
      while low < high {
        let middle = (low + high) / 2
        if candles[middle].start < candle.start { low = middle + 1 } else { high = middle }
      }
      if low < candles.count, candles[low].start == candle.start {
        let old = candles[low]
        // An open candle never replaces a closed one.
        guard candle.revision >= old.revision, candle.isClosed || !old.isClosed else { continue }
        candles[low] = candle
      } else {
        candles.insert(candle, at: low)
      }
    }
    if candles.count > Self.limit { candles.removeFirst(candles.count - Self.limit) }
  }
}

/// The length of a candle.
public enum CandleInterval: OpenState {
  case minute, fiveMinutes, quarterHour, hour, fourHours, day
  case unknown(String)

  /// The words that this version knows.
  public static let known: [CandleInterval] = [.minute, .fiveMinutes, .quarterHour, .hour, .fourHours, .day]

  /// The word on the wire.
  public var rawValue: String {
    switch self {
    case .minute: "1m"
    case .fiveMinutes: "5m"
    case .quarterHour: "15m"
    case .hour: "1h"
    case .fourHours: "4h"
    case .day: "1d"
    case .unknown(let text): text
    }
  }
}
