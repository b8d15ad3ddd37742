import MarketData

extension Resolution {
  /// The same length as the market's type.
  package var interval: CandleInterval {
    switch self {
    case .minute: .minute
    case .quarter: .quarterHour
    case .hour: .hour
    case .day: .day
    }
  }
}

extension StoredCandle {
  /// Makes a stored candle of a market's, with the present scales of its instrument.
  package init(_ candle: Candle, of instrument: Instrument) {
    let quality: Quality =
      switch candle.source {
      case .own: .own
      case .partial: .partial
      case .venue: .venue
      }
    self.init(
      start: candle.time, open: candle.open, high: candle.high, low: candle.low, close: candle.close,
      volume: candle.volume, quoteVolume: candle.quoteVolume, trades: candle.trades, priceScale: instrument.priceScale,
      sizeScale: instrument.sizeScale, quality: quality, revision: candle.rev)
  }

  /// The candle for the market, at the present scales of its instrument; nil if it has more digits.
  package func candle(of instrument: Instrument, _ interval: CandleInterval) -> Candle? {
    guard let candle = rescaled(priceScale: instrument.priceScale, sizeScale: instrument.sizeScale) else { return nil }
    let source: CandleSource =
      switch quality {
      case .own: .own
      case .partial: .partial
      case .venue, .mixed: .venue
      }
    return Candle(
      instrument: instrument.id, interval: interval, time: start, open: candle.open, high: candle.high,
      low: candle.low, close: candle.close, volume: candle.volume, quoteVolume: candle.quoteVolume,
      trades: candle.trades, rev: revision, source: source, isClosed: true)
  }
}

extension HistoryRange {
  /// The candles, with one for each covered interval without a trade: at the price before it, without volume.
  /// O(intervals).
  /// - Parameter end: the end of the time to fill.
  package func filled(_ resolution: Resolution, until end: Timestamp) -> [StoredCandle] {
    guard let first = candles.first else { return [] }
    var result: [StoredCandle] = []
    result.reserveCapacity(candles.count)
    var gapIndex = 0
    var previous = first
    func add(from start: Timestamp, to end: Timestamp) {
      var time = max(start, resolution.start(of: resolution.number(of: coveredFrom ?? end)))
      if let coveredFrom, time < coveredFrom { time = time + resolution.length }
      while time + resolution.length <= end {
        while gapIndex < gaps.count, gaps[gapIndex].end <= time { gapIndex += 1 }
        if gapIndex == gaps.count || gaps[gapIndex].start >= time + resolution.length {
          var quiet = previous
          quiet.start = time
          (quiet.open, quiet.high, quiet.low) = (quiet.close, quiet.close, quiet.close)
          (quiet.volume, quiet.quoteVolume, quiet.trades) = (0, 0, 0)
          quiet.revision = 0
          quiet.quality = .mixed
          result.append(quiet)
        }
        time = time + resolution.length
      }
    }
    for candle in candles {
      if let last = result.last { add(from: last.start + resolution.length, to: candle.start) }
      result.append(candle)
      previous = candle
    }
    add(from: previous.start + resolution.length, to: end)
    return result
  }
}
