import Bytes
import MarketData

/// Bodies of HTTP answers about instruments, from the same encoders as the stream's messages.
extension StreamPublisher {
  /// How long a sparkline of all days is reused, µs. Each new one tells the owner that a client requested it, and the
  /// owner then requests missing days from the venue.
  private static let longest = Microseconds.minute

  /// The stamp of a view as it is now; nil if there is no such instrument. O(1), for trades O(limit).
  package func stamp(of view: MarketView, at route: MarketRoute, now: Timestamp) -> PartStamp? {
    guard markets.indices.contains(route.market),
      let state = markets[route.market].instrument(route.instrument)?.state
    else { return nil }
    let part: ContentRevision.Part = if case .book = view { .book } else { .figures }
    let validUntil: Timestamp =
      switch view {
      case .book, .trades: .distantFuture
      case .ticker: state.nextFigureChange(after: now)
      case .derivative: min(now + Self.longest, state.derivative?.nextExpiry(after: now) ?? .distantFuture)
      case .funding: now + Self.longest
      case .sparkline(let range, _) where range != .day: state.nextLineChange(range, after: now)
      case .snapshot, .sparkline:
        min(
          state.nextFigureChange(after: now), state.nextLineChange(.day, after: now),
          state.derivative?.nextExpiry(after: now) ?? .distantFuture)
      }
    return PartStamp(
      tag: tag(of: view, at: route, now: now),
      validUntil: view.isOfAllDays ? min(validUntil, now + Self.longest) : validUntil, revision: state.revision,
      part: part)
  }

  /// The tag of the text of `view`, without making the text; nil if there is nothing to show. O(1), for trades
  /// O(limit).
  package func tag(of view: MarketView, at route: MarketRoute, now: Timestamp) -> UInt64? {
    guard let instrument = instrument(route) else { return nil }
    let state = instrument.state
    var tag = ContentTag(run: run)
    tag.add(UInt64(state.instrument.priceScale) << 8 | UInt64(state.instrument.sizeScale))
    switch view {
    case .snapshot(let points):
      let summary = MarketSummary(instrument, now: now)
      tag.add(summary.price)
      if let day = summary.day { tag.add(day) }
      if let pulse = summary.pulse { tag.add(pulse) }
      tag.add(sparkline: state, .day, points: points, now: now)
      if let derivative = state.shownDerivative(now: now) { tag.add(derivative) }
    case .derivative:
      guard let derivative = state.shownDerivative(now: now) else { return nil }
      tag.add(derivative)
    case .funding(let limit):
      guard let last = state.fundingHistory.settlements.last else { return nil }
      tag.add(UInt64(limit))
      // Past ones do not change, but the venue may correct the last.
      tag.add(UInt64(state.fundingHistory.settlements.count))
      tag.add(last.time.microseconds)
      tag.add(last.rate)
    case .ticker:
      guard let day = state.shownDay(now: now) else { return nil }
      tag.add(day)
    case .trades(let limit):
      tag.add(instrument.recentTrades.appended)
      tag.add(UInt64(limit))
    case .sparkline(let range, let points):
      guard state.lastPrice != nil else { return nil }
      tag.add(sparkline: state, range, points: points, now: now)
    case .book(let depth):
      guard state.bookState == .live else { return nil }
      tag.add(state.revision.number(of: .book))
      tag.add(UInt64(depth))
    }
    return tag.value
  }

  /// The text of `view` as fields of an object, with a comma before each; nil if there is nothing to show.
  package func text(of view: MarketView, at route: MarketRoute, now: Timestamp) -> MarketText? {
    guard let tag = tag(of: view, at: route, now: now), let instrument = instrument(route) else { return nil }
    textsMade += 1
    let state = instrument.state
    var out = ByteBuffer(capacity: 1024)
    switch view {
    case .snapshot(let points):
      let summary = MarketSummary(instrument, now: now)
      if let day = summary.day {
        out.append(",\"ticker\":")
        TickerChannel.append(day, of: state.instrument, mark: state.silenceMark(.ticker, .trades), to: &out)
      }
      if let pulse = summary.pulse {
        out.append(",\"pulse\":")
        PulseChannel.append(
          pulse, changePercent: summary.changePercent, of: state.instrument, mark: state.silenceMark(.trades), to: &out)
      }
      if state.lastPrice != nil {
        let line = state.sparkline(points: points, price: summary.price, now: now).withWholeGap(now: now)
        out.append(",\"sparkline\":{")
        SparklineChannel.appendSnapshot(line, of: state.instrument, to: &out)
        out.append(UInt8(ascii: "}"))
      }
      if let derivative = state.shownDerivative(now: now) {
        out.append(",\"derivative\":")
        DerivativeChannel.append(derivative, to: &out)
      }
    case .derivative:
      guard let derivative = state.shownDerivative(now: now) else { return nil }
      out.append(",\"derivative\":")
      DerivativeChannel.append(derivative, to: &out)
    case .funding(let limit): HTTPBodies.append(state.fundingHistory.last(limit), to: &out)
    case .ticker:
      guard let day = state.shownDay(now: now) else { return nil }
      out.append(",\"ticker\":")
      TickerChannel.append(day, of: state.instrument, mark: state.silenceMark(.ticker, .trades), to: &out)
    case .trades(let limit):
      HTTPBodies.append(instrument.recentTrades.last(limit), of: state.instrument, to: &out)
    case .sparkline(let range, let points):
      out.append(UInt8(ascii: ","))
      let price = state.shownPrice?.price
      let line = state.sparkline(range, points: points, price: price, now: now).withWholeGap(now: now)
      SparklineChannel.appendSnapshot(line, of: state.instrument, to: &out)
    case .book(let depth): HTTPBodies.appendBook(of: state, depth: depth, to: &out)
    }
    return MarketText(tag: tag, fields: out.takeBytes())
  }

