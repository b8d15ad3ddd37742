import Bytes

/// The state of a composite market that streams show: the merged book of its members, its price, and their merged
/// candles. It reports changes as a `Market` does, so the same publisher publishes them. Sans-IO.
///
/// Its owner passes what the members show, at most ten times a second. Between two calls nothing changes.
package final class CompositeMarket {
  /// The most levels a side.
  package static let depthLimit = 100
  /// Its number in its own market of one.
  private static let id = InstrumentID(0)

  package let state: InstrumentState
  /// The minute of the last roll of the lines.
  private var minute = Timestamp.distantPast

  /// - Parameter symbol: `composite:BTC-USD`.
  package convenience init(_ symbol: String) {
    let pair = symbol.drop { $0 != ":" }.dropFirst()
    let parts = pair.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
    self.init(
      Instrument(
        id: Self.id, venue: "composite", venueSymbol: symbol, base: String(parts[0]),
        quote: parts.count > 1 ? String(parts[1]) : "", priceScale: 0, sizeScale: 0))
  }

  private init(_ instrument: Instrument) {
    state = InstrumentState(
      instrument: instrument, book: OrderBook(depthLimit: Self.depthLimit), chart: Chart(uncharted: ()))
    state.composite = CompositeCharts()
  }

  /// A market of one moment, for an answer.
  convenience init(_ candles: CompositeCandles, of interval: CandleInterval, price: Int64?) {
    self.init(candles.instrument)
    var series = CompositeSeries(interval, limit: candles.candles.count)
    _ = series.restore([.init(instrument: candles.instrument, candles: candles.candles)], of: candles.instrument)
    state.composite?.series[Int(interval.rawValue)] = series
    state.composite?.price = price
  }

  // MARK: What is needed

  /// Sets how many candles of each interval are needed, by the interval's raw value; 0: none.
  package func want(_ counts: [Int]) {
    for interval in CandleInterval.allCases {
      let index = Int(interval.rawValue)
      guard counts[index] > 0 else {
        state.composite?.series[index] = nil
        continue
      }
      guard let limit = state.composite?.series[index]?.limit else {
        state.composite?.series[index] = CompositeSeries(interval, limit: counts[index])
        continue
      }
      if limit < counts[index] { state.composite?.series[index]?.invalidate() }
      state.composite?.series[index]?.limit = counts[index]
    }
  }

  /// The intervals whose history must be read, with the number of candles. Call `beginRestoring` when that begins.
  package var missing: [(interval: CandleInterval, count: Int)] {
    (state.composite?.series ?? []).compactMap { series in
      series.flatMap { $0.isIncomplete ? ($0.interval, $0.limit) : nil }
    }
  }

  /// All histories must be read again: a member came or went, or has another past.
  package func invalidate() {
    for interval in CandleInterval.allCases { state.composite?.series[Int(interval.rawValue)]?.invalidate() }
  }

  // MARK: What changed

  /// Adopts scales that are wider; others have no effect. Candles are then read again.
  package func widen(priceScale: UInt8, sizeScale: UInt8, now: Timestamp, into changes: inout MarketChanges) {
    var instrument = state.instrument
    instrument.priceScale = max(instrument.priceScale, priceScale)
    instrument.sizeScale = max(instrument.sizeScale, sizeScale)
    guard instrument != state.instrument else { return }
    state.composite?.price = nil
    for interval in CandleInterval.allCases { state.composite?.series[Int(interval.rawValue)]?.forget() }
    if state.update(instrument, now: now) != nil { loseBook(into: &changes) }
    changes.items.append(.instrument(Self.id))
  }

  /// Shows the sum of the members' books that are live, without those if there are none. O(levels × members).
  package func show(_ books: [CompositeBook.Part], into changes: inout MarketChanges) {
    guard !books.isEmpty else { return loseBook(into: &changes) }
    let scales = (price: state.instrument.priceScale, size: state.instrument.sizeScale)
    let merged = CompositeBook(books, depth: Self.depthLimit, scales: scales, hasVenues: false)
    let old = state.book
    func levels(_ side: [CompositeBook.Level]) -> ArraySlice<PriceLevel> {
      side.map { PriceLevel(price: $0.price, size: $0.size) }[...]
    }
    state.book.replace(bids: levels(merged.bids), asks: levels(merged.asks))
    guard state.bookState == .live else {
      state.bookState = .live
      state.bookTime = merged.time
      changes.items.append(.bookState(Self.id, .live))
      changes.items.append(.bookSnapshot(Self.id))
      return
    }
    let (bids, asks) = (changes.bids.count, changes.asks.count)
    old.difference(to: state.book, bids: &changes.bids, asks: &changes.asks)
    guard bids < changes.bids.count || asks < changes.asks.count else { return }
    state.bookTime = merged.time
    changes.items.append(
      .bookDelta(Self.id, bids: bids..<changes.bids.count, asks: asks..<changes.asks.count, time: merged.time))
  }

  private func loseBook(into changes: inout MarketChanges) {
    guard state.bookState != .syncing(.stale) else { return }
    state.bookState = .syncing(.stale)
    state.book.removeAll()
    changes.items.append(.bookState(Self.id, .syncing(.stale)))
  }

  /// Sets the price, at a scale that is not wider than the composite's; nil: no member that is live has one.
  package func show(price: Int64?, scale: UInt8, into changes: inout MarketChanges) {
    let price = price.flatMap { Ratio.rescaled($0, from: scale, to: state.instrument.priceScale) }
    guard price != state.composite?.price else { return }
    state.composite?.price = price
    changes.items.append(.sparkline(Self.id))
  }

  /// Takes candles that changed at the members since the last call, and rolls lines and candles to `now`.
  package func take(_ parts: [CompositeCandles.Part], now: Timestamp, into changes: inout MarketChanges) {
    let start = changes.candles.count
    var isNews = false
    for index in CandleInterval.allCases.indices {
      guard state.composite?.series[index] != nil else { continue }
      var earliest = Timestamp.distantFuture
      for part in parts {
        state.composite?.series[index]?.take(
          part.candles, of: part.instrument, at: state.instrument, earliest: &earliest)
      }
      state.composite?.series[index]?.close(at: now, earliest: &earliest)
      guard earliest != .distantFuture else { continue }
      let isOpenNew = state.composite?.series[index]?.merge(from: earliest, changed: &changes.candles) ?? false
      isNews = isNews || isOpenNew
    }
    let end = changes.candles.count
    if start < end || isNews { changes.items.append(.candles(Self.id, start..<end)) }
    if start < end { changes.items.append(.sparkline(Self.id)) }
    let minute = CandleInterval.minute.start(of: now)
    guard minute != self.minute else { return }
    self.minute = minute
    changes.items.append(.sparkline(Self.id))
  }

  // MARK: History

  /// The history of an interval is being read from now on.
  package func beginRestoring(_ interval: CandleInterval) {
    state.composite?.series[Int(interval.rawValue)]?.beginRestoring()
  }

  /// Takes the history of all members; nil if it could not be read. O(candles × members).
  package func restore(
    _ parts: [CompositeCandles.Part]?, of interval: CandleInterval, now: Timestamp, into changes: inout MarketChanges
  ) {
    let index = Int(interval.rawValue)
    guard state.composite?.series[index] != nil else { return }
    guard let parts else {
      state.composite?.series[index]?.failRestoring()
      return
    }
    for part in parts {
      widen(
        priceScale: part.instrument.priceScale, sizeScale: part.instrument.sizeScale, now: now, into: &changes)
    }
    let isOther = state.composite?.series[index]?.restore(parts, of: state.instrument) ?? false
    if isOther {
      changes.items.append(.past(Self.id))
    } else {
      let end = changes.candles.count
      changes.items.append(.candles(Self.id, end..<end))
      changes.items.append(.sparkline(Self.id))
    }
  }
}
