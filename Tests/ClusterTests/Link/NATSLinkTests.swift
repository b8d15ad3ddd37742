import Bytes
import Foundation
import NATS
import Synchronization
import TestTraits
import Testing
import Transport

@testable import Cluster

/// The link against Debian's nats-server. The suite is skipped, and says so, where there is none.
@Suite(
  "A link to a real NATS server", .realTime,
  .enabled(if: NATSServerProcess.path != nil, "needs nats-server (Debian: apt-get install nats-server)"))
struct NATSLinkTests {
  private func connected(_ probe: LinkProbe, times: Int = 1) -> Bool { probe.wait { $0.connects >= times } }

  /// The result of a request: its payload, or the failure.
  private func request(
    _ probe: LinkProbe, _ subject: NATSSubject, headers: [UInt8]? = nil, payload: String = "",
    timeout: Duration = .seconds(20)
  ) -> Result<String, NATSRequestFailure> {
    let done = DispatchSemaphore(value: 0)
    let result = Mutex<Result<String, NATSRequestFailure>?>(nil)
    probe.onLink { link in
      link.request(subject, headers: headers, payload: Array(payload.utf8), timeout: timeout) { answer in
        let said = answer.map { String(decoding: $0.payload, as: UTF8.self) }
        result.withLock { $0 = said }
        done.signal()
      }
    }
    done.wait()
    return result.withLock { $0! }
  }

  private func answer(
    _ probe: LinkProbe, _ request: JetStreamRequest
  ) -> Result<JetStreamAnswer, JetStreamAnswer.Failure> {
    read(self.request(probe, request.subject, payload: String(decoding: request.body, as: UTF8.self)))
  }

  private func read(
    _ answer: Result<String, NATSRequestFailure>
  ) -> Result<JetStreamAnswer, JetStreamAnswer.Failure> {
    guard case .success(let text) = answer else { return .failure(.noResponders) }
    return Array(text.utf8).withUnsafeBytes { bytes in
      do throws(JetStreamAnswer.Failure) { return .success(try JetStreamAnswer(json: bytes)) } catch {
        return .failure(error)
      }
    }
  }

  @Test("messages arrive for the subscriptions that their subjects match, in order, until these end")
  func messages() throws {
    let server = try NATSServerProcess()
    let (a, b) = (try LinkProbe(port: server.port), try LinkProbe(port: server.port))
    let number = b.on { link in link.subscribe(pattern("t.*.x"), tag: 7) }
    a.onLink { $0.start() }
    b.onLink { $0.start() }
    #expect(connected(a) && connected(b))
    // The server has the subscription once it has answered a request behind it.
    _ = request(b, subject("nobody"))
    let long = String(repeating: "x", count: 300_000)
    a.onLink { link in
      for index in 0..<100 { link.publish(subject("t.\(index).x"), text: "\(index)") }
      link.publish(subject("t.1.y"), text: "other")
      link.publish(subject("t.long.x"), text: long)
    }
    #expect(b.wait { $0.messages.count == 101 })
    let seen = b.now.messages
    #expect(seen.allSatisfy { $0.tag == 7 } && seen.prefix(100).map(\.payload) == (0..<100).map(String.init))
    #expect(seen[100].payload == long)
    b.onLink { if let number { $0.unsubscribe(number) } }
    _ = request(b, subject("nobody"))
    a.onLink { $0.publish(subject("t.1.x"), text: "late") }
    _ = request(a, subject("nobody"))
    _ = request(b, subject("nobody"))
    #expect(b.now.messages.count == 101)
    #expect(a.on { $0.roundTrip } != nil)
  }

  @Test("a request is answered, and one that nobody listens to fails at once")
  func requests() throws {
    let server = try NATSServerProcess()
    let (a, b) = (try LinkProbe(port: server.port), try LinkProbe(port: server.port))
    b.onMessage = { link, message in
      guard let reply = try? NATSSubject(Array(message.reply)) else { return }
      link.publish(reply, reply: nil, payload: Array("re:".utf8) + Array(message.payload))
    }
    #expect(b.on { $0.subscribe(pattern("echo"), tag: 0) } != nil)
    a.onLink { $0.start() }
    b.onLink { $0.start() }
    #expect(connected(a) && connected(b))
    _ = request(b, subject("nobody"))
    #expect(request(a, subject("echo"), payload: "hi") == .success("re:hi"))
    #expect(request(a, subject("nobody")) == .failure(.noResponders))
    // A subscriber that does not answer.
    #expect(b.on { $0.subscribe(pattern("mute"), tag: 1) } != nil)
    b.onMessage = nil
    _ = request(b, subject("nobody"))
    #expect(request(a, subject("mute"), timeout: .milliseconds(50)) == .failure(.timeout))
  }

