import ArgumentParser
import COpenSSL
import Glibc

/// What connections cost a gateway: in the clear, with a full TLS handshake, and with one that goes on from an earlier
/// session.
struct HandshakesCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "handshakes", abstract: "What TLS handshakes cost a gateway, full and resumed, in turns.")

  @Option(help: "The gateway with TLS.") var url = "wss://127.0.0.1:8443/"
  @Option(help: "Its process.") var pid: Int32
  @Option(help: "A gateway without TLS, for what a connection costs by itself.") var plainUrl: String?
  @Option(help: "Its process.") var plainPid: Int32?
  @Option(help: "Connections of each turn.") var count = 2000
  @Option(help: "Connections under way at a time.") var inFlight = 16
  @Option(help: "Turns of each.") var rounds = 5

  func validate() throws {
    guard (1...100_000).contains(count), (1...1_000).contains(inFlight), rounds >= 1 else {
      throw ValidationError("--count takes 1 to 100000, --in-flight 1 to 1000, --rounds 1 or more")
    }
    guard (plainUrl == nil) == (plainPid == nil) else {
      throw ValidationError("--plain-url and --plain-pid go together")
    }
  }

  func run() throws {
    do {
      try measure()
    } catch let error as LoadError {
      Terminal.say("tidegate-load: \(error)\n")
      throw ExitCode.failure
    }
  }

  private func measure() throws {
    try Sockets.allowFiles(inFlight)
    let target = try StreamURL(url)
    guard target.isSecure else { throw LoadError("--url takes a wss:// URL") }
    let tls = try TLSClient()
    let probe = try ProcessProbe(pid: pid)
    let plain = try plainUrl.map { (try StreamURL($0), try ProcessProbe(pid: plainPid ?? 0)) }
    var turns: [(kind: String, cost: [Double], rate: [Double])] = [("full", [], []), ("resumed", [], [])]
    if plain != nil { turns.append(("plain", [], [])) }
    for _ in 0..<rounds {
      for index in turns.indices {
        var crowd = Crowd(url: index == 2 ? plain!.0 : target, tls: index == 2 ? nil : tls, inFlight: inFlight)
        if index == 1 { try crowd.learnSession() }
        let figures = try crowd.run(count, probe: index == 2 ? plain!.1 : probe)
        if index < 2, crowd.resumed != (index == 1 ? count : 0) {
          throw LoadError("\(crowd.resumed) of \(count) handshakes were resumed: are there tickets (tickets: 1)?")
        }
        turns[index].cost.append(figures.cpu / Double(count))
        turns[index].rate.append(Double(count) / figures.seconds)
        Terminal.say(
          "\(turns[index].kind): \(Decimal.text(figures.cpu / Double(count) / 1_000, digits: 1)) µs of the gateway's CPU\n"
        )
      }
    }
    var report = JSONObject()
    for turn in turns {
      var object = JSONObject()
      object["cpu_us_least"] = .number((turn.cost.min() ?? 0) / 1_000, digits: 1)
      object["cpu_us_median"] = .number(Comparison.median(turn.cost) / 1_000, digits: 1)
      object["per_core_s"] = .number(1e9 / Comparison.median(turn.cost), digits: 0)
      object["seen_per_s"] = .number(Comparison.median(turn.rate), digits: 0)
      report[turn.kind] = .object(object)
    }
    let ratios = zip(turns[1].cost, turns[0].cost).map { $0 / $1 }
    report["resumed_over_full"] = .number(Comparison.median(ratios), digits: 3)
    print(report.text)
  }
}

/// Connections that come, shake hands, and go, a number of them at a time.
private struct Crowd: ~Copyable {
  private enum Phase { case connecting, securing, leaving }
  private struct Visitor {
    var fd: Int32
    var session: OpaquePointer?
    var phase = Phase.connecting
  }

  private static let patience: Int32 = 10_000

  private let url: StreamURL
  private let tls: TLSClient?
  private let inFlight: Int
  private var visitors: [Visitor] = []
  private var polls: [pollfd] = []
  private var earlier: OpaquePointer?
  /// Handshakes that went on from `earlier`.
  private(set) var resumed = 0

  init(url: StreamURL, tls: TLSClient?, inFlight: Int) {
    self.url = url
    self.tls = tls
    self.inFlight = inFlight
  }

