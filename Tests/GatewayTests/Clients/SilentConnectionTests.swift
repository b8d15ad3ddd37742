import Foundation
import Glibc
import HTTPAPI
import Logging
import Operations
import Settings
import Synchronization
import Testing

@testable import Gateway
@testable import Transport

/// A gateway on a loop of the test's clock, without feeds, and plain sockets that connect to it.
private final class SilentHarness {
  let clock = ManualClock()
  let loop: EventLoop
  let gateway: Gateway
  private let folder: URL

  /// - Parameter isSecure: whether its port speaks TLS.
  init(isSecure: Bool, _ change: (inout GatewayConfiguration) -> Void) throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("tidegate-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    loop = try clock.makeLoop()
    var configuration = GatewayConfiguration()
    configuration.listen = SocketAddress(host: "127.0.0.1", port: 0)
    configuration.internalListen = SocketAddress(host: "127.0.0.1", port: 0)
    configuration.tlsSettings.handshakeSeconds = 60
    configuration.http.headSeconds = 300
    if isSecure {
      let certificate = try SelfSignedCertificate(hosts: ["127.0.0.1"])
      let chain = folder.appendingPathComponent("chain.pem").path
      let key = folder.appendingPathComponent("key.pem").path
      try certificate.certificatePEM.write(toFile: chain, atomically: true, encoding: .utf8)
      try certificate.keyPEM.write(toFile: key, atomically: true, encoding: .utf8)
      configuration.tlsSettings.certificates = [chain]
      configuration.tlsSettings.keys = [key]
    }
    change(&configuration)
    var log = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    log.logLevel = .critical
    gateway = try Gateway(configuration: configuration, log: log, loops: [loop])
    try gateway.start()
    clock.settle(loop)
  }

  /// Connections that were ended for newcomers.
  var ended: UInt64 { gateway.nodes[0].metrics.endedForRoom }

  func connect() throws -> ClientSocket {
    let socket = try ClientSocket(to: gateway.address)
    clock.settle(loop)
    return socket
  }

  func stop() {
    gateway.stop(within: .zero) {}
    clock.pass(1_000_000_000, loop)
    try? FileManager.default.removeItem(at: folder)
  }
}

/// A socket that says only what it is told to.
/// A plain socket of a client.
final class ClientSocket {
  private let descriptor: Int32

  init(to address: SocketAddress) throws {
    descriptor = socket(AF_INET, streamSocket | O_CLOEXEC, 0)
    let kernelAddress = try #require(KernelAddress(host: address.host, port: address.port))
    try #require(kernelAddress.withPointer { Glibc.connect(descriptor, $0, kernelAddress.length) } == 0)
  }

  deinit { Glibc.close(descriptor) }

  func send(_ bytes: [UInt8]) { _ = Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) }

  /// What has come.
  var received: String {
    var bytes = [UInt8](repeating: 0, count: 64 << 10)
    let count = recv(descriptor, &bytes, bytes.count, Int32(MSG_DONTWAIT))
    return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
  }

  /// Whether the other side has ended the connection.
  var isEnded: Bool {
    var byte: UInt8 = 0
    let count = recv(descriptor, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT))
    return count == 0 || (count < 0 && errno != EAGAIN)
  }
}

@Suite("Connections that say nothing")
struct SilentConnectionTests {
  private static let second: UInt64 = 1_000_000_000

  @Test(
    "at the limit of connections each newcomer ends the one that has been silent longest, before its TLS handshake too")
  func longestSilent() throws {
    for isSecure in [true, false] {
      let harness = try SilentHarness(isSecure: isSecure) { $0.limits.clients = 3 }
      var sockets: [ClientSocket] = []
      for _ in 0..<3 {
        sockets.append(try harness.connect())
        harness.clock.pass(2 * Self.second, harness.loop)
      }
      #expect(harness.ended == 0 && !sockets.contains { $0.isEnded })
      for newcomer in 1...3 {
        sockets.append(try harness.connect())
        #expect(harness.ended == newcomer)
        #expect(sockets.map(\.isEnded) == (0..<sockets.count).map { $0 < newcomer })
        harness.clock.pass(2 * Self.second, harness.loop)
      }
      // One that has begun a handshake and does not go on is no better.
      if isSecure { sockets[3].send([22, 3, 1, 2, 0, 1, 0, 1, 0xFC, 3, 3]) }
      sockets.append(try harness.connect())
      #expect(sockets[3].isEnded && harness.ended == 4)
      harness.stop()
    }
  }

