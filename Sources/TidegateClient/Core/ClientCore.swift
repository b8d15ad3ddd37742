import Bytes

/// The client's side of `tidegate.v1` over one connection at a time. It decides what to send, who gets what arrives,
/// and when to reconnect.
///
/// Sans-IO: messages and `now` (nanoseconds of any clock that does not go back) in, actions out. The owner calls
/// `advance` no later than `nextDeadline`, and takes what came for a consumer with `next` when it is woken.
package struct ClientCore: Sendable {
  enum Phase: Equatable {
    case idle, connecting, open, waiting, stopped
  }

  enum Pending {
    case hello
    /// For each channel one set of parameters, so that an answer's channel and symbol identify the item.
    case subscribe([StreamItem])
    /// The numbers of streams.
    case unsubscribe([Int64])
    /// A request whose caller waits for the answer.
    case ask(Int)
    /// A request whose reply only confirms it.
    case other
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

  struct Subscriber {
    var items: [StreamItem]
    var inbox: Inbox<StreamItem, StreamEvent<Payload>>
  }

  /// The one state among the events of the connection.
  enum Report { case heartbeat }

  /// Items in a request, which keep it well under the gateway's limit of 64 KiB.
  static let itemsPerRequest = 400
  /// Numbers in an `unsubscribe`: the gateway accepts as many as a client may have subscriptions, at least 1,000.
  static let numbersPerRequest = 1_000
  /// The largest number of streams of a connection, which is the most that a gateway may allow.
  static let streamLimit = 100_000
  /// Streams in one `hello`, which keep it under the gateway's limit of 64 KiB.
  static let resumeLimit = 300
  /// Requests that may wait for a connection.
  static let unsentLimit = 1_000
  /// The longest `Retry-After` that the client respects, ns.
  static let retryAfterLimit: UInt64 = 600_000_000_000

  var options: ClientOptions
  /// Whether there is a source of new tokens.
  let refreshesToken: Bool
  /// Whether a fresh token has been requested and has not arrived.
  var awaitsToken = false
  /// Whether the gateway refused the last token; a second refusal in a row is final.
  var isTokenRefused = false
  var phase = Phase.idle
  /// The reason why the client does not reconnect; nil: it does.
  var failure: ConnectionFailure?
  /// Whether a gateway has answered: the URL leads to one.
  var hasMetGateway = false

  var subscribers: [Int: Subscriber] = [:]
  var listeners: [Int: Inbox<Report, ConnectionEvent>] = [:]
  var wants: [StreamItem: Want] = [:]
  var streams: [StreamItem: ClientStream] = [:]
  /// The streams of each of the gateway's numbers. A number has several if two sets of parameters are the same to the
  /// gateway.
  var numbers: [Int64: [StreamItem]] = [:]
  /// Streams that may have no subscriber left.
  var unfollowed: Set<StreamItem> = []
  /// The streams that wait for a snapshot after a gap.
  var gapped: Set<StreamItem> = []
  /// The number of the next consumer, want or stream.
  var nextSerial = 1

  var pending: [Int64: (request: Pending, deadline: UInt64)] = [:]
  /// The answers of requests with a waiting caller; nil: not received yet.
  var asked: [Int: Result<AlertAnswer, RequestFailure>?] = [:]
  /// The requests that wait for a connection.
  var unsent: [(id: Int, fields: String, deadline: UInt64)] = []
  /// Requests that the gateway asked to repeat later: items to subscribe to, and numbers to unsubscribe from.
  var retries: [(due: UInt64, items: [StreamItem], leaving: [Int64])] = []
  var nextID: Int64 = 1
  var attempt = 0
  var retryAt: UInt64?
  var isWelcome = false
  var heartbeat: Heartbeat?
  var heartbeatInterval: UInt64?
  var heartbeatAt: UInt64 = 0
  var drainAt: UInt64?
  /// Snapshots and updates received on this connection, to be compared with the `sent` of its heartbeats.
  var received = 0
  var isPaused = false
  /// The rate of every stream, in milliseconds; nil: each stream has its own.
  var cadence: Int?
  /// The token of the last session, and the streams that `hello` asked to resume.
  var session: String?
  var resuming: [Int64: StreamItem] = [:]
  var random: UInt64

  /// - Parameter seed: of the jitter.
  package init(options: ClientOptions, refreshesToken: Bool = false, seed: UInt64) {
    self.options = options
    self.refreshesToken = refreshesToken
    self.random = seed
  }

  /// When `advance` has something to do; nil: nothing.
  package var nextDeadline: UInt64? {
    var deadline = retryAt
    func take(_ other: UInt64?) { if let other, other < deadline ?? .max { deadline = other } }
    take(drainAt)
    if phase == .open, let heartbeatInterval { take(heartbeatAt + heartbeatInterval * 5 / 2) }
    for entry in pending.values { take(entry.deadline) }
    for entry in retries { take(entry.due) }
    for entry in unsent { take(entry.deadline) }
    for key in gapped { take(streams[key]?.gapDeadline) }
    return deadline
  }

  // MARK: Inputs

  /// Starts, unless it has started.
  package mutating func start(now: UInt64, into actions: inout [ClientAction]) {
    guard phase == .idle else { return }
    guard refreshesToken, options.token == nil else { return connect(now: now, into: &actions) }
    phase = .waiting
    refreshToken(into: &actions)
  }

  /// The token that `.refreshToken` asked for; nil: none is available.
  package mutating func renewed(_ token: String?, now: UInt64, into actions: inout [ClientAction]) {
    guard awaitsToken else { return }
    awaitsToken = false
    if let token { options.token = token }
    switch phase {
    case .open:
      guard token != nil else { return }
      actions.append(.send(Requests.hello(id: takeID(.hello, now: now), options: options, session: nil, streams: [])))
    case .waiting where retryAt == nil:
      if token != nil { return connect(now: now, into: &actions) }
      finish(.noToken, into: &actions)
    default: break
    }
  }

  mutating func refreshToken(into actions: inout [ClientAction]) {
    guard !awaitsToken else { return }
    awaitsToken = true
    actions.append(.refreshToken)
  }

  /// Stops for good.
  package mutating func stop(into actions: inout [ClientAction]) {
    guard phase != .stopped else { return }
    if phase == .open || phase == .connecting { actions.append(.close(code: 1000, reason: "")) }
    reset()
    phase = .stopped
    endAsked(into: &actions)
    wakeAll(into: &actions)
  }

  /// The transport is open.
  package mutating func opened(now: UInt64, into actions: inout [ClientAction]) {
    guard phase == .connecting else { return }
    phase = .open
    pending.removeAll()
    let resumed = streamsToResume()
    resuming = Dictionary(resumed.map { ($0.number, $0.stream.item) }, uniquingKeysWith: { first, _ in first })
    let id = takeID(.hello, now: now)
    actions.append(
      .send(Requests.hello(id: id, options: options, session: session, streams: resumed, cadence: cadence)))
    for item in wants.keys { wants[item]?.phase = .asked }
    ask(wants.sorted { $0.value.serial < $1.value.serial }.map(\.key), now: now, into: &actions)
    if isPaused { send("pause", now: now, into: &actions) }
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
    let least = min(retryAfter?.nanoseconds ?? 0, Self.retryAfterLimit)
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
    if let retryAt, retryAt <= now {
      self.retryAt = nil
      connect(now: now, into: &actions)
    }
    if let drainAt, drainAt <= now {
      actions.append(.close(code: 1000, reason: "drain"))
      disconnect(.draining, now: now, into: &actions)
    }
    guard phase == .open || phase == .connecting else { return }
    if pending.values.contains(where: { $0.deadline <= now }) {
      actions.append(.close(code: 1000, reason: "no answer"))
      return disconnect(.noAnswer, now: now, into: &actions)
    }
    if phase == .open, let heartbeatInterval, heartbeatAt + heartbeatInterval * 5 / 2 <= now {
      actions.append(.close(code: 1000, reason: "no heartbeat"))
      return disconnect(.noHeartbeat, now: now, into: &actions)
    }
    let due = retries.filter { $0.due <= now }
    retries.removeAll { $0.due <= now }
    for entry in due {
      unsubscribeAgain(entry.leaving, now: now, into: &actions)
      ask(entry.items.filter(isWanted), now: now, into: &actions)
    }
    let late = gapped.filter { streams[$0]?.gapDeadline ?? .max <= now }
    subscribeAgain(sorted(late), now: now, into: &actions)
  }

  /// The network seems to have changed: reconnects at once instead of after the back-off.
  package mutating func hurry(now: UInt64, into actions: inout [ClientAction]) {
    guard phase == .waiting, retryAt != nil else { return }
    retryAt = nil
    attempt = 0
    connect(now: now, into: &actions)
  }

  // MARK: Parts

  private mutating func connect(now: UInt64, into actions: inout [ClientAction]) {
    phase = .connecting
    _ = takeID(.hello, now: now)
    actions.append(.connect)
  }

  mutating func takeID(_ request: Pending, now: UInt64) -> Int64 {
    defer { nextID += 1 }
    pending[nextID] = (request, now + options.replyTimeout.nanoseconds)
    return nextID
  }

  mutating func takeSerial() -> Int {
    defer { nextSerial += 1 }
    return nextSerial
  }

  mutating func send(_ op: StaticString, now: UInt64, into actions: inout [ClientAction]) {
    actions.append(.send(Requests.plain(op, id: takeID(.other, now: now))))
  }

  /// Streams in order of their creation.
  func sorted(_ keys: some Sequence<StreamItem>) -> [StreamItem] {
    keys.compactMap { streams[$0] }.sorted { $0.serial < $1.serial }.map(\.item)
  }

  /// Forgets the connection.
  private mutating func reset() {
    pending.removeAll()
    retries.removeAll()
    gapped.removeAll()
    numbers.removeAll()
    resuming.removeAll()
    isWelcome = false
    heartbeatInterval = nil
    drainAt = nil
    received = 0
  }

  /// Forgets the connection, and reports to the consumers that their streams are stale.
  private mutating func leave(into actions: inout [ClientAction]) {
    reset()
    for key in unfollowed where streams[key]?.subscribers.isEmpty == true { _ = remove(key) }
    unfollowed.removeAll()
    failAsked(into: &actions)
    for key in sorted(streams.keys) where streams[key]?.leave() == true {
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
    switch failure {
    case .closed(4001, _) where refreshesToken && !isTokenRefused,
      .refused(401, _) where refreshesToken && !isTokenRefused:
      isTokenRefused = true
      phase = .waiting
      tell(.disconnected(failure, retryIn: .zero), into: &actions)
      refreshToken(into: &actions)
    case _ where failure.prospect == .lasts, _ where failure.prospect == .passesOnceMet && !hasMetGateway:
      finish(failure, into: &actions)
    case .closed(4200...4299, _) where attempt == 0, .draining where attempt == 0:
      wait(0, failure, now: now, into: &actions)
    // Jitter is added, so that clients with the same `Retry-After` do not reconnect together.
    default: wait(least + backOff(), failure, now: now, into: &actions)
    }
  }

  /// Ends for good: the client does not reconnect.
  private mutating func finish(_ failure: ConnectionFailure, into actions: inout [ClientAction]) {
    phase = .stopped
    self.failure = failure
    endAsked(into: &actions)
    tell(.disconnected(failure, retryIn: nil), into: &actions)
    wakeAll(into: &actions)
  }

  private mutating func wait(
    _ nanoseconds: UInt64, _ failure: ConnectionFailure, now: UInt64, into actions: inout [ClientAction]
  ) {
    attempt += 1
    phase = .waiting
    retryAt = now + nanoseconds
    tell(.disconnected(failure, retryIn: .nanoseconds(Int64(nanoseconds))), into: &actions)
  }

  /// Full jitter: uniform from zero to a limit that doubles with each attempt, so that the clients of a gateway do not
  /// all reconnect at once.
  private mutating func backOff() -> UInt64 {
    let first = Int64(clamping: options.backOff.lowerBound.nanoseconds)
    let last = Int64(clamping: options.backOff.upperBound.nanoseconds)
    let cap = UInt64(Backoff.ceiling(first: first, limit: last, attempts: attempt))
    // SplitMix64: small, seeded, and good enough for jitter.
    random &+= 0x9E37_79B9_7F4A_7C15
    var z = random
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return (z ^ (z >> 31)) % (cap + 1)
  }
}
