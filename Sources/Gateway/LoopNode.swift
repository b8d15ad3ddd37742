import Access
import Build
import Bytes
import Feeds
import HTTP1
import HTTPAPI
import History
import Logging
import MarketData
import Operations
import PubSub
import Recordings
import Transport
import Venues
import WebSocket

/// One event loop's part of the gateway: its feeds (`LoopFeeds`), their publisher, the subscriber hub and its clients
/// (`LoopClients`). This file shows the path of a tick from a feed to the sockets.
///
/// During a turn, feeds publish into `outgoing` as they read. At the end of the turn, the node delivers everything to
/// the hub, writes to clients with queued bytes, and sends one batch to the mailbox of each other loop that needs it.
///
///     FeedSession ─ FeedPipeline ─▶ MarketChanges ─ publish ─▶ [Delivery] ─ deliver ─▶ queues ─ write ─▶ sockets
///                                                               └─ sendOutboxes ─▶ the other loops' hubs
final class LoopNode: @unchecked Sendable {
  // `@unchecked`: all state except constants is used only on `loop`, which `assertOnLoop` checks at each entry; other
  // threads use `loop.execute`.

  let loop: EventLoop
  let publisher: StreamPublisher
  let hub: SubscriberHub
  var settings: NodeSettings
  let compression: ClientCompression
  let compressor: ResponseCompressor
  private(set) lazy var feeds = LoopFeeds(node: self)
  private(set) lazy var clients = LoopClients(node: self)
  /// All nodes by loop index, this one included; set once before any of them starts.
  private(set) var nodes: [LoopNode] = []

  var clock: GatewayClock
  var metrics = NodeMetrics(routes: NodeMetrics.routes)
  var delivery = DeliveryTimes()
  private(set) var httpDate = ""

  var outgoing: [Delivery] = []
  /// By loop.
  private var outboxes: [DeliveryOutbox]
  var actions: [HubAction] = []
  private var deadline = Timestamp.distantFuture
  private var deadlineTimer: LoopTimer?
  private static let ticksPerSecond = Microseconds.second / PulseMerger.interval
  private var tickTimer: LoopTimer?
  /// The last tick, since 1970, and the last one with which a second began.
  private var tickNumber: Int64 = 0
  private var secondNumber: Int64 = 0
  var isDraining = false
  /// Nil if the gateway stores nothing.
  private(set) var history: LoopHistory?
  /// On the first loop only.
  private(set) var names: AssetNameRequests?
  private(set) lazy var alerts = LoopAlerts(node: self, desk: settings.alerts)
  private(set) lazy var composites = LoopComposites(node: self)
  private(set) lazy var decks = LoopDecks(node: self)
  /// The state of the node's end, once that has begun.
  var ending = NodeEnding()
  var loopCount: Int { outboxes.count }

