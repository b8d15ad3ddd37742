import Bytes

/// The state of every instrument of one feed connection. Sans-IO; owned by that connection's loop.
///
/// After warm-up no call allocates: levels, buckets and deadlines have their memory, and changes use the caller's
/// memory.
package final class Market {
  /// The checksum a venue defines over a book (Kraken: CRC-32 of the top ten levels), regardless of how the venue
  /// prints its numbers. Nil if the venue's rule is not certain for this book.
  package typealias BookChecksum =
    @Sendable (
      _ book: borrowing OrderBook, _ priceScale: UInt8, _ sizeScale: UInt8
    ) -> UInt32?

  package struct Configuration: Sendable {
    /// Whether quotes are made from the top of the book, for venues without a quote channel.
    package var quotesFromBook: Bool
    /// The most levels a side, unless the venue says otherwise (`MarketEvent.bookDepth`). Nil: 5,000.
    package var bookDepthLimit: Int?
    package var checksum: BookChecksum?
    /// How many checksums in a row must differ to take a book out of sync, 1 or more: 2 for a venue that sometimes
    /// sends a wrong one, and has another sign of a lost message.
    package var checksumPatience: Int
    /// How long a crossed book may stay crossed before it is rebuilt, µs; 0: it is rebuilt at once. It is not live in
    /// the meantime.
    package var crossedTolerance: Int64
    /// The longest time between two tickers of a market that trades, µs. Nil if the venue has no channel of tickers:
    /// then tickers contradict no other channel, and no other channel contradicts them.
    package var tickerInterval: Int64?
    /// How long a live book may stay as it is after its quote has changed, µs, by what was heard on the connection. Nil
    /// unless the venue's quotes are the best prices and sizes of the very book.
    package var quoteLead: Int64?
    /// Whether figures by REST can be asked for when trades are in doubt.
    package var hasWitness: Bool
    /// Whether the venue tells of liquidations of its derivatives.
    package var liquidations: LiquidationFeed

    package init(
      quotesFromBook: Bool, bookDepthLimit: Int?, checksum: BookChecksum?, checksumPatience: Int = 1,
      crossedTolerance: Int64 = Microseconds.second, tickerInterval: Int64? = nil,
      quoteLead: Int64? = nil, hasWitness: Bool = false, liquidations: LiquidationFeed = .none
    ) {
      precondition(checksumPatience > 0, "no checksum that differs is nothing to wait for")
      self.quotesFromBook = quotesFromBook
      self.bookDepthLimit = bookDepthLimit
      self.checksum = checksum
      self.checksumPatience = checksumPatience
      self.crossedTolerance = crossedTolerance
      self.tickerInterval = tickerInterval
      self.quoteLead = quoteLead
      self.hasWitness = hasWitness
      self.liquidations = liquidations
    }
  }

  /// The most levels a side if the venue gives no depth, and the largest depth that it may give.
  package static let defaultDepthLimit = 5_000
  /// The largest difference between a venue's time and the gateway's that windows accept, µs.
  package static let clockTolerance = 5 * Microseconds.second
  /// How long after a late trade the changed candles are published again, µs: at most once in that time.
  package static let reissueInterval = Microseconds.second
  /// How late `advance` may be called, µs. If it is called later, nobody observed the market in the meantime: the
  /// machine slept, or its clock was set forward.
  package static let pauseTolerance = 2 * Microseconds.minute
  /// The shortest time between two of the gateway's own tickers of one instrument, µs.
  package static let tickerInterval = Microseconds.second

  package private(set) var instruments: [InstrumentState] = []
  /// The number of trades whose venue time was off by more than `clockTolerance`.
  package private(set) var clockWarnings = 0
  /// The number of events of unannounced instruments, and of announcements with a gap in the numbers; they have no
  /// effect.
  package private(set) var ignoredEvents = 0
  /// The number of trades and quotes with impossible prices or sizes, and of quotes whose bid is not below their ask;
  /// they have no effect.
  package internal(set) var refusedValues = 0

  /// The number of trades that a venue sent again at the beginning of a subscription; they have no effect.
  package private(set) var repeatedTrades = 0

  /// Whether trades of a new instrument wait for `bridge(after:)` or `beginWithoutPast`. Set before the first one.
  package var bridgesTrades = false

  /// Whether the venue promises that the ids of an instrument's trades rise. Set before the first trade.
  package var numbersTrades = false
  var renumberings = Renumberings()

  let configuration: Configuration
  var deadlines = DeadlineHeap()
  /// The next time at which windows roll; `distantFuture` before the first price.
  private(set) var nextRoll = Timestamp.distantFuture
  /// The next time at which candles close; `distantFuture` before the first price.
  private var nextClose = Timestamp.distantFuture
  /// The time of the last events. A lost connection has observed nothing since then.
  private(set) var lastHeard = Timestamp.distantPast
  /// When events came again after the last time without any (`ChannelDoubts.stall`).
  var resumedAt = Timestamp.distantPast
  /// The instrument whose missed trades the present batch brings, and the time of its last trade before them.
  var filled: (id: InstrumentID, after: Timestamp)?

  /// Consecutive trades of one instrument in a batch, while they are collected.
  private struct Run {
    var id: InstrumentID
    var pulse: Pulse?
    var movesLine = false
  }

  package init(configuration: Configuration) { self.configuration = configuration }

  package subscript(_ id: InstrumentID) -> InstrumentState { instruments[id.index] }

  /// Applies the batch, event by event, and appends the results to `changes`.
  ///
  /// - Consecutive trades of one instrument make one `.trades`, then at most one `.pulse` and one `.sparkline`.
  /// - A trade or quote at a price or size of zero or less is left out, and so is a quote whose bid is not below its
  ///   ask.
  /// - A book delta is ignored until a snapshot made the book live, which is `.bookState(.live)` and then
  ///   `.bookSnapshot`. If the checksum does not fit, or a price is not above zero, `.bookState(.syncing)` comes
  ///   *instead* of the change.
  /// - **A crossed book is never live.** A change that crosses it is `.bookState(.syncing(.crossed))`; its deltas
  ///   continue unseen (`InstrumentState.isCrossedForNow`), and when it is no longer crossed it is live again with a
  ///   `.bookSnapshot`. If that takes longer than the tolerance, `.bookState(.syncing(.crossed))` comes once more, and
  ///   the book waits for a snapshot of the venue's. That needs `advance` to be called when `nextDeadline` says.
  package func apply(_ batch: borrowing EventBatch, now: Timestamp, into changes: inout MarketChanges) {
    var run: Run?
    filled = nil
    if !batch.events.isEmpty {
      if now - lastHeard > ChannelDoubts.stall { resumedAt = now }
      lastHeard = now
    }
    for event in batch.events {
      if case .trade(let trade) = event {
        if let open = run, open.id != trade.instrument { finish(&run, now: now, into: &changes) }
        apply(trade, now: now, run: &run, into: &changes)
        continue
      }
      if run != nil { finish(&run, now: now, into: &changes) }
      switch event {
      case .trade, .heartbeat: break
      case .tradesMissing(let id, let hole), .tradesSearched(let id, let hole):
        guard let state = state(id) else { break }
        let isEnd = if case .tradesSearched = event { true } else { false }
        apply(hole, isEnd: isEnd, to: state, now: now, into: &changes)
      case .quote(let quote):
        guard let state = state(quote.instrument), isPossible(quote) else { break }
        observe(state, now: now)
        if configuration.quoteLead != nil { noteLead(of: quote, state, now: now) }
        quoteCame(state, into: &changes)
        publish(quote, of: state, into: &changes)
        if configuration.hasWitness { compareLast(with: quote.bid, quote.ask, of: state, now: now, into: &changes) }
        compare(quote, with: state, now: now)
      case .ticker(let ticker):
        guard let state = state(ticker.instrument) else { break }
        observe(state, now: now)
        compare(ticker, with: state, now: now, into: &changes)
        state.ticker = ticker
        changes.items.append(.ticker(ticker.instrument))
      case .witness(let figures):
        guard let state = state(figures.instrument) else { break }
        testify(figures, of: state, now: now, into: &changes)
      case .tradeShown(let id):
        guard let state = state(id) else { break }
        tradeShown(of: state, now: now, into: &changes)
      case .book(let book):
        guard let state = state(book.instrument) else { break }
        observe(state, now: now)
        apply(book, of: batch, to: state, now: now, into: &changes)
      case .derivative(let index):
        guard batch.derivatives.indices.contains(index) else { ignoredEvents += 1; break }
        guard let state = state(batch.derivatives[index].instrument) else { break }
        state.take(batch.derivatives[index], now: now, into: &changes)
      case .liquidation(let liquidation):
        guard let state = state(liquidation.instrument) else { break }
        if !state.take(liquidation, now: now, into: &changes) { refusedValues += 1 }
      case .bookReset(let id, let reason):
        guard let state = state(id) else { break }
        loseSync(state, reason, into: &changes)
      case .bookDepth(let id, let levels):
        guard let state = state(id) else { break }
        state.book.depthLimit = min(max(levels, 1), Self.defaultDepthLimit)
      case .instrument(let index):
        guard batch.instruments.indices.contains(index) else { ignoredEvents += 1; break }
        apply(batch.instruments[index], now: now, into: &changes)
      }
    }
    if run != nil { finish(&run, now: now, into: &changes) }
  }

  /// Advances the time: trailing pulses, rolling windows, books crossed for too long. O(1) if nothing is due, else
  /// O(log n) for each due deadline, and O(n) when a minute ends.
  package func advance(to now: Timestamp, into changes: inout MarketChanges) {
    while let entry = deadlines.removeFirst(dueAt: now) {
      let state = instruments[entry.instrument.index]
      switch entry.kind {
      case .pulse:
        state.isPulseScheduled = false
        if let pulse = state.pulse.advance(to: now) { changes.items.append(.pulse(pulse)) }
        schedulePulse(state)
      case .ticker:
        state.isTickerScheduled = false
        if state.ticker == nil {
          state.tickerTime = now
          changes.items.append(.ticker(entry.instrument))
        }
      case .crossed:
        state.isCrossedScheduled = false
        if !loseSyncIfCrossed(state, now: now, into: &changes) { scheduleCrossed(state) }
      case .frozen:
        state.isFrozenScheduled = false
        guard let due = state.frozen.quotes.due(patience: FrozenBook.patience) else { break }
        if now < due {
          scheduleFrozen(state, due)
        } else {
          loseSync(state, .frozen, detected: true, into: &changes)
        }
      case .lead:
        state.isLeadScheduled = false
        loseSyncIfLed(state, now: now, into: &changes)
      case .reissue:
        state.isReissueScheduled = false
        let start = changes.candles.count
        state.chart.reissue(of: entry.instrument, now: now, into: &changes.candles)
        note(candlesFrom: start, of: state, into: &changes)
      }
    }
    if now >= nextRoll { roll(now: now, into: &changes) }
    if now >= nextClose { closeCandles(now: now, into: &changes) }
  }

  /// When `advance` next has work, or a little before; never after. O(1).
  package var nextDeadline: Timestamp { min(deadlines.first, nextRoll, nextClose) }

  /// The connection has ended: puts every book out of sync, and records that nothing was observed since shortly before
  /// the last event: trades from before that event may have been under way. O(n).
  package func disconnect(into changes: inout MarketChanges) {
    for state in instruments where state.isObserved {
      stopObserving(state, since: lastHeard - Chart.grace, heard: lastHeard)
    }
    for state in instruments {
      state.counted.disconnected()
      state.bridge?.disconnected()
      if state.isKept { loseSync(state, .disconnected, into: &changes) }
      forgetDoubts(of: state, into: &changes)
    }
  }

  // MARK: Instruments

  private func state(_ id: InstrumentID) -> InstrumentState? {
    guard instruments.indices.contains(id.index) else {
      ignoredEvents += 1
      return nil
    }
    return instruments[id.index]
  }

  private func apply(_ instrument: Instrument, now: Timestamp, into changes: inout MarketChanges) {
    let index = instrument.id.index
    if index == instruments.count {
      let book = OrderBook(depthLimit: configuration.bookDepthLimit ?? Self.defaultDepthLimit)
      instruments.append(InstrumentState(instrument: instrument, book: book))
      if instrument.kind != .spot { instruments[index].liquidationFeed = configuration.liquidations }
      if bridgesTrades { instruments[index].bridge = TradeBridge() }
      deadlines.reserve(instruments: instruments.count)
    } else if instruments.indices.contains(index) {
      guard instruments[index].instrument != instrument else { return }
      if let reason = instruments[index].update(instrument, now: now) {
        loseSync(instruments[index], reason, detected: true, into: &changes)
      }
    } else {
      ignoredEvents += 1
      return
    }
    changes.items.append(.instrument(instrument.id))
  }

  // MARK: Trades

  private func apply(_ trade: Trade, now: Timestamp, run: inout Run?, into changes: inout MarketChanges) {
    guard let state = state(trade.instrument) else { return }
    var trade = trade
    if trade.isBacklog, fills(trade, state) { trade.isBacklog = false }
    guard trade.price > 0, trade.size > 0 else {
      refusedValues += 1
      return
    }
    // Earlier trades may be old, so only times in the future are limited.
    let earliest = trade.isBacklog || trade.isLate ? Timestamp.distantPast : now - Self.clockTolerance
    let bounded = min(max(trade.time, earliest), now + Self.clockTolerance)
    if bounded != trade.time {
      clockWarnings += 1
      state.clockWarnings += 1
    }
    let time = Self.chartTime(bounded)
    if nextRoll == .distantFuture { startClock(now: now) }
    if !trade.isBacklog {
      // A late one may have come by REST: that says nothing of the channel.
      if !trade.isLate { tradeCame(state, now: now, into: &changes) }
      observe(state, now: now)
    }
    // A time that is still to come would make all that follows known.
    let known = min(trade.time, now + Self.clockTolerance)
    if state.counted.contains(trade, at: known) {
      repeatedTrades += 1
      state.bridge?.hold(trade, now: now)
      run = run ?? Run(id: trade.instrument)
      return
    }
    state.revision.raise(.figures)
    let oldChanges = state.chart.lines.changes
    state.counted.note(trade, at: known)
    if state.bridge != nil {
      // A held trade is counted when it is known to be new: the stored past has the others.
    } else if trade.isBacklog, state.chart.hasWholeMinute(of: time) {
      // A restored candle has it.
    } else if trade.isLate, state.chart.isVenueMinute(time) {
      // A venue's minute has the trades that arrived late in it already.
    } else if state.chart.add(price: trade.price, size: trade.size, time: time, now: now) {
      scheduleReissue(state, now: now)
    }
    let isNewest = trade.isLate ? time > state.lastTradeTime : time >= state.lastTradeTime
    if isNewest {
      state.lastTrade = trade
      state.lastTradeTime = time
    }
    var open = run ?? Run(id: trade.instrument)
    open.movesLine = open.movesLine || state.chart.lines.changes != oldChanges
    var published = trade
    if numbersTrades, !trade.isLate, let before = state.numbering.note(trade, at: known) {
      renumberings.note(trade.instrument, before: before, after: trade.id)
      published.breakBefore = .renumbered
      if state.bridge == nil {
        changes.items.append(.tradeGap(trade.instrument, changes.trades.count..<changes.trades.count))
      }
    }
    state.bridge?.hold(published, now: now)
    if !trade.isBacklog {
      let isFrozen = !trade.isLate && isFrozen(state, by: trade, now: now)
      if state.bridge == nil { changes.append(published) }
      if isNewest, let pulse = state.pulse.price(trade.price, now: now) { open.pulse = pulse }
      if isFrozen {
        run = open
        finish(&run, now: now, into: &changes)
        return loseSync(state, .frozen, detected: true, into: &changes)
      }
    }
    run = open
  }

  /// Notes that trades are missing, or that the search for them has ended, and publishes it. Candles of their time are
  /// `partial` until all of them are there.
  private func apply(
    _ hole: TradeHole, isEnd: Bool, to state: InstrumentState, now: Timestamp, into changes: inout MarketChanges
  ) {
    state.revision.raise(.figures)
    // As far as windows accept the venue's times. A missing trade may have the time of the one after.
    let limit = now + Self.clockTolerance
    func span(_ from: Timestamp, _ to: Timestamp) -> TimeSpan {
      let start = min(from, limit)
      return TimeSpan(from: start, to: max(start, min(to, limit)) + 1)
    }
    if !isEnd {
      if state.chart.miss(span(hole.from, hole.to)) { scheduleReissue(state, now: now) }
    } else if hole.missing == 0 {
      if state.chart.complete(span(hole.covers.from, hole.covers.to)) { scheduleReissue(state, now: now) }
    }
    changes.holes.append(hole)
    let index = changes.holes.count - 1
    let id = state.instrument.id
    changes.items.append(isEnd ? .tradesSearched(id, hole: index) : .tradesMissing(id, hole: index))
  }

  private func finish(_ run: inout Run?, now: Timestamp, into changes: inout MarketChanges) {
    guard let done = run else { return }
    run = nil
    let state = instruments[done.id.index]
    let oldChanges = state.chart.lines.changes
    if state.bridge != nil { cross(state, into: &changes) }
    if let pulse = done.pulse { changes.items.append(.pulse(pulse)) }
    schedulePulse(state)
    if done.movesLine || state.chart.lines.changes != oldChanges { changes.items.append(.sparkline(done.id)) }
    noteStatistics(state, now: now, into: &changes)
  }

  /// Publishes the gateway's own ticker, at once or one second after the last.
  private func noteStatistics(_ state: InstrumentState, now: Timestamp, into changes: inout MarketChanges) {
    guard state.ticker == nil, !state.isTickerScheduled else { return }
    let due = state.tickerTime + Self.tickerInterval
    if now >= due {
      state.tickerTime = now
      changes.items.append(.ticker(state.instrument.id))
    } else {
      state.isTickerScheduled = true
      deadlines.insert(.init(time: due, instrument: state.instrument.id, kind: .ticker))
    }
  }

  private func schedulePulse(_ state: InstrumentState) {
    guard !state.isPulseScheduled, state.pulse.deadline != .distantFuture else { return }
    state.isPulseScheduled = true
    deadlines.insert(.init(time: state.pulse.deadline, instrument: state.instrument.id, kind: .pulse))
  }

  func scheduleReissue(_ state: InstrumentState, now: Timestamp) {
    guard !state.isReissueScheduled else { return }
    state.isReissueScheduled = true
    let due = now + Self.reissueInterval
    deadlines.insert(.init(time: due, instrument: state.instrument.id, kind: .reissue))
  }

  func startClock(now: Timestamp) {
    nextRoll = nextMinute(after: now)
    nextClose = nextMinute(after: now - Chart.grace) + Chart.grace
  }

  private func roll(now: Timestamp, into changes: inout MarketChanges) {
    nextRoll = nextMinute(after: now)
    for state in instruments where state.lastPrice != nil {
      state.chart.advance(to: now)
      changes.items.append(.sparkline(state.instrument.id))
      noteStatistics(state, now: now, into: &changes)
    }
  }

  private func closeCandles(now: Timestamp, into changes: inout MarketChanges) {
    if now - nextClose > Self.pauseTolerance {
      for state in instruments where state.isObserved { stopObserving(state, since: nextClose) }
    }
    nextClose = nextMinute(after: now - Chart.grace) + Chart.grace
    for state in instruments where state.lastPrice != nil {
      let start = changes.candles.count
      state.chart.closeCandles(of: state.instrument.id, now: now, into: &changes.candles)
      note(candlesFrom: start, of: state, into: &changes)
    }
  }

  private func note(candlesFrom start: Int, of state: InstrumentState, into changes: inout MarketChanges) {
    guard start < changes.candles.count else { return }
    changes.items.append(.candles(state.instrument.id, start..<changes.candles.count))
  }

  // MARK: Charts

  /// Takes closed candles of one instrument from a store or a venue; `Candle` has the rules. Returns how many were
  /// used. O(candles + 1,440).
  package func restore(
    _ candles: some Sequence<Candle>, of id: InstrumentID, now: Timestamp, into changes: inout MarketChanges
  ) -> Int {
    guard let state = state(id) else { return 0 }
    let restored = state.chart.restore(candles, of: id, now: now)
    if restored > 0 {
      state.revision.raise(.figures)
      if nextRoll == .distantFuture { startClock(now: now) }
      changes.items.append(.past(id))
    }
    return restored
  }

  private func observe(_ state: InstrumentState, now: Timestamp) {
    guard !state.isObserved, !state.isSilent(.trades) else { return }
    state.isObserved = true
    state.chart.beginObserving(at: now)
  }

  func stopObserving(_ state: InstrumentState, since time: Timestamp, heard: Timestamp? = nil) {
    state.isObserved = false
    state.chart.endObserving(at: time, heard: heard)
  }

  private func nextMinute(after now: Timestamp) -> Timestamp {
    Timestamp(microseconds: (floorDivide(now.rawValue, Microseconds.minute) + 1) * Microseconds.minute)
  }
}
