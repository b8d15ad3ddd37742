import Foundation
import HTTP1
import HTTPAPI
import Settings
import Synchronization
import TestTraits
import Testing
import Transport

@testable import Gateway

@Suite("Limits, end to end", .serialized, .realTime)
struct LimitTests {
  /// The value of a metric, summed over its labels where none are given.
  private static func metric(_ harness: GatewayHarness, _ name: String) async throws -> Double {
    let text = try await harness.get("/metrics", internal: true).text
    return text.split(separator: "\n").filter { $0.hasPrefix("tidegate_" + name) }
      .compactMap { $0.split(separator: " ").last.flatMap { Double($0) } }.reduce(0, +)
  }

  @Test("connections beyond the total and beyond an address's are told so, in the clear, and counted by reason")
  func connections() async throws {
    let harness = try GatewayHarness(venues: ["kraken"]) {
      $0.limits.clients = 4
      $0.limits.connectionsPerAddress = 3
    }
    var probes: [StreamProbe] = []
    for _ in 0..<3 { probes.append(try await harness.probe()) }
    let refused = try await harness.get("/v1/status")
    #expect(refused.status == 429, "\(refused.text)")
    #expect(refused.json["code"] as? String == "rate_limited" && refused.json["retry"] as? Bool == true)
    #expect(refused.json["retry_after_ms"] as? Int != nil && refused.fields["Retry-After"] != nil)
    #expect((refused.json["hint"] as? String)?.isEmpty == false)
    #expect(try await Self.metric(harness, "refused_total{reason=\"connections_per_address\"}") >= 1)
    for probe in probes { probe.disconnect() }
    var patience = Patience()
    while try await harness.get("/v1/status").status != 200 { try await patience.wait(for: "room for another") }
    await harness.stop()
  }

