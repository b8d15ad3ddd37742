import PubSub
import Synchronization
import Transport

/// Admits connections and requests by counts and rates, in total and for each address, over all loops. One lock
/// protects one table. It is taken only for connections and HTTP requests, for less than 1 µs; the limits of stream
/// messages are elsewhere (`SubscriberHub`).
package final class Admission: Sendable {
  package struct Limits: Sendable {
    /// The most simultaneous connections.
    package var connections = 10_000
    package var connectionsPerAddress = 1_024
    package var connectionsPerSecondPerAddress = 250
    package var handshakesPerSecond = 2_000
    package var handshakesPerSecondPerAddress = 250
    /// The limits of one connection.
    package var requestsPerSecond = 100
    package var requestsPerSecondPerAddress = 500

    package init() {}
  }

  /// The counts for `/metrics`.
  package struct Figures: Sendable, Equatable {
    package var connections = 0
    /// The number of stored addresses.
    package var addresses = 0
    /// By reason, in the order of `Refusal.allCases`.
    package var refusals = [UInt64](repeating: 0, count: Refusal.allCases.count)

    package init(
      connections: Int = 0, addresses: Int = 0,
      refusals: [UInt64] = [UInt64](repeating: 0, count: Refusal.allCases.count)
    ) {
      self.connections = connections
      self.addresses = addresses
      self.refusals = refusals
    }
  }

  private struct State {
    var addresses: AdmissionTable<IPAddress>
    var keys: AdmissionTable<String>
    var connections = 0
    /// The connections among them that have not sent a request yet.
    var silent = 0
    /// The number of connections that were admitted over the limit.
    var rooms = 0
    /// The refused connections whose answer is being sent.
    var refusing = 0
    /// The rate of all handshakes.
    var handshakes = Int64.min / 2
    var refusals = [UInt64](repeating: 0, count: Refusal.allCases.count)
  }

  /// The most simultaneous answers to refused connections. A refused connection uses a descriptor and, with TLS, costs
  /// a handshake. Beyond this number, connections are closed at once.
  package static let refusingLimit = 256
  /// The most connections over the limit that are admitted while silent ones are being closed for them.
  package static let roomLimit = 64
  /// The addresses, or keys, that are stored in addition to those with connections.
  static let spareEntries = 65_536

  /// The settings that may change while the gateway runs.
  private struct Rules {
    let limits: Limits
    let connectionRate: Rate
    let handshakeRate: Rate
    let handshakeRatePerAddress: Rate
    let requestRate: Rate
    let requestRatePerAddress: Rate
    let proxies: TrustedProxies

    init(_ limits: Limits, _ proxies: TrustedProxies) {
      self.limits = limits
      self.proxies = proxies
      connectionRate = Rate(perSecond: limits.connectionsPerSecondPerAddress)
      handshakeRate = Rate(perSecond: limits.handshakesPerSecond)
      handshakeRatePerAddress = Rate(perSecond: limits.handshakesPerSecondPerAddress)
      requestRate = Rate(perSecond: limits.requestsPerSecond)
      requestRatePerAddress = Rate(perSecond: limits.requestsPerSecondPerAddress)
    }
  }

  private let rules: Mutex<Rules>
  private let state: Mutex<State>
  /// The connections that the tables have room for, also after a change of the limits.
  private let connectionCapacity: Int
  /// Proxies whose reports of client addresses are trusted.
  package var proxies: TrustedProxies { rules.withLock { $0.proxies } }
  /// The present settings.
  package var limits: Limits { rules.withLock { $0.limits } }
  package let budget: QueueBudget
  /// Called for every refusal, outside the lock, with the address of the client if it is known.
  package let report: (@Sendable (Refusal, IPAddress?) -> Void)?

  package init(
    limits: Limits, proxies: TrustedProxies = .init(), budget: QueueBudget,
    report: (@Sendable (Refusal, IPAddress?) -> Void)? = nil
  ) {
    self.report = report
    self.budget = budget
    rules = Mutex(Rules(limits, proxies))
    connectionCapacity = limits.connections + Self.spareEntries / 2
    state = Mutex(
      State(
        addresses: AdmissionTable(capacity: limits.connections + Self.spareEntries),
        keys: AdmissionTable(capacity: limits.connections + Self.spareEntries)))
  }

  /// Applies these limits from now on. Present connections stay. The limit of all connections can grow by 32,768.
  package func apply(_ limits: Limits, proxies: TrustedProxies) {
    var limits = limits
    limits.connections = min(limits.connections, connectionCapacity)
    rules.withLock { $0 = Rules(limits, proxies) }
  }

  // MARK: Connections

  /// Decides about a new connection. The permit says whether the connection is refused; nil: close it without an
  /// answer.
  ///
  /// If all slots are taken, but some belong to connections that have not sent a request yet, the new connection is
  /// accepted and has a `room`: one of the silent connections is closed for it. Otherwise connections that send nothing
  /// would keep out those that do.
  ///
  /// A trusted proxy forwards many clients, so its own address is not limited. Its clients' addresses are, as the proxy
  /// reports them.
  package func enter(_ peer: SocketAddress, now: Int64) -> AdmissionPermit? {
    let rules = rules.withLock { $0 }
    let limits = rules.limits
    let address = peer.address.subscriber
    let isProxy = rules.proxies.trusts(peer.address)
    let isOverBudget = budget.isExceeded
    var met: Refusal?
    var isUnanswered = false
    // Reported outside the lock.
    defer {
      if let met { report?(met, address) }
      if isUnanswered { report?(.unanswered, address) }
    }
    return state.withLock { state in
      var refusal: Refusal?
      var wait: Int64 = 1_000_000
      var counted: IPAddress?
      if isOverBudget {
        refusal = .queuedBytes
      } else if state.connections >= limits.connections,
        state.silent == 0 || state.connections >= limits.connections + Self.roomLimit
      {
        refusal = .connections
      } else if !isProxy {
        if let time = state.addresses.take(.connections, rules.connectionRate, address, now: now) {
          refusal = .connectionRate
          wait = time
        } else if state.addresses.enter(address, limit: limits.connectionsPerAddress) {
          counted = address
        } else {
          refusal = .connectionsPerAddress
        }
      }
      if let refusal {
        state.refusals[refusal.index] += 1
        met = refusal
        guard state.refusing < Self.refusingLimit else {
          state.refusals[Refusal.unanswered.index] += 1
          isUnanswered = true
          return nil
        }
        state.refusing += 1
      } else {
        state.connections += 1
        state.silent += 1
      }
      let makesRoom = refusal == nil && state.connections > limits.connections
      if makesRoom { state.rooms += 1 }
      return AdmissionPermit(
        admission: self, came: UInt64(now) * 1_000, address: counted, isProxy: isProxy,
        rejection: refusal.map { Rejection($0, wait: wait) }, room: makesRoom ? state.rooms : nil)
    }
  }

  fileprivate func leave(_ permit: AdmissionPermit) {
    state.withLock { state in
      if permit.refusal == nil { state.connections -= 1 } else { state.refusing -= 1 }
      if permit.isSilent { state.silent -= 1 }
      if let address = permit.address { state.addresses.leave(address) }
      if let key = permit.key { state.keys.leave(key) }
    }
  }

  /// Notes that a connection has sent a request, so it is not closed to make room for others.
  package func markActive(_ permit: AdmissionPermit) {
    guard permit.isSilent else { return }
    state.withLock { $0.silent -= 1 }
    permit.isSilent = false
  }

  // MARK: Requests

  /// Decides about a request of a client on a connection. `address` is the client's, which behind a proxy is not the
  /// connection's.
  package func request(_ permit: AdmissionPermit, from address: IPAddress?, now: Int64) -> Rejection? {
    let rules = rules.withLock { $0 }
    if !permit.isProxy, let wait = rules.requestRate.take(&permit.requests, now: now) {
      return refuse(.requestRate, wait: wait, from: address)
    }
    guard let address = address?.subscriber else { return nil }
    return state.withLock { $0.addresses.take(.requests, rules.requestRatePerAddress, address, now: now) }
      .map { refuse(.requestRatePerAddress, wait: $0, from: address) }
  }

  /// Decides about a WebSocket handshake.
  package func handshake(_ permit: AdmissionPermit, from address: IPAddress?, now: Int64) -> Rejection? {
    if budget.isExceeded { return refuse(.queuedBytes, from: address) }
    let rules = rules.withLock { $0 }
    let subscriber = address?.subscriber
    let verdict: (Refusal, Int64)? = state.withLock { state in
      if let subscriber,
        let wait = state.addresses.take(.handshakes, rules.handshakeRatePerAddress, subscriber, now: now)
      {
        return (.handshakeRatePerAddress, wait)
      }
      if let wait = rules.handshakeRate.take(&state.handshakes, now: now) { return (.handshakeRate, wait) }
      // A stream through a proxy belongs to its client until its end, and counts as one of the client's connections.
      if permit.isProxy, permit.address == nil, let subscriber {
        guard state.addresses.enter(subscriber, limit: rules.limits.connectionsPerAddress) else {
          return (.connectionsPerAddress, 1_000_000)
        }
        permit.address = subscriber
      }
      return nil
    }
    return verdict.map { refuse($0.0, wait: $0.1, from: address) }
  }

  /// Counts a connection for a grant's subject instead of its previous subject; returns false if the grant allows no
  /// more.
  package func hold(_ permit: AdmissionPermit, _ grant: Grant) -> Bool {
    if permit.key == grant.subject { return true }
    return state.withLock { state in
      guard state.keys.enter(grant.subject, limit: grant.connections ?? .max) else { return false }
      if let old = permit.key { state.keys.leave(old) }
      permit.count(among: grant.subject)
      return true
    }
  }

  /// Decides about a request whose grant has its own rate.
  /// - Parameter address: the client's address, for the log.
  package func request(with grant: Grant, from address: IPAddress? = nil, now: Int64) -> Rejection? {
    guard let perSecond = grant.requestsPerSecond else { return nil }
    let rate = Rate(perSecond: perSecond)
    return state.withLock { $0.keys.take(.requests, rate, grant.subject, now: now) }
      .map { refuse(.requestRatePerKey, wait: $0, from: address) }
  }

  /// Counts a refusal and gives its answer.
  /// - Parameter address: the client's address, for the log.
  package func refuse(_ refusal: Refusal, wait: Int64 = 1_000_000, from address: IPAddress? = nil) -> Rejection {
    count(refusal, from: address)
    return Rejection(refusal, wait: wait)
  }

  package func count(_ refusal: Refusal, from address: IPAddress? = nil) {
    state.withLock { $0.refusals[refusal.index] += 1 }
    report?(refusal, address)
  }

  package var figures: Figures {
    state.withLock {
      Figures(connections: $0.connections, addresses: $0.addresses.count, refusals: $0.refusals)
    }
  }
}

