import Bytes
import MarketData

/// Turns the changes of a market into messages on its streams.
extension StreamPublisher {
  /// Publishes the changes of a batch: streams at full rate at once, the others at their next tick.
  package func publish(_ changes: borrowing MarketChanges, market: Int, now: Timestamp, into out: inout [Delivery]) {
    publish(changes, of: markets[market], now: now, into: &out)
  }

  func publish(
    _ changes: borrowing MarketChanges, of owner: PublishedMarket, now: Timestamp, into out: inout [Delivery]
  ) {
    for index in changes.items.indices {
      switch changes.items[index] {
      case .trades(let id, let range):
        guard let instrument = owner.instrument(id) else { continue }
        publish(changes.trades[range], of: instrument, now: now, into: &out)
      case .tradeGap(let id, let range):
        guard let instrument = owner.instrument(id) else { continue }
        begin(instrument, with: changes.trades[range], now: now, into: &out)
      case .tradesMissing(let id, let hole):
        guard let instrument = owner.instrument(id) else { continue }
        publish(changes.holes[hole], isEnd: false, of: instrument, now: now, into: &out)
      case .tradesSearched(let id, let hole):
        guard let instrument = owner.instrument(id) else { continue }
        publish(changes.holes[hole], isEnd: true, of: instrument, now: now, into: &out)
      case .quote(let quote):
        guard let instrument = owner.instrument(quote.instrument) else { continue }
        changed(instrument.quotes, now: now, into: &out)
      case .ticker(let id):
        guard let instrument = owner.instrument(id) else { continue }
        changed(instrument.tickers, now: now, into: &out)
        // The change of their range follows from the ticker.
        for stream in instrument.sparklines where stream.key.range == .day {
          changed([stream], now: now, into: &out)
        }
      case .pulse(let pulse):
        guard let instrument = owner.instrument(pulse.instrument) else { continue }
        instrument.lastPulse = pulse
        changed(instrument.pulses, now: now, into: &out)
      case .sparkline(let id):
        guard let instrument = owner.instrument(id) else { continue }
        changed(instrument.sparklines, now: now, into: &out)
      case .bookDelta(let id, let bids, let asks, _):
        guard let instrument = owner.instrument(id) else { continue }
        bookChanged(instrument, bids: changes.bids[bids], asks: changes.asks[asks], now: now)
      case .bookSnapshot(let id):
        guard let instrument = owner.instrument(id) else { continue }
        for stream in instrument.books {
          if stream.key.depth == 0 { stream.view.isOverflowing = true }
          bookChanged(stream, now: now)
        }
      case .bookState(let id, let state):
        guard let instrument = owner.instrument(id) else { continue }
        bookState(state, of: instrument, now: now, into: &out)
      case .channel(let id, let channel, let state):
        guard let instrument = owner.instrument(id) else { continue }
        publish(channel, state, of: instrument, now: now, into: &out)
      case .candles(let id, let range):
        guard let instrument = owner.instrument(id) else { continue }
        for stream in instrument.candles {
          let isNews = closed(changes.candles[range], on: stream, now: now, into: &out)
          if !isNews, instrument.state.isComposite { changed([stream], now: now, into: &out) }
        }
      case .past(let id):
        guard let instrument = owner.instrument(id) else { continue }
        pastChanged(instrument, now: now, into: &out)
      case .instrument(let id):
        guard let instrument = owner.instrument(id), instrument.rescale() else { continue }
        rescaled(instrument, now: now)
      }
    }
    for stream in touched {
      stream.isDirty = false
      flush(stream, now: now, into: &out)
    }
    touched.removeAll(keepingCapacity: true)
  }

  private func publish(
    _ trades: ArraySlice<Trade>, of instrument: PublishedInstrument, now: Timestamp, into out: inout [Delivery]
  ) {
    for trade in trades { instrument.recentTrades.add(trade) }
    for stream in instrument.trades {
      if stream.isImmediate {
        publishTrades(trades, on: stream, instrument, now: now, into: &out)
      } else {
        stream.gathered.append(contentsOf: trades)
        wait(stream, now: now)
        if stream.gathered.count >= TradesChannel.gatheredLimit { flush(stream, now: now, into: &out) }
      }
    }
    changed(instrument.candles, now: now, into: &out)
  }