  @Test("when all places are taken, the silent give way and who has asked for something stays; also under TLS")
  func total() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tidegate-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let certificate = try SelfSignedCertificate(hosts: ["127.0.0.1"])
    let files = ["chain.pem": certificate.certificatePEM, "key.pem": certificate.keyPEM]
    for (name, text) in files {
      try text.write(to: folder.appendingPathComponent(name), atomically: true, encoding: .utf8)
    }
    for isSecure in [false, true] {
      let harness = try GatewayHarness(venues: ["kraken"]) {
        $0.limits.clients = 1
        $0.http.headSeconds = 300
        $0.http.idleSeconds = 300
        if isSecure {
          $0.tlsSettings.certificates = [folder.appendingPathComponent("chain.pem").path]
          $0.tlsSettings.keys = [folder.appendingPathComponent("key.pem").path]
        }
      }
      let tls = isSecure ? try TLSClientContext(caFile: folder.appendingPathComponent("chain.pem").path) : nil
      let silent = try await IdleConnection(harness.gateway.address, tls: tls, loop: harness.clientLoop)
      let first = try await HTTPProbe.send(
        "GET", "/v1/status", to: harness.gateway.address, tls: tls, loop: harness.clientLoop)
      #expect(first.status == 200, "\(first.text)")
      var patience = Patience()
      while !silent.isClosed { try await patience.wait(for: "the silent connection to be ended") }
      #expect(try await Self.metric(harness, "silent_ended_total") == 1)

      // The place of the request may not be free yet.
      var holder = try await IdleConnection(harness.gateway.address, tls: tls, loop: harness.clientLoop)
      while true {
        holder.ask()
        while !holder.isClosed, holder.answer == nil { try await patience.wait(for: "an answer") }
        if holder.answer?.hasPrefix("HTTP/1.1 200") == true { break }
        holder.abort()
        holder = try await IdleConnection(harness.gateway.address, tls: tls, loop: harness.clientLoop)
      }
      let before = try await Self.metric(harness, "refused_total{reason=\"connections\"}")
      let refused = try await HTTPProbe.send(
        "GET", "/v1/status", to: harness.gateway.address, tls: tls, loop: harness.clientLoop)
      #expect(refused.status == 503 && refused.json["code"] as? String == "connections", "\(refused.text)")
      #expect(try await Self.metric(harness, "refused_total{reason=\"connections\"}") == before + 1)
      holder.abort()
      await harness.stop()
    }
  }

  @Test("requests and handshakes over their rate get 429 and when to come again, and are answered then")
  func rates() async throws {
    let harness = try GatewayHarness(venues: ["kraken"]) {
      $0.limits.httpRequestsPerSecondPerAddress = 2
      $0.limits.handshakesPerSecondPerAddress = 1
    }
    var statuses: [Int] = []
    var wait = 0
    for _ in 0..<20 {
      let answer = try await harness.get("/v1/status")
      statuses.append(answer.status)
      if answer.status == 429 {
        wait = answer.json["retry_after_ms"] as? Int ?? 0
        break
      }
    }
    #expect(statuses.first == 200 && statuses.last == 429 && (1...1_000).contains(wait), "\(statuses)")
    var patience = Patience()
    while try await harness.get("/v1/status").status != 200 {
      try await patience.wait(for: "the rate to allow one more")
    }
    #expect(try await Self.metric(harness, "refused_total{reason=\"request_rate_per_address\"}") >= 1)

    let first = try await harness.probe()
    var refusals = 0
    // Each is told after a second, by which the rate allows the next.
    for _ in 0..<4 {
      let upgrade = [
        HTTPField("Upgrade", "websocket"), HTTPField("Connection", "Upgrade"), HTTPField("Sec-WebSocket-Version", "13"),
        HTTPField("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
      ]
      let answer = try await HTTPProbe.send(
        "GET", "/v1/stream", to: harness.gateway.address, fields: upgrade, closes: false, loop: harness.clientLoop)
      if answer.status == 429 { refusals += 1 }
    }
    #expect(refusals > 0)
    first.disconnect()
    await harness.stop()
  }

  @Test(
    "a client that is killed is gone from the gateway, whatever it had subscribed to",
    .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/python3"), "needs python3"))
  func killed() async throws {
    let harness = try GatewayHarness(venues: ["kraken"])
    try await harness.waitUntilLive()
    // A client of another program, that speaks and listens, and is killed in the middle of it.
    let script = """
      import base64, os, socket, sys
      s = socket.create_connection(("127.0.0.1", \(harness.gateway.address.port)))
      s.sendall(b"GET /v1/stream HTTP/1.1\\r\\nHost: a\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\n"
                b"Sec-WebSocket-Version: 13\\r\\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\\r\\n\\r\\n")
      text = b'{"op":"subscribe","streams":[{"channel":"trades","symbols":["kraken:*"]},{"channel":"book","symbols":["kraken:*"]}]}'
      s.sendall(bytes([0x81, 0x80 | len(text)]) + bytes(4) + text)
      s.sendall(bytes([0x8a, 0x80]) + bytes(4))
      while s.recv(1 << 16):
        pass
      """
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["python3", "-c", script]
    try process.run()
    defer { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }
    var patience = Patience()
    while try await Self.metric(harness, "frames_sent_total") < 50 {
      try await patience.wait(for: "the client to be served")
    }
    #expect(try await Self.metric(harness, "clients{") == 1)
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
    var more = Patience()
    while try await Self.metric(harness, "clients{") > 0 { try await more.wait(for: "the client to be forgotten") }
    #expect(try await Self.metric(harness, "queued_bytes") == 0)
    let next = try await harness.probe()
    next.send("{\"op\":\"ping\",\"id\":1}")
    _ = try await next.first("a pong") { $0.type == "pong" }
    await harness.stop()
  }

  @Test("when all clients together have too much waiting, those with the most are closed and new ones are told to wait")
  func budget() async throws {
    let harness = try GatewayHarness(venues: ["kraken"], rate: 200) {
      $0.limits.totalQueuedBytes = 20_000
      $0.limits.queuedBytes = 64 << 20
    }
    try await harness.waitUntilLive()
    let stuck = try await harness.probe()
    let good = try await harness.probe()
    good.send("{\"op\":\"subscribe\",\"id\":1,\"streams\":[{\"channel\":\"trades\",\"symbols\":[\"kraken:BTC-USD\"]}]}")
    stuck.stopReading()
    stuck.send(
      "{\"op\":\"subscribe\",\"id\":1,\"streams\":[{\"channel\":\"trades\",\"symbols\":[\"kraken:*\"]},{\"channel\":\"book\",\"depth\":\"full\",\"symbols\":[\"kraken:*\"]}]}"
    )
    var patience = Patience()
    while try await Self.metric(harness, "over_budget_closed_total") < 1 {
      // What is published waits once for all; replies are the client's own.
      for _ in 0..<10 { stuck.send("{\"op\":\"list\"}") }
      try await patience.wait(for: "the slow client to be closed")
    }
    #expect(try await Self.metric(harness, "over_budget_closed_total") == 1)
    good.send("{\"op\":\"ping\",\"id\":9}")
    _ = try await good.first("a pong") { $0.type == "pong" }
    await harness.stop()
  }

  @Test("behind a trusted proxy the client's own address is limited")
  func proxy() async throws {
    let harness = try GatewayHarness(venues: ["kraken"]) {
      $0.trustedProxies = [IPNetwork("127.0.0.1")!]
      $0.limits.httpRequestsPerSecondPerAddress = 1
    }
    func status(_ client: String) async throws -> Int {
      try await harness.get("/v1/status", fields: [HTTPField("X-Forwarded-For", client)]).status
    }
    #expect(try await status("203.0.113.1") == 200)
    var statuses: [Int] = []
    for _ in 0..<10 { statuses.append(try await status("203.0.113.1")) }
    #expect(statuses.contains(429))
    #expect(try await status("203.0.113.2") == 200)
    await harness.stop()
  }
}

/// A connection that sends nothing.
private final class IdleConnection: ConnectionHandler, @unchecked Sendable {
  // `@unchecked`: touched on `loop` only, but for `state`, which is locked.
  private struct State {
    var isClosed = false
    var answer: String?
  }

  private let loop: EventLoop
  private var connection: Connection?
  private let state = Mutex(State())

  init(_ address: SocketAddress, tls: TLSClientContext?, loop: EventLoop) async throws {
    self.loop = loop
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
      loop.execute {
        Connector.connect(host: address.host, port: address.port, tls: tls, loop: loop, handler: self) { result in
          switch result {
          case .success(let connection):
            self.connection = connection
            continuation.resume()
          case .failure(let error): continuation.resume(throwing: error)
          }
        }
      }
    }
  }

  var isClosed: Bool { state.withLock { $0.isClosed } }
  /// The first bytes that came.
  var answer: String? { state.withLock { $0.answer } }

  func ask() {
    loop.execute { self.connection?.write(Array("GET /v1/status HTTP/1.1\r\nHost: a\r\n\r\n".utf8).span.bytes) }
  }

  func abort() { loop.execute { self.connection?.abort() } }

  func connection(_ connection: Connection, didReceive bytes: UnsafeMutableRawBufferPointer) {
    state.withLock { $0.answer = $0.answer ?? String(decoding: bytes, as: UTF8.self) }
  }
  func connectionDidDrain(_ connection: Connection) {}
  func connectionDidClose(_ connection: Connection, reason: CloseReason) { state.withLock { $0.isClosed = true } }
}