  /// An instrument, the candles of [`from`, `to`) that its rings have, at most the last `limit`, and whether it has
  /// ever had a price; nil if there is no such instrument. O(minutes of a day).
  package func candles(
    _ interval: CandleInterval, from: Timestamp, to: Timestamp, limit: Int, at route: MarketRoute, now: Timestamp
  ) -> (instrument: Instrument, candles: [Candle], hasTraded: Bool)? {
    guard let state = instrument(route)?.state else { return nil }
    let candles = state.candles(interval, from: from, to: to, limit: limit, now: now)
    return (state.instrument, candles, state.lastPrice != nil)
  }

  /// The open candle of an instrument; nil before any price. O(1), amortised.
  package func openCandle(_ interval: CandleInterval, at route: MarketRoute, now: Timestamp) -> Candle? {
    instrument(route)?.state.openCandle(interval, now: now)
  }

  /// The data of a picture of an instrument; nil if there is no such instrument. O(buckets).
  package func cardFigures(
    _ range: ChartRange, points: Int, at route: MarketRoute, now: Timestamp
  ) -> CardFigures? {
    guard let instrument = instrument(route) else { return nil }
    let state = instrument.state
    let summary = MarketSummary(instrument, now: now)
    let line = state.sparkline(range, points: points, price: summary.price, now: now).withWholeGap(now: now)
    let ticker = summary.day?.ticker
    return CardFigures(
      instrument: state.instrument, price: summary.price, line: line, high: ticker?.high, low: ticker?.low,
      volume: ticker?.volume, time: [state.lastTrade?.time, ticker?.time].compactMap(\.self).max(),
      since: Self.start(of: line, summary.day, now: now))
  }

  /// From when on the change over a line counts; nil if over all of its range.
  private static func start(of line: Sparkline, _ day: DayTicker?, now: Timestamp) -> Timestamp? {
    switch line.range {
    case .day: return day.flatMap { $0.source == .gateway || $0.own.contains(.open) ? $0.coveredFrom : nil }
    default: return line.lateStart(now: now)
    }
  }

  /// An instrument as writers see it, for answers over HTTP; nil if there is none.
  package func dialectView(at route: MarketRoute) -> DialectView? {
    instrument(route).map { DialectView($0) }
  }

  private func instrument(_ route: MarketRoute) -> PublishedInstrument? {
    guard markets.indices.contains(route.market) else { return nil }
    return markets[route.market].instrument(route.instrument)
  }
}

extension ContentTag {
  /// A line is identified by its newest point, the index of that point, and the revision of all points before it.
  fileprivate mutating func add(sparkline state: InstrumentState, _ range: ChartRange, points: Int, now: Timestamp) {
    add(UInt64(points))
    add(UInt64(range.rawValue))
    let observed = state.observed(range, points: points, now: now)
    add(observed.from?.microseconds)
    for gap in observed.gaps.cut(to: range, now: now) {
      add(gap.from.microseconds)
      add(gap.to.microseconds)
    }
    guard let tip = state.sparklineTip(range, points: points, now: now) else { return }
    add(tip.from.microseconds)
    add(tip.step)
    add(Int64(tip.index))
    let price = state.shownPrice?.price ?? tip.price
    add(price)
    add(UInt64(tip.revision))
    // Elsewhere the time of the first point and the revision say where the line begins.
    guard range == .day else { return }
    let change = state.dayChange(to: price, now: now)
    add(change?.open)
    add(change?.change)
    add(change?.percent)
  }
}

extension Sparkline {
  /// The line. A gap that continues is cut to finished buckets.
  fileprivate func withWholeGap(now: Timestamp) -> Sparkline {
    var line = self
    line.gaps = gaps.cut(to: range, now: now)
    return line
  }
}

extension [TimeSpan] {
  /// The gaps. One that continues is cut to finished buckets, so that an answer does not change while nothing happens.
  fileprivate func cut(to range: ChartRange, now: Timestamp) -> [TimeSpan] {
    guard let last, last.to == now else { return self }
    return dropLast() + [
      TimeSpan(from: last.from, to: Swift.max(last.from, now - now.microseconds % range.bucketLength))
    ]
  }
}