  @Test("after a server was killed and is back: subscriptions are back, no old frame comes, and the number has risen")
  func restart() throws {
    var server = try NATSServerProcess()
    let port = server.port
    let (a, b) = (try LinkProbe(port: port), try LinkProbe(port: port))
    #expect(b.on { $0.subscribe(pattern("t"), tag: 0) } != nil)
    for probe in [a, b] { probe.onLink { $0.start() } }
    #expect(connected(a) && connected(b))
    let before = a.on { $0.number }
    server.end()
    #expect(a.wait { !$0.reasons.isEmpty } && b.wait { !$0.reasons.isEmpty })
    // Nothing waits for the next connection.
    #expect(a.on { $0.publish(subject("t"), text: "stale") } == false)
    #expect(request(a, subject("t")) == .failure(.disconnected))
    server = try NATSServerProcess(port: port)
    #expect(connected(a, times: 2) && connected(b, times: 2))
    #expect(a.on { $0.number } > before)
    _ = request(b, subject("nobody"))
    #expect(a.on { $0.publish(subject("t"), text: "fresh") })
    #expect(b.wait { !$0.messages.isEmpty })
    #expect(b.now.messages.map(\.payload) == ["fresh"])
  }

  @Test("a server that hangs is noticed, and the loop goes on meanwhile")
  func hangingServer() throws {
    let server = try NATSServerProcess()
    let a = try LinkProbe(port: server.port)
    a.onLink { $0.start() }
    #expect(connected(a))
    server.signal(SIGSTOP)
    let start = ContinuousClock.now
    var longest = Duration.zero
    while a.now.reasons.isEmpty, ContinuousClock.now - start < .seconds(30) {
      let asked = ContinuousClock.now
      _ = a.on { $0.publish(subject("t"), text: "x") }
      longest = max(longest, ContinuousClock.now - asked)
      usleep(1_000)
    }
    #expect(a.now.reasons.first == NATSError.silent.description)
    // A library that blocks stands still for two seconds here.
    #expect(longest < .seconds(2))
    server.signal(SIGCONT)
    #expect(connected(a, times: 2))
  }

  @Test("what a server does not read is dropped at a bound, with the connection, and not sent later")
  func fullQueue() throws {
    let server = try NATSServerProcess()
    let address = NATSServerAddress("nats://127.0.0.1:\(server.port)")!
    let a = try LinkProbe(.init(servers: [address], options: LinkProbe.options(), queuedBytes: 1 << 20))
    let b = try LinkProbe(port: server.port)
    #expect(b.on { $0.subscribe(pattern("t"), tag: 0) } != nil)
    for probe in [a, b] { probe.onLink { $0.start() } }
    #expect(connected(a) && connected(b))
    _ = request(b, subject("nobody"))
    server.signal(SIGSTOP)
    let number = a.on { $0.number }
    let large = String(repeating: "x", count: 100_000)
    for _ in 0..<200 { a.onLink { $0.publish(subject("t"), text: large) } }
    #expect(a.wait { $0.reasons.contains { $0.contains("reads too slowly") } }, "\(a.now.reasons)")
    server.signal(SIGCONT)
    #expect(connected(a, times: 2))
    #expect(a.on { $0.number } > number)
    a.onLink { $0.publish(subject("t"), text: "fresh") }
    #expect(b.wait { $0.messages.last?.payload == "fresh" })
    // What the kernel and the server had taken may arrive; 20 MB were published.
    #expect(b.now.messages.count < 150)
  }

  @Test("TLS begins after INFO, and an nkey signs the nonce; a stranger's certificate or key is refused")
  func tlsAndKey() throws {
    let certificate = try SelfSignedCertificate(hosts: ["127.0.0.1"])
    let other = try SelfSignedCertificate(hosts: ["127.0.0.1"])
    let key = try NKey(seed: userSeed.utf8)
    let server = try NATSServerProcess(
      """
      tls { cert_file: "FOLDER/cert.pem", key_file: "FOLDER/key.pem" }
      authorization { users: [ { nkey: \(key.publicKey) } ] }
      """,
      files: ["cert.pem": certificate.certificatePEM, "key.pem": certificate.keyPEM])
    let file = server.folder.appendingPathComponent("other.pem").path
    try Data(other.certificatePEM.utf8).write(to: URL(fileURLWithPath: file))
    let trusted = try TLSClientContext(caFile: server.folder.appendingPathComponent("cert.pem").path)
    let a = try LinkProbe(port: server.port, .nkey(key), tls: trusted)
    a.onLink { $0.start() }
    #expect(connected(a), "\(a.now.reasons) \(server.log)")
    #expect(request(a, subject("nobody")) == .failure(.noResponders))

    let stranger = try LinkProbe(port: server.port, .nkey(key), tls: try TLSClientContext(caFile: file))
    stranger.onLink { $0.start() }
    #expect(stranger.wait { $0.reasons.first?.contains("TLS") == true }, "\(stranger.now.reasons)")
    let nobody = try LinkProbe(port: server.port, tls: trusted)
    nobody.onLink { $0.start() }
    #expect(nobody.wait { $0.reasons.first?.contains("uthorization") == true }, "\(nobody.now.reasons)")
    let plain = try LinkProbe(port: server.port, .nkey(key))
    plain.onLink { $0.start() }
    #expect(plain.wait { $0.reasons.first == NATSError.tlsRequired.description }, "\(plain.now.reasons)")
    #expect(stranger.now.connects + nobody.now.connects + plain.now.connects == 0)
  }

