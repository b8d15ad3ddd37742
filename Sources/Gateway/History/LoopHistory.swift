import Bytes
import Feeds
import HTTP1
import History
import Logging
import MarketData
import PubSub
import Transport
import Venues

/// The history of the feeds of one loop: passes closed candles and changes to the keeper, and gives each instrument its
/// past before clients see it. Owned by its node's loop.
final class LoopHistory: MarketObserver {
  /// How long a feed's instruments are hidden from clients at most while their past is loaded, µs.
  private static let patience = 15 * Microseconds.second
  /// How long after the start of an observation its first minute has closed and can be requested.
  private static let secondPlan = 75 * Microseconds.second

  private struct InstrumentEntry {
    /// The store's symbol.
    var symbol: String
    var observation = ObservationNews()
    /// The time of the newest trade that was handed over, and the number of trades until then.
    var tradeTime = Timestamp.distantPast
    var tradeCount: UInt64 = 0
    /// Whether its past is being loaded.
    var waits = false
    /// Whether the wait for its history took too long and it was shown without it: then no stored stream can continue
    /// here.
    var hasBegun = false
    /// When missing candles are requested from the venue, and how many requests remain: one at the beginning of an
    /// observation, and one at the end of the minute in which it began.
    var planAt = Timestamp.distantFuture
    var plans = 0
    /// Whether all its days have been requested in this run.
    var hasAskedForAll = false
  }

  private struct FeedEntry {
    /// The suffix of symbols if the endpoint is not the venue's own.
    var suffix: String
    var instruments: [InstrumentEntry] = []
    var waiting = 0
    /// When the feed's instruments are shown even without their past.
    var deadline = Timestamp.distantFuture
    var backfill: CandleBackfill?
  }

  unowned let node: LoopNode
  private let keeper: HistoryKeeper
  private var feeds: [Int: FeedEntry] = [:]
  private var batch = HistoryBatch()
  private var isStopped = false
  /// Until when unclaimed streams of the run before are kept for the next one.
  private let awaitedUntil: Timestamp

  init(node: LoopNode, keeper: HistoryKeeper) {
    self.node = node
    self.keeper = keeper
    awaitedUntil = node.clock.now() + StoredStreams.patience
  }

  /// Whether the instruments of a feed must not be announced yet, because their past is being loaded.
  func isHolding(_ slot: Int) -> Bool { (feeds[slot]?.waiting ?? 0) > 0 }

  /// Starts the history of a feed.
  /// - Parameter share: the venue's connections that request candles, including this one.
  func add(_ feed: FeedSession, configuration: FeedConfiguration, tls: TLSClientContext?, share: Int) {
    let isOwn = node.settings.source == .simulated || configuration.endpoint == nil
    var entry = FeedEntry(suffix: isOwn ? "" : "@\(configuration.endpoint ?? "")")
    let venue = feed.pipeline.venue
    if node.settings.backfills, let format = venue.candles,
      let endpoint = EndpointURL(configuration.restEndpoint ?? venue.restEndpoint)
    {
      entry.backfill = CandleBackfill(
        format: format, endpoint: endpoint, tls: tls, loop: node.loop, share: share, log: feed.log
      ) { [unowned self, slot = feed.slot] page in take(page, slot) }
    }
    feeds[feed.slot] = entry
  }

  // MARK: From the market

  /// Takes what history needs of a batch of changes.
  func observe(_ changes: borrowing MarketChanges, of feed: any Feed, at now: Timestamp) {
    guard feeds[feed.slot] != nil else { return }
    for item in changes.items {
      switch item {
      case .instrument(let id): describe(id, of: feed, now)
      case .candles(let id, let range):
        let state = feed.pipeline.market[id]
        guard let symbol = symbol(id, feed.slot) else { continue }
        observe(id, of: feed, now)
        for candle in changes.candles[range]
        where candle.interval == .minute && candle.isClosed && candle.source != .venue && candle.volume > 0 {
          batch.minutes.append(.init(symbol: symbol, candle: StoredCandle(candle, of: state.instrument)))
        }
        // In the same transaction, so that no trade is in one of both only.
        takeLatest(id, of: feed, now, isDue: true)
      default: break
      }
    }
    send(now)
  }

