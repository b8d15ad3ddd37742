import Bytes
import MarketData
import WebSocket

/// Publishes the streams of one loop's markets: it owns the streams, encodes each update once per stream, and selects
/// the loops that get it. Sans-IO; confined to its loop's queue.
///
/// A stream without subscribers is not encoded and costs only its slot. It keeps its number and its `seq` for clients
/// that return, until `idleStreamLimit` others became idle after it. Then a new stream gets its slot. The new stream's
/// `seq` starts above that of every stream that the publisher has given up, so for a client no position decreases
/// within the epoch.
package final class StreamPublisher {
  /// The number of streams without subscribers that are kept for returning clients.
  package static let idleStreamLimit = 4_096

  package let loop: Int
  package let loops: Int
  /// The epoch of the numbers. Runs of the gateway share it if the numbering was not lost between them.
  package let epoch: String
  /// The name of this run, with which revisions restart. Runs may share an epoch.
  package let run: String

  var markets: [PublishedMarket] = []
  /// The streams by number / `loops`; the first place is unused, so that no stream has the number 0.
  var streams: [PublishedStream?] = [nil]
  var byKey: [StreamKey: PublishedStream] = [:]
  /// Numbers that are reserved for streams of an earlier run.
  var reserved: Set<UInt32>
  /// Where the search for the next free place begins.
  private var nextPlace = 1
  /// Streams of an earlier run that run without subscribers until a time, in the order of time.
  var held: [(stream: PublishedStream, until: Timestamp)] = []
  /// A note of each time that a stream lost its last subscriber, oldest first; at most twice as many as there are
  /// streams.
  var idle: [(stream: PublishedStream, generation: UInt32)] = []
  var idleHead = 0
  /// The highest `seq` of a stream whose slot was given away, or of an earlier run.
  var retiredSeq: UInt64

  /// Streams that wait for the next tick of their class, by `RateClass.index`.
  var waiting: [[PublishedStream]] = RateClass.intervals.map { _ in [] }
  var ticks: [Timestamp] = RateClass.intervals.map { _ in .distantFuture }
  /// Book streams to be flushed at the end of the batch.
  var touched: [PublishedStream] = []

  /// The bytes of all streams' rings; also for metrics.
  package internal(set) var ringBytes = 0
  let remembers: Bool
  private(set) var stepped: Int64 = 0

  /// The number of texts made for HTTP, for tests and metrics; a request that is answered from known texts makes none.
  package internal(set) var textsMade: UInt64 = 0

  var feeds: [FeedStatus] = []
  var statusStreams: [PublishedStream] = []
  var documents = DocumentStreams()
  /// The composite markets with subscribed streams that show their state; on loop 0.
  var composites = PublishedComposites()

  var frame = ByteBuffer(capacity: 4096)
  var changedBids: [PriceLevel] = []
  var changedAsks: [PriceLevel] = []
  var levels: [PriceLevel] = []

  /// - Parameters:
  ///   - loop: this loop; stream numbers are striped so that `number % loops == loop`.
  ///   - loops: 1…64, as many as fit in the bit mask of a delivery.
  ///   - numbering: its epoch changes when numbering restarts.
  ///   - run: a different name for each run; nil: the epoch.
  ///   - remembers: whether the last messages are kept for returning clients, which otherwise get snapshots.
  package init(loop: Int, loops: Int, numbering: KeptNumbering, run: String? = nil, remembers: Bool = true) {
    precondition((1...64).contains(loops) && (0..<loops).contains(loop), "loops are 1 to 64")
    self.loop = loop
    self.loops = loops
    self.epoch = numbering.epoch
    self.run = run ?? numbering.epoch
    self.remembers = remembers
    retiredSeq = numbering.highest
    reserved = numbering.numbers.filter { Int($0) % loops == loop && Int($0) >= loops }
  }

  /// A publisher with the numbering of a new epoch.
  package convenience init(loop: Int, loops: Int, epoch: String, remembers: Bool = true) {
    self.init(loop: loop, loops: loops, numbering: KeptNumbering(epoch: epoch), remembers: remembers)
  }

  /// Adds a market whose changes will be published; returns its slot.
  package func add(market: Market, venue: String) -> Int {
    markets.append(PublishedMarket(market: market, venue: venue))
    return markets.count - 1
  }

  /// The wall clock, and with it `now`, was set forward by this time, µs. Durations are not affected.
  package func clockStepped(by step: Int64) { stepped += step }

  func steady(_ now: Timestamp) -> Timestamp { now + -stepped }

  /// Streams that have subscribers. For metrics. O(streams).
  package var subscribedStreams: Int { streams.count { ($0?.loops ?? 0) != 0 } }

  /// Streams that have a number, those without subscribers included. For metrics.
  package var keptStreams: Int { byKey.count }

  // MARK: Commands

  /// Executes a hub's command.
  package func perform(_ command: PublisherCommand, now: Timestamp, into out: inout [Delivery]) {
    switch command {
    case .join(let request): join(request, now: now, into: &out)
    case .leave(let id, let loop):
      guard let stream = stream(id), stream.loops & (1 << UInt64(loop)) != 0 else { return }
      stream.loops &= ~(1 << UInt64(loop))
      if !stream.isRunning { sleep(stream) }
    case .resnapshot(let id, let loop, let client, let reason):
      guard let stream = stream(id), stream.loops & (1 << UInt64(loop)) != 0 else {
        out.append(.nothing(id, loop: loop, client: client))
        return
      }
      flushBeforeSnapshot(stream, now: now, into: &out)
      let frame =
        snapshot(of: stream, reason: reason, now: now) ?? syncingSnapshot(of: stream, reason: reason, now: now)
      if let frame {
        out.append(.snapshot(frame, loop: loop, client: client))
      } else {
        out.append(.nothing(id, loop: loop, client: client))
      }
    }
  }

  // MARK: Documents

  /// The documents that have got subscribers or lost the last one since the previous call, in order. The node of loop
  /// 0, which publishes documents, calls it at the end of each turn.
  package func takeDocumentDemands() -> [StreamDocumentDemand] { documents.takeDemands() }

  /// Sets a whole document: streams without data begin with it, the others continue. O(streams of the name).
  package func show(
    _ document: StreamDocument, as name: StreamDocumentName, now: Timestamp, into out: inout [Delivery]
  ) {
    for stream in documents.streams(of: name) where !stream.isShown {
      stream.document = document
      stream.limitDocument()
      stream.isShown = true
      stream.seq += 1
      stream.cachedSnapshot = nil
      forget(stream)
      if let frame = snapshot(of: stream, reason: stream.dueReason, now: now) {
        stream.dueReason = .subscribe
        out.append(.frame(frame, loops: stream.loops))
      }
    }
  }

  /// Publishes a change to the streams of the document.
  package func publish(
    _ update: StreamDocumentUpdate, to name: StreamDocumentName, now: Timestamp, into out: inout [Delivery]
  ) {
    for stream in documents.streams(of: name) where stream.isShown {
      if let head = update.head { stream.document?.head = head }
      for key in update.removed { stream.document?.remove(key) }
      for entry in update.changed { stream.document?.set(entry) }
      stream.limitDocument()
      self.update(stream, events: update.events, now: now, into: &out) { $0.append(update.data.unsafeBytes) }
    }
  }

  /// Replaces a document whose messages are all whole: streams without data begin with it, the others publish it at the
  /// next tick of their class. O(streams of the name).
  package func replace(
    _ document: StreamDocument, of name: StreamDocumentName, now: Timestamp, into out: inout [Delivery]
  ) {
    for stream in documents.streams(of: name) where stream.isShown {
      stream.document = document
      changed([stream], now: now, into: &out)
    }
    show(document, as: name, now: now, into: &out)
  }

  // MARK: Composites

  /// The composite markets whose streams need something else than at the call before. The node of loop 0, which
  /// publishes composites, calls it ten times a second and at the end of each turn.
  package func takeCompositeDemands(now: Timestamp) -> [CompositeDemand] { composites.takeDemands(now: steady(now)) }

  /// Publishes the changes of a composite market.
  /// - Parameter members: as fields of a book's messages, with a comma before each.
  package func publish(
    _ changes: borrowing MarketChanges, ofComposite symbol: String, members: String, now: Timestamp,
    into out: inout [Delivery]
  ) {
    guard let market = composites.market(symbol), let instrument = market.instrument(InstrumentID(0)) else { return }
    if instrument.setMembers(members) {
      for stream in instrument.books where stream.isShown { bookChanged(stream, now: now) }
    }
    publish(changes, of: market, now: now, into: &out)
  }

  // MARK: Streams

  func stream(_ id: StreamID) -> PublishedStream? {
    let number = Int(id.rawValue)
    guard number % loops == loop, number / loops < streams.count else { return nil }
    return streams[number / loops]
  }

  func join(_ request: JoinRequest, now: Timestamp, into out: inout [Delivery]) {
    let stream = byKey[request.key] ?? makeStream(request)
    if stream.isRunning { flushBeforeSnapshot(stream, now: now, into: &out) }
    let replay = request.position.flatMap { self.replay(from: $0, of: stream, now: now) }
    if !stream.isRunning { wake(stream) }
    stream.loops |= 1 << UInt64(request.loop)
    let isOfEpoch = request.position?.epoch ?? epoch == epoch
    let frame =
      replay == nil ? snapshot(of: stream, reason: isOfEpoch ? request.reason : .epoch, now: now) : nil
    var state = "live"
    if stream.key.channel == .book, let instrument = instrument(of: stream), instrument.state.bookState != .live {
      state = "syncing"
    }
    let result = JoinResult(
      stream: stream.id, key: stream.key, epoch: epoch, seq: stream.seq, state: state, request: request.request,
      item: request.item, snapshot: frame, isRecovered: request.position == nil ? nil : replay != nil,
      replay: replay ?? [])
    out.append(.joined(result, loop: request.loop, client: request.client))
  }

  func makeStream(_ request: JoinRequest) -> PublishedStream {
    let stream: PublishedStream
    if let old = retireIdleStream() {
      stream = PublishedStream(id: old.id, seq: retiredSeq, key: request.key)
      streams[Int(old.id.rawValue) / loops] = stream
    } else {
      let place = takePlace()
      stream = PublishedStream(
        id: StreamID(rawValue: UInt32(place * loops + loop)), seq: retiredSeq, key: request.key)
      streams[place] = stream
    }
    stream.assign(request.key, market: request.market, instrument: request.instrument)
    byKey[request.key] = stream
    return stream
  }

  /// A slot without a stream that is not reserved for a stream of an earlier run. Amortised O(1).
  private func takePlace() -> Int {
    while nextPlace < streams.count && streams[nextPlace] != nil
      || reserved.contains(UInt32(nextPlace * loops + loop))
    {
      nextPlace += 1
    }
    while streams.count <= nextPlace { streams.append(nil) }
    return nextPlace
  }

  /// Takes the slot of the stream that has been idle longest, if more than the limit are idle.
  func retireIdleStream() -> PublishedStream? {
    while idle.count - idleHead > Self.idleStreamLimit {
      let (stream, generation) = idle[idleHead]
      idleHead += 1
      if idleHead > 1024, idleHead * 2 > idle.count {
        idle.removeFirst(idleHead)
        idleHead = 0
      }
      guard !stream.isRunning, stream.idleGeneration == generation else { continue }
      byKey[stream.key] = nil
      retiredSeq = max(retiredSeq, stream.seq)
      return stream
    }
    return nil
  }

  func sleep(_ stream: PublishedStream) {
    if stream.key.channel == .status {
      statusStreams.removeAll { $0 === stream }
    } else if stream.key.isOfCompositeState {
      composites.remove(stream)
    } else if !stream.key.isOfMarket {
      documents.remove(stream)
    } else {
      instrument(of: stream)?.remove(stream)
    }
    forget(stream)
    stream.sleep()
    idle.append((stream, stream.idleGeneration))
    if idle.count > 2 * streams.count { forgetStaleNotes() }
  }

  /// Drops the notes of streams that have run since. At most one note of each stream is current, so after this there
  /// are no more notes than streams. As many streams must become idle before this happens again: amortised O(1).
  func forgetStaleNotes() {
    idle.removeFirst(idleHead)
    idleHead = 0
    idle.removeAll { $0.stream.isRunning || $0.stream.idleGeneration != $0.generation }
  }

  /// Starts publishing again. The content differs from that of the last `seq`, so it gets a new one.
  func wake(_ stream: PublishedStream) {
    stream.seq += 1
    if stream.key.channel == .status {
      statusStreams.append(stream)
      stream.isShown = true
      return
    }
    if stream.key.isOfCompositeState {
      composites.add(stream)
    } else if !stream.key.isOfMarket {
      return documents.add(stream)
    }
    guard let instrument = instrument(of: stream) else { return }
    instrument.add(stream)
    show(stream, instrument)
  }

  func instrument(of stream: PublishedStream) -> PublishedInstrument? {
    if stream.key.isOfCompositeState { return composites.instrument(of: stream.key.symbol) }
    guard stream.key.isOfMarket, stream.market >= 0, stream.market < markets.count else { return nil }
    return markets[stream.market].instrument(stream.instrument)
  }

  /// Takes over the present state, if there is any, as the published one; the snapshot has exactly this state.
  func show(_ stream: PublishedStream, _ instrument: PublishedInstrument) {
    let state = instrument.state
    switch stream.key.channel {
    case .trades, .status: stream.isShown = true
    case .alerts, .topic, .rate, .portfolio, .deck: break
    case .quote: stream.isShown = state.quote != nil
    case .ticker: stream.isShown = state.hasTicker
    case .pulse: stream.isShown = instrument.lastPulse != nil
    case .sparkline: stream.isShown = state.hasLine(stream.key.range)
    case .candles:
      stream.isShown = state.hasCandles(stream.key.candle)
      stream.closedCandles.removeAll(keepingCapacity: true)
    case .book:
      stream.isShown = state.bookState == .live
      stream.view.removeAll()
      guard stream.isShown else { return }
      stream.view.time = state.bookTime
      stream.view.members = instrument.members
      if stream.key.depth > 0 {
        BookView.top(Int(stream.key.depth), of: state.book.bids, into: &stream.view.bids)
        BookView.top(Int(stream.key.depth), of: state.book.asks, into: &stream.view.asks)
      }
    }
  }
}