  @Test("tokens and passwords open a connection, and wrong ones do not")
  func passwords() throws {
    for (configuration, good, bad) in [
      ("authorization { token: \"t0k\" }", NATSCredentials.token("t0k"), NATSCredentials.token("other")),
      (
        "authorization { user: u, password: \"p w\" }", .password(user: "u", password: "p w"),
        .password(user: "u", password: "x")
      ),
    ] {
      let server = try NATSServerProcess(configuration)
      let (a, b) = (try LinkProbe(port: server.port, good), try LinkProbe(port: server.port, bad))
      for probe in [a, b] { probe.onLink { $0.start() } }
      #expect(connected(a))
      #expect(b.wait { $0.reasons.first?.contains("uthorization") == true }, "\(b.now.reasons)")
      #expect(b.now.connects == 0 && !b.now.reasons.joined().contains("other"))
    }
  }

  @Test("a subject without permission is reported, and the connection stays")
  func permissions() throws {
    let server = try NATSServerProcess(
      """
      authorization { users: [ { user: edge, password: p, permissions: { publish: "ok", subscribe: "_INBOX.>" } } ] }
      """)
    let a = try LinkProbe(port: server.port, .password(user: "edge", password: "p"))
    a.onLink { $0.start() }
    #expect(connected(a))
    a.onLink { $0.publish(subject("tg.c.f.x"), text: "forged") }
    #expect(a.on { $0.subscribe(pattern("secret"), tag: 0) } != nil)
    #expect(a.wait { $0.refused.count == 2 })
    #expect(a.now.reasons.isEmpty && a.on { $0.isConnected })
  }

  @Test("a server in lame duck mode is left for another one before it closes")
  func lameDuck() throws {
    let (first, second) = (try NATSServerProcess("lame_duck_duration: \"30s\""), try NATSServerProcess())
    let addresses = [first.port, second.port].map { NATSServerAddress("nats://127.0.0.1:\($0)")! }
    let a = try LinkProbe(.init(servers: addresses, options: LinkProbe.options()))
    a.onLink { $0.start() }
    #expect(connected(a))
    let current = a.on { $0.server }
    (current == addresses[0] ? first : second).signal(SIGUSR2)
    #expect(connected(a, times: 2))
    #expect(a.on { $0.server } != current)
    #expect(a.now.reasons == ["the server shuts down"])
  }

  @Test("JetStream: one of two appends with one expectation wins, a lost answer is found, a stream is read in order")
  func jetStream() throws {
    let server = try NATSServerProcess("jetstream { store_dir: \"FOLDER/js\" }")
    let a = try LinkProbe(port: server.port)
    a.onLink { $0.start() }
    #expect(connected(a))
    let stream = subject("TG_T_FIRINGS")
    let configuration = JetStreamConfiguration(name: stream, subjects: [pattern("al.*")])
    #expect(answer(a, .info(stream)) == .failure(.noStream))
    for _ in 0..<2 {
      guard case .success = answer(a, .create(configuration)) else {
        Issue.record("no stream")
        return
      }
    }
    #expect(answer(a, .last(of: subject("al.1"), in: stream)) == .failure(.noMessage))
    func publish(_ append: JetStreamAppend) -> Result<JetStreamAnswer, JetStreamAnswer.Failure> {
      read(
        request(
          a, append.subject, headers: append.headers, payload: String(decoding: append.payload, as: UTF8.self)))
    }
    func append(_ id: String, _ expected: UInt64) -> JetStreamAppend {
      JetStreamAppend(Array(id.utf8), to: subject("al.1"), in: stream, id: id, expected: expected)
    }
    var (mine, theirs) = (append("1/a", 0), append("1/b", 0))
    var outcomes = [mine.answered(publish(mine)), theirs.answered(publish(theirs))]
    outcomes.append(theirs.answered(answer(a, theirs.readBack)))
    #expect(outcomes == [.stored(sequence: 1), .next(.readBack), .lost])
    var second = append("2/a", 1)
    guard case .success = publish(second) else {
      Issue.record("not stored")
      return
    }
    // As if that answer had been lost. The same write again is a duplicate.
    var again = append("2/a", 1)
    outcomes = [second.answered(nil), second.answered(answer(a, second.readBack)), again.answered(publish(again))]
    #expect(outcomes == [.next(.readBack), .stored(sequence: 2), .stored(sequence: 2)])
    var reader = JetStreamReader(stream, matching: pattern("al.*"))
    var stored: [String] = []
    while case .message(let message) = reader.answered(answer(a, reader.request)) {
      stored.append(String(decoding: message.payload, as: UTF8.self))
    }
    let end = reader.answered(answer(a, reader.request))
    #expect(stored == ["1/a", "2/a"] && end == .end)
    guard case .success(let info) = answer(a, .info(stream)) else {
      Issue.record("no info")
      return
    }
    #expect(info.firstSequence == 1 && info.lastSequence == 2)
  }
}

/// The seed of a key that no server outside these tests has: its bytes are 0 to 31.
private let userSeed = "SUAAAAICAMCAKBQHBAEQUCYMBUHA6EARCIJRIFIWC4MBSGQ3DQOR4H776Y"
