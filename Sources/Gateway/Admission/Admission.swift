import PubSub
import Synchronization
import Transport

/// Who may come in: connections and rates, in total and per address, over all loops. One lock around one table; what is asked per
/// message is elsewhere (`FanOut`), so the lock is taken per connection and per HTTP request only, for under 1 µs.
final class Admission: Sendable {
  struct Limits: Sendable {
    /// Connections at a time.
    var connections = 10_000
    var connectionsPerAddress = 256
    var connectionsPerSecondPerAddress = 100
    var handshakesPerSecond = 2_000
    var handshakesPerSecondPerAddress = 50
    /// Of one connection.
    var requestsPerSecond = 100
    var requestsPerSecondPerAddress = 500
  }

  /// What `/metrics` shows.
  struct Figures: Sendable, Equatable {
    var connections = 0
    /// Addresses that are remembered.
    var addresses = 0
    /// By reason, in the order of `Refusal.allCases`.
    var refusals = [UInt64](repeating: 0, count: Refusal.allCases.count)
  }

  private struct State {
    var addresses: AdmissionTable<IPAddress>
    var keys: AdmissionTable<String>
    var connections = 0
    /// Of them, those that have not asked for anything yet.
    var silent = 0
    /// How many have come in over the limit.
    var rooms = 0
    /// Connections that are being told that they are refused.
    var refusing = 0
    /// Of all handshakes together.
    var handshakes = Int64.min / 2
    var refusals = [UInt64](repeating: 0, count: Refusal.allCases.count)
  }

  /// Refusals that are being answered at a time. A refused connection holds a descriptor and, under TLS, costs a handshake; beyond
  /// this many, connections are closed at once.
  static let refusingLimit = 256
  /// Connections beyond the limit that may come in while silent ones are being ended for them.
  static let roomLimit = 64
  /// Addresses, or keys, that are remembered beyond those that have connections.
  static let spareEntries = 65_536

  private let limits: Limits
  private let connectionRate: Rate
  private let handshakeRate: Rate
  private let handshakeRatePerAddress: Rate
  private let requestRate: Rate
  private let requestRatePerAddress: Rate
  private let state: Mutex<State>
  /// Whose word on client addresses is taken.
  let proxies: TrustedProxies
  let budget: QueueBudget
  /// Where refusals are told; nil: nowhere.
  let log: RefusalLog?

  init(limits: Limits, proxies: TrustedProxies = .init(), budget: QueueBudget, log: RefusalLog? = nil) {
    self.limits = limits
    self.log = log
    self.proxies = proxies
    self.budget = budget
    connectionRate = Rate(perSecond: limits.connectionsPerSecondPerAddress)
    handshakeRate = Rate(perSecond: limits.handshakesPerSecond)
    handshakeRatePerAddress = Rate(perSecond: limits.handshakesPerSecondPerAddress)
    requestRate = Rate(perSecond: limits.requestsPerSecond)
    requestRatePerAddress = Rate(perSecond: limits.requestsPerSecondPerAddress)
    state = Mutex(
      State(
        addresses: AdmissionTable(capacity: limits.connections + Self.spareEntries),
        keys: AdmissionTable(capacity: limits.connections + Self.spareEntries)))
  }

  // MARK: Connections

