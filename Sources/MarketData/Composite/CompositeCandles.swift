import Bytes

/// Several venues' candles of one pair as one: volumes are summed, and prices cover all members.
package struct CompositeCandles: Sendable, Equatable {
  /// One venue's candles of one interval, in order of time.
  package struct Part: Sendable {
    package var instrument: Instrument
    package var candles: [Candle]
    package init(instrument: Instrument, candles: [Candle]) {
      self.instrument = instrument
      self.candles = candles
    }
  }

  /// The composite as an instrument, with the number 0 and the widest scales of its members.
  package var instrument: Instrument
  /// In order of time, each once.
  package private(set) var candles: [Candle] = []

  /// Merges the candles of each time. Open and close are those of the member with the most volume in the interval, of
  /// equal ones the first venue by name; high and low those of all members that traded. An interval without trades
  /// repeats the close before it. It is partial if a member's candle is, or is missing. A candle that does not fit at
  /// the common scales is left out. O(n log n) in the candles.
  /// - Parameter symbol: `composite:BTC-USD`.
  package init(_ symbol: String, _ parts: [Part]) {
    let parts = parts.sorted { $0.instrument.venue < $1.instrument.venue }
    let first = parts.first?.instrument
    instrument = Instrument(
      id: InstrumentID(0), venue: "composite", venueSymbol: symbol, base: first?.base ?? "", quote: first?.quote ?? "",
      priceScale: parts.map(\.instrument.priceScale).max() ?? 0,
      sizeScale: parts.map(\.instrument.sizeScale).max() ?? 0)
    var byTime: [Timestamp: [Candle]] = [:]
    for part in parts {
      for candle in part.candles {
        guard let wider = Self.wider(candle, part.instrument, instrument) else { continue }
        byTime[candle.time, default: []].append(wider)
      }
    }
    var before: Int64?
    for time in byTime.keys.sorted() {
      let merged = Self.merge(byTime[time] ?? [], of: parts.count, after: before)
      before = merged.close
      candles.append(merged)
    }
  }

  /// - Parameter candles: of one time, at least one, in the order of their venues.
  private static func merge(_ candles: [Candle], of members: Int, after before: Int64?) -> Candle {
    let traded = candles.filter { $0.volume > 0 }
    var merged = traded.first ?? candles[0]
    if traded.isEmpty, let before {
      (merged.open, merged.high, merged.low, merged.close) = (before, before, before, before)
    }
    for candle in traded where candle.volume > merged.volume {
      merged = candle
    }
    merged.high = traded.map(\.high).max() ?? merged.high
    merged.low = traded.map(\.low).min() ?? merged.low
    merged.volume = 0
    merged.quoteVolume = 0
    merged.trades = 0
    for candle in traded {
      let (volume, overflow) = merged.volume.addingReportingOverflow(candle.volume)
      merged.volume = overflow ? .max : volume
      merged.quoteVolume = sum(merged.quoteVolume, candle.quoteVolume)
      merged.trades = sum(merged.trades, candle.trades)
    }
    merged.rev = candles.reduce(0) { $0 &+ $1.rev }
    merged.isClosed = candles.allSatisfy(\.isClosed)
    let isWhole = candles.count == members && candles.allSatisfy { $0.source != .partial }
    merged.source = !isWhole ? .partial : candles.contains { $0.source == .venue } ? .venue : .own
    return merged
  }

  private static func sum<T: FixedWidthInteger>(_ a: T?, _ b: T?) -> T? {
    guard let a, let b else { return nil }
    let (sum, overflow) = a.addingReportingOverflow(b)
    return overflow ? nil : sum
  }

  /// The candle at the scales of another instrument; nil if it does not fit.
  private static func wider(_ candle: Candle, _ own: Instrument, _ common: Instrument) -> Candle? {
    let prices = Int64(clamping: DecimalText.power(common.priceScale - own.priceScale))
    let sizes = Int64(clamping: DecimalText.power(common.sizeScale - own.sizeScale))
    var wider = candle
    wider.instrument = common.id
    for path in [\Candle.open, \.high, \.low, \.close] {
      let (value, overflow) = candle[keyPath: path].multipliedReportingOverflow(by: prices)
      guard !overflow else { return nil }
      wider[keyPath: path] = value
    }
    let (volume, overflow) = candle.volume.multipliedReportingOverflow(by: Int128(sizes))
    guard !overflow else { return nil }
    wider.volume = volume
    wider.quoteVolume = candle.quoteVolume.flatMap {
      let (value, isOver) = $0.multipliedReportingOverflow(by: Int128(prices) * Int128(sizes))
      return isOver ? nil : value
    }
    return wider
  }
}

extension CompositeCandles {
  /// The line of a range that ends at `now`, with its change, and the figures of the minutes that are known. The
  /// candles
  /// must be of an interval that is not longer than the range's buckets, or of minutes. O(candles + buckets).
  /// - Parameter price: the last price, which is the last point.
  package func line(
    _ range: ChartRange, points: Int, price: Int64?, now: Timestamp
  ) -> (line: Sparkline, figures: WindowFigures) {
    var chart = Chart()
    _ = chart.restore(candles.filter(\.isClosed), of: instrument.id, now: now)
    if let price { _ = chart.add(price: price, size: 0, time: now, now: now) }
    var line = chart.line(range, points: points, now: now)
    if let last = line.points.last, let open = line.open {
      line.change = PriceChange(from: open, to: last, of: instrument)
    }
    return (line, chart.figures(now: now))
  }
}

extension ChartRange {
  /// The candles that a line of the range is made of, and how many.
  package var candles: (interval: CandleInterval, count: Int) {
    switch self {
    case .hour: (.minute, 60)
    case .day: (.minute, 1_440)
    case .week: (.quarterHour, 672)
    case .month: (.hour, 720)
    case .quarter: (.fourHours, 540)
    case .year: (.day, 365)
    case .all: (.day, 1_440)
    }
  }
}
