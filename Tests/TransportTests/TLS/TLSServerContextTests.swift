import Bytes
import COpenSSL
import Foundation
import Testing

@testable import Transport

@Suite("TLS server context")
struct TLSServerContextTests {
  /// Connects to `name`, which is looked up as loopback.
  static func connect(
    _ loop: EventLoop, to listener: Listener, as name: String, tls: TLSClientContext, probe: Probe = Probe()
  ) -> Result<Void, TransportError> {
    let result = Box<Result<Void, TransportError>?>(nil)
    waitFor("the connector's answer") { done in
      loop.execute {
        _ = Connector.connect(
          host: name, port: listener.address.port, tls: tls, loop: loop, timeout: .seconds(60),
          resolve: { _, port, found in found(.success([KernelAddress(host: "127.0.0.1", port: port)!])) },
          handler: probe
        ) { outcome in
          probe.connection = try? outcome.get()
          result.set(outcome.map { _ in })
          done()
        }
      }
    }
    return result.value ?? .failure(.invalidAddress("no answer"))
  }

  // MARK: ALPN

  @Test(
    "http/1.1 is chosen among others, clients without ALPN are served, those with others only are told so",
    arguments: [
      (["h2", "http/1.1"], "http/1.1", nil), (["http/1.1"], "http/1.1", nil), ([], "", nil),
      (["h2", "http/1.0"], "", "no application protocol"),
    ] as [([String], String, String?)])
  func protocols(offered: [String], chosen: String, refusal: String?) throws {
    let authority = try Authority()
    try withLoops { loops in
      let listener = try echoListener(loops, tls: authority.server())
      let list = offered.flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) }
      let client = try RawTLSClient(connectedTo: listener.address) {
        if !list.isEmpty { SSL_CTX_set_alpn_protos($0, list, UInt32(list.count)) }
      }
      let reason = client.handshake()
      if let refusal {
        #expect(reason?.contains(refusal) == true, "\(String(describing: reason))")
        #expect(authority.reports.next()?.failure.kind == .noApplicationProtocol)
      } else {
        #expect(reason == nil)
        var start: UnsafePointer<UInt8>?
        var length: UInt32 = 0
        SSL_get0_alpn_selected(client.session, &start, &length)
        #expect(UnsafeBufferPointer(start: start, count: Int(length)).elementsEqual(chosen.utf8))
      }
    }
  }

  // MARK: SNI

  @Test("the name that a client asks for decides: exact, then wildcard, then the first certificate")
  func names() throws {
    let authority = try Authority()
    let server = try authority.server([
      authority.issue(["first.test", "127.0.0.1"]), authority.issue(["*.wild.test", "both.test"]),
      authority.issue(["exact.wild.test"]), authority.issue(["rsa.test"], key: .rsa),
      authority.issue(["rsa.test"]),
    ])
    #expect(
      server.certificates.map(\.names.first) == [
        "first.test", "*.wild.test", "exact.wild.test", "rsa.test", "rsa.test",
      ])
    try withLoops { loops in
      let listener = try echoListener(loops, tls: server)
      let client = try authority.client()
      for name in ["first.test", "a.wild.test", "A.Wild.Test", "both.test", "exact.wild.test", "rsa.test", "127.0.0.1"]
      {
        let result = Self.connect(loops[0], to: listener, as: name, tls: client)
        #expect(throws: Never.self, "\(name)") { try result.get() }
      }
      for name in ["a.b.wild.test", "wild.test", ".wild.test", "unknown.test"] {
        guard case .failure(.tlsFailed(_, let failure)) = Self.connect(loops[0], to: listener, as: name, tls: client)
        else {
          Issue.record("\(name) was taken")
          continue
        }
        #expect(failure.kind == .wrongHost && failure.description.contains("is for first.test"), "\(name): \(failure)")
      }
      // Keys of both types stand side by side for the same name.
      for (algorithms, type) in [("RSA+SHA256", EVP_PKEY_RSA), ("ECDSA+SHA256", EVP_PKEY_EC)] {
        let raw = try RawTLSClient(connectedTo: listener.address) {
          _ = copenssl_set_max_version($0, TLS1_2_VERSION)
          _ = copenssl_set_signature_algorithms($0, algorithms)
        }
        _ = copenssl_set_server_name(raw.session, "rsa.test")
        #expect(raw.handshake() == nil)
        let key = SSL_get0_peer_certificate(raw.session).flatMap { X509_get0_pubkey($0) }
        #expect(EVP_PKEY_get_base_id(key) == type)
      }
    }
  }

  // MARK: Reload

  @Test("new files serve new connections; those that are there go on, and sessions can be resumed")
  func reload() throws {
    let old = try Authority("Old Root")
    let new = try Authority("New Root")
    let folder = try Folder()
    let files = try folder.write(old.issue(["localhost"]), as: "server")
    let server = try TLSServerContext(.init(certificates: [files]))
    try withLoops { loops in
      let listener = try echoListener(loops, tls: server)
      let staying = Probe()
      try Self.connect(loops[0], to: listener, as: "localhost", tls: old.client(), probe: staying).get()
      let returning = try old.client()
      _ = try TLSResumptionTests.visit(loops[0], listener, returning)

      try folder.write(new.issue(["localhost", "more.test"]), as: "server")
      try server.reload()
      #expect(server.certificates.map(\.names) == [["localhost", "more.test"]])
      try Self.connect(loops[0], to: listener, as: "more.test", tls: new.client()).get()
      guard
        case .failure(.tlsFailed(_, let failure)) = Self.connect(
          loops[0], to: listener, as: "localhost", tls: try old.client())
      else {
        Issue.record("the old certificate is still in use")
        return
      }
      #expect(failure.kind == .unknownCA)
      let isResumed = try TLSResumptionTests.visit(loops[0], listener, returning)
      #expect(isResumed)
      on(loops[0]) { staying.connection?.write(SharedBytes([7, 8, 9])) }
      staying.waitForBytes(3)
      #expect(staying.received.value == [7, 8, 9])
      #expect(server.statistics.reloads == 1 && server.statistics.reloadFailures == 0)
    }
  }

  @Test("files that cannot be used are refused at a reload, and the old ones stay")
  func badReload() throws {
    let authority = try Authority()
    let folder = try Folder()
    let files = try folder.write(authority.issue(["localhost"]), as: "server")
    let server = try TLSServerContext(.init(certificates: [files]))
    try withLoops { loops in
      let listener = try echoListener(loops, tls: server)
      let expired = try authority.issue(["localhost"], to: -60)
      for (text, to) in [
        ("no certificate", "server.pem"), (expired.certificatePEM, "server.pem"), (expired.keyPEM, "server.key"),
      ] {
        try folder.write(text, to: to)
        #expect(throws: TransportError.self) { try server.reload() }
        try Self.connect(loops[0], to: listener, as: "localhost", tls: authority.client()).get()
      }
      #expect(server.statistics.reloads == 0 && server.statistics.reloadFailures == 3)
    }
  }

  @Test("a client's roots are read again, and sessions under the old ones forgotten")
  func reloadRoots() throws {
    let old = try Authority("Old Root")
    let new = try Authority("New Root")
    let file = try new.folder.write(old.root.certificatePEM, to: "roots.pem")
    let client = try TLSClientContext(caFile: file)
    try withLoops { loops in
      let listener = try echoListener(loops, tls: old.server())
      _ = try TLSResumptionTests.visit(loops[0], listener, client)
      try new.folder.write("nothing", to: "roots.pem")
      #expect(throws: TransportError.self) { try client.reload() }
      #expect(client.sessions.count == 1)
      try new.folder.write(new.root.certificatePEM, to: "roots.pem")
      try client.reload()
      guard
        case .failure(.tlsFailed(_, let failure)) = Self.connect(loops[0], to: listener, as: "localhost", tls: client)
      else {
        Issue.record("the old root is still trusted")
        return
      }
      #expect(failure.kind == .unknownCA)
    }
  }

  // MARK: Clients' certificates

  @Test(
    "required certificates of clients are checked, and who lacks one is told",
    arguments: [TLS1_2_VERSION, TLS1_3_VERSION])
  func clientCertificates(version: Int32) throws {
    let authority = try Authority()
    let stranger = try Authority("Stranger")
    let server = try authority.server {
      $0.clientCA = authority.caFile
      $0.clientAuthentication = .required
    }
    let subject = Box<String?>(nil)
    try withLoops { loops in
      let listener = try listener(loops, tls: server) { connection in
        subject.set(connection.tlsPeerSubject)
        let probe = Probe()
        probe.onReceive = { connection, bytes in connection.write(UnsafeRawBufferPointer(bytes).bytes) }
        return probe
      }
      // Under TLS 1.3 a client learns of its refusal after its own handshake is complete.
      func refusal(_ certificate: TestCertificate?) throws -> TransportError? {
        let probe = Probe()
        let client = try authority.client(highest: version, certificate: certificate)
        switch Self.connect(loops[0], to: listener, as: "localhost", tls: client, probe: probe) {
        case .failure(let error): return error
        case .success:
          if case .failed(let error)? = probe.waitForClose() { return error }
          return nil
        }
      }
      let none = try refusal(nil)?.description
      #expect(
        none?.contains(version == TLS1_3_VERSION ? "requires a certificate and got none" : "TLS with localhost")
          == true,
        "\(String(describing: none))")
      #expect(authority.reports.next()?.failure.kind == .noCertificate)
      let foreign = try refusal(stranger.issue(["client"]))?.description
      #expect(
        foreign?.contains("does not trust the issuer of the certificate") == true, "\(String(describing: foreign))")
      let told = authority.reports.next()?.failure
      #expect(told?.kind == .unknownCA && told?.description.contains("\"Stranger\"") == true)
      _ = try refusal(authority.issue(["client"], to: -60))
      #expect(authority.reports.next()?.failure.kind == .expired)

      let good = try authority.client(highest: version, certificate: authority.issue(["client one"]))
      #expect(try !TLSResumptionTests.visit(loops[0], listener, good))
      #expect(subject.value == "\"client one\"")
      subject.set(nil)
      #expect(try TLSResumptionTests.visit(loops[0], listener, good))
      #expect(subject.value == "\"client one\"")
    }
  }

  @Test("optional certificates of clients may be missing, but not be bad")
  func optionalCertificates() throws {
    let authority = try Authority()
    let server = try authority.server {
      $0.clientCA = authority.caFile
      $0.clientAuthentication = .optional
    }
    try withLoops { loops in
      let listener = try echoListener(loops, tls: server)
      #expect(try !TLSResumptionTests.visit(loops[0], listener, authority.client()))
      #expect(
        try !TLSResumptionTests.visit(loops[0], listener, authority.client(certificate: authority.issue(["client"]))))
      let bad = try authority.client(certificate: TestCertificate("self"))
      let probe = Probe()
      if case .success = Self.connect(loops[0], to: listener, as: "localhost", tls: bad, probe: probe) {
        guard case .failed? = probe.waitForClose() else {
          Issue.record("a bad certificate was taken")
          return
        }
      }
      #expect(authority.reports.next()?.failure.kind == .selfSigned)
    }
  }

  // MARK: Files

  @Test("each file that cannot be used is named, with what is wrong and what to do")
  func files() throws {
    let authority = try Authority()
    let folder = try Folder()
    let good = try authority.issue(["localhost"])
    let other = try authority.issue(["other"])
    func problem(
      _ certificate: String, _ key: String, _ change: (inout TLSServerConfiguration) -> Void = { _ in }
    ) throws
      -> String
    {
      var configuration = TLSServerConfiguration(certificates: [
        .init(
          certificate: try folder.write(certificate, to: "c.pem"), key: try folder.write(key, to: "k.pem"))
      ])
      change(&configuration)
      let problems = TLSServerContext.problems(of: configuration)
      if problems.isEmpty {
        _ = try TLSServerContext(configuration)
      } else {
        #expect(throws: problems[0]) { try TLSServerContext(configuration) }
      }
      return problems.map(\.description).joined(separator: "\n").replacing(folder.path + "/", with: "")
    }
    #expect(try problem(good.certificatePEM, good.keyPEM) == "")
    #expect(try problem(good.certificatePEM + authority.root.certificatePEM, good.keyPEM) == "")
    let bad: [(String, String, String)] = [
      ("", good.keyPEM, "cannot use c.pem: it holds no PEM certificate (-----BEGIN CERTIFICATE-----)"),
      (
        good.keyPEM, good.certificatePEM,
        "cannot use c.pem: it holds no PEM certificate (-----BEGIN CERTIFICATE-----); it looks like a key: are the two files swapped?"
      ),
      (
        good.certificatePEM, good.certificatePEM,
        "cannot use k.pem: it holds no PEM private key (-----BEGIN PRIVATE KEY-----); it looks like a certificate: are the two files swapped?"
      ),
      (
        good.certificatePEM, other.keyPEM,
        "cannot use k.pem: key values mismatch: it is not the key of the first certificate in c.pem"
      ),
      (
        authority.root.certificatePEM + good.certificatePEM, good.keyPEM,
        "cannot use c.pem: its first certificate is not that of the key; put that one first, and its issuers after it"
      ),
      (
        good.certificatePEM + other.certificatePEM, good.keyPEM,
        "cannot use c.pem: certificate 2 did not issue certificate 1; put the leaf first and each issuer after"
      ),
    ]
    for (certificate, key, expected) in bad {
      let text = try problem(certificate, key)
      #expect(text == expected)
    }
    let encrypted = try problem(good.certificatePEM, good.encryptedKeyPEM())
    #expect(encrypted.hasPrefix("cannot use k.pem: the key has a passphrase"), "\(encrypted)")
    #expect(encrypted.contains("openssl pkey -in k.pem -out NEW"), "\(encrypted)")
    let expired = try authority.issue(["localhost"], to: -60)
    #expect(
      try problem(expired.certificatePEM, expired.keyPEM).hasPrefix("cannot use c.pem: its certificate expired on 20"))
    let early = try authority.issue(["localhost"], from: 600)
    #expect(
      try problem(early.certificatePEM, early.keyPEM).hasPrefix("cannot use c.pem: its certificate is not valid before")
    )
    #expect(
      try problem(good.certificatePEM, good.keyPEM) {
        $0.clientAuthentication = .required
        $0.clientCA = "/nowhere.pem"
      } == "cannot use /nowhere.pem: No such file or directory")
    #expect(
      try problem(good.certificatePEM, good.keyPEM) {
        $0.certificates[0].key = folder.path
      }.hasSuffix("Is a directory"))
    let large = String(repeating: "x", count: LoadedCertificate.fileLimit + 1)
    #expect(
      try problem(large, good.keyPEM) == "cannot use c.pem: it is larger than 1048576 bytes; it must be a PEM file")
  }

  @Test("the first expiry of a chain is the one that is told")
  func expiry() throws {
    let authority = try Authority()
    let folder = try Folder()
    let leaf = try authority.issue(["localhost"], to: 90_000)
    let files = TLSCertificateFiles(
      certificate: try folder.write(leaf.certificatePEM + authority.root.certificatePEM, to: "c.pem"),
      key: try folder.write(leaf.keyPEM, to: "k.pem"))
    let info = try #require(try TLSServerContext(.init(certificates: [files])).certificates.first)
    #expect(info.file == files.certificate)
    // The root ends in an hour.
    #expect(abs(info.expiry - Int(Date().timeIntervalSince1970) - 3600) < 600)
  }
}