  /// The store's symbol of an instrument; nil if its feed has no history. O(1).
  func symbol(_ id: InstrumentID, _ slot: Int) -> String? {
    guard let entry = feeds[slot], id.index < entry.instruments.count else { return nil }
    return entry.instruments[id.index].symbol
  }

  private func describe(_ id: InstrumentID, of feed: any Feed, _ now: Timestamp) {
    let instrument = feed.pipeline.market[id].instrument
    guard var entry = feeds[feed.slot] else { return }
    let symbol = instrument.symbol + entry.suffix
    batch.instruments.append(.init(symbol: symbol, instrument: instrument))
    guard id.index >= entry.instruments.count else { return }
    while entry.instruments.count <= id.index {
      let next = feed.pipeline.market.instruments[entry.instruments.count].instrument
      entry.instruments.append(InstrumentEntry(symbol: next.symbol + entry.suffix))
    }
    if keeper.knows(symbol) {
      entry.instruments[id.index].waits = true
      entry.instruments[id.index].observation.expectPast()
      if entry.waiting == 0 { entry.deadline = now + Self.patience }
      entry.waiting += 1
    }
    feeds[feed.slot] = entry
    if entry.instruments[id.index].waits {
      restore(id, instrument, symbol, feed.slot, now)
    } else {
      beginAnew(id, feed.slot, now)
    }
  }

  /// Hands over the news of every instrument: whether it is observed, its newest trades and its open minutes. Once a
  /// second. O(instruments).
  func everySecond(_ now: Timestamp) {
    guard !isStopped else { return }
    for slot in feeds.keys.sorted() {
      guard let count = feeds[slot]?.instruments.count else { continue }
      let feed = node.feeds[slot]
      for index in 0..<count { observe(InstrumentID(index), of: feed, now) }
      guard var entry = feeds[slot] else { continue }
      for index in entry.instruments.indices {
        let state = feed.pipeline.market.instruments[index]
        let symbol = entry.instruments[index].symbol
        if now >= entry.instruments[index].planAt, !entry.instruments[index].waits {
          entry.instruments[index].plans -= 1
          entry.instruments[index].planAt =
            entry.instruments[index].plans > 0 ? now + Self.secondPlan : .distantFuture
          plan(state.instrument, symbol, slot, now)
        }
      }
      if entry.waiting > 0, now >= entry.deadline {
        entry.waiting = 0
        for index in entry.instruments.indices where entry.instruments[index].waits {
          entry.instruments[index].hasBegun = true
          beginAnew(feed.pipeline.market.instruments[index].instrument.id, slot, now)
        }
        node.settings.log.warning(
          "instruments served before their history is loaded", metadata: ["venue": "\(feed.pipeline.venue.label)"])
        node.feeds.changed(feed)
      }
      feeds[slot] = entry
      for index in entry.instruments.indices { takeLatest(InstrumentID(index), of: feed, now, isDue: false) }
    }
    send(now)
    keeper.noteComplete(until: now, loop: node.loop.index)
  }

  /// Hands over an instrument's last trades and open minutes, if they have changed or are due anyway. O(last trades).
  private func takeLatest(_ id: InstrumentID, of feed: any Feed, _ now: Timestamp, isDue: Bool) {
    guard let entry = feeds[feed.slot]?.instruments[id.index], !entry.waits,
      let trade = feed.pipeline.market[id].lastTrade
    else { return }
    let count = node.publisher.tradeCount(of: id, market: feed.slot)
    guard isDue || trade.time != entry.tradeTime || count != entry.tradeCount else { return }
    feeds[feed.slot]?.instruments[id.index].tradeTime = trade.time
    feeds[feed.slot]?.instruments[id.index].tradeCount = count
    let trades = node.publisher.lastTrades(of: id, market: feed.slot).trades
    batch.appendLatest(feed.pipeline.market, id, as: entry.symbol, trades: trades, now: now)
  }

