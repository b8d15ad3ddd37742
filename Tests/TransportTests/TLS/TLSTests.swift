import Bytes
import COpenSSL
import Foundation
import TestTraits
import Testing

@testable import Transport

@Suite("TLS", .realTime)
struct TLSTests {
  /// A server context for `hosts` and a file with its root, gone with the object.
  final class Fixture {
    let server: TLSServerContext
    let certificate: SelfSignedCertificate
    let caFile: String

    init(hosts: [String] = ["localhost", "127.0.0.1"], validFor: Int = 3600) throws {
      certificate = try SelfSignedCertificate(hosts: hosts, validFor: validFor)
      server = try TLSServerContext(certificate: certificate)
      caFile = NSTemporaryDirectory() + "/transport-\(UUID().uuidString).pem"
      try certificate.certificatePEM.write(toFile: caFile, atomically: true, encoding: .utf8)
    }

    deinit { try? FileManager.default.removeItem(atPath: caFile) }
  }

  @Test("an echo works under each version", arguments: [(TLS1_2_VERSION, "TLSv1.2"), (TLS1_3_VERSION, "TLSv1.3")])
  func echo(version: Int32, name: String) throws {
    let fixture = try Fixture()
    try withLoops(2) { loops in
      let listener = try echoListener(loops, tls: fixture.server)
      let client = try TLSClientContext(caFile: fixture.caFile, highestVersion: version)
      for host in ["localhost", "127.0.0.1"] {
        let probe = Probe()
        try connect(loops[1], to: listener.address, host: host, tls: client, probe: probe).get()
        #expect(on(loops[1]) { probe.connection?.tlsVersion } == name)
        let text = (0..<50_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        on(loops[1]) { probe.connection?.write(SharedBytes(text)) }
        probe.waitForBytes(text.count)
        #expect(probe.received.value == text)
        on(loops[1]) { probe.connection?.close() }
        guard case .closedLocally? = probe.waitForClose() else {
          Issue.record("closed for another reason: \(String(describing: probe.closeReason.value))")
          return
        }
      }
    }
  }

  /// The reason a handshake with `listener` fails.
  func failure(
    _ loop: EventLoop, _ listener: Listener, host: String = "localhost", caFile: String?
  ) throws -> TransportError? {
    let client = try TLSClientContext(caFile: caFile)
    guard case .failure(let error) = connect(loop, to: listener.address, host: host, tls: client, probe: Probe()) else {
      return nil
    }
    return error
  }

  @Test("an expired certificate is refused by name")
  func expired() throws {
    let fixture = try Fixture(validFor: -60)
    try withLoops { loops in
      let listener = try echoListener(loops, tls: fixture.server)
      let error = try failure(loops[0], listener, caFile: fixture.caFile)
      #expect(error?.description.contains("certificate has expired") == true, "\(String(describing: error))")
    }
  }

  @Test("a certificate for another host is refused by name")
  func wrongHost() throws {
    let fixture = try Fixture(hosts: ["example.test", "127.0.0.2"])
    try withLoops { loops in
      let listener = try echoListener(loops, tls: fixture.server)
      let name = try failure(loops[0], listener, caFile: fixture.caFile)
      #expect(name?.description.contains("hostname mismatch") == true, "\(String(describing: name))")
      let address = try failure(loops[0], listener, host: "127.0.0.1", caFile: fixture.caFile)
      #expect(address?.description.contains("IP address mismatch") == true, "\(String(describing: address))")
    }
  }

  @Test("a root that is not trusted is refused by name, the system's roots included")
  func unknownCA() throws {
    let fixture = try Fixture()
    let other = try Fixture()
    try withLoops { loops in
      let listener = try echoListener(loops, tls: fixture.server)
      for caFile in [other.caFile, nil] {
        let error = try failure(loops[0], listener, caFile: caFile)
        #expect(error?.description.contains("unknown CA") == true, "\(String(describing: error))")
      }
    }
  }

  @Test("a peer that does not speak TLS is named as such")
  func plainPeer() throws {
    let fixture = try Fixture()
    try withLoops { loops in
      let listener = try listener(loops) { connection in
        connection.write(SharedBytes(Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8)))
        return Probe()
      }
      let error = try failure(loops[0], listener, caFile: fixture.caFile)
      #expect(error?.description.contains("does not speak TLS") == true, "\(String(describing: error))")
    }
  }

  @Test("a peer that hangs up during the handshake is named as such")
  func hangUp() throws {
    let fixture = try Fixture()
    try withLoops { loops in
      let listener = try listener(loops) { _ in nil }
      let error = try failure(loops[0], listener, caFile: fixture.caFile)
      guard case .tlsFailed(_, let failure)? = error, failure.kind == .closed else {
        Issue.record("another error: \(String(describing: error))")
        return
      }
    }
  }