  private func bookChanged(
    _ instrument: PublishedInstrument, bids: ArraySlice<PriceLevel>, asks: ArraySlice<PriceLevel>, now: Timestamp
  ) {
    for stream in instrument.books {
      if stream.key.depth == 0, stream.isShown { stream.view.note(bids: bids, asks: asks) }
      bookChanged(stream, now: now)
    }
  }

  /// The book is in sync with the exchange's, or not any more; then a quote that follows from it is unknown, too.
  private func bookState(
    _ state: BookState, of instrument: PublishedInstrument, now: Timestamp, into out: inout [Delivery]
  ) {
    for stream in instrument.books {
      if state != .live { loseSync(stream, instrument, now: now, into: &out) }
      bookChanged(stream, now: now)
    }
    guard state != .live, instrument.state.quote == nil else { return }
    for stream in instrument.quotes { loseSync(stream, instrument, now: now, into: &out) }
  }

  /// The past that charts and figures show is another one.
  private func pastChanged(_ instrument: PublishedInstrument, now: Timestamp, into out: inout [Delivery]) {
    changed(instrument.sparklines + instrument.tickers, now: now, into: &out)
    for stream in instrument.candles where stream.isShown { republish(stream, now: now, into: &out) }
    changed(instrument.candles.filter { !$0.isShown }, now: now, into: &out)
  }

  /// Trades may be missing from here on: every stream begins again with a snapshot, in which the trades from before
  /// this place stay. The first trade after it says so itself.
  private func begin(
    _ instrument: PublishedInstrument, with trades: ArraySlice<Trade>, now: Timestamp, into out: inout [Delivery]
  ) {
    for stream in instrument.trades { flush(stream, now: now, into: &out) }
    for trade in trades { instrument.recentTrades.append(trade) }
    for stream in instrument.trades { republish(stream, now: now, into: &out) }
  }

  /// Notifies the subscribers of the trades, at once in every rate class, that trades are missing between those before
  /// and those after, or how the search for them has ended. It is an update of the stream, so clients that return
  /// get it, too.
  func publish(
    _ hole: TradeHole, isEnd: Bool, of instrument: PublishedInstrument, now: Timestamp, into out: inout [Delivery]
  ) {
    for stream in instrument.trades {
      flush(stream, now: now, into: &out)
      guard stream.isRunning, stream.isShown else { continue }
      update(stream, events: 0, now: now, into: &out) { TradesChannel.append(hole, isEnd: isEnd, to: &$0) }
    }
    changed(instrument.candles, now: now, into: &out)
  }

  /// Notifies the subscribers of a book, or of a quote derived from it, that it is out of sync: at once in every rate
  /// class. Their next message is a snapshot.
  func loseSync(
    _ stream: PublishedStream, _ instrument: PublishedInstrument, now: Timestamp, into out: inout [Delivery]
  ) {
    guard stream.isShown else { return }
    update(stream, events: 0, now: now, into: &out) {
      Self.appendSyncing(stream.key.channel, instrument, now: now, to: &$0)
    }
    forget(stream)
    stream.isShown = false
    stream.dueReason = .resync
    stream.view.removeAll()
  }

  func changed(_ streams: [PublishedStream], now: Timestamp, into out: inout [Delivery]) {
    for stream in streams {
      if stream.isImmediate { flush(stream, now: now, into: &out) } else { wait(stream, now: now) }
    }
  }

  /// A book is published at the end of the batch, because it may go out of sync in it. A book that is back in sync is
  /// published at once.
  func bookChanged(_ stream: PublishedStream, now: Timestamp) {
    guard stream.isImmediate || !stream.isShown else { return wait(stream, now: now) }
    if stream.isDirty { return }
    stream.isDirty = true
    touched.append(stream)
  }