  /// Hands over since when an instrument is observed, and whether the trades of the run before join its own. O(1).
  private func observe(_ id: InstrumentID, of feed: any Feed, _ now: Timestamp) {
    guard var entry = feeds[feed.slot]?.instruments[id.index] else { return }
    let isBeginning = entry.observation.take(
      feed.pipeline.market, id, as: entry.symbol, now: now, into: &batch)
    if isBeginning { (entry.planAt, entry.plans) = (now, 2) }
    feeds[feed.slot]?.instruments[id.index] = entry
  }

  private func send(_ now: Timestamp) {
    guard !batch.isEmpty else { return }
    keeper.add(batch, now: now)
    batch = HistoryBatch()
  }

  /// Reads the store for a client; see `HistoryKeeper.readForClient`.
  func readForClient<Value: Sendable>(
    _ work: @escaping @Sendable (HistoryStore) throws -> Value?, then body: @escaping @Sendable (Value?) -> Void
  ) -> Bool {
    keeper.readForClient(work, then: body)
  }

  // MARK: To the market

  private func restore(_ id: InstrumentID, _ instrument: Instrument, _ symbol: String, _ slot: Int, _ now: Timestamp) {
    let node: LoopNode = node
    keeper.read { store in
      try store.restore(symbol, now: now).map { InstrumentPast($0, of: instrument, now: now) }
    } then: { (past: InstrumentPast?) in
      node.loop.execute { node.history?.restored(id, instrument, symbol, slot, past) }
    }
  }

  private func restored(
    _ id: InstrumentID, _ instrument: Instrument, _ symbol: String, _ slot: Int, _ past: InstrumentPast?
  ) {
    guard var entry = feeds[slot], entry.instruments[id.index].waits else { return }
    let now = node.clock.now()
    let state = node.feeds[slot].pipeline.market[id]
    let present = state.instrument
    guard present.priceScale == instrument.priceScale, present.sizeScale == instrument.sizeScale else {
      return restore(id, present, symbol, slot, now)
    }
    entry.instruments[id.index].waits = false
    entry.waiting = max(0, entry.waiting - 1)
    entry.instruments[id.index].observation.begin(after: past?.end)
    feeds[slot] = entry
    if let past {
      keeper.countRestored()
      var changes = MarketChanges()
      past.restore(node.feeds[slot].pipeline.market, id, now: now, into: &changes)
      node.publish(changes, slot: slot, now: now)
    }
    if !entry.instruments[id.index].hasBegun { goOn(id, instrument, symbol, slot, after: past?.latest, now: now) }
    if entry.waiting == 0 { node.feeds.changed(node.feeds[slot]) }
  }

  // MARK: From the venue

  /// A client requests the whole history of an instrument: request all its days from the venue, once a run.
  func wantAll(of id: InstrumentID, _ slot: Int) {
    guard let entry = feeds[slot], id.index < entry.instruments.count, !entry.instruments[id.index].hasAskedForAll,
      let days = entry.backfill?.allDays(now: node.clock.now())
    else { return }
    feeds[slot]?.instruments[id.index].hasAskedForAll = true
    let instrument = node.feeds[slot].pipeline.market[id].instrument
    plan([(.day, days)], of: instrument, entry.instruments[id.index].symbol, slot, endsAtListing: true)
  }

  private func plan(_ instrument: Instrument, _ symbol: String, _ slot: Int, _ now: Timestamp) {
    guard let backfill = feeds[slot]?.backfill else { return }
    plan(backfill.ranges(now: now), of: instrument, symbol, slot)
  }

  private func plan(
    _ wanted: [(Resolution, Range<Timestamp>)], of instrument: Instrument, _ symbol: String, _ slot: Int,
    endsAtListing: Bool = false
  ) {
    let node: LoopNode = node
    keeper.read { store in
      try wanted.flatMap { resolution, range in
        try store.missing(symbol, resolution, in: range).map { MissingCandles(resolution: resolution, range: $0) }
      }
    } then: { (missing: [MissingCandles]?) in
      guard let missing, !missing.isEmpty else { return }
      node.loop.execute {
        node.history?.feeds[slot]?.backfill?.ask(
          for: missing, of: instrument, as: symbol, now: node.clock.now(), endsAtListing: endsAtListing,
          isWatched: { [unowned node] in node.publisher.hasSubscribers(of: $0, market: slot) })
      }
    }
  }