  @Test("a drain waits a second for the request of a connection that has come, and answers it; a stop does not")
  func drain() throws {
    for (isStop, asks) in [(false, true), (false, false), (true, true)] {
      let harness = try SilentHarness(isSecure: false) { _ in }
      let socket = try harness.connect()
      let isOver = Mutex(false)
      if isStop {
        harness.gateway.stop(within: .zero) { isOver.withLock { $0 = true } }
      } else {
        harness.gateway.drain(seconds: 30) { isOver.withLock { $0 = true } }
      }
      harness.clock.pass(Self.second / 2, harness.loop)
      #expect(isOver.withLock { $0 } == isStop)
      if asks { socket.send(Array("GET /v1/status HTTP/1.1\r\nHost: a\r\n\r\n".utf8)) }
      harness.clock.pass(Self.second / 4, harness.loop)
      let text = socket.received
      #expect(text.hasPrefix("HTTP/1.1 200") == (asks && !isStop), "\(text)")
      #expect(text.contains("Connection: close") == (asks && !isStop), "\(text)")
      // The gateway waits no longer for a client that does not ask.
      harness.clock.pass(Self.second, harness.loop)
      #expect(isOver.withLock { $0 })
      harness.stop()
    }
  }

  @Test("a connection that was accepted before a drain, and comes to its loop after it, is answered too, for a second")
  func latecomer() throws {
    let harness = try SilentHarness(isSecure: false) { _ in }
    let node = harness.gateway.nodes[0]
    harness.loop.execute { node.beginDrain(window: 30_000_000) }
    harness.clock.settle(harness.loop)
    for (wait, answer) in [(Self.second / 2, "HTTP/1.1 200"), (Self.second, "HTTP/1.1 503")] {
      harness.clock.pass(wait, harness.loop)
      let socket = try harness.connect()
      socket.send(Array("GET /v1/status HTTP/1.1\r\nHost: a\r\n\r\n".utf8))
      harness.clock.settle(harness.loop)
      let text = socket.received
      #expect(text.hasPrefix(answer) && text.contains("Connection: close"), "\(text)")
    }
    harness.stop()
  }

  @Test("a TLS handshake that has just begun is not ended for a newcomer")
  func patience() throws {
    let harness = try SilentHarness(isSecure: true) { $0.limits.clients = 2 }
    var sockets = [try harness.connect(), try harness.connect()]
    harness.clock.pass(Self.second / 2, harness.loop)
    sockets.append(try harness.connect())
    #expect(harness.ended == 0 && !sockets.contains { $0.isEnded })
    harness.clock.pass(Self.second, harness.loop)
    sockets.append(try harness.connect())
    #expect(harness.ended == 1 && sockets.map(\.isEnded) == [true, false, false, false])
    harness.stop()
  }

  @Test("who asks for something is not ended, though it came first")
  func spoken() throws {
    let harness = try SilentHarness(isSecure: false) { $0.limits.clients = 2 }
    let first = try harness.connect()
    first.send(Array("GET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8))
    harness.clock.pass(Self.second, harness.loop)
    let second = try harness.connect()
    harness.clock.pass(Self.second, harness.loop)
    let third = try harness.connect()
    #expect([first, second, third].map(\.isEnded) == [false, true, false])
    harness.stop()
  }

  @Test("when all places for handshakes are taken, one that has had its time makes way for who waits, and only then")
  func indices() throws {
    let harness = try SilentHarness(isSecure: true) { $0.tlsSettings.handshakes = 2 }
    let tls = try #require(harness.gateway.serverTLS)
    var sockets = [try harness.connect(), try harness.connect()]
    harness.clock.pass(5 * Self.second, harness.loop)
    // Nobody waits, so both have their whole time.
    #expect(!sockets.contains { $0.isEnded } && tls.statistics.underWay == 2)
    sockets.append(try harness.connect())
    #expect(sockets.map(\.isEnded) == [true, false, false])
    sockets.append(try harness.connect())
    #expect(sockets.map(\.isEnded) == [true, true, false, false])
    // Those that are there now have not had theirs: a third waits in the kernel, until they have.
    sockets.append(try harness.connect())
    harness.clock.pass(Self.second, harness.loop)
    #expect(tls.statistics.underWay == 2 && tls.statistics.failures[.timeout] == 2)
    for _ in 0..<15 { harness.clock.pass(Self.second / 10, harness.loop) }
    #expect(sockets.map(\.isEnded) == [true, true, true, false, false])
    #expect(tls.statistics.underWay == 2 && tls.statistics.failures[.timeout] == 3)
    harness.stop()
  }
}