  /// The texts of all prices have changed, so published data is published again.
  func rescaled(_ instrument: PublishedInstrument, now: Timestamp) {
    for stream in instrument.books + instrument.sparklines + instrument.candles where stream.isShown {
      stream.isShown = false
      stream.dueReason = .resync
      stream.view.removeAll()
      stream.cachedSnapshot = nil
      bookChanged(stream, now: now)
    }
    for stream in instrument.trades + instrument.quotes + instrument.tickers + instrument.pulses {
      stream.cachedSnapshot = nil
    }
  }

  func wait(_ stream: PublishedStream, now: Timestamp) {
    if stream.isDirty { return }
    stream.isDirty = true
    let index = RateClass.index(of: stream.interval)
    if waiting[index].isEmpty {
      let interval = Int64(stream.interval) * Microseconds.millisecond
      ticks[index] = Timestamp(microseconds: (now.microseconds / interval + 1) * interval)
    }
    waiting[index].append(stream)
  }

  /// Publishes rate-limited streams that are due.
  package func advance(to now: Timestamp, into out: inout [Delivery]) {
    for index in ticks.indices where ticks[index] <= now {
      ticks[index] = .distantFuture
      let due = waiting[index]
      waiting[index].removeAll(keepingCapacity: true)
      for stream in due {
        stream.isDirty = false
        flush(stream, now: now, into: &out)
      }
    }
  }

  /// The time at which `advance` next has work.
  package var nextDeadline: Timestamp { ticks.min() ?? .distantFuture }

  /// Replaces the feed states that the `status` stream shows; publishes if something other than an age changed. Loop 0
  /// only.
  package func publish(status: [FeedStatus], now: Timestamp, into out: inout [Delivery]) {
    let isNews = status.count != feeds.count || zip(status, feeds).contains { $0.differsInMoreThanAge(from: $1) }
    feeds = status
    guard isNews else { return }
    for stream in statusStreams { flush(stream, now: now, into: &out) }
  }

  /// Pending changes of an incremental stream must be published before a snapshot. Then all clients have the same data
  /// at each `seq`, whenever they joined.
  func flushBeforeSnapshot(_ stream: PublishedStream, now: Timestamp, into out: inout [Delivery]) {
    switch stream.key.channel {
    case .trades: if !stream.gathered.isEmpty { flush(stream, now: now, into: &out) }
    case .book where stream.key.depth == 0: flush(stream, now: now, into: &out)
    // The change of a line may have moved with time alone.
    case .sparkline where stream.isDirty || stream.isShown && stream.cachedSnapshot == nil,
      .candles where stream.isDirty:
      flush(stream, now: now, into: &out)
    // A ticker shows the newest trade, which the market reports once a second at most.
    case .ticker where stream.isShown && stream.figures != figures(of: stream): flush(stream, now: now, into: &out)
    // Beside the last pulse a snapshot has the present change of 24 h.
    case .pulse where stream.figures != figures(of: stream): stream.cachedSnapshot = nil
    default: break
    }
  }

  /// The revision of the figures of a stream's instrument.
  func figures(of stream: PublishedStream) -> UInt64 {
    instrument(of: stream)?.state.revision.number(of: .figures) ?? 0
  }

