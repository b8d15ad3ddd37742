import Bytes
import COpenSSL
import Foundation
import Testing

@testable import Transport

@Suite("TLS")
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
}
