import MarketData

/// What a run restores of an instrument from the data file, at the instrument's scales.
///
/// The store has closed candles, and of each minute that was open when the earlier run ended the trades until then,
/// from the same moment as the last published trades. So the venue's trades after those complete these minutes, each
/// once.
package struct InstrumentPast: Sendable {
  /// Closed candles, coarse ones first.
  package var candles: [Candle]
  /// Minutes that this run may complete.
  package var open: [OpenMinute]
  /// The end of the earlier run's observation, from the beginning of the open minutes on.
  package var observed: TimeSpan?
  package var latest: LatestState?
  /// When the earlier run ceased to observe the instrument; nil if it never did.
  package var end: Timestamp?

  package init(_ stored: RestoredInstrument, of instrument: Instrument, now: Timestamp) {
    let minutes = stored.ranges[.minute]
    latest = stored.latest
    end = stored.gap?.start
    // Until then, an interval without a candle had no trade.
    let known = end ?? now
    candles = Resolution.allCases.reversed().flatMap { resolution -> [Candle] in
      stored.ranges[resolution]?.filled(resolution, until: known)
        .compactMap { $0.candle(of: instrument, resolution.interval) } ?? []
    }
    let present = Dictionary(
      (minutes?.candles ?? []).map { ($0.start, $0) }, uniquingKeysWith: { first, _ in first })
    open = (stored.latest?.minutes ?? []).compactMap { minute in
      // The candle of a minute that has closed since has the same trades and later ones.
      if let closed = present[minute.candle.start], !minute.candle.continues(closed) { return nil }
      guard var candle = minute.candle.candle(of: instrument, .minute) else { return nil }
      candle.isClosed = false
      return OpenMinute(candle: candle, closeTime: minute.closeTime)
    }
    let starts = Set(open.map(\.candle.time))
    candles.removeAll { $0.interval == .minute && starts.contains($0.time) }
    if let end, let covered = minutes?.coveredFrom {
      let first = open.first?.candle.time ?? CandleInterval.minute.start(of: end)
      let before = minutes?.gaps.last { $0.end <= end }?.end ?? covered
      let start = max(first, covered, before)
      if start < end { observed = TimeSpan(from: start, to: end) }
    }
  }

  /// Gives it to the market. The trades of this run must follow with `Market.bridge(after:)`.
  package func restore(_ market: Market, _ id: InstrumentID, now: Timestamp, into changes: inout MarketChanges) {
    _ = market.restore(candles, of: id, now: now, into: &changes)
    market.restore(open: open, observed: observed, of: id, now: now, into: &changes)
    if let trade = latest?.lastTrade(of: market[id].instrument) { _ = market.restore(lastTrade: trade) }
  }
}