  private func take(_ page: CandlePage, _ slot: Int) {
    let now = node.clock.now()
    let state = node.feeds[slot].pipeline.market[page.instrument.id]
    if state.instrument.priceScale == page.instrument.priceScale,
      state.instrument.sizeScale == page.instrument.sizeScale
    {
      restore(page.candles, of: page.instrument.id, slot: slot, now: now)
    }
    var batch = HistoryBatch()
    batch.deliveries = [
      .init(
        symbol: page.symbol, resolution: page.resolution,
        candles: page.candles.map { StoredCandle($0, of: page.instrument) }, covers: page.covers)
    ]
    keeper.add(batch, now: now)
  }

  /// The streams of the run before that instruments may still continue, in the order of their numbers.
  private func awaited(now: Timestamp) -> [StoredStreams.Stream] {
    guard now < awaitedUntil, let kept = node.settings.kept else { return [] }
    return kept.streams.values.joined().sorted { $0.number < $1.number }
  }

  /// Hands over the last news, and ends all requests.
  func stop() {
    guard !isStopped else { return }
    everySecond(node.clock.now())
    isStopped = true
    for slot in feeds.keys.sorted() { feeds[slot]?.backfill?.stop() }
  }

  /// The counters of all feeds, for metrics.
  var backfillFigures: CandleBackfill.Figures {
    feeds.keys.sorted().compactMap { feeds[$0]?.backfill?.figures }.reduce(into: .init()) { $0.add($1) }
  }
}

/// What goes on from one run to the next.
extension LoopHistory {
  /// Gives an instrument candles that were requested from its venue.
  private func restore(_ candles: [Candle], of id: InstrumentID, slot: Int, now: Timestamp) {
    var changes = MarketChanges()
    _ = node.feeds[slot].pipeline.market.restore(candles, of: id, now: now, into: &changes)
    node.publish(changes, slot: slot, now: now)
  }

  /// Restores the sessions that this loop had in the run before. Call it before the ports open: clients may wait there
  /// already.
  func restoreSessions() {
    guard let kept = node.settings.kept else { return }
    let now = node.clock.now()
    let index = node.loop.index
    node.hub.restore(kept.sessions.filter { $0.loop == index }, now: now, into: &node.work.actions)
    // The store's symbols may end with an endpoint.
    node.hub.expect(Set(kept.streams.keys.map { symbol in String(symbol.prefix { $0 != "@" }) }), now: now)
  }

  /// Stores streams and sessions for the next run. On the loop, when the feeds have ended.
  func keepStreams() {
    let now = node.clock.now()
    let publisher = node.publisher
    let streams = publisher.keep(now: now, into: &node.work.outgoing).compactMap { stream -> StoredStreams.Stream? in
      guard let symbol = symbol(stream.instrument, stream.market) else { return nil }
      let last = publisher.lastTrades(of: stream.instrument, market: stream.market).trades.last
      return StoredStreams.Stream(
        number: stream.number, symbol: symbol, interval: stream.interval, seq: stream.seq,
        last: last.map { .init(id: $0.id.text, time: $0.time) },
        messages: stream.messages.map {
          .init(prev: $0.prev, seq: $0.seq, events: $0.events, time: $0.time, bytes: $0.bytes)
        },
        scale: stream.scale.map { .init(base: $0.base, priceDigits: $0.priceDigits, sizeDigits: $0.sizeDigits) })
    }
    // A run that ends soon after its start has not continued all streams of the one before.
    let awaited = awaited(now: now).filter { publisher.isAwaited($0.number) }
    let sessions = node.hub.keepSessions(now: now).map {
      StoredStreams.Session(token: $0.token, subject: $0.subject, isPaused: $0.isPaused, expires: $0.expires)
    }
    keeper.keep(
      StoredStreams(
        epoch: publisher.epoch, highest: publisher.highestSeq, loops: node.loopCount, streams: streams + awaited,
        sessions: sessions))
  }
}