  /// Decides about a new connection. The permit says whether it is to be refused; nil: close it without a word.
  ///
  /// Where all places are taken and some of them by connections that have not asked for anything yet, the newcomer comes in and
  /// has a `room`: one of the silent is to be ended for it. Else those who connect and say nothing would keep out who does.
  ///
  /// A trusted proxy speaks for many, so its own address is not limited; its clients' are, by what it says of them.
  func enter(_ peer: SocketAddress, now: Int64) -> AdmissionPermit? {
    let address = IPAddress(peer.host)?.subscriber
    let isProxy = IPAddress(peer.host).map { proxies.trusts($0) } ?? false
    let isOverBudget = budget.isExceeded
    var met: Refusal?
    var isUnanswered = false
    // Told outside the lock.
    defer {
      if let met { log?.refused(met, address) }
      if isUnanswered { log?.refused(.unanswered, address) }
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
      } else if let address, !isProxy {
        if let time = state.addresses.take(.connections, connectionRate, address, now: now) {
          refusal = .connectionRate
          wait = time
        } else if state.addresses.enter(address, limit: limits.connectionsPerAddress) {
          counted = address
        } else {
          refusal = .connectionsPerAddress
        }
      }
      if let refusal {
        state.refusals[refusal.place] += 1
        met = refusal
        guard state.refusing < Self.refusingLimit else {
          state.refusals[Refusal.unanswered.place] += 1
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
        admission: self, came: UInt64(now) * 1_000, address: counted, isProxy: isProxy, refusal: refusal,
        refusalWait: wait, room: makesRoom ? state.rooms : nil)
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

  /// A connection has asked for something: it is not ended to make room for others.
  func spoke(_ permit: AdmissionPermit) {
    guard permit.isSilent else { return }
    state.withLock { $0.silent -= 1 }
    permit.isSilent = false
  }

  // MARK: Requests

  /// Decides about a request of a client on a connection. `address` is the client's, which behind a proxy is not the connection's.
  func request(_ permit: AdmissionPermit, from address: IPAddress?, now: Int64) -> HTTPResponse? {
    if !permit.isProxy, let wait = requestRate.take(&permit.requests, now: now) {
      return refuse(.requestRate, wait: wait, from: address)
    }
    guard let address = address?.subscriber else { return nil }
    return state.withLock { $0.addresses.take(.requests, requestRatePerAddress, address, now: now) }
      .map { refuse(.requestRatePerAddress, wait: $0, from: address) }
  }

  /// Decides about a WebSocket handshake.
  func handshake(_ permit: AdmissionPermit, from address: IPAddress?, now: Int64) -> HTTPResponse? {
    if budget.isExceeded { return refuse(.queuedBytes, from: address) }
    let subscriber = address?.subscriber
    let verdict: (Refusal, Int64)? = state.withLock { state in
      if let subscriber,
        let wait = state.addresses.take(.handshakes, handshakeRatePerAddress, subscriber, now: now)
      {
        return (.handshakeRatePerAddress, wait)
      }
      if let wait = handshakeRate.take(&state.handshakes, now: now) { return (.handshakeRate, wait) }
      // A stream through a proxy is its client's for good, and counts as one of its connections.
      if permit.isProxy, permit.address == nil, let subscriber {
        guard state.addresses.enter(subscriber, limit: limits.connectionsPerAddress) else {
          return (.connectionsPerAddress, 1_000_000)
        }
        permit.address = subscriber
      }
      return nil
    }
    return verdict.map { refuse($0.0, wait: $0.1, from: address) }
  }

  /// Counts a connection among those of a grant's subject, in place of the one it counted among before; false if there are as many as
  /// the grant allows.
  func hold(_ permit: AdmissionPermit, _ grant: Grant) -> Bool {
    if permit.key == grant.subject { return true }
    return state.withLock { state in
      guard state.keys.enter(grant.subject, limit: grant.connections ?? .max) else { return false }
      if let old = permit.key { state.keys.leave(old) }
      permit.key = grant.subject
      return true
    }
  }

  /// Decides about a request with a grant that has a rate of its own.
  func request(with grant: Grant, now: Int64) -> HTTPResponse? {
    guard let perSecond = grant.requestsPerSecond else { return nil }
    let rate = Rate(perSecond: perSecond)
    return state.withLock { $0.keys.take(.requests, rate, grant.subject, now: now) }
      .map { refuse(.requestRatePerKey, wait: $0) }
  }

  /// Counts a refusal and gives its answer.
  /// - Parameter address: whose it is, for the log.
  func refuse(_ refusal: Refusal, wait: Int64 = 1_000_000, from address: IPAddress? = nil) -> HTTPResponse {
    count(refusal, from: address)
    return refusal.response(wait: wait)
  }

  func count(_ refusal: Refusal, from address: IPAddress? = nil) {
    state.withLock { $0.refusals[refusal.place] += 1 }
    log?.refused(refusal, address)
  }

  var figures: Figures {
    state.withLock {
      Figures(connections: $0.connections, addresses: $0.addresses.count, refusals: $0.refusals)
    }
  }
}

extension Refusal {
  fileprivate var place: Int { Refusal.allCases.firstIndex(of: self)! }
}

/// One connection's place in the counts of an `Admission`; given back when it goes.
final class AdmissionPermit: ConnectionPermit, @unchecked Sendable {
  // `@unchecked`: made by the accepting loop and handed over with its connection, then touched on the connection's loop only.

  private let admission: Admission
  /// When its connection was accepted, monotonic ns.
  let came: UInt64
  /// The address whose connections it counts among.
  fileprivate(set) var address: IPAddress?
  /// The key whose connections it counts among.
  fileprivate(set) var key: String?
  /// Whether the peer is a trusted proxy.
  let isProxy: Bool
  /// Why it is to be refused.
  let refusal: Refusal?
  private let refusalWait: Int64
  /// If it has come in over the limit, in place of one that is to be ended: a number, by which loops take turns.
  let room: Int?
  /// Whether it has not asked for anything yet.
  fileprivate(set) var isSilent: Bool
  /// The arrival time of its HTTP requests, µs.
  fileprivate var requests = Int64.min / 2

  fileprivate init(
    admission: Admission, came: UInt64, address: IPAddress?, isProxy: Bool, refusal: Refusal?, refusalWait: Int64,
    room: Int?
  ) {
    self.admission = admission
    self.came = came
    self.address = address
    self.isProxy = isProxy
    self.refusal = refusal
    self.refusalWait = refusalWait
    self.room = room
    self.isSilent = refusal == nil
  }

  deinit { admission.leave(self) }

  /// What to answer to whatever it asks.
  var refusalResponse: HTTPResponse? { refusal?.response(wait: refusalWait) }
}
