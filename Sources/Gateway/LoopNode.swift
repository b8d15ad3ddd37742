import Access
import Bytes
import HTTP1
import Logging
import MarketData
import PubSub
import Recordings
import Transport
import Venues
import WebSocket

/// Everything that lives on one loop: the feeds and markets it owns, their publisher, the subscriber hub and the
/// sessions of its clients. It carries deliveries and commands between publishers and hubs, its own and those of the
/// other loops.
///
/// A turn gathers: feeds publish into `outgoing` as they read; at the turn's end everything is delivered, clients with
/// something queued are written to, and what other loops need goes to their mailboxes in one batch each.
final class LoopNode: FeedOwner, @unchecked Sendable {
  // `@unchecked`: all state but the constants is touched on `loop` only, which `assertOnLoop` checks at each entrance;
  // others reach it through `loop.execute`.

  let loop: EventLoop
  let publisher: StreamPublisher
  let hub: SubscriberHub
  var settings: NodeSettings
  let compression: ClientCompression
  /// All nodes by loop index, this one included; set once before any of them starts.
  private(set) var nodes: [LoopNode] = []

  var clock: GatewayClock
  var metrics = NodeMetrics()
  var delivery = DeliveryTimes()
  private(set) var httpDate = ""
  private(set) var feeds: [any Feed] = []
  var sessions: [StreamSession?] = []
  var ports = ClientPorts()
  var httpSessions = HTTPSessionTable()
  var responses = ResponseCache()
  /// Bodies that are being compressed.
  var gzipEncoders = 0

  var outgoing: [Delivery] = []
  /// By loop.
  private var outboxes: [DeliveryOutbox]
  var actions: [HubAction] = []
  var frames: [SharedBytes] = []
  private var dirtyFeeds: Set<Int> = []
  /// The present state of every feed of the gateway, by its global number.
  private var statuses: [Int: FeedStatus] = [:]
  private var deadline = Timestamp.distantFuture
  private var deadlineTimer: LoopTimer?
  private(set) var timers: [LoopTimer] = []
  private var watchCursor = 0
  private var advances: UInt = 0
  var isDraining = false
  /// Nil where nothing is kept.
  private(set) var history: LoopHistory?
  /// On the first loop only.
  private(set) var names: LoopNames?
  private(set) lazy var alerts = LoopAlerts(node: self, desk: settings.alerts)
  private(set) lazy var composites = LoopComposites(node: self)
  private(set) lazy var decks = LoopDecks(node: self)
  /// Of its end, once that has begun.
  var ending = NodeEnding()
  var loopCount: Int { outboxes.count }

  init(loop: EventLoop, loops: Int, settings: NodeSettings) {
    self.loop = loop
    self.clock = GatewayClock(kernel: loop.kernel)
    self.settings = settings
    self.compression = ClientCompression(settings.compression)
    self.publisher = StreamPublisher(
      loop: loop.index, loops: loops, numbering: settings.kept?.numbering ?? KeptNumbering(epoch: settings.epoch),
      run: settings.run)
    self.hub = SubscriberHub(
      loop: loop.index, loops: loops, identity: .init(node: settings.node, version: TidegateVersion.current),
      limits: settings.clientLimits, heartbeatSeconds: settings.heartbeatSeconds)
    hub.directory.venues = settings.venues.sorted()
    if let access = settings.access {
      hub.asksForTokens = true
      hub.anonymousGrant = access.policy.anonymous
    }
    self.outboxes = (0..<loops).map { DeliveryOutbox(to: $0) }
    self.history = settings.history.map { LoopHistory(node: self, keeper: $0) }
    restoreSessions()
    if loop.index == 0 {
      names = LoopNames(node: self, keeper: settings.history, log: settings.log.of(.feeds))
    }
  }

  // MARK: Life

  /// Makes the nodes known to each other; before `start`.
  func connect(to nodes: [LoopNode]) { self.nodes = nodes }

