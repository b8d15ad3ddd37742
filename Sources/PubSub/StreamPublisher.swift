import Bytes
import MarketData

/// Publishes the streams of one loop's markets: it owns the streams, encodes each update once per stream, and selects
/// the loops that get it. Sans-IO; confined to its loop's queue.
///
/// The class of a channel's streams decides what they publish. The publisher numbers the streams, calls them when
/// something changes, and makes frames of what they append. A stream without subscribers is not encoded and costs only
/// its slot.
///
/// | value | what it knows |
/// |---|---|
/// | `StreamTable` | the streams by number and key, and which numbers are free |
/// | `PublishedMarket`, `PublishedComposites` | the streams of each instrument and composite market |
/// | `FeedStreams`, `DocumentStreams` | the streams of feeds and of documents |
/// | `MarketWishTable` | what streams want that venues send on demand |
/// | `PublishingSchedule` | which streams wait for a tick or for the end of a batch |
/// | `RingMemory` | the bytes that are kept for clients that come back |
package final class StreamPublisher {
  /// The epoch of the numbers. Runs of the gateway share it if the numbering was not lost between them.
  package let epoch: String
  /// The name of this run, with which revisions restart. Runs may share an epoch.
  package let run: String

  var table: StreamTable
  var markets: [PublishedMarket] = []
  /// The composite markets with subscribed streams that show their state; on loop 0.
  var composites = PublishedComposites()
  var feeds = FeedStreams()
  var documents = DocumentStreams()
  var schedule = PublishingSchedule()
  var wishes = MarketWishTable()
  /// Streams of an earlier run that run without subscribers until a time, in the order of time.
  var held: [(stream: PublishedStream, until: Timestamp)] = []
  var memory: RingMemory
  private(set) var stepped: Int64 = 0
  /// The number of texts made for HTTP, for tests and metrics; a request that is answered from known texts makes none.
  package internal(set) var textsMade: UInt64 = 0

  /// Reused for each message.
  var frame = ByteBuffer(capacity: 4096)
  /// Reused for each message in another protocol.
  var messages = DialectMessages(capacity: 4096)
  /// Reused for each update of a book.
  var levels = ChangedLevels()

  /// - Parameters:
  ///   - loop: this loop; stream numbers are striped so that `number % loops == loop`.
  ///   - loops: 1…64, as many as fit in the bit mask of a delivery.
  ///   - numbering: its epoch changes when numbering restarts.
  ///   - run: a different name for each run; nil: the epoch.
  ///   - remembers: whether the last messages are kept for returning clients, which otherwise get snapshots.
  package init(loop: Int, loops: Int, numbering: KeptNumbering, run: String? = nil, remembers: Bool = true) {
    epoch = numbering.epoch
    self.run = run ?? numbering.epoch
    table = StreamTable(loop: loop, loops: loops, numbering: numbering)
    memory = RingMemory(isEnabled: remembers)
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
  package var subscribedStreams: Int { table.streams.count { ($0?.loops ?? 0) != 0 } }
  /// Streams that have a number, those without subscribers included. For metrics.
  package var keptStreams: Int { table.count }
  /// The bytes of all messages that are kept for returning clients. For metrics.
  package var ringBytes: Int { memory.bytes }

  // MARK: Commands

  /// Executes a hub's command.
  package func perform(_ command: PublisherCommand, now: Timestamp, into out: inout [Delivery]) {
    switch command {
    case .join(let request): join(request, now: now, into: &out)
    case .leave(let id, let loop):
      guard let stream = table[id], stream.loops & (1 << UInt64(loop)) != 0 else { return }
      stream.loops &= ~(1 << UInt64(loop))
      if !stream.isRunning { sleep(stream) }
    case .resnapshot(let id, let loop, let client, let reason):
      guard let stream = table[id], stream.loops & (1 << UInt64(loop)) != 0 else {
        out.append(.nothing(id, loop: loop, client: client))
        return
      }
      stream.prepareSnapshot(in: self, now: now, into: &out)
      let frame =
        snapshot(of: stream, reason: reason, now: now) ?? syncingSnapshot(of: stream, reason: reason, now: now)
      if let frame {
        out.append(.snapshot(frame, loop: loop, client: client))
      } else {
        out.append(.nothing(id, loop: loop, client: client))
      }
    }
  }

  private func join(_ request: JoinRequest, now: Timestamp, into out: inout [Delivery]) {
    let stream =
      table[request.key]
      ?? table.make(
        request.key, market: request.market, instrument: request.instrument, members: request.members)
    if stream.isRunning { stream.prepareSnapshot(in: self, now: now, into: &out) }
    let replay = request.position.flatMap { self.replay(from: $0, of: stream, now: now) }
    if !stream.isRunning { wake(stream, now: now) }
    stream.loops |= 1 << UInt64(request.loop)
    let isOfEpoch = request.position?.epoch ?? epoch == epoch
    let frame =
      replay == nil ? snapshot(of: stream, reason: isOfEpoch ? request.reason : .epoch, now: now) : nil
    let result = JoinResult(
      stream: stream.id, key: stream.key, epoch: epoch, seq: stream.seq, state: stream.state(in: self),
      request: request.request, item: request.item, snapshot: frame,
      isRecovered: request.position == nil ? nil : replay != nil, replay: replay ?? [], scale: stream.scale)
    out.append(.joined(result, loop: request.loop, client: request.client))
  }

  /// Starts publishing again. The content differs from that of the last `seq`, so it gets a new one.
  private func wake(_ stream: PublishedStream, now: Timestamp) {
    stream.seq += 1
    if stream.isBinary { stream.scale = stream.scale(in: self, now: now) }
    stream.wake(in: self)
  }

  func sleep(_ stream: PublishedStream) {
    stream.sleep(in: self)
    memory.forget(stream)
    stream.clear()
    table.noteIdle(stream)
  }

  // MARK: Feeds

  /// Replaces the feed states that the `status` stream shows; publishes if something other than an age changed. Loop 0
  /// only.
  package func publish(status: [FeedStatus], now: Timestamp, into out: inout [Delivery]) {
    guard feeds.set(status) else { return }
    for stream in feeds.streams { flush(stream, now: now, into: &out) }
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
      stream.set(document)
      stream.isShown = true
      publishDue(stream, now: now, into: &out)
    }
  }

  /// Publishes a change to the streams of the document.
  package func publish(
    _ update: StreamDocumentUpdate, to name: StreamDocumentName, now: Timestamp, into out: inout [Delivery]
  ) {
    for stream in documents.streams(of: name) where stream.isShown {
      stream.apply(update)
      self.update(stream, events: update.events, now: now, into: &out) { $0.append(update.data.unsafeBytes) }
    }
  }

  /// Replaces a document whose messages are all whole: streams without data begin with it, the others publish it at the
  /// next tick of their class. O(streams of the name).
  package func replace(
    _ document: StreamDocument, of name: StreamDocumentName, now: Timestamp, into out: inout [Delivery]
  ) {
    for stream in documents.streams(of: name) where stream.isShown {
      stream.set(document)
      changed(stream, now: now, into: &out)
    }
    show(document, as: name, now: now, into: &out)
  }

  // MARK: Demands

  /// What subscribers want of instruments on demand, where that has changed since the previous call. The node passes it
  /// to the feeds at the end of each turn.
  package func takeMarketDemands() -> [MarketDemand] { wishes.take() }

  /// What subscribers want of an instrument on demand.
  package func wishes(at route: MarketRoute) -> MarketWishes { wishes.wishes(at: route) }

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
      for group in instrument.groups {
        for stream in group.streams { stream.membersChanged(in: self, now: now) }
      }
    }
    publish(changes, of: market, now: now, into: &out)
  }
}