  @Test("a peer that says nothing ends with the handshake's time-out")
  func silentPeer() throws {
    let fixture = try Fixture()
    try withLoops { loops in
      let listener = try listener(loops) { _ in Probe() }
      let client = try TLSClientContext(caFile: fixture.caFile)
      let result = connect(loops[0], to: listener.address, tls: client, timeout: .milliseconds(50), probe: Probe())
      guard case .failure(.handshakeTimeout) = result else {
        Issue.record("another end: \(result)")
        return
      }
    }
  }

  @Test("a server goes on after clients that do not speak TLS")
  func plainClient() throws {
    let fixture = try Fixture()
    try withLoops { loops in
      let listener = try echoListener(loops, tls: fixture.server)
      do {
        let socket = try RawSocket(connectedTo: listener.address)
        socket.send(Array("GET / HTTP/1.1\r\n\r\n".utf8))
        _ = socket.receive(1_000)
      }
      let probe = Probe()
      let client = try TLSClientContext(caFile: fixture.caFile)
      try connect(loops[0], to: listener.address, tls: client, probe: probe).get()
    }
  }

  @Test("megabytes go both ways, in the order they were written")
  func largeTransfer() throws {
    let fixture = try Fixture()
    try withLoops(2) { loops in
      let limits = Connection.Limits(queuedBytes: 64 << 20)
      let listener = try echoListener([loops[0]], tls: fixture.server, limits: limits)
      let client = try TLSClientContext(caFile: fixture.caFile)
      let probe = Probe()
      try connect(loops[1], to: listener.address, tls: client, limits: limits, probe: probe).get()
      let bytes = (0..<(3 << 20)).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
      on(loops[1]) {
        probe.connection?.write(SharedBytes(Array(bytes[..<100])))
        bytes[100..<200].withUnsafeBytes { probe.connection?.write($0.bytes) }
        probe.connection?.write(SharedBytes(Array(bytes[200...])))
      }
      probe.waitForBytes(bytes.count)
      #expect(probe.received.value == bytes)
    }
  }

  @Test("closing under TLS sends what is queued, then the end")
  func close() throws {
    let fixture = try Fixture()
    try withLoops(2) { loops in
      let server = Probe()
      let limits = Connection.Limits(queuedBytes: 64 << 20)
      let listener = try listener([loops[0]], tls: fixture.server, limits: limits) { _ in server }
      let probe = Probe()
      let client = try TLSClientContext(caFile: fixture.caFile)
      try connect(loops[1], to: listener.address, tls: client, limits: limits, probe: probe).get()
      on(loops[1]) {
        probe.connection?.write(SharedBytes([UInt8](repeating: 5, count: 5 << 20)))
        probe.connection?.close(timeout: .seconds(60))
      }
      guard case .closedByPeer? = server.waitForClose() else {
        Issue.record("another end: \(String(describing: server.closeReason.value))")
        return
      }
      #expect(server.receivedCount.value == 5 << 20)
    }
  }

  @Test("files that cannot be used are named")
  func files() throws {
    let fixture = try Fixture()
    let other = try Fixture()
    let keyFile = fixture.caFile + ".key"
    try other.certificate.keyPEM.write(toFile: keyFile, atomically: true, encoding: .utf8)
    defer { try? FileManager.default.removeItem(atPath: keyFile) }
    let missing = TransportError.certificateFile(path: "/nowhere.pem", reason: "No such file or directory")
    #expect(throws: missing) { try TLSClientContext(caFile: "/nowhere.pem") }
    #expect(throws: missing) { try TLSServerContext(certificateFile: "/nowhere.pem", keyFile: keyFile) }
    #expect(throws: missing) { try TLSServerContext(certificateFile: fixture.caFile, keyFile: "/nowhere.pem") }
    // The key of another certificate.
    do {
      _ = try TLSServerContext(certificateFile: fixture.caFile, keyFile: keyFile)
      Issue.record("a key that does not fit was taken")
    } catch {
      guard case .certificateFile(keyFile, let reason) = error else { throw error }
      #expect(reason.contains("mismatch"))
    }
    try fixture.certificate.keyPEM.write(toFile: keyFile, atomically: true, encoding: .utf8)
    _ = try TLSServerContext(certificateFile: fixture.caFile, keyFile: keyFile)
    #expect(throws: (any Error).self) { try SelfSignedCertificate(hosts: ["a,DNS:b"]) }
  }
}