  func start() {
    loop.execute { [self] in
      loop.onTurnEnd { [unowned self] in endTurn() }
      timers.append(loop.scheduleRepeating(every: 100_000_000) { [unowned self] in advanceClients() })
      timers.append(loop.scheduleRepeating(every: 250_000_000) { [unowned self] in tickFeeds() })
      timers.append(loop.scheduleRepeating(every: 1_000_000_000) { [unowned self] in everySecond() })
      everySecond()
    }
  }

  /// Adds a feed of this loop; `number` is its place among all feeds of the gateway. On the loop.
  /// - Parameter share: connections to the venue, this one included.
  func add(
    feed venue: Venue, configuration: FeedConfiguration, number: Int, tls: TLSClientContext?,
    schedule: ConnectSchedule?, recorder: (any FeedRecorder)?, share: Int = 1
  ) {
    let pipeline = FeedPipeline(venue: venue, configuration: configuration)
    pipeline.market.bridgesTrades = history != nil
    let slot = publisher.add(market: pipeline.market, venue: venue.name)
    let session = FeedSession(
      pipeline: pipeline, slot: slot, owner: self, loop: loop,
      parts: FeedParts(
        tls: tls, schedule: schedule, recorder: recorder, reconnectLimitSeconds: settings.reconnectLimitSeconds,
        source: settings.source, log: settings.log.of(.feeds)), now: clock.now())
    follow(session, configuration: configuration, tls: tls, share: share)
    begin(session, number: number)
  }

  /// Adds a recording as a feed of this loop, which begins with `origin`. On the loop.
  func add(replay replayer: Replayer, origin: Timestamp, speed: ReplaySpeed, number: Int) {
    let slot = publisher.add(market: replayer.pipeline.market, venue: replayer.venue.name)
    begin(
      ReplaySession(
        replayer: replayer, origin: origin, speed: speed, slot: slot, owner: self, loop: loop,
        log: settings.log.of(.feeds),
        now: clock.now()),
      number: number)
  }

  func begin(_ feed: any Feed, number: Int) {
    loop.assertOnLoop()
    precondition(feed.slot == feeds.count, "a feed's slot is its place")
    feeds.append(feed)
    feedNumbers.append(number)
    feedStarts.append(clock.now())
    feedStatusChanged(feed)
    feed.start()
  }

  private(set) var feedNumbers: [Int] = []
  /// Slots of feeds that a change of the configuration has ended.
  var endedFeeds: Set<Int> = []
  /// Feeds of which some loop could not be told: all of their instruments are announced again.
  private var untold: Set<Int> = []
  private(set) var feedStarts: [Timestamp] = []
  /// Whether what feeds change is due by the clock, and comes from no message.
  private var isAdvancing = false

  private func everySecond() {
    let before = clock.now()
    if let step = clock.follow() {
      settings.log.warning("the wall clock was set", metadata: ["by_ms": "\(step / 1000)"])
      // A forward step of a wall clock that still stands behind moves nothing.
      let jump = clock.now() - before
      // No venue has been silent, no client slow, for the time that was left out.
      for feed in feeds { feed.timeJumped(by: jump) }
      hub.clockStepped(by: jump)
      publisher.clockStepped(by: jump)
    }
    httpDate = HTTPDate.format(secondsSince1970: clock.now().microseconds / 1_000_000)
    history?.everySecond(clock.now())
    publisher.releaseHeld(now: clock.now())
    names?.everySecond(clock.now())
  }

  /// What is too much, and who is too slow (`LoopNode+Limits.swift`).
  var excess = ExcessState()
  /// Connections that may not have asked for anything yet.
  var newcomers = ArrivalQueue()
  /// Who has sent more than a turn takes (`LoopNode+Input.swift`).
  var inputTurn = InputTurn<StreamSession>()

  // MARK: Feeds

  func feed(_ feed: any Feed, changed changes: borrowing MarketChanges, at now: Timestamp) {
    metrics.feedBatches += 1
    if !isAdvancing { delivery.came(changes, slot: feed.slot, now: now, uptime: loop.uptime) }
    publisher.publish(changes, market: feed.slot, now: now, into: &outgoing)
    history?.note(feed, changes, at: now)
    alerts.note(feed, changes)
    composites.note(feed, changes)
  }

