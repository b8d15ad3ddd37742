import Bytes
import MarketData

/// Serves the clients of one loop. It speaks `tidegate.v1` with them, stores their subscriptions, and queues frames for
/// each client. It merges frames that a slow client has not read. Sans-IO: the gateway moves bytes between the hub and
/// sockets. Confined to its loop's queue.
///
/// The hub consists of values with one task each, and passes their results to the others:
///
/// | value | what it knows |
/// |---|---|
/// | `ClientTable` | the clients by slot |
/// | `RequestAdmission` | the requests of each client, and their limits |
/// | `SubscriptionResolver` | which streams a request names |
/// | `SubscriberLists` | who gets a stream's messages, and the backlogs of slow clients |
/// | `ClientQueues` | the queued frames of each client |
/// | `SlowClientPolicy`, `WatchList` | what happens to slow clients |
/// | `Heartbeats`, `GrantReview`, `DrainPlan`, `ParkedSessions` | what is due, and when |
/// | `DialectClients` | the clients that speak other protocols |
///
/// In each turn, the owner calls `receive` and `deliver`. Then, for each client of `dirty`, it calls `take` for the
/// bytes that the connection can send, or `setUnsent` if it can send none. Then it calls `removeDirty`. A client with
/// queued frames at that point counts as blocked: from then on its state channels are merged. The frames of one turn
/// are never merged before that.
package final class SubscriberHub {
  package struct Identity: Sendable {
    package var node: String
    package var version: String
    package init(node: String, version: String) {
      self.node = node
      self.version = version
    }
  }

  /// The constants of a hub.
  struct Settings {
    let loop: Int
    let loops: Int
    let identity: Identity
    let heartbeatSeconds: Int
  }

  /// A clock for durations, which steps of the wall clock do not change.
  struct SteadyClock {
    var stepped: Int64 = 0
    /// The steady time of the last `advance`.
    var lastAdvance = Timestamp.distantPast

    @inline(__always)
    func callAsFunction(_ now: Timestamp) -> Timestamp { now + -stepped }
  }

  /// Sessions of clients that have left, and the drain of present clients.
  struct Departures {
    var parked: ParkedSessions
    var waits = ResumeWaits()
    var drain: DrainPlan?
    /// Sessions that were resumed here.
    var resumed: UInt64 = 0
    /// Clients that requested a session that belongs to another identity, or no longer exists.
    var notResumed: UInt64 = 0
    /// Merged and lost messages of clients that have left.
    var merged: UInt64 = 0
    var lost: UInt64 = 0
  }

  let settings: Settings
  var steady = SteadyClock()
  var clients = ClientTable()
  var admission: RequestAdmission
  var resolver: SubscriptionResolver
  var lists: SubscriberLists
  var queues: ClientQueues
  var slowClients: SlowClientPolicy
  var watchList = WatchList()
  var heartbeats = Heartbeats()
  var grants = GrantReview()
  var departures: Departures
  var dialects = DialectClients()

  var limits: ClientLimits { admission.limits }
  var loop: Int { settings.loop }

  /// - Parameters:
  ///   - loop: this loop.
  ///   - loops: 1…64.
  ///   - heartbeatSeconds: the default interval of heartbeats, 1…60.
  package init(
    loop: Int, loops: Int, identity: Identity, limits: ClientLimits = .init(), heartbeatSeconds: Int = 5
  ) {
    precondition((1...64).contains(loops) && (0..<loops).contains(loop), "loops are 1 to 64")
    precondition((1...60).contains(heartbeatSeconds), "heartbeats come every 1 to 60 s")
    settings = Settings(loop: loop, loops: loops, identity: identity, heartbeatSeconds: heartbeatSeconds)
    admission = RequestAdmission(limits: limits)
    resolver = SubscriptionResolver(nameLimit: admission.nameLimit)
    lists = SubscriberLists(
      backlogLimits: ReplayRing.Limits(events: limits.queuedEvents, bytes: limits.queuedEventBytes))
    queues = ClientQueues(limits: limits)
    slowClients = SlowClientPolicy(limits)
    departures = Departures(parked: ParkedSessions(limit: limits.parkedSessions))
  }

  // MARK: The gateway's settings and queries

  /// Resolves symbols; the gateway updates it when it changes.
  package var directory: Directory {
    _read { yield resolver.directory }
    _modify { yield &resolver.directory }
  }
  /// Lists of symbols and patterns that clients request by name. A change affects later requests.
  package var watchlists: [String: [String]] {
    get { resolver.watchlists }
    set { resolver.watchlists = newValue }
  }
  /// Returns whether an owner has a stored portfolio with an id; set before the first client connects.
  package func findPortfolios(_ exists: @escaping @Sendable (_ id: String, _ owner: String) -> Bool) {
    resolver.hasPortfolio = exists
  }
  /// Returns the reason why a deck cannot be shown in a time zone, if there is one; set before the first client
  /// connects.
  package func findDecks(_ refuse: @escaping @Sendable (_ name: String, _ zone: String) -> ProtocolError?) {
    resolver.refuseDeck = refuse
  }
  /// The feed states for heartbeats; the gateway replaces them when they change.
  package var feeds: [FeedStatus] {
    get { heartbeats.feeds }
    set { heartbeats.feeds = newValue }
  }
  var feedsRevision: UInt64 { heartbeats.revision }
  /// Whether clients need a token: clients without a grant may only send `hello`, and must do so within 10 s. Set
  /// before the first client connects.
  package var asksForTokens: Bool {
    get { grants.asksForTokens }
    set { grants.asksForTokens = newValue }
  }
  /// The grant of clients without a token if tokens are required; nil: none.
  package var anonymousGrant: Grant? {
    get { grants.anonymousGrant }
    set { grants.anonymousGrant = newValue }
  }

  /// Applies these limits from now on, also to connected clients.
  package func apply(_ limits: ClientLimits) {
    admission.apply(limits)
    queues.limits = limits
    slowClients = SlowClientPolicy(limits)
  }

  /// The wall clock, and with it `now`, was set forward by this time, µs. Durations are not affected.
  package func clockStepped(by step: Int64) { steady.stepped += step }

  /// Clients connected.
  package var clientCount: Int { clients.count }
  /// Whether another client would exceed `ClientLimits.clients`; the gateway refuses connections while it holds.
  package var isFull: Bool { clients.count >= limits.clients }
  /// Work done for clients since the start, in the unit of `ClientAllowance`.
  package var workDone: UInt64 { admission.workDone }
  /// The number of sessions that can be resumed. For metrics.
  package var parkedSessions: Int { departures.parked.count }
  /// Whether `drain` was called.
  package var isDraining: Bool { departures.drain != nil }
  /// Clients that were closed by it. For metrics.
  package var evictedClients: Int { departures.drain?.evicted ?? 0 }
  /// The present grant of a connected client.
  package func grant(of client: ClientID) -> Grant? { state(of: client)?.grant }
  /// Whether a client has not read its bytes at once, or is held; it then gets fewer bytes at a time. O(1).
  package func isWatched(_ client: ClientID) -> Bool { clients.anyState(of: client)?.isWatched ?? false }
  /// Whether a client is in a slower class than it requested. O(1).
  package func isDegraded(_ client: ClientID) -> Bool { (clients.anyState(of: client)?.flow.degraded ?? 0) != 0 }

  func state(of client: ClientID) -> ClientState? { clients.state(of: client) }

  // MARK: Clients

  /// Whether an address may have another client: its clients have not used much more than its work allowance.
  package func admits(_ address: ClientAddress, now: Timestamp) -> Bool { admission.addresses.admits(address, at: now) }

  /// Adds a client.
  /// - Parameters:
  ///   - secret: random; the client's resume token begins with it.
  ///   - grant: the client's rights, if they are known already.
  ///   - address: the client's address, if it is to be limited.
  ///   - isBinary: whether it takes data as binary records (`tidegate.v1.bin`).
  ///   - dialect: its side of another protocol; call `greetDialect` next.
  package func open(
    secret: SessionSecret, grant: Grant? = nil, address: ClientAddress? = nil, isBinary: Bool = false,
    dialect: (any DialectSession)? = nil, now: Timestamp
  ) -> ClientID {
    let client = clients.open()
    let rights = grants.begin(grant, now: now)
    let state = ClientState(
      secret: secret, grant: rights.grant, deadline: rights.deadline,
      heartbeat: ClientHeartbeat(seconds: settings.heartbeatSeconds), isBinary: isBinary)
    if let address { state.requests.address = admission.addresses.enter(address) }
    clients[client.slot].pointee.state = state
    if let dialect { dialects.open(client.slot, dialect) }
    heartbeats.start(client, &state.heartbeat, now: now)
    if let wait = departures.drain?.add(client, now: steady(now)) { sendDrainNotice(client, wait: wait, now: now) }
    return client
  }

  /// The connection has ended.
  package func close(_ client: ClientID, into actions: inout [HubAction]) {
    guard let state = clients.anyState(of: client) else { return }
    unwatch(client.slot, state)
    departures.merged &+= UInt64(truncatingIfNeeded: state.merged)
    departures.lost &+= UInt64(truncatingIfNeeded: state.lost)
    if !dialects.has(client.slot) { park(client, state, into: &actions) }
    dialects.close(client.slot)
    for subscription in state.memberships.removeAll() {
      lists.remove(subscription, clients)
      leaveIfEmpty(subscription.stream, into: &actions)
    }
    state.queue.removeAll()
    if state.requests.address >= 0 { admission.addresses.leave(state.requests.address) }
    clients.close(client)
  }

  /// Ends a client's connection; everything that it sends from now on is ignored.
  package func disconnect(_ client: ClientID, code: UInt16, reason: String, into actions: inout [HubAction]) {
    guard let state = state(of: client) else { return }
    let slot = clients[client.slot]
    let farewell = farewell(client, code, reason)
    slot.pointee.flags.insert(.closed)
    if code == CloseCode.slow {
      slot.pointee.bundle = TurnBundles.empty
      state.queue.removeAll()
      slot.pointee.isHeartbeatDue = false
    }
    unwatch(client.slot, state)
    actions.append(.close(client, code: farewell.code, reason: farewell.reason))
  }

  // MARK: Time

  /// Heartbeats, slow clients, grants, parked sessions, the drain. Call about ten times a second. O(due + blocked
  /// clients).
  package func advance(to now: Timestamp, into actions: inout [HubAction]) {
    for client in heartbeats.removeDue(at: now) {
      guard let state = state(of: client), heartbeats.isDue(client, &state.heartbeat, now: now) else { continue }
      state.requests.allowance.forget(at: now)
      scheduleHeartbeat(client.slot, state)
    }
    for slot in heartbeats.roundSlots(used: clients.used, now: now) {
      let slot = UInt32(slot)
      if let state = state(of: clients.id(of: slot)) { scheduleHeartbeat(slot, state) }
    }
    steady.lastAdvance = steady(now)
    admission.addresses.expire(at: now)
    advanceWatched(now, into: &actions)
    reviewGrants(now, into: &actions)
    advanceDialects(now, into: &actions)
    release(departures.parked.expire(at: steady.lastAdvance), into: &actions)
    joinWaiting(now: now, into: &actions)
    while let client = departures.drain?.popDue(now: steady.lastAdvance) {
      guard state(of: client) != nil else { continue }
      departures.drain?.noteEviction()
      disconnect(client, code: CloseCode.draining, reason: "the gateway is shutting down; reconnect", into: &actions)
    }
  }

  /// Empty for a client without a grant: only admitted clients may see the feeds and their states.
  private func scheduleHeartbeat(_ slot: UInt32, _ state: ClientState) {
    guard state.grant != nil else { return }
    clients[slot].pointee.isHeartbeatDue = true
    queues.touch(slot, clients)
  }

  /// Warns clients whose grant ends soon. Closes clients whose grant has ended, and clients that never had one.
  private func reviewGrants(_ now: Timestamp, into actions: inout [HubAction]) {
    for slot in grants.nextSlots(used: clients.used) {
      let client = clients.id(of: slot)
      guard let state = state(of: client) else { continue }
      let grant = state.grant
      var deadline = state.deadline
      let verdict = grants.review(grant, &deadline, now: now)
      if deadline != state.deadline { state.setGrant(grant, deadline: deadline) }
      switch verdict {
      case .fine: break
      case .revoke(let why): revoke(from: client, why: why, into: &actions)
      case .expiring(let expires): send(to: client, now: now) { Replies.appendExpiring(expires, now: now, to: &$0) }
      }
    }
  }

  /// Sends every client the moment at which it should reconnect, and closes it with 4201 if it is still connected then.
  /// The moments are spread evenly over `window`, on this loop and over all loops together. `advance` closes the
  /// clients. Call it once. O(clients).
  package func drain(window: Int64, now: Timestamp, into actions: inout [HubAction]) {
    guard departures.drain == nil else { return }
    let present = (0..<UInt32(clients.used)).map { clients.id(of: $0) }.filter { state(of: $0) != nil }
    let plan = DrainPlan(
      present, window: window, loop: loop, loops: settings.loops, now: steady(now), deadline: now + window)
    departures.drain = plan
    for (client, wait) in plan.waits(now: steady(now)) { sendDrainNotice(client, wait: wait, now: now) }
  }

  private func sendDrainNotice(_ client: ClientID, wait: Int64, now: Timestamp) {
    guard let deadline = departures.drain?.deadline else { return }
    send(to: client, now: now) { Replies.appendDrain(wait: wait, deadline: deadline, to: &$0) }
  }

  // MARK: Messages for one client

  /// Encodes a message that is for one client, and queues it. Nothing for one that speaks another protocol.
  func send(to client: ClientID, now: Timestamp, _ body: (inout ByteBuffer) -> Void) {
    guard let state = state(of: client), !dialects.has(client.slot) else { return }
    let bytes = queues.frame(body)
    admission.charge(bytes.count, to: &state.requests, state.grant, now: now)
    queues.push(QueuedItem(control: bytes, time: steady(now)), to: .control, client.slot, clients)
  }
}