extension Refusal {
  fileprivate var index: Int { Refusal.allCases.firstIndex(of: self)! }
}

/// One connection's place in the counts of an `Admission`; released at its end.
package final class AdmissionPermit: ConnectionPermit, @unchecked Sendable {
  // `@unchecked`: made by the accepting loop and handed over with its connection, then touched on the connection's loop
  // only.

  private let admission: Admission
  /// When its connection was accepted, monotonic ns.
  package let came: UInt64
  /// The address for which it is counted.
  fileprivate(set) var address: IPAddress?
  /// Whether the peer is a trusted proxy.
  let isProxy: Bool
  /// Whether it has not sent a request yet.
  package fileprivate(set) var isSilent: Bool
  /// The arrival time of its HTTP requests, µs.
  fileprivate var requests = Int64.min / 2
  private var mark: Mark?

  /// What few connections have, one of it: a refused one gets no key, and for the room of one that has shown a key
  /// nobody looks any more.
  private indirect enum Mark {
    case refused(Rejection)
    case room(Int)
    case key(String)
  }

  fileprivate init(
    admission: Admission, came: UInt64, address: IPAddress?, isProxy: Bool, rejection: Rejection?, room: Int?
  ) {
    self.admission = admission
    self.came = came
    self.address = address
    self.isProxy = isProxy
    isSilent = rejection == nil
    mark = rejection.map { .refused($0) } ?? room.map { .room($0) }
  }

  deinit { admission.leave(self) }

  /// The key for which it is counted.
  fileprivate var key: String? { if case .key(let key) = mark { key } else { nil } }
  fileprivate func count(among key: String) { mark = .key(key) }

  /// The answer to its first request if the connection is refused.
  package var rejection: Rejection? { if case .refused(let rejection) = mark { rejection } else { nil } }
  /// The reason for its refusal; nil: it is admitted.
  package var refusal: Refusal? { rejection?.refusal }
  /// A number for a connection that was admitted over the limit, by which the loops take turns closing a silent one;
  /// nil for others.
  package var room: Int? { if case .room(let room) = mark { room } else { nil } }
}