  /// Publishes the pending changes of the stream, if any.
  func flush(_ stream: PublishedStream, now: Timestamp, into out: inout [Delivery]) {
    guard stream.isRunning else { return }
    if stream.key.channel == .status {
      update(stream, events: 0, now: now, into: &out) {
        StatusChannel.append(feeds.visible(to: stream.key.scope), now: now, to: &$0)
      }
      return
    }
    if let document = stream.document {
      update(stream, events: 0, now: now, into: &out) { document.append(now: now, to: &$0) }
      return
    }
    guard let instrument = instrument(of: stream) else { return }
    guard stream.isShown else {
      show(stream, instrument)
      guard stream.isShown else { return }
      stream.seq += 1
      stream.cachedSnapshot = nil
      forget(stream)
      let reason = stream.dueReason
      if let frame = snapshot(of: stream, reason: reason, now: now) {
        stream.dueReason = .subscribe
        out.append(.frame(frame, loops: stream.loops))
      } else {
        stream.dueReason = reason
      }
      return
    }
    let state = instrument.state
    switch stream.key.channel {
    case .trades:
      guard !stream.gathered.isEmpty else { return }
      publishTrades(stream.gathered[...], on: stream, instrument, now: now, into: &out)
      stream.gathered.removeAll(keepingCapacity: true)
    case .quote:
      guard let quote = state.quote else { return }
      update(stream, events: 0, now: now, into: &out) { QuoteChannel.append(quote, of: state.instrument, to: &$0) }
    case .ticker:
      guard let day = state.knownDay(now: now) else { return }
      stream.figures = figures(of: stream)
      update(stream, events: 0, now: now, into: &out) {
        TickerChannel.append(day, of: state.instrument, mark: state.silenceMark(.ticker, .trades), to: &$0)
      }
    case .pulse:
      guard let pulse = instrument.lastPulse else { return }
      let change = state.dayChange(to: pulse.price, now: now)
      update(stream, events: 0, now: now, into: &out) {
        PulseChannel.append(
          pulse, changePercent: change?.percent, of: state.instrument, mark: state.silenceMark(.trades), to: &$0)
      }
    case .candles: publishCandles(stream, state, now: now, into: &out)
    case .sparkline:
      if state.isComposite {
        publishCompositeLine(stream, state, now: now, into: &out)
      } else {
        publishSparkline(stream, state, now: now, into: &out)
      }
    case .book: publishBook(stream, instrument, now: now, into: &out)
    case .status, .alerts, .topic, .rate, .portfolio, .deck: break
    }
  }

  func publishTrades(
    _ trades: ArraySlice<Trade>, on stream: PublishedStream, _ instrument: PublishedInstrument, now: Timestamp,
    into out: inout [Delivery]
  ) {
    guard !trades.isEmpty else { return }
    update(stream, events: UInt32(trades.count), now: now, into: &out) {
      TradesChannel.append(trades, of: instrument.state.instrument, to: &$0)
    }
  }

  func publishSparkline(
    _ stream: PublishedStream, _ state: InstrumentState, now: Timestamp, into out: inout [Delivery]
  ) {
    guard let tip = state.sparklineTip(stream.key.range, points: Int(stream.key.points), now: now) else { return }
    guard let old = stream.sparklineTip, tip.revision == old.revision, tip.step == old.step,
      stream.coverageRevision == state.chart.coverageRevision
    else {
      republish(stream, now: now, into: &out)
      return
    }
    if tip.from != old.from {
      stream.lineOpen = state.lineOpen(stream.key.range, points: Int(stream.key.points), now: now)
    }
    let change = state.change(over: stream.key.range, from: stream.lineOpen, to: tip.price, now: now)
    guard tip != old || change != stream.lineChange else { return }
    stream.sparklineTip = tip
    stream.lineChange = change
    update(stream, events: 0, now: now, into: &out) {
      SparklineChannel.appendUpdate(tip, change, of: state.instrument, to: &$0)
    }
  }

  /// Publishes the newest point, or the whole line if a client could not make it of the line that it has.
  private func publishCompositeLine(
    _ stream: PublishedStream, _ state: InstrumentState, now: Timestamp, into out: inout [Delivery]
  ) {
    let line = state.sparkline(stream.key.range, points: Int(stream.key.points), now: now)
    guard let tip = line.tip else { return }
    guard let shown = stream.line, shown.leads(to: line, now: now) else {
      return republish(stream, now: now, into: &out)
    }
    stream.line = line
    guard tip != shown.tip || line.change != shown.change else { return }
    update(stream, events: 0, now: now, into: &out) {
      SparklineChannel.appendUpdate(tip, line.change, of: state.instrument, to: &$0)
    }
  }

  /// Gathers the closed candles of the stream's interval. Returns whether there are any.
  private func closed(
    _ candles: ArraySlice<Candle>, on stream: PublishedStream, now: Timestamp, into out: inout [Delivery]
  ) -> Bool {
    var isNews = false
    for candle in candles where candle.interval == stream.key.candle {
      stream.closedCandles.append(candle)
      isNews = true
    }
    guard isNews else { return false }
    if stream.isShown, stream.closedCandles.count > StreamLimits.candles {
      republish(stream, now: now, into: &out)
    } else {
      changed([stream], now: now, into: &out)
    }
    return true
  }

