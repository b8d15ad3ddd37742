/// The length of a candle. Candles open at multiples of it since 1970-01-01T00:00:00 UTC.
package enum CandleInterval: UInt8, Sendable, CaseIterable {
  case minute, fiveMinutes, quarterHour, hour, fourHours, day

  /// As in requests: `1m`, `5m`, `15m`, `1h`, `4h`, `1d`.
  package var name: String {
    switch self {
    case .minute: "1m"
    case .fiveMinutes: "5m"
    case .quarterHour: "15m"
    case .hour: "1h"
    case .fourHours: "4h"
    case .day: "1d"
    }
  }

  package init?(name: String) {
    guard let interval = Self.allCases.first(where: { $0.name == name }) else { return nil }
    self = interval
  }

  /// In minutes: 1…1,440.
  package var minutes: Int64 {
    switch self {
    case .minute: 1
    case .fiveMinutes: 5
    case .quarterHour: 15
    case .hour: 60
    case .fourHours: 240
    case .day: 1_440
    }
  }

  /// In µs.
  package var length: Int64 { minutes * Microseconds.minute }

  /// The open time of the candle that a moment belongs to.
  package func start(of time: Timestamp) -> Timestamp {
    Timestamp(microseconds: floorDivide(time.rawValue, length) * length)
  }
}

/// The source of a candle.
package enum CandleSource: UInt8, Sendable {
  /// Made of trades; the gateway watched the market for the whole interval.
  case own
  /// Made of trades; the gateway did not watch the whole interval, so trades may be missing.
  case partial
  /// The venue's own candle, or one that includes a venue's minute.
  case venue

  /// As in messages: `own`, `partial`, `venue`.
  package var name: String {
    switch self {
    case .own: "own"
    case .partial: "partial"
    case .venue: "venue"
    }
  }
}

/// The trades of one instrument over one interval.
///
/// This is the seam to a store of candles.
/// - **Out**: `Market.apply` and `Market.advance` append each candle that closes to `MarketChanges.candles`, and name
///   the new ones in a `MarketChange.candles`. A candle closes once, 1 s after its interval ended, whether or not a
///   trade came. A trade that arrives after that makes the candle appear again with a higher `rev`, at most once a
///   second. A store therefore replaces what it has under (instrument, interval, time) if `rev` is not lower.
/// - **In**: `Market.restore(_:of:now:)` takes closed candles, from a store or from a venue, in any order, before or
///   after trades. Every chart shows the close of a candle; the charts whose buckets are as long as its interval or
///   longer, and `1h` for a minute, then count its time as observed. `1m` candles of the last day also fill candles and
///   24 h statistics. Where the gateway watched a whole minute itself, its own figures stay.
///   `Market.restore(open:)` takes the minutes that an earlier run left open, and the trades of this run complete them.
///
/// Prices are counts of 10^-`priceScale` and sizes of 10^-`sizeScale` of the instrument **at the moment the candle was
/// made**. Both scales may widen later (`MarketChange.instrument`), so a store keeps them beside the numbers.
package struct Candle: Sendable, Equatable {
  /// The largest volume and quote volume, and the largest number of trades, of a candle from outside: sums over the
  /// candles of a day fit.
  package static let volumeLimit: Int128 = 1 << 120 - 1
  package static let tradeLimit: Int64 = 1 << 53 - 1

  package var instrument: InstrumentID
  package var interval: CandleInterval
  /// When the interval begins: a multiple of its length.
  package var time: Timestamp
  /// At the price scale, like the next three. A quiet interval has the previous price in all four.
  package var open: Int64
  package var high: Int64
  package var low: Int64
  package var close: Int64
  /// At the size scale, 0 or more.
  package var volume: Int128
  /// At the price scale plus the size scale, 0 or more; nil if a venue does not say.
  package var quoteVolume: Int128?
  /// 0 or more; nil if a venue does not say.
  package var trades: Int64?
  /// How often late trades changed the candle after its close. For a longer candle: the sum over its minutes.
  package var rev: UInt32
  package var source: CandleSource
  /// Whether the interval and its grace time are over.
  package var isClosed: Bool

  package init(
    instrument: InstrumentID, interval: CandleInterval, time: Timestamp, open: Int64, high: Int64, low: Int64,
    close: Int64, volume: Int128, quoteVolume: Int128?, trades: Int64?, rev: UInt32 = 0, source: CandleSource,
    isClosed: Bool
  ) {
    self.instrument = instrument
    self.interval = interval
    self.time = time
    self.open = open
    self.high = high
    self.low = low
    self.close = close
    self.volume = volume
    self.quoteVolume = quoteVolume
    self.trades = trades
    self.rev = rev
    self.source = source
    self.isClosed = isClosed
  }

  /// The end of the interval, exclusive.
  package var end: Timestamp { time + interval.length }
}