  deinit {
    for visitor in visitors {
      if let session = visitor.session { SSL_free(session) }
      close(visitor.fd)
    }
    if let earlier { SSL_SESSION_free(earlier) }
  }

  /// Makes one connection, whose session the others go on from.
  mutating func learnSession() throws {
    _ = try run(1, probe: nil, learns: true)
    guard earlier != nil else { throw LoadError("the gateway gave no session to resume: tickets is 0") }
    resumed = 0
  }

  /// - Returns: the server's CPU time for it, ns, without what it spends anyway, and how long it took.
  mutating func run(_ count: Int, probe: ProcessProbe?, learns: Bool = false) throws -> (cpu: Double, seconds: Double) {
    let idle = probe.map { probe in
      let cpu = probe.cpuNanoseconds
      let start = Clock.monotonic
      usleep(500_000)
      return Double(probe.cpuNanoseconds - cpu) / Double(Clock.monotonic - start)
    }
    let cpu = probe?.cpuNanoseconds ?? 0
    let start = Clock.monotonic
    var started = 0
    var ended = 0
    while ended < count {
      while started < count, visitors.count < inFlight {
        try begin()
        started += 1
      }
      polls = visitors.map {
        pollfd(fd: $0.fd, events: Int16($0.phase == .connecting ? POLLOUT : POLLIN), revents: 0)
      }
      guard poll(&polls, nfds_t(polls.count), Self.patience) > 0 else {
        throw LoadError("nothing happened for \(Self.patience / 1_000) s: \(ended) of \(count) connections were over")
      }
      for index in polls.indices.reversed() where polls[index].revents != 0 {
        if try goOn(index, learns: learns) {
          if let session = visitors[index].session { SSL_free(session) }
          close(visitors[index].fd)
          visitors.remove(at: index)
          ended += 1
        }
      }
    }
    let seconds = Double(Clock.monotonic - start) / 1e9
    // What the server still has to do for the last of them.
    usleep(100_000)
    let spent = Double((probe?.cpuNanoseconds ?? 0) - cpu) - (idle ?? 0) * Double(Clock.monotonic - start)
    return (max(0, spent), seconds)
  }

  private mutating func begin() throws {
    let fd = try Sockets.stream(nonblocking: true)
    let result = Sockets.withAddress(Sockets.address(url.host, url.port)) { connect(fd, $0, $1) }
    guard result == 0 || errno == EINPROGRESS else {
      close(fd)
      throw LoadError("cannot connect to \(url.host):\(url.port): \(Sockets.reason(errno))")
    }
    visitors.append(Visitor(fd: fd, session: nil))
  }

  /// Whether the connection is over.
  private mutating func goOn(_ index: Int, learns: Bool) throws -> Bool {
    let fd = visitors[index].fd
    switch visitors[index].phase {
    case .connecting:
      guard let tls else {
        visitors[index].phase = .leaving
        shutdown(fd, Int32(SHUT_WR))
        return false
      }
      guard let session = tls.session(on: fd, resuming: learns ? nil : earlier) else {
        throw LoadError("no TLS session: \(TLSClient.reason)")
      }
      visitors[index].session = session
      visitors[index].phase = .securing
      return try secure(index, session)
    case .securing:
      guard let session = visitors[index].session else { return true }
      return try secure(index, session)
    case .leaving:
      var chunk = [UInt8](repeating: 0, count: 16 << 10)
      guard let session = visitors[index].session else { return recv(fd, &chunk, chunk.count, 0) <= 0 }
      // Tickets come with what is read.
      let count = TLSClient.read(session, &chunk, chunk.count)
      guard count != TLSClient.nothing else { return false }
      if learns, earlier == nil, SSL_SESSION_is_resumable(SSL_get_session(session)) == 1 {
        earlier = SSL_get1_session(session)
      }
      return true
    }
  }

  private mutating func secure(_ index: Int, _ session: OpaquePointer) throws -> Bool {
    switch TLSClient.handshake(session) {
    case .waits: return false
    case .failed(let reason): throw LoadError(reason)
    case .done:
      if SSL_session_reused(session) == 1 { resumed += 1 }
      // The server answers in kind once it has the client's last message, so that its handshake is complete.
      SSL_shutdown(session)
      shutdown(visitors[index].fd, Int32(SHUT_WR))
      visitors[index].phase = .leaving
      return false
    }
  }
}
