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
/// During a turn, feeds publish into `work` as they read. At the end of the turn, the node delivers everything to
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
  private(set) lazy var feeds = LoopFeeds(node: self)
  private(set) lazy var clients = LoopClients(node: self)
  /// All nodes by loop index, this one included; set once before any of them starts.
  private(set) var nodes: [LoopNode] = []
  /// Set by `init`, and never again: its parts hold their node.
  private(set) var services: MarketServices!

  var clock: GatewayClock
  var metrics = NodeMetrics(routes: NodeMetrics.routes)
  var delivery = DeliveryTimes()
  var work: TurnWork
  private var timers: NodeTimers
  /// The state of the node's end, once that has begun.
  var ending = NodeEnding()

  init(loop: EventLoop, loops: Int, settings: NodeSettings) {
    var clock = GatewayClock(kernel: loop.kernel)
    self.loop = loop
    self.timers = NodeTimers(ticks: TickCount(at: clock.now()))
    self.clock = clock
    self.settings = settings
    self.work = TurnWork(loops: loops)
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
    services = MarketServices(node: self)
    history?.restoreSessions()
  }

  var loopCount: Int { work.loopCount }
  var isDraining: Bool { ending.isDraining }
  var httpDate: String { clock.httpDate }
  var compression: ClientCompression { clients.compression }
  var compressor: ResponseCompressor { clients.compressor }
  var history: LoopHistory? { services.history }
  var alerts: LoopAlerts { services.alerts }
  var composites: LoopComposites { services.composites }
  var decks: LoopDecks { services.decks }

  // MARK: Life

  /// Makes the nodes known to each other; before `start`.
  func connect(to nodes: [LoopNode]) { self.nodes = nodes }

  /// Gives every loop the names of assets.
  func take(_ names: AssetNames) {
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
      timers.ticks = TickCount(at: clock.now())
      scheduleTick()
    }
  }

  private func scheduleTick() {
    timers.tick = loop.schedule(after: .microseconds(TickCount.wait(from: clock.now()))) { [unowned self] in
      scheduleTick()
      let begins = timers.ticks.take(at: clock.now())
      if begins.isSecond { everySecond() }
      if begins.isOfFeeds { feeds.tick(clock.now()) }
      everyTick()
    }
  }

  /// Ends the ticks: the node's end has begun.
  func stopTicks() { timers.tick?.cancel() }

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
    for observer in services.observers { observer.everySecond(clock.now()) }
    publisher.releaseHeld(now: clock.now())
  }

  /// Ten times a second.
  private func everyTick() {
    feeds.announceAges()
    let now = clock.now()
    for observer in services.observers { observer.everyTick(now) }
    clients.advance(now)
  }

  // MARK: From feeds to the publisher

  /// Publishes a feed's changes to the streams that have subscribers.
  /// - Parameter isFromClock: whether they come from the clock, and not from a message.
  func publish(_ changes: borrowing MarketChanges, of feed: any Feed, at now: Timestamp, isFromClock: Bool = false) {
    metrics.feedBatches += 1
    if !isFromClock { delivery.came(changes, slot: feed.slot, now: now, uptime: loop.uptime) }
    publisher.publish(changes, market: feed.slot, now: now, into: &work.outgoing)
    for observer in services.observers { observer.observe(changes, of: feed, at: now) }
  }

  /// Publishes changes that do not come from the feed itself. On the loop.
  func publish(_ changes: borrowing MarketChanges, slot: Int, now: Timestamp) {
    publisher.publish(changes, market: slot, now: now, into: &work.outgoing)
    for observer in services.observers { observer.observePast(changes, slot: slot) }
  }

  // MARK: The end of a turn

  private func endTurn() {
    let now = clock.now()
    clients.inputTurn.end(at: hub.workDone)
    work.beginCommands()
    advanceMarkets(now)
    feeds.announceChanges()
    for observer in services.turnObservers { observer.endTurn(now) }
    let frames = metrics.framesSent
    deliverAndWrite(now)
    if loop.index == 0 { for observer in services.turnObservers { observer.meetDemands(now) } }
    if delivery.isPending, metrics.framesSent != frames { delivery.wrote(at: loop.kernel.uptime()) }
    if !work.actions.isEmpty { loop.execute {} }
    delivery.endTurn(isHeld: sendOutboxes())
    armTimer(now)
  }

  /// Delivers and executes until neither produces more work.
  func settle(_ now: Timestamp) {
    repeat {
      deliver(now)
      perform(now)
    } while !work.outgoing.isEmpty || work.canAct
  }

  private func advanceMarkets(_ now: Timestamp) {
    guard !ending.isFrozen else { return }
    feeds.advance(now)
    if publisher.nextDeadline <= now { publisher.advance(to: now, into: &work.outgoing) }
  }

  /// Delivers published frames to this loop's hub, and puts those for other loops into the loops' outboxes.
  private func deliver(_ now: Timestamp) {
    guard !work.outgoing.isEmpty else { return }
    if nodes.count == 1 {
      hub.deliver(work.outgoing, now: now, into: &work.actions)
      work.outgoing.removeAll(keepingCapacity: true)
      return
    }
    let own = work.distribute(from: loop.index)
    if !own.isEmpty { hub.deliver(own, now: now, into: &work.actions) }
  }

  private func perform(_ now: Timestamp) {
    guard work.canAct else { return }
    let todo = work.actions
    work.actions.removeAll(keepingCapacity: true)
    for (index, action) in todo.enumerated() {
      switch action {
      case .command(let command, let target):
        if target == loop.index {
          guard work.takeCommand() else {
            // In order, before the actions that they cause.
            work.actions.insert(contentsOf: todo[index...], at: 0)
            return
          }
          if case .join(let join) = command, join.key.range == .all, join.key.isOfMarket {
            history?.wantAll(of: join.instrument, join.market)
          }
          publisher.perform(command, now: now, into: &work.outgoing)
        } else {
          let node = nodes[target]
          node.loop.execute { node.work.actions.append(.command(command, loop: target)) }
        }
      case .control(let client, let number, let request, let grant):
        alerts.perform(request, number: number, grant, of: client, now)
      case .authenticate(let client, let token):
        if let session = clients.session(of: client) { clients.authenticate(token, of: session, now) }
      case .session(let message, let target):
        if target == loop.index {
          hub.receive(message, now: now, into: &work.actions)
        } else {
          let node = nodes[target]
          node.loop.execute { node.hub.receive(message, now: node.clock.now(), into: &node.work.actions) }
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
    return work.sendOutboxes { target, deliveries, bytes in
      let node = nodes[target]
      return node.loop.offer(bytes: bytes) {
        node.delivery.came(at: came)
        node.hub.deliver(deliveries, now: node.clock.now(), into: &node.work.actions)
      }
    }
  }

  private func armTimer(_ now: Timestamp) {
    let next = min(publisher.nextDeadline, feeds.nextDeadline)
    if let armed = timers.deadline, next >= armed.time { return }
    timers.deadline?.timer.cancel()
    timers.deadline = nil
    guard next < Timestamp.distantFuture else { return }
    let timer = loop.schedule(after: .microseconds(max(0, next - now))) { [unowned self] in
      // This starts a turn, and `endTurn` does the work at its end.
      timers.deadline = nil
    }
    timers.deadline = (next, timer)
  }

  /// Applies settings that may change while the gateway runs. On the loop.
  func apply(_ settings: NodeSettings) {
    loop.assertOnLoop()
    self.settings = settings
    hub.apply(settings.clientLimits)
    hub.watchlists = settings.watchlists
  }
}

/// When a node's loop wakes by itself.
private struct NodeTimers {
  var ticks: TickCount
  var tick: LoopTimer?
  /// The next moment at which a feed or the publisher has something to do.
  var deadline: (time: Timestamp, timer: LoopTimer)?
}
