import Bytes
import Foundation
import Operations
import Settings
import TestTraits
import Testing
import Transport

@testable import Gateway

/// The client port under TLS: certificates read again, and what operators see of it.
@Suite("Certificates, end to end", .serialized, .realTime)
struct CertificateTests {
  /// A folder with a self-signed certificate for 127.0.0.1 that can be replaced.
  private final class Files {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tidegate-\(UUID().uuidString)")
    var certificate: String { folder.appendingPathComponent("certificate.pem").path }
    var key: String { folder.appendingPathComponent("key.pem").path }

    init() throws {
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      try renew()
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    func renew() throws {
      let made = try SelfSignedCertificate(hosts: ["127.0.0.1", "gateway.test"])
      try made.certificatePEM.write(toFile: certificate, atomically: true, encoding: .utf8)
      try made.keyPEM.write(toFile: key, atomically: true, encoding: .utf8)
    }
  }

  private final class Silent: ConnectionHandler {
    func connection(_ connection: Connection, didReceive bytes: UnsafeMutableRawBufferPointer) {}
    func connectionDidDrain(_ connection: Connection) {}
    func connectionDidClose(_ connection: Connection, reason: CloseReason) {}
  }

  /// Connects to the client port; the reason where that fails.
  private func failure(_ harness: GatewayHarness, _ tls: TLSClientContext) async -> String? {
    await withCheckedContinuation { continuation in
      let (loop, address) = (harness.clientLoop, harness.gateway.address)
      loop.execute {
        Connector.connect(host: address.host, port: address.port, tls: tls, loop: loop, handler: Silent()) { result in
          switch result {
          case .success(let connection):
            connection.abort()
            continuation.resume(returning: nil)
          case .failure(let error): continuation.resume(returning: error.description)
          }
        }
      }
    }
  }

  @Test("files that were renewed are used, files that cannot be used are not, and metrics tell of both")
  func reload() async throws {
    let files = try Files()
    let harness = try GatewayHarness(venues: ["kraken"]) {
      $0.tlsSettings.certificates = [files.certificate]
      $0.tlsSettings.keys = [files.key]
    }
    let first = try TLSClientContext(caFile: files.certificate)
    #expect(await failure(harness, first) == nil)
    try files.renew()
    harness.gateway.reload()
    let second = try TLSClientContext(caFile: files.certificate)
    #expect(await failure(harness, second) == nil)
    try "nothing".write(toFile: files.key, atomically: true, encoding: .utf8)
    harness.gateway.reload()
    #expect(await failure(harness, second) == nil)

    let stranger = try TLSClientContext(caFile: nil)
    let refusal = await failure(harness, stranger)
    #expect(
      refusal?.contains("TLS with 127.0.0.1 port \(harness.gateway.address.port) failed") == true, "\(refusal ?? "")")
    // In the clear to the same port.
    let answer = try await harness.get("/v1/status")
    #expect(answer.status == 400 && answer.text.contains("This port speaks TLS"))

    let metrics = try await harness.get("/metrics", internal: true).text
    #expect(metrics.contains("tidegate_tls_reloads_total{result=\"used\"} 1\n"))
    #expect(metrics.contains("tidegate_tls_reloads_total{result=\"refused\"} 1\n"))
    #expect(metrics.contains("tidegate_tls_handshake_failures_total{reason=\"plain_http\"} 1\n"))
    let line = try #require(
      metrics.split(separator: "\n").first { $0.hasPrefix("tidegate_tls_certificate_expiry_seconds{") })
    #expect(
      line.hasPrefix("tidegate_tls_certificate_expiry_seconds{file=\"\(files.certificate)\",name=\"127.0.0.1\"} "))
    let expiry = try #require(line.split(separator: " ").last.flatMap { Double($0) })
    #expect(abs(expiry - Date().timeIntervalSince1970 - 86_400) < 3600)
    await harness.stop()
  }

  @Test("TLS to a port in the clear is answered in the clear")
  func tlsInTheClear() async throws {
    let harness = try GatewayHarness(venues: ["kraken"])
    let reason = await failure(harness, try TLSClientContext(caFile: nil))
    #expect(reason?.contains("the server does not speak TLS") == true, "\(reason ?? "connected")")
    await harness.stop()
  }
}