  /// Publishes what did not come from the feed itself. On the loop.
  func publish(_ changes: borrowing MarketChanges, slot: Int, now: Timestamp) {
    publisher.publish(changes, market: slot, now: now, into: &outgoing)
  }

  func feedStatusChanged(_ feed: any Feed) {
    dirtyFeeds.insert(feed.slot)
    alerts.feedChanged(feed.slot)
  }

  private func tickFeeds() {
    let now = clock.now()
    for feed in feeds { feed.tick(now) }
  }

  /// Tells every loop when its feeds last heard something, so that heartbeats have their ages; within 100 ms.
  private func announceAges() {
    guard !feeds.isEmpty else { return }
    let heard = zip(feedNumbers, feeds).map { ($0, $1.status.lastMessage) }
    for node in nodes {
      if node === self {
        node.updateDirectory(ages: heard)
      } else {
        // Those that find no room are followed by newer ones.
        _ = node.loop.offer(bytes: heard.count * MemoryLayout<(Int, Timestamp?)>.stride) {
          node.updateDirectory(ages: heard)
        }
      }
    }
  }

  private func updateDirectory(ages: [(Int, Timestamp?)]) {
    for (number, heard) in ages { statuses[number]?.lastMessage = heard }
    let all = venueStatuses
    hub.feeds = all
    if loop.index == 0 { publisher.publish(status: all, now: clock.now(), into: &outgoing) }
  }

  /// Tells every loop what changed about this loop's feeds: their states, and the instruments whose description or book
  /// did. A loop that cannot take it now gets all of it later. O(changed).
  private func announceFeeds() {
    let now = clock.now()
    // In their order, so that a seed makes the same world each time.
    let slots = dirtyFeeds.subtracting(endedFeeds).sorted()
    dirtyFeeds.removeAll(keepingCapacity: true)
    for slot in slots {
      let feed = feeds[slot]
      let changed = feed.takeChangedInstruments()
      let ids: [InstrumentID]
      if history?.isHolding(slot) ?? false {
        // Clients hear of an instrument when its past is there.
        untold.insert(slot)
        ids = []
      } else if untold.remove(slot) == nil {
        ids = changed.sorted { $0.index < $1.index }
      } else {
        ids = feed.pipeline.market.instruments.map(\.instrument.id)
      }
      let entries = ids.map { id in
        let state = feed.pipeline.market[id]
        return DirectoryEntry(loop: loop.index, market: slot, instrument: state.instrument, bookState: state.bookState)
      }
      metrics.entriesAnnounced += entries.count
      let (status, number) = (feed.status, feedNumbers[slot])
      for node in nodes {
        if node === self {
          updateDirectory(status, number: number, entries: entries, now)
        } else if !node.loop.offer(
          bytes: entries.count * MemoryLayout<DirectoryEntry>.stride,
          { node.updateDirectory(status, number: number, entries: entries, node.clock.now()) })
        {
          dirtyFeeds.insert(slot)
          untold.insert(slot)
        }
      }
    }
  }

  private func updateDirectory(_ status: FeedStatus, number: Int, entries: [DirectoryEntry], _ now: Timestamp) {
    loop.assertOnLoop()
    statuses[number] = status
    let all = venueStatuses
    for entry in entries { hub.directory.update(entry) }
    if !hub.directory.venues.contains(status.venue) { hub.directory.venues.append(status.venue) }
    hub.feeds = all
    composites.feedsChanged()
    if loop.index == 0 { publisher.publish(status: all, now: now, into: &outgoing) }
  }

  /// All of a feed's instruments are announced with its next state.
  func announceAll(of slot: Int) {
    untold.insert(slot)
    dirtyFeeds.insert(slot)
  }

  /// Forgets the state of a feed that was ended.
  func forgetStatus(of number: Int) {
    statuses[number] = nil
    updateDirectory(ages: [])
    hub.directory.venues.removeAll { venue in !hub.feeds.contains { $0.venue == venue } }
  }

