import Bytes
import COpenSSL
import Foundation
import TestTraits
import Testing

@testable import Transport

@Suite("TLS failures", .realTime)
struct TLSFailureTests {
  /// What a client of `authority` says about a handshake with `server`, and what the server says.
  static func failure(
    _ authority: Authority, _ server: TLSServerContext, host: String = "localhost", caFile: String? = nil
  ) throws -> (failure: TLSFailure?, text: String, told: (name: String?, failure: TLSFailure)?) {
    try withLoops { loops in
      let listener = try echoListener(loops, tls: server)
      let client = try caFile.map { try TLSClientContext(caFile: $0) } ?? authority.client()
      guard
        case .failure(let error) = connect(loops[0], to: listener.address, host: host, tls: client, probe: Probe())
      else { return (nil, "connected", nil) }
      let text = error.description
      guard case .tlsFailed(let peer, let failure) = error else { return (nil, text, nil) }
      #expect(peer == "\(host) port \(listener.address.port)")
      #expect(text == "TLS with \(peer) failed: \(failure.description)")
      return (failure, text, authority.reports.next())
    }
  }

  @Test("a certificate that has expired, or is not valid yet, is refused with its date; the server learns of it")
  func dates() throws {
    let authority = try Authority()
    let expired = try Self.failure(authority, authority.server([authority.issue(["localhost"], to: -60)]))
    #expect(expired.failure?.kind == .expired)
    #expect(expired.text.contains("certificate has expired: its certificate expired on 20"), "\(expired.text)")
    let told = expired.told
    #expect(told?.name == "localhost" && told?.failure.kind == .refused)
    #expect(told?.failure.description.contains("expired") == true, "\(String(describing: told))")
    let early = try Self.failure(
      authority, authority.server([authority.issue(["localhost"], from: 7200, to: 9000)]))
    #expect(early.failure?.kind == .notYetValid)
    #expect(early.text.contains("check this machine's clock"), "\(early.text)")
  }

  @Test("a certificate for other hosts is refused with their names")
  func wrongHost() throws {
    let authority = try Authority()
    let server = try authority.server([authority.issue(["a.example.test", "*.b.test", "127.0.0.2"])])
    let name = try Self.failure(authority, server)
    #expect(name.failure?.kind == .wrongHost)
    #expect(
      name.text.hasSuffix("its certificate is for a.example.test, *.b.test, 127.0.0.2, not for localhost"),
      "\(name.text)")
    let address = try Self.failure(authority, server, host: "127.0.0.1")
    #expect(address.failure?.kind == .wrongHost)
    #expect(address.text.hasSuffix("not for 127.0.0.1"), "\(address.text)")
  }

  @Test("an unknown CA and a self-signed certificate are told apart, and who issued it is named")
  func unknownCA() throws {
    let authority = try Authority("First Root")
    let other = try Authority("Other Root")
    let unknown = try Self.failure(authority, authority.server(), caFile: other.caFile)
    #expect(unknown.failure?.kind == .unknownCA)
    #expect(unknown.text.contains("was issued by \"First Root\", and no trusted root leads to it"), "\(unknown.text)")
    #expect(unknown.told?.failure.description.contains("does not trust the issuer") == true)
    let selfSigned = try Self.failure(
      authority, authority.server([TestCertificate("localhost", names: ["localhost"])]))
    #expect(selfSigned.failure?.kind == .selfSigned)
    #expect(selfSigned.text.contains("self-signed"), "\(selfSigned.text)")
  }

  @Test(
    "a server that refuses with an alert is quoted",
    arguments: [(UInt8(70), TLSFailure.Kind.protocolVersion), (40, .refused), (112, .refused)])
  func alerts(alert: UInt8, kind: TLSFailure.Kind) throws {
    let authority = try Authority()
    try withLoops { loops in
      let listener = try listener(loops) { connection in
        connection.write(SharedBytes([21, 3, 3, 0, 2, 2, alert]))
        return Probe()
      }
      let result = connect(
        loops[0], to: listener.address, host: "localhost", tls: try authority.client(), probe: Probe())
      guard case .failure(.tlsFailed(_, let failure)) = result else {
        Issue.record("another end: \(result)")
        return
      }
      #expect(failure.kind == kind, "\(failure)")
    }
  }

  @Test("a client that speaks only what is too old or too weak is refused by name")
  func oldClients() throws {
    let authority = try Authority()
    try withLoops { loops in
      let listener = try echoListener(loops, tls: authority.server())
      let old = try RawTLSClient(connectedTo: listener.address) {
        SSL_CTX_set_security_level($0, 0)
        _ = copenssl_set_max_version($0, TLS1_1_VERSION)
      }
      #expect(old.handshake()?.contains("protocol version") == true)
      let version = authority.reports.next()?.failure
      #expect(version?.kind == .protocolVersion, "\(String(describing: version))")
      #expect(version?.description.contains("no version of TLS from 1.2 up") == true)

      let weak = try RawTLSClient(connectedTo: listener.address) {
        _ = copenssl_set_max_version($0, TLS1_2_VERSION)
        SSL_CTX_set_cipher_list($0, "ECDHE-ECDSA-AES128-SHA:AES128-GCM-SHA256")
      }
      #expect(weak.handshake()?.contains("handshake failure") == true)
      #expect(authority.reports.next()?.failure.kind == .noSharedCipher)
    }
  }

  @Test("plain HTTP on a TLS port is answered in plain HTTP, and told")
  func plainHTTP() throws {
    let authority = try Authority()
    try withLoops { loops in
      let listener = try echoListener(loops, tls: authority.server())
      let socket = try RawSocket(connectedTo: listener.address)
      socket.send(Array("GET /v1/stream HTTP/1.1\r\nHost: a\r\n\r\n".utf8))
      let answer = String(decoding: socket.receive(10_000), as: UTF8.self)
      #expect(answer.hasPrefix("HTTP/1.1 400 Bad Request\r\n"))
      #expect(answer.hasSuffix("\r\n\r\nThis port speaks TLS: use https:// or wss://.\n"))
      #expect(authority.reports.next()?.failure.kind == .plainHTTP)
      let garbage = try RawSocket(connectedTo: listener.address)
      garbage.send([UInt8](repeating: 0x80, count: 100))
      _ = garbage.receive(1_000)
      #expect(authority.reports.next()?.failure.kind == .notTLS)
      let gone = try RawSocket(connectedTo: listener.address)
      gone.endStream()
      _ = gone.receive(1_000)
      #expect(authority.reports.next()?.failure.kind == .closed)
    }
  }

  @Test("names of strangers are made printable")
  func printable() {
    #expect(CertificateDetails.printable("a\u{1B}[2J\né".utf8) == "a?[2J???")
    #expect(CertificateDetails.printable([UInt8](repeating: 65, count: 999)).count == 255)
  }
}
