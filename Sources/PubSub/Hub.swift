import Bytes
import MarketData
import WebSocket

/// The publishing half of the fan-out, one per loop that has markets: it owns the streams of their instruments, encodes
/// each update once per stream, and says which loops it goes to. Sans-IO; confined to its loop's queue.
///
/// A stream without subscribers costs nothing but its slot: it is not encoded. It keeps its number and its `seq` for those who
/// come back, until `idleStreamLimit` others went idle after it; then its slot goes to the next new stream, whose `seq` starts
/// above every one that the hub has given up, so that for a client no position goes back within the epoch.
package final class Hub {
  /// Streams without subscribers that are kept for the case that someone comes back.
  package static let idleStreamLimit = 4_096

  package let loop: Int
  package let loops: Int
  package let epoch: String

  var markets: [HubMarket] = []
  /// By number / `loops`; the first place is unused, so that no stream has the number 0.
  private var streams: [HubStream?] = [nil]
  private var byKey: [StreamKey: HubStream] = [:]
  private var idle: [(stream: HubStream, generation: UInt32)] = []
  private var idleHead = 0
  /// The highest `seq` of a stream whose slot was given away.
  private var retiredSeq: UInt64 = 0

  /// Streams that wait for the next tick of their class, by `RateClass.index`.
  private var waiting: [[HubStream]] = RateClass.intervals.map { _ in [] }
  private var ticks: [Timestamp] = RateClass.intervals.map { _ in .distantFuture }
  /// Book streams to be flushed at the end of the batch.
  private var touched: [HubStream] = []

  var feeds: [FeedStatus] = []
  private var statusStreams: [HubStream] = []

  private var frame = ByteBuffer(capacity: 4096)
  private var changedBids: [PriceLevel] = []
  private var changedAsks: [PriceLevel] = []
  private var levels: [PriceLevel] = []

  /// - Parameters:
  ///   - loop: this loop; stream numbers are striped so that `number % loops == loop`.
  ///   - loops: 1…64, as many as fit in the bit mask of a delivery.
  ///   - epoch: of this run; changes when numbering restarts.
  package init(loop: Int, loops: Int, epoch: String) {
    precondition((1...64).contains(loops) && (0..<loops).contains(loop), "loops are 1 to 64")
    self.loop = loop
    self.loops = loops
    self.epoch = epoch
  }

  /// Adds a market whose changes will be published; returns its slot.
  package func add(market: Market, venue: String) -> Int {
    markets.append(HubMarket(market: market, venue: venue))
    return markets.count - 1
  }

  /// Streams that have subscribers. For metrics. O(streams).
  package var subscribedStreams: Int { streams.count { ($0?.loops ?? 0) != 0 } }

  // MARK: Commands

  /// Carries out what a fan-out asked for.
  package func perform(_ command: HubCommand, now: Timestamp, into out: inout [Delivery]) {
    switch command {
    case .join(let request): join(request, now: now, into: &out)
    case .leave(let id, let loop):
      guard let stream = stream(id), stream.loops & (1 << UInt64(loop)) != 0 else { return }
      stream.loops &= ~(1 << UInt64(loop))
      if stream.loops == 0 { sleep(stream) }
    case .resnapshot(let id, let loop, let client, let reason):
      guard let stream = stream(id), stream.loops & (1 << UInt64(loop)) != 0 else { return }
      flushBeforeSnapshot(stream, now: now, into: &out)
      if let frame = snapshot(of: stream, reason: reason, now: now) {
        out.append(.snapshot(frame, loop: loop, client: client))
      }
    }
  }

  private func stream(_ id: StreamID) -> HubStream? {
    let number = Int(id.rawValue)
    guard number % loops == loop, number / loops < streams.count else { return nil }
    return streams[number / loops]
  }

  private func join(_ request: JoinRequest, now: Timestamp, into out: inout [Delivery]) {
    let stream = byKey[request.key] ?? makeStream(request)
    if stream.loops == 0 { wake(stream) } else { flushBeforeSnapshot(stream, now: now, into: &out) }
    stream.loops |= 1 << UInt64(request.loop)
    let frame = snapshot(of: stream, reason: request.reason, now: now)
    var state = "live"
    if stream.key.channel == .book, let instrument = instrument(of: stream), instrument.state.bookState != .live {
      state = "syncing"
    }
    let result = JoinResult(
      stream: stream.id, key: stream.key, epoch: epoch, seq: stream.seq, state: state, request: request.request,
      item: request.item, snapshot: frame)
    out.append(.joined(result, loop: request.loop, client: request.client))
  }

  private func makeStream(_ request: JoinRequest) -> HubStream {
    let stream: HubStream
    if let old = retireIdleStream() {
      stream = HubStream(id: old.id, seq: retiredSeq, key: request.key)
      streams[Int(old.id.rawValue) / loops] = stream
    } else {
      let id = StreamID(rawValue: UInt32(streams.count * loops + loop))
      stream = HubStream(id: id, seq: retiredSeq, key: request.key)
      streams.append(stream)
    }
    stream.assign(request.key, market: request.market, instrument: request.instrument)
    byKey[request.key] = stream
    return stream
  }

  /// Takes the slot of the stream that has been idle longest, if more than enough are.
  private func retireIdleStream() -> HubStream? {
    while idle.count - idleHead > Self.idleStreamLimit {
      let (stream, generation) = idle[idleHead]
      idleHead += 1
      if idleHead > 1024, idleHead * 2 > idle.count {
        idle.removeFirst(idleHead)
        idleHead = 0
      }
      guard stream.loops == 0, stream.idleGeneration == generation else { continue }
      byKey[stream.key] = nil
      retiredSeq = max(retiredSeq, stream.seq)
      return stream
    }
    return nil
  }

  private func sleep(_ stream: HubStream) {
    if stream.key.channel == .status {
      statusStreams.removeAll { $0 === stream }
    } else {
      instrument(of: stream)?.remove(stream)
    }
    stream.sleep()
    idle.append((stream, stream.idleGeneration))
  }

  /// Starts publishing again. What is now shown differs from what the last `seq` showed, so it gets a new one.
  private func wake(_ stream: HubStream) {
    stream.seq += 1
    if stream.key.channel == .status {
      statusStreams.append(stream)
      stream.isShown = true
      return
    }
    guard let instrument = instrument(of: stream) else { return }
    instrument.add(stream)
    show(stream, instrument)
  }

  func instrument(of stream: HubStream) -> HubInstrument? {
    guard stream.key.channel != .status, stream.market >= 0, stream.market < markets.count else { return nil }
    return markets[stream.market].instrument(stream.instrument)
  }

  /// Takes the present state as what the stream's subscribers are shown, if there is any; the snapshot shows exactly this.
  private func show(_ stream: HubStream, _ instrument: HubInstrument) {
    let state = instrument.state
    switch stream.key.channel {
    case .trades, .status: stream.isShown = true
    case .quote: stream.isShown = state.quote != nil
    case .ticker: stream.isShown = state.hasTicker
    case .pulse: stream.isShown = instrument.lastPulse != nil
    case .sparkline: stream.isShown = state.lastPrice != nil
    case .book:
      stream.isShown = state.bookState == .live
      stream.view.removeAll()
      guard stream.isShown else { return }
      stream.view.time = state.bookTime
      if stream.key.depth > 0 {
        BookView.top(Int(stream.key.depth), of: state.book.bids, into: &stream.view.bids)
        BookView.top(Int(stream.key.depth), of: state.book.asks, into: &stream.view.asks)
      }
    }
  }

  // MARK: Changes

  /// Publishes what a batch changed: streams at full rate at once, the others at their next tick.
  package func publish(_ changes: borrowing MarketChanges, market: Int, now: Timestamp, into out: inout [Delivery]) {
    let owner = markets[market]
    for index in changes.items.indices {
      switch changes.items[index] {
      case .trades(let id, let range):
        guard let instrument = owner.instrument(id) else { continue }
        for place in range { instrument.recentTrades.append(changes.trades[place]) }
        for stream in instrument.trades {
          if stream.isImmediate {
            publishTrades(changes.trades[range], on: stream, instrument, now: now, into: &out)
          } else {
            stream.gathered.append(contentsOf: changes.trades[range])
            wait(stream, now: now)
            if stream.gathered.count >= TradesChannel.gatheredLimit { flush(stream, now: now, into: &out) }
          }
        }
      case .quote(let quote):
        guard let instrument = owner.instrument(quote.instrument) else { continue }
        changed(instrument.quotes, now: now, into: &out)
      case .ticker(let id):
        guard let instrument = owner.instrument(id) else { continue }
        changed(instrument.tickers, now: now, into: &out)
      case .pulse(let pulse):
        guard let instrument = owner.instrument(pulse.instrument) else { continue }
        instrument.lastPulse = pulse
        changed(instrument.pulses, now: now, into: &out)
      case .sparkline(let id):
        guard let instrument = owner.instrument(id) else { continue }
        changed(instrument.sparklines, now: now, into: &out)
      case .bookDelta(let id, let bids, let asks, _):
        guard let instrument = owner.instrument(id) else { continue }
        for stream in instrument.books {
          if stream.key.depth == 0, stream.isShown {
            stream.view.note(bids: changes.bids[bids], asks: changes.asks[asks])
          }
          bookChanged(stream, now: now)
        }
      case .bookSnapshot(let id):
        guard let instrument = owner.instrument(id) else { continue }
        for stream in instrument.books {
          if stream.key.depth == 0 { stream.view.isOverflowing = true }
          bookChanged(stream, now: now)
        }
      case .bookState(let id, let state):
        guard let instrument = owner.instrument(id) else { continue }
        for stream in instrument.books {
          if state != .live, stream.isShown {
            stream.isShown = false
            stream.dueReason = .resync
            stream.cachedSnapshot = nil
            stream.view.removeAll()
          }
          bookChanged(stream, now: now)
        }
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

  private func changed(_ streams: [HubStream], now: Timestamp, into out: inout [Delivery]) {
    for stream in streams {
      if stream.isImmediate { flush(stream, now: now, into: &out) } else { wait(stream, now: now) }
    }
  }

  /// A book is flushed when the whole batch is known; out of sync it may not be shown, and back in sync it is shown at once.
  private func bookChanged(_ stream: HubStream, now: Timestamp) {
    guard stream.isImmediate || !stream.isShown else { return wait(stream, now: now) }
    if stream.isDirty { return }
    stream.isDirty = true
    touched.append(stream)
  }

  /// Every price is now written another way: what has been shown is shown anew.
  private func rescaled(_ instrument: HubInstrument, now: Timestamp) {
    for stream in instrument.books + instrument.sparklines where stream.isShown {
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

  private func wait(_ stream: HubStream, now: Timestamp) {
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

  /// When `advance` next has something to do.
  package var nextDeadline: Timestamp { ticks.min() ?? .distantFuture }

  /// Replaces the feed states that the `status` stream shows; publishes if something other than an age changed. Loop 0 only.
  package func publish(status: [FeedStatus], now: Timestamp, into out: inout [Delivery]) {
    let isNews = status.count != feeds.count || zip(status, feeds).contains { $0.differsInMoreThanAge(from: $1) }
    feeds = status
    guard isNews else { return }
    for stream in statusStreams { flush(stream, now: now, into: &out) }
  }

  // MARK: Messages

  /// What a snapshot of an incremental stream cannot show twice must be out before it: then a client that joins late has at
  /// every `seq` exactly what one has that joined first.
  private func flushBeforeSnapshot(_ stream: HubStream, now: Timestamp, into out: inout [Delivery]) {
    switch stream.key.channel {
    case .trades: if !stream.gathered.isEmpty { flush(stream, now: now, into: &out) }
    case .book where stream.key.depth == 0: flush(stream, now: now, into: &out)
    case .sparkline where stream.isDirty: flush(stream, now: now, into: &out)
    default: break
    }
  }

  /// Publishes what the stream owes its subscribers, if anything.
  private func flush(_ stream: HubStream, now: Timestamp, into out: inout [Delivery]) {
    guard stream.loops != 0 else { return }
    if stream.key.channel == .status {
      update(stream, events: 0, now: now, into: &out) { StatusChannel.append(feeds, now: now, to: &$0) }
      return
    }
    guard let instrument = instrument(of: stream) else { return }
    guard stream.isShown else {
      show(stream, instrument)
      guard stream.isShown else { return }
      stream.seq += 1
      stream.cachedSnapshot = nil
      let reason = stream.dueReason
      stream.dueReason = .subscribe
      if let frame = snapshot(of: stream, reason: reason, now: now) { out.append(.frame(frame, loops: stream.loops)) }
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
      guard let ticker = state.dayTicker(now: now) else { return }
      update(stream, events: 0, now: now, into: &out) { TickerChannel.append(ticker, of: state.instrument, to: &$0) }
    case .pulse:
      guard let pulse = instrument.lastPulse else { return }
      let open = state.dayOpen(now: now)
      update(stream, events: 0, now: now, into: &out) {
        PulseChannel.append(pulse, open: open, of: state.instrument, to: &$0)
      }
    case .sparkline: publishSparkline(stream, state, now: now, into: &out)
    case .book: publishBook(stream, state, now: now, into: &out)
    case .status: break
    }
  }

  private func publishTrades(
    _ trades: ArraySlice<Trade>, on stream: HubStream, _ instrument: HubInstrument, now: Timestamp,
    into out: inout [Delivery]
  ) {
    guard !trades.isEmpty else { return }
    update(stream, events: UInt32(trades.count), now: now, into: &out) {
      TradesChannel.append(trades, of: instrument.state.instrument, to: &$0)
    }
  }

  private func publishSparkline(
    _ stream: HubStream, _ state: InstrumentState, now: Timestamp, into out: inout [Delivery]
  ) {
    guard let tip = state.sparklineTip(points: Int(stream.key.points), now: now) else { return }
    guard tip.revision == stream.sparklineRevision else {
      republish(stream, now: now, into: &out)
      return
    }
    update(stream, events: 0, now: now, into: &out) {
      SparklineChannel.appendUpdate(tip, of: state.instrument, to: &$0)
    }
  }

  private func publishBook(_ stream: HubStream, _ state: InstrumentState, now: Timestamp, into out: inout [Delivery]) {
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
      republish(stream, now: now, into: &out)
      return
    } else {
      BookView.resolve(&stream.view.pendingBids, in: state.book.bids, isBid: true, changed: &changedBids)
      BookView.resolve(&stream.view.pendingAsks, in: state.book.asks, isBid: false, changed: &changedAsks)
    }
    guard !changedBids.isEmpty || !changedAsks.isEmpty else { return }
    stream.view.time = state.bookTime
    update(stream, events: 0, now: now, into: &out) {
      BookChannel.appendUpdate(
        bids: changedBids, asks: changedAsks, time: state.bookTime, of: state.instrument, to: &$0)
    }
  }

  /// Sends all subscribers a snapshot in place of an update.
  private func republish(_ stream: HubStream, now: Timestamp, into out: inout [Delivery]) {
    stream.seq += 1
    stream.cachedSnapshot = nil
    if let frame = snapshot(of: stream, reason: .resync, now: now) { out.append(.frame(frame, loops: stream.loops)) }
  }

  private func update(
    _ stream: HubStream, events: UInt32, now: Timestamp, into out: inout [Delivery], _ data: (inout ByteBuffer) -> Void
  ) {
    let prev = stream.seq
    stream.seq = prev + 1
    stream.cachedSnapshot = nil
    frame.removeAll()
    WebSocketFrame.appendUnmasked(.text, to: &frame) { out in
      Envelope.appendUpdate(of: stream, prev: prev, now: now, to: &out)
      data(&out)
      out.append(UInt8(ascii: "}"))
    }
    let made = StreamFrame(
      stream: stream.id, kind: .update, prev: prev, seq: stream.seq, events: events,
      bytes: SharedBytes(frame.unsafeBytes))
    out.append(.frame(made, loops: stream.loops))
  }

  /// The snapshot at the stream's present `seq`; nil while there is nothing to show.
  private func snapshot(of stream: HubStream, reason: SnapshotReason, now: Timestamp) -> StreamFrame? {
    guard stream.isShown else { return nil }
    if let cached = stream.cachedSnapshot, stream.cachedReason == reason { return cached }
    frame.removeAll()
    var hasData = true
    WebSocketFrame.appendUnmasked(.text, to: &frame) { out in
      Envelope.appendSnapshot(of: stream, reason: reason, now: now, to: &out)
      hasData = appendData(of: stream, now: now, to: &out)
      out.append(UInt8(ascii: "}"))
    }
    guard hasData else { return nil }
    let made = StreamFrame(
      stream: stream.id, kind: .snapshot, prev: stream.seq, seq: stream.seq, events: 0,
      bytes: SharedBytes(frame.unsafeBytes))
    stream.cachedSnapshot = made
    stream.cachedReason = reason
    return made
  }

  /// Appends a snapshot's `data`; false if there is none.
  private func appendData(of stream: HubStream, now: Timestamp, to out: inout ByteBuffer) -> Bool {
    if stream.key.channel == .status {
      StatusChannel.append(feeds, now: now, to: &out)
      return true
    }
    guard let instrument = instrument(of: stream) else { return false }
    let state = instrument.state
    switch stream.key.channel {
    case .trades:
      TradesChannel.append(instrument.recentTrades.last(TradesChannel.recent), of: state.instrument, to: &out)
    case .quote:
      guard let quote = state.quote else { return false }
      QuoteChannel.append(quote, of: state.instrument, to: &out)
    case .ticker:
      guard let ticker = state.dayTicker(now: now) else { return false }
      TickerChannel.append(ticker, of: state.instrument, to: &out)
    case .pulse:
      guard let pulse = instrument.lastPulse else { return false }
      PulseChannel.append(pulse, open: state.dayOpen(now: now), of: state.instrument, to: &out)
    case .sparkline:
      let points = Int(stream.key.points)
      guard let tip = state.sparklineTip(points: points, now: now) else { return false }
      stream.sparklineRevision = tip.revision
      out.append(UInt8(ascii: "{"))
      SparklineChannel.appendSnapshot(state.sparkline(points: points, now: now), of: state.instrument, to: &out)
      out.append(UInt8(ascii: "}"))
    case .book:
      out.append(UInt8(ascii: "{"))
      if stream.key.depth > 0 {
        BookChannel.appendSnapshot(
          bids: stream.view.bids, asks: stream.view.asks, time: stream.view.time, of: state.instrument, to: &out)
      } else {
        var bids: [PriceLevel] = []
        var asks: [PriceLevel] = []
        BookView.top(0, of: state.book.bids, into: &bids)
        BookView.top(0, of: state.book.asks, into: &asks)
        BookChannel.appendSnapshot(
          bids: bids, asks: asks, time: stream.view.time, of: state.instrument, to: &out)
      }
      out.append(UInt8(ascii: "}"))
    case .status: return false
    }
    return true
  }
}