  private var venueStatuses: [FeedStatus] {
    FeedStatus.byVenue(statuses.sorted { $0.key < $1.key }.map(\.value))
  }

  /// The present state of every venue.
  var feedStatuses: [FeedStatus] { hub.feeds }

  // MARK: Clients

  func register(_ session: HTTPSession, for connection: Connection) { httpSessions.add(session, for: connection) }
  func forget(_ connection: Connection) { httpSessions.remove(for: connection) }

  /// The client has shown that it reads: it is given what turns bring it as it comes.
  func proved(_ session: StreamSession) {
    ports.open(session.client.slot, session.connection, way: session.deflates ? .compressed : .plain)
  }

  func drained(_ session: StreamSession) {
    hub.setUnsent(0, for: session.client, now: clock.now())
    write(to: session, clock.now())
    if session.waitsForReplies { session.waitForTurn() }
  }

  func closed(_ session: StreamSession) {
    guard sessions[Int(session.client.slot)] === session else { return }
    sessions[Int(session.client.slot)] = nil
    ports.close(session.client.slot)
    metrics.clients -= 1
    metrics.connections -= 1
    metrics.ends.left(isTLS: session.isTLS, session.encoding, code: session.closeCode)
    settings.accessLog?.ended(session, ClientFigures(session.client, of: hub))
    hub.close(session.client, into: &actions)
  }

  private func advanceClients() {
    announceAges()
    alerts.everyTick()
    let now = clock.now()
    composites.everyTick(now)
    decks.everyTick()
    hub.advance(to: now, into: &actions)
    watchRequests()
    keepWithinBudget()
    advances &+= 1
    noteKernelProgress(now, part: advances % 10, of: 10)
    metrics.evicted = UInt64(hub.evictedClients)
    metrics.parkedSessions = hub.parkedSessions
    // A slice of the sessions each time: all of them every 5 s.
    let moment = loop.moment
    let slice = sessions.count / 50 + 1
    for _ in 0..<min(slice, sessions.count) {
      watchCursor = watchCursor + 1 < sessions.count ? watchCursor + 1 : 0
      guard let session = sessions[watchCursor] else { continue }
      session.watch(at: moment)
      metrics.queues.record(UInt64(hub.queuedBytes(of: session.client.slot)))
    }
  }

  // MARK: The end of a turn

  /// Subscriptions and snapshots that the publisher is asked for in one turn; each takes 2 to 20 µs, those of the
  /// largest books 200.
  private static let commandsPerTurn = 256
  private var commandsLeft = LoopNode.commandsPerTurn

  private func endTurn() {
    let now = clock.now()
    inputTurn.end(at: hub.workDone)
    commandsLeft = Self.commandsPerTurn
    advanceMarkets(now)
    if !dirtyFeeds.isEmpty { announceFeeds() }
    composites.endTurn(now)
    let frames = metrics.framesSent
    deliverAndWrite(now)
    if loop.index == 0 { alerts.meetDemands() }
    if delivery.isPending, metrics.framesSent != frames { delivery.wrote(at: loop.kernel.uptime()) }
    if !actions.isEmpty { loop.execute {} }
    delivery.endTurn(isHeld: sendOutboxes())
    armTimer(now)
  }

  /// Delivers and carries out until neither leads to more.
  func settle(_ now: Timestamp) {
    repeat {
      deliver(now)
      perform(now)
    } while !outgoing.isEmpty || (!actions.isEmpty && commandsLeft > 0)
  }

  private func advanceMarkets(_ now: Timestamp) {
    guard !ending.isFrozen else { return }
    isAdvancing = true
    for feed in feeds where feed.nextDeadline <= now { feed.advance(now) }
    isAdvancing = false
    if publisher.nextDeadline <= now { publisher.advance(to: now, into: &outgoing) }
  }

