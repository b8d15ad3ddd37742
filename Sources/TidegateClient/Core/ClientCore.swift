/// The client's side of `tidegate.v1` over one connection at a time. It decides what to send, who gets what arrives,
/// and when to reconnect.
///
/// Sans-IO: messages and `now` (nanoseconds of any clock that does not go back) in, actions out. The owner calls
/// `advance` no later than `nextDeadline`, and takes what came for a consumer with `next` when it is woken.
package struct ClientCore: Sendable {
  enum Phase: Equatable {
    case idle, connecting, open, waiting, stopped
  }

  /// What subscribers want of one item.
  struct Want {
    enum Phase { case asked, accepted, refused }
    /// In order of creation.
    var serial: Int
    var phase = Phase.asked
    var subscribers: Set<Int> = []
    /// The streams of a pattern.
    var streams: Set<StreamItem> = []
  }

  /// What the app wants of every stream, also after a reconnection.
  struct Pace {
    var isPaused = false
    /// The rate, in milliseconds; nil: each stream has its own.
    var cadence: Int?
  }

  /// Items in a request, which keep it well under the gateway's limit of 64 KiB.
  static let itemsPerRequest = 400
  /// Numbers in an `unsubscribe`: the gateway accepts as many as a client may have subscriptions, at least 1,000.
  static let numbersPerRequest = 1_000

  var options: ClientOptions
  var phase = Phase.idle
  var pace = Pace()
  var wants: [StreamItem: Want] = [:]
  /// The number of the next consumer, want or stream.
  var nextSerial = 1
  var consumers: ConsumerTable
  var streams = StreamTable()
  var requests: RequestTable
  var asked = AskedRequests()
  var groupChoice: GroupChoice
  private(set) var traffic = Traffic()
  var resumption = SessionResumption()
  var liveness = Liveness()
  var token: TokenRefresh
  var reconnection: Reconnection

  /// - Parameter seed: of the jitter.
  package init(options: ClientOptions, refreshesToken: Bool = false, seed: UInt64) {
    self.options = options
    consumers = ConsumerTable(limit: options.bufferLimit)
    requests = RequestTable(timeout: options.replyTimeout)
    groupChoice = GroupChoice(isOn: options.usesGroups)
    token = TokenRefresh(isPossible: refreshesToken)
    reconnection = Reconnection(options.backOff, seed: seed)
  }

  /// Why the client does not connect again; nil: it does.
  var failure: ConnectionFailure? { reconnection.end }

  /// When `advance` has something to do; nil: nothing.
  package var nextDeadline: UInt64? {
    var deadline = reconnection.dueAt
    func take(_ other: UInt64?) { if let other, other < deadline ?? .max { deadline = other } }
    take(liveness.drainAt)
    if phase == .open { take(liveness.silentAt) }
    take(requests.nextDeadline)
    take(asked.nextDeadline)
    take(streams.nextDeadline)
    return deadline
  }

  // MARK: Inputs

  /// Starts, unless it has started.
  package mutating func start(now: UInt64, into actions: inout [ClientAction]) {
    guard phase == .idle else { return }
    guard token.isPossible, options.token == nil else { return connect(now: now, into: &actions) }
    phase = .waiting
    refreshToken(into: &actions)
  }

  /// The token that `.refreshToken` asked for; nil: none is available.
  package mutating func renewed(_ token: String?, now: UInt64, into actions: inout [ClientAction]) {
    guard self.token.arrive() else { return }
    if let token { options.token = token }
    switch phase {
    case .open:
      guard token != nil else { return }
      let id = requests.add(.hello, now: now)
      actions.append(.send(Requests.hello(id: id, options: options, session: nil, streams: [])))
    case .waiting where reconnection.dueAt == nil:
      if token != nil { return connect(now: now, into: &actions) }
      finish(.noToken, into: &actions)
    default: break
    }
  }

  mutating func refreshToken(into actions: inout [ClientAction]) {
    if token.request() { actions.append(.refreshToken) }
  }

  /// Stops for good.
  package mutating func stop(into actions: inout [ClientAction]) {
    guard phase != .stopped else { return }
    if phase == .open || phase == .connecting { actions.append(.close(code: 1000, reason: "")) }
    reset()
    phase = .stopped
    endAsked(into: &actions)
    consumers.wakeAll(into: &actions)
  }

  /// The transport is open.
  package mutating func opened(now: UInt64, into actions: inout [ClientAction]) {
    guard phase == .connecting else { return }
    phase = .open
    requests.forgetAnswers()
    let resumed = resumption.session == nil ? [] : streams.resumable
    resumption.ask(resumed)
    let id = requests.add(.hello, now: now)
    actions.append(
      .send(
        Requests.hello(
          id: id, options: options, session: resumption.session, streams: resumed, cadence: pace.cadence)))
    for item in wants.keys { wants[item]?.phase = .asked }
    ask(wants.sorted { $0.value.serial < $1.value.serial }.map(\.key), now: now, into: &actions)
    if pace.isPaused { send("pause", now: now, into: &actions) }
  }

  /// The transport has ended; `code` is nil if there was no close frame.
  package mutating func closed(code: UInt16?, reason: String, now: UInt64, into actions: inout [ClientAction]) {
    guard phase == .connecting || phase == .open else { return }
    guard let code else { return disconnect(.network(reason), now: now, into: &actions) }
    disconnect(.closed(code: code, reason: reason), now: now, into: &actions)
  }

  /// The server refused the opening handshake. The client does not try again before `retryAfter`, limited to ten
  /// minutes.
  package mutating func refused(
    status: Int, retryAfter: Duration?, reason: String, now: UInt64, into actions: inout [ClientAction]
  ) {
    guard phase == .connecting || phase == .open else { return }
    let least = min(retryAfter?.nanoseconds ?? 0, Reconnection.retryAfterLimit)
    disconnect(.refused(status: status, reason: reason), notBefore: least, now: now, into: &actions)
  }

  /// The transport cannot connect to this server, or the server does not speak the protocol.
  package mutating func unusable(reason: String, now: UInt64, into actions: inout [ClientAction]) {
    guard phase == .connecting || phase == .open else { return }
    disconnect(.unusable(reason), now: now, into: &actions)
  }

  /// Time has passed.
  package mutating func advance(to now: UInt64, into actions: inout [ClientAction]) {
    expireAsked(now: now, into: &actions)
    if reconnection.takeDue(now) { connect(now: now, into: &actions) }
    if let drainAt = liveness.drainAt, drainAt <= now {
      actions.append(.close(code: 1000, reason: "drain"))
      disconnect(.draining, now: now, into: &actions)
    }
    guard phase == .open || phase == .connecting else { return }
    if requests.isLate(now) {
      actions.append(.close(code: 1000, reason: "no answer"))
      return disconnect(.noAnswer, now: now, into: &actions)
    }
    if phase == .open, let silentAt = liveness.silentAt, silentAt <= now {
      actions.append(.close(code: 1000, reason: "no heartbeat"))
      return disconnect(.noHeartbeat, now: now, into: &actions)
    }
    for entry in requests.takeRetries(now) {
      unsubscribeAgain(entry.leaving, now: now, into: &actions)
      ask(entry.items.filter(isWanted), now: now, into: &actions)
    }
    subscribeAgain(streams.late(now), now: now, into: &actions)
  }

  /// The network seems to have changed: reconnects at once instead of after the back-off.
  package mutating func hurry(now: UInt64, into actions: inout [ClientAction]) {
    guard phase == .waiting, reconnection.hurry() else { return }
    connect(now: now, into: &actions)
  }

  // MARK: Parts

  mutating func count(_ bytes: Int, isRecord: Bool = false, now: UInt64) {
    traffic.count(bytes, isRecord: isRecord, now: now)
  }

  private mutating func connect(now: UInt64, into actions: inout [ClientAction]) {
    phase = .connecting
    _ = requests.add(.hello, now: now)
    actions.append(.connect)
  }

  mutating func takeSerial() -> Int {
    defer { nextSerial += 1 }
    return nextSerial
  }

  mutating func send(_ op: StaticString, now: UInt64, into actions: inout [ClientAction]) {
    actions.append(.send(Requests.plain(op, id: requests.add(.other, now: now))))
  }

  /// Forgets the connection.
  private mutating func reset() {
    requests.reset()
    streams.reset()
    groupChoice.reset()
    resumption.reset()
    liveness = Liveness()
  }

  /// Forgets the connection, and reports to the consumers that their streams are stale.
  private mutating func leave(into actions: inout [ClientAction]) {
    reset()
    _ = streams.removeUnfollowed()
    failAsked(into: &actions)
    for key in streams.sorted(streams.keys) where streams[key]?.leave() == true {
      if !key.channel.isState, let stream = streams[key] {
        append(.stale(stream.info, .disconnected), of: key, into: &actions)
      } else {
        touch(key, into: &actions)
      }
    }
  }

  /// - Parameter least: the shortest wait until the next attempt, ns.
  mutating func disconnect(
    _ failure: ConnectionFailure, notBefore least: UInt64 = 0, now: UInt64, into actions: inout [ClientAction]
  ) {
    leave(into: &actions)
    if token.helps(failure) {
      phase = .waiting
      consumers.tell(.disconnected(failure, retryIn: .zero), into: &actions)
      refreshToken(into: &actions)
    } else if let wait = reconnection.wait(after: failure, notBefore: least, now: now) {
      phase = .waiting
      consumers.tell(.disconnected(failure, retryIn: .nanoseconds(Int64(wait))), into: &actions)
    } else {
      finish(failure, into: &actions)
    }
  }

  /// Ends for good: the client does not reconnect.
  private mutating func finish(_ failure: ConnectionFailure, into actions: inout [ClientAction]) {
    phase = .stopped
    reconnection.finish(failure)
    endAsked(into: &actions)
    consumers.tell(.disconnected(failure, retryIn: nil), into: &actions)
    consumers.wakeAll(into: &actions)
  }
}
