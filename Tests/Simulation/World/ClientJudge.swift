/// How a connection of a client ended.
enum Ending {
  /// The client ended it itself, or went away without a word.
  case left
  /// The gateway said why: the code of its close frame, or the status of its refusal.
  case told(Int, String)
  /// It was gone.
  case cut(String)
}

/// Holds the gateway to what it owes a client: one reply to each request, something to hear every few seconds, and a
/// reason for every end. It knows what the client and its network did that excuses the gateway. What is in the messages
/// is the business of `StreamLedger`.
struct ClientJudge {
  private let name: String
  private let network: FaultyTransport
  private let isSteady: Bool
  /// What was wrong, in words; the first few.
  private(set) var faults: [String] = []
  /// The gateway drains: it announces the end of a connection before it brings it about.
  var expectsNotice = false

  // The present connection.
  private(set) var isReading = true
  /// When the client last did not read, ns; a gateway that closes it around then had reason to.
  private var deafUntil: UInt64 = 0
  private var heardAt: UInt64 = 0
  /// Requests that have no reply yet.
  private var outstanding: [Int: String] = [:]

  /// Heartbeats come every second; after this long without anything, on a connection that nothing happened to,
  /// something is wrong with the gateway, ns.
  private static let silenceLimit: UInt64 = 8_000_000_000
  /// The same of a client that nothing ever happens to, ns.
  private static let steadySilenceLimit: UInt64 = 2_500_000_000
  /// For how long after a fault of the network or of the client the gateway's limits may still be felt, ns.
  private static let grace: UInt64 = 20_000_000_000

  init(of name: String, on network: FaultyTransport, isSteady: Bool) {
    self.name = name
    self.network = network
    self.isSteady = isSteady
  }

  mutating func fault(_ text: String) {
    guard faults.count < 5 else { return }
    faults.append("\(name): \(text)")
    network.trace.say(network.uptime, "FAULT \(name): \(text)")
  }

  // MARK: - What happened

  /// A connection begins.
  mutating func begin() {
    isReading = true
    deafUntil = 0
    outstanding = [:]
    heardAt = network.uptime
  }

  /// Bytes came.
  mutating func heard() { heardAt = network.uptime }

  mutating func stoppedReading() { isReading = false }

  /// The client reads again.
  mutating func reads() {
    isReading = true
    deafUntil = network.uptime
    heardAt = network.uptime
  }

  /// Nothing can come until then.
  mutating func expectSilence(until end: UInt64) { deafUntil = end }

  mutating func asked(_ id: Int, _ op: String) { outstanding[id] = op }

  /// A reply came.
  mutating func answered(_ id: Int) {
    if outstanding.removeValue(forKey: id) == nil { fault("a second or unasked reply to request \(id)") }
  }

  /// Whether every request has its reply.
  var isAnswered: Bool { outstanding.isEmpty }

  // MARK: - Verdicts

  /// Whether the way a connection ended is one that the protocol allows.
  /// - Parameters:
  ///   - wasOpen: it had been upgraded.
  ///   - hasLeft: the client had ended it.
  ///   - drainNotices: ends that were announced on it.
  mutating func ended(_ ending: Ending, on link: Link?, wasOpen: Bool, hasLeft: Bool, drainNotices: Int) {
    let now = network.uptime
    let wasSlow = now < deafUntil + Self.grace || !isReading
    let wasStalled = link.map { now < $0.stalledUntil + Self.grace } ?? false
    // A link that cannot carry what was asked for makes a client slow through no fault of the gateway.
    let isExcused = link?.isBroken ?? true || wasSlow || wasStalled || link?.isNarrow ?? false
    switch ending {
    case .left: break
    case .told(let code, let reason):
      switch code {
      case 4201: if expectsNotice, drainNotices == 0 { fault("closed by a drain that was not announced") }
      case 1001, 4202: break
      case 4108, 4110: if !isExcused { fault("closed with \(code) \(reason) though it read everything") }
      case 1000 where hasLeft, 1005 where hasLeft: break
      case 429, 503: break
      default: if !hasLeft { fault("closed with \(code) \(reason)") }
      }
    case .cut(let how):
      // Before the upgrade the port may turn a connection away for want of descriptors, without a word.
      if !isExcused, wasOpen { fault("cut without a reason: \(how)") }
    }
  }

  /// Whether nothing has come for so long that the connection is dead, and whether that is a fault of the gateway.
  mutating func isSilent(_ link: Link?, isOpen: Bool) -> Bool {
    let now = network.uptime
    let limit = isSteady ? Self.steadySilenceLimit : Self.silenceLimit
    guard isReading, now > heardAt + limit, now > deafUntil + limit else { return false }
    let isExcused = link.map { $0.isBroken || $0.isNarrow || now < $0.stalledUntil + Self.silenceLimit } ?? true
    if !isExcused {
      fault("nothing came for \((now - heardAt) / 1_000_000_000) s, not even \(isOpen ? "a heartbeat" : "an answer")")
    }
    return true
  }
}