  /// Gives what the publisher published to this loop's hub, and sorts what other loops need into their outboxes.
  private func deliver(_ now: Timestamp) {
    guard !outgoing.isEmpty else { return }
    if nodes.count == 1 {
      hub.deliver(outgoing, now: now, into: &actions)
      outgoing.removeAll(keepingCapacity: true)
      return
    }
    var own: [Delivery] = []
    for delivery in outgoing {
      let loops: UInt64 =
        switch delivery {
        case .frame(_, let loops): loops
        case .joined(_, let loop, _), .snapshot(_, let loop, _), .nothing(_, let loop, _), .missed(_, let loop):
          1 << UInt64(loop)
        }
      for index in 0..<nodes.count where loops & (1 << UInt64(index)) != 0 {
        if index == loop.index { own.append(delivery) } else { outboxes[index].append(delivery) }
      }
    }
    outgoing.removeAll(keepingCapacity: true)
    if !own.isEmpty { hub.deliver(own, now: now, into: &actions) }
  }

  private func perform(_ now: Timestamp) {
    guard !actions.isEmpty, commandsLeft > 0 else { return }
    let todo = actions
    actions.removeAll(keepingCapacity: true)
    for (index, action) in todo.enumerated() {
      switch action {
      case .command(let command, let target):
        if target == loop.index {
          guard commandsLeft > 0 else {
            // In their order, before what they lead to.
            actions.insert(contentsOf: todo[index...], at: 0)
            return
          }
          commandsLeft -= 1
          if case .join(let join) = command, join.key.channel == .sparkline, join.key.range == .all {
            history?.wantAll(of: join.instrument, join.market)
          }
          publisher.perform(command, now: now, into: &outgoing)
        } else {
          let node = nodes[target]
          node.loop.execute { node.actions.append(.command(command, loop: target)) }
        }
      case .control(let client, let number, let request, let grant):
        alerts.perform(request, number: number, grant, of: client, now)
      case .authenticate(let client, let token):
        if let session = session(of: client) { authenticate(token, of: session, now, into: &actions) }
      case .session(let message, let target):
        if target == loop.index {
          hub.receive(message, now: now, into: &actions)
        } else {
          let node = nodes[target]
          node.loop.execute { node.hub.receive(message, now: node.clock.now(), into: &node.actions) }
        }
      case .close(let client, let code, let reason):
        guard let session = session(of: client) else { continue }
        write(to: session, now)
        writeControl(to: session)
        if code < CloseCode.draining {
          settings.refusalLog?.closed(code, reason, session.address)
        }
        session.close(code: code, reason: reason)
      }
    }
  }

  private func session(of client: ClientID) -> StreamSession? {
    guard Int(client.slot) < sessions.count, let session = sessions[Int(client.slot)], session.client == client else {
      return nil
    }
    return session
  }

  /// Gives the other loops what is theirs; what one of them does not take is merged, and offered again with the next
  /// turn. True if there is such a loop.
  private func sendOutboxes() -> Bool {
    let came = delivery.offered
    var isHeld = false
    for index in outboxes.indices where !outboxes[index].isEmpty {
      let deliveries = outboxes[index].deliveries
      let node = nodes[index]
      let isTaken = node.loop.offer(bytes: outboxes[index].bytes) {
        node.delivery.came(at: came)
        node.hub.deliver(deliveries, now: node.clock.now(), into: &node.actions)
      }
      if isTaken { outboxes[index].removeAll() } else { outboxes[index].merge() }
      if !isTaken { isHeld = true }
    }
    return isHeld
  }

  private func armTimer(_ now: Timestamp) {
    var next = publisher.nextDeadline
    for feed in feeds { next = min(next, feed.nextDeadline) }
    guard next != deadline || deadlineTimer == nil else { return }
    if next >= deadline, deadlineTimer != nil { return }
    deadlineTimer?.cancel()
    deadlineTimer = nil
    deadline = next
    guard next < Timestamp.distantFuture else { return }
    let wait = UInt64(max(0, next - now)) * 1_000
    deadlineTimer = loop.schedule(after: wait) { [unowned self] in
      // The turn that this begins ends in `endTurn`, which does the work.
      deadlineTimer = nil
      deadline = .distantFuture
    }
  }
}
