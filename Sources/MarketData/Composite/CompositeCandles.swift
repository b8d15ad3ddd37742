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

  /// How many candles before the first one are read, for the close that it repeats if nothing was traded in it. If
  /// nothing was traded in those either, it has the price of the first venue by name.
  package static let lead = 60

  /// The composite as an instrument, with the number 0 and the widest scales of its members.
  package var instrument: Instrument
  /// In order of time, each once.
  package private(set) var candles: [Candle] = []

  /// Merges the candles of each time. Open and close are those of the member with the most volume in the interval, of
  /// equal ones the first venue by name; high and low those of all members that traded. An interval without trades
  /// repeats the close before it. It is partial if a member's candle is, or is missing. A candle that does not fit at
  /// the common scales is left out. O(candles × members).
  /// - Parameter symbol: `composite:BTC-USD`.
  package init(_ symbol: String, _ parts: [Part]) {
    let parts = parts.sorted { $0.instrument.venue < $1.instrument.venue }
    let first = parts.first?.instrument
    instrument = Instrument(
      id: InstrumentID(0), venue: "composite", venueSymbol: symbol, base: first?.base ?? "", quote: first?.quote ?? "",
      priceScale: parts.map(\.instrument.priceScale).max() ?? 0,
      sizeScale: parts.map(\.instrument.sizeScale).max() ?? 0)
    let common = instrument
    candles = Self.merge(parts.map { part in part.candles.compactMap { $0.wider(part.instrument, common) } })
  }

  /// Merges candles of one interval at common scales, as `init` does.
  /// - Parameters:
  ///   - sides: by member in the order of their venues, each in order of time; empty for a member without candles.
  ///   - from: leaves out those before.
  ///   - before: the close before the first, if it is known.
  static func merge(_ sides: [[Candle]], from: Timestamp = .distantPast, after before: Int64? = nil) -> [Candle] {
    var before = before
    var next = sides.map { side in side.firstIndex { $0.time >= from } ?? side.count }
    var merged: [Candle] = []
    var together: [Candle] = []
    while true {
      var time: Timestamp?
      for (index, side) in sides.enumerated() where next[index] < side.count {
        time = min(time ?? .distantFuture, side[next[index]].time)
      }
      guard let time else { return merged }
      together.removeAll(keepingCapacity: true)
      for (index, side) in sides.enumerated() where next[index] < side.count && side[next[index]].time == time {
        together.append(side[next[index]])
        next[index] += 1
      }
      let candle = merge(together, of: sides.count, after: before)
      before = candle.close
      merged.append(candle)
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
}

extension Candle {
  /// The candle at the scales of a composite, whose instrument it then names; nil if it does not fit, or if a scale of
  /// the composite is narrower.
  func wider(_ own: Instrument, _ common: Instrument) -> Candle? {
    guard common.priceScale >= own.priceScale, common.sizeScale >= own.sizeScale else { return nil }
    let prices = Int64(clamping: DecimalText.power(common.priceScale - own.priceScale))
    let sizes = Int64(clamping: DecimalText.power(common.sizeScale - own.sizeScale))
    var wider = self
    wider.instrument = common.id
    for path in [\Candle.open, \.high, \.low, \.close] {
      let (value, overflow) = self[keyPath: path].multipliedReportingOverflow(by: prices)
      guard !overflow else { return nil }
      wider[keyPath: path] = value
    }
    let (volume, overflow) = volume.multipliedReportingOverflow(by: Int128(sizes))
    guard !overflow else { return nil }
    wider.volume = volume
    wider.quoteVolume = quoteVolume.flatMap {
      let (value, isOver) = $0.multipliedReportingOverflow(by: Int128(prices) * Int128(sizes))
      return isOver ? nil : value
    }
    return wider
  }
}

extension CompositeCandles {
  /// The line of a range that ends at `now`, with its change, and the figures of the last 24 h that the candles cover.
  /// The candles must be of the range's interval (`ChartRange.candles`). O(candles + points).
  /// - Parameter price: the last price, which is the last point.
  package func line(
    _ range: ChartRange, points: Int, price: Int64?, now: Timestamp
  ) -> (line: Sparkline, figures: WindowFigures) {
    let state = CompositeMarket(self, of: range.candles.interval, price: price).state
    return (state.sparkline(range, points: points, now: now), state.dayFigures(now: now))
  }
}

extension ChartRange {
  /// The candles that a composite's line of the range is made of, and how many, with `CompositeCandles.lead` and one
  /// that is open.
  package var candles: (interval: CandleInterval, count: Int) {
    let more = CompositeCandles.lead + 1
    return switch self {
    case .hour: (.minute, 60 + more)
    case .day: (.minute, 1_440 + more)
    case .week: (.quarterHour, 672 + more)
    case .month: (.hour, 720 + more)
    case .quarter: (.fourHours, 540 + more)
    case .year: (.day, 365 + more)
    case .all: (.day, 1_440 + more)
    }
  }
}