  func publishCandles(
    _ stream: PublishedStream, _ state: InstrumentState, now: Timestamp, into out: inout [Delivery]
  ) {
    let open = state.openCandle(stream.key.candle, now: now)
    if let open, open != stream.openCandle { stream.closedCandles.append(open) }
    stream.openCandle = open
    guard !stream.closedCandles.isEmpty else { return }
    update(stream, events: 0, now: now, into: &out) {
      CandlesChannel.append(stream.closedCandles[...], stream.key.candle, of: state.instrument, to: &$0)
    }
    stream.closedCandles.removeAll(keepingCapacity: true)
  }

  func publishBook(
    _ stream: PublishedStream, _ instrument: PublishedInstrument, now: Timestamp, into out: inout [Delivery]
  ) {
    let state = instrument.state
    guard state.bookState == .live else { return }
    changedBids.removeAll(keepingCapacity: true)
    changedAsks.removeAll(keepingCapacity: true)
    if stream.key.depth > 0 {
      let depth = Int(stream.key.depth)
      BookView.advance(
        &stream.view.bids, to: state.book.bids, depth: depth, isBid: true, scratch: &levels, changed: &changedBids)
      BookView.advance(
        &stream.view.asks, to: state.book.asks, depth: depth, isBid: false, scratch: &levels, changed: &changedAsks)
    } else if stream.view.isOverflowing {
      stream.view.removePending()
      stream.view.time = state.bookTime
      stream.view.members = instrument.members
      republish(stream, now: now, into: &out)
      return
    } else {
      BookView.resolve(&stream.view.pendingBids, in: state.book.bids, isBid: true, changed: &changedBids)
      BookView.resolve(&stream.view.pendingAsks, in: state.book.asks, isBid: false, changed: &changedAsks)
    }
    let hasOtherMembers = stream.view.members != instrument.members
    guard !changedBids.isEmpty || !changedAsks.isEmpty || hasOtherMembers else { return }
    stream.view.time = state.bookTime
    stream.view.members = instrument.members
    update(stream, events: 0, now: now, into: &out) {
      BookChannel.appendUpdate(
        bids: changedBids, asks: changedAsks, members: hasOtherMembers ? instrument.members : "",
        time: state.bookTime, of: state.instrument, to: &$0)
    }
  }
}

/// What the streams of an instrument say of a channel at the venue that has died while the others live.
///
/// Messages have `"state":"syncing"` and a `reason` for as long as the channel is silent. A message without `state` is
/// live. Prices and trades that are shown stay, since they are the last that are known.
extension StreamPublisher {
  /// Notifies the subscribers at once, in every rate class, that a channel died or speaks again.
  func publish(
    _ channel: MarketChannel, _ state: ChannelState, of instrument: PublishedInstrument, now: Timestamp,
    into out: inout [Delivery]
  ) {
    // Further attempts to revive it are no news.
    if case .silent(let attempt) = state, attempt > 1 { return }
    if state == .doubted { return }
    switch channel {
    case .quote:
      // The next quote is a snapshot.
      guard state != .live else { return }
      for stream in instrument.quotes { loseSync(stream, instrument, now: now, into: &out) }
    case .ticker:
      for stream in instrument.tickers where stream.isShown { flush(stream, now: now, into: &out) }
    case .trades:
      for stream in instrument.trades where stream.isShown && stream.isRunning {
        flush(stream, now: now, into: &out)
        update(stream, events: 0, now: now, into: &out) {
          TradesChannel.append([], of: instrument.state.instrument, mark: instrument.state.mark(.trades), to: &$0)
        }
      }
      for stream in instrument.pulses where stream.isShown && stream.isRunning {
        guard let price = instrument.lastPulse?.price else { continue }
        update(stream, events: 0, now: now, into: &out) {
          PulseChannel.append(
            price, instrument.state.mark(.trades), time: now, of: instrument.state.instrument, to: &$0)
        }
      }
      for stream in instrument.tickers where stream.isShown { flush(stream, now: now, into: &out) }
    }
  }
}