  init(loop: EventLoop, loops: Int, settings: NodeSettings) {
    self.loop = loop
    self.clock = GatewayClock(kernel: loop.kernel)
    self.settings = settings
    self.compressor = ResponseCompressor(loop: loop)
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
      names = AssetNameRequests(
        loop: loop, store: settings.history.map { AssetNameStore(file: $0.store.file) }, log: settings.log.of(.feeds),
        now: { [unowned self] in clock.now() }, deliver: { [unowned self] in take($0) })
    }
  }

  // MARK: Life

  /// Makes the nodes known to each other; before `start`.
  func connect(to nodes: [LoopNode]) { self.nodes = nodes }

  /// Gives every loop the names of assets.
  private func take(_ names: AssetNames) {
    for node in nodes {
      if node === self {
        hub.directory.names = names
      } else {
        node.loop.execute { node.hub.directory.names = names }
      }
    }
  }

  func start() {
    loop.execute { [self] in
      loop.onTurnEnd { [unowned self] in endTurn() }
      everySecond()
      secondNumber = clock.now().microseconds / PulseMerger.interval
      scheduleTick()
    }
  }

  /// Ticks when pulses leave, so that a quiet loop wakes once for both.
  private func scheduleTick() {
    let wait = PulseMerger.interval - clock.now().microseconds % PulseMerger.interval
    tickTimer = loop.schedule(after: .microseconds(wait)) { [unowned self] in
      scheduleTick()
      let number = clock.now().microseconds / PulseMerger.interval
      // A late loop may leave ticks out.
      if number - secondNumber >= Self.ticksPerSecond {
        secondNumber = number
        everySecond()
      }
      if number / 2 != tickNumber / 2 { feeds.tick(clock.now()) }
      tickNumber = number
      everyTick()
    }
  }

  /// Ends the ticks: the node's end has begun.
  func stopTicks() { tickTimer?.cancel() }

  private func everySecond() {
    let before = clock.now()
    if let step = clock.follow() {
      settings.log.warning("the wall clock was set", metadata: ["by_ms": "\(step / 1000)"])
      // If the wall clock is still behind, its forward step changes nothing.
      let jump = clock.now() - before
      // For the skipped time, no venue counts as silent and no client as slow.
      feeds.timeJumped(by: jump)
      hub.clockStepped(by: jump)
      publisher.clockStepped(by: jump)
    }
    httpDate = HTTPDate.format(secondsSince1970: clock.now().microseconds / 1_000_000)
    history?.everySecond(clock.now())
    publisher.releaseHeld(now: clock.now())
    names?.everySecond(clock.now())
  }

  /// Ten times a second.
  private func everyTick() {
    feeds.announceAges()
    alerts.everyTick()
    let now = clock.now()
    composites.everyTick(now)
    decks.everyTick()
    clients.advance(now)
  }

  // MARK: From feeds to the publisher

  /// Whether the present changes of feeds come from the clock, and not from a message.
  private var isAdvancing = false

  /// Publishes a feed's changes to the streams that have subscribers.
  func publish(_ changes: borrowing MarketChanges, of feed: any Feed, at now: Timestamp) {
    metrics.feedBatches += 1
    if !isAdvancing { delivery.came(changes, slot: feed.slot, now: now, uptime: loop.uptime) }
    publisher.publish(changes, market: feed.slot, now: now, into: &outgoing)
    history?.note(feed, changes, at: now)
    alerts.note(feed, changes)
    composites.note(feed.slot, changes)
  }

  /// Publishes changes that do not come from the feed itself. On the loop.
  func publish(_ changes: borrowing MarketChanges, slot: Int, now: Timestamp) {
    publisher.publish(changes, market: slot, now: now, into: &outgoing)
    alerts.notePast(changes, slot)
    composites.note(slot, changes)
  }

  // MARK: The end of a turn

  /// The number of subscriptions and snapshots that the publisher serves in one turn. Each takes 2 to 20 µs, and 200
  /// µs for the largest books.
  private static let commandsPerTurn = 256
  private var commandsLeft = LoopNode.commandsPerTurn

  private func endTurn() {
    let now = clock.now()
    clients.inputTurn.end(at: hub.workDone)
    commandsLeft = Self.commandsPerTurn
    advanceMarkets(now)
    feeds.announceChanges()
    composites.endTurn(now)
    let frames = metrics.framesSent
    deliverAndWrite(now)
    if loop.index == 0 {
      alerts.meetDemands()
      composites.meetDemands(now)
    }
    if delivery.isPending, metrics.framesSent != frames { delivery.wrote(at: loop.kernel.uptime()) }
    if !actions.isEmpty { loop.execute {} }
    delivery.endTurn(isHeld: sendOutboxes())
    armTimer(now)
  }

  /// Delivers and executes until neither produces more work.
  func settle(_ now: Timestamp) {
    repeat {
      deliver(now)
      perform(now)
    } while !outgoing.isEmpty || (!actions.isEmpty && commandsLeft > 0)
  }

  private func advanceMarkets(_ now: Timestamp) {
    guard !ending.isFrozen else { return }
    isAdvancing = true
    feeds.advance(now)
    isAdvancing = false
    if publisher.nextDeadline <= now { publisher.advance(to: now, into: &outgoing) }
  }

  /// Delivers published frames to this loop's hub, and puts those for other loops into the loops' outboxes.
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
            // In order, before the actions that they cause.
            actions.insert(contentsOf: todo[index...], at: 0)
            return
          }
          commandsLeft -= 1
          if case .join(let join) = command, join.key.range == .all, join.key.isOfMarket {
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
        if let session = clients.session(of: client) { clients.authenticate(token, of: session, now) }
      case .session(let message, let target):
        if target == loop.index {
          hub.receive(message, now: now, into: &actions)
        } else {
          let node = nodes[target]
          node.loop.execute { node.hub.receive(message, now: node.clock.now(), into: &node.actions) }
        }
      case .close(let client, let code, let reason):
        guard let session = clients.session(of: client) else { continue }
        clients.write(to: session, now)
        clients.writeControl(to: session)
        if code < CloseCode.draining {
          settings.refusalLog?.closed(code, reason, session.address)
        }
        session.close(code: code, reason: reason)
      }
    }
  }

  // MARK: To the clients

  /// How often a turn writes again because a write made space for more, such as snapshots. After that, the next turn
  /// continues.
  private static let writeRounds = 4

  /// Delivers, executes the resulting actions, and writes, until no work is left.
  func deliverAndWrite(_ now: Timestamp) {
    for _ in 0..<Self.writeRounds {
      settle(now)
      if hub.dirtyCount == 0 { return }
      writeDirty(now)
    }
    settle(now)
    if hub.dirtyCount > 0 { loop.execute {} }
  }

  private func writeDirty(_ now: Timestamp) {
    for index in 0..<hub.dirtyCount {
      let client = hub.dirtyClient(at: index)
      if let way = clients.ports.writableWay(client.slot), let turn = hub.takeTurn(from: client) {
        write(turn, to: client.slot, way)
      } else if let session = clients.session(of: client) {
        clients.write(to: session, now)
        // The written bytes may contain a reply that the client waited for.
        if session.waitsForReplies { session.waitForTurn() }
      }
    }
    hub.removeDirty()
  }

  /// Sends a turn's bytes to an ordinary client.
  @inline(__always)
  private func write(_ turn: TurnBytes, to slot: UInt32, _ way: ClientPorts.Way) {
    metrics.framesSent &+= UInt64(truncatingIfNeeded: turn.frames)
    guard way == .plain else { return clients.ports.write(compression.form(turn, of: hub), to: slot) }
    let sent = clients.ports.send(turn.bytes, to: slot)
    if sent < turn.bytes.count { clients.ports.write(hub.sharedBytes(of: turn), from: sent, to: slot) }
  }

  // MARK: To the other loops

  /// Sends each other loop its deliveries. Deliveries that a loop's mailbox refuses are merged and offered again in the
  /// next turn. True if a mailbox refused some.
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
    let next = min(publisher.nextDeadline, feeds.nextDeadline)
    guard next != deadline || deadlineTimer == nil else { return }
    if next >= deadline, deadlineTimer != nil { return }
    deadlineTimer?.cancel()
    deadlineTimer = nil
    deadline = next
    guard next < Timestamp.distantFuture else { return }
    let wait = Duration.microseconds(max(0, next - now))
    deadlineTimer = loop.schedule(after: wait) { [unowned self] in
      // This starts a turn, and `endTurn` does the work at its end.
      deadlineTimer = nil
      deadline = .distantFuture
    }
  }

  /// Applies settings that may change while the gateway runs. On the loop.
  func apply(_ settings: NodeSettings) {
    loop.assertOnLoop()
    self.settings = settings
    hub.apply(settings.clientLimits)
  }
}
