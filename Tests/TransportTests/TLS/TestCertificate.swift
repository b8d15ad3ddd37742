import COpenSSL
import Dispatch
import Foundation
import Glibc
import Testing

@testable import Transport

/// A certificate of any kind, with its key.
struct TestCertificate {
  enum KeyKind { case p256, rsa }

  let certificatePEM: String
  let keyPEM: String

  /// - Parameters:
  ///   - subject: its common name.
  ///   - names: DNS names and numeric addresses.
  ///   - from: seconds from now at which it begins.
  ///   - to: seconds from now at which it ends.
  ///   - issuer: who signs it; itself if nil.
  init(
    _ subject: String, names: [String] = [], key kind: KeyKind = .p256, from: Int = -3600, to: Int = 3600,
    issuer: TestCertificate? = nil, isCA: Bool = false
  ) throws {
    let key = try #require(kind == .p256 ? copenssl_make_p256_key() : Self.makeRSAKey())
    let certificate = try #require(X509_new())
    defer {
      EVP_PKEY_free(key)
      X509_free(certificate)
    }
    let issued = try issuer.map { try LoadedCertificate(certificatePEM: $0.certificatePEM, keyPEM: $0.keyPEM) }
    let name = X509_get_subject_name(certificate)
    try #require(X509_set_version(certificate, 2) == 1)
    try #require(
      ASN1_INTEGER_set_int64(X509_get_serialNumber(certificate), Int64(SystemRandom.uint32()) + 1) == 1)
    try #require(X509_gmtime_adj(X509_getm_notBefore(certificate), from) != nil)
    try #require(X509_gmtime_adj(X509_getm_notAfter(certificate), to) != nil)
    try #require(X509_set_pubkey(certificate, key) == 1)
    try #require(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, subject, -1, -1, 0) == 1)
    try #require(
      X509_set_issuer_name(certificate, issued.map { X509_get_subject_name($0.leaf) } ?? name) == 1)
    func add(_ kind: Int32, _ value: String) throws {
      var context = X509V3_CTX()
      X509V3_set_ctx(&context, issued?.leaf ?? certificate, certificate, nil, nil, 0)
      let made = try #require(X509V3_EXT_conf_nid(nil, &context, kind, value))
      defer { X509_EXTENSION_free(made) }
      try #require(X509_add_ext(certificate, made, -1) == 1)
    }
    try add(NID_basic_constraints, isCA ? "critical,CA:TRUE" : "critical,CA:FALSE")
    try add(NID_key_usage, isCA ? "critical,keyCertSign,cRLSign" : "critical,digitalSignature")
    try add(NID_subject_key_identifier, "hash")
    if !names.isEmpty {
      let alternatives = names.map { KernelAddress(host: $0, port: 0) == nil ? "DNS:\($0)" : "IP:\($0)" }
      try add(NID_subject_alt_name, alternatives.joined(separator: ","))
    }
    try #require(X509_sign(certificate, issued?.key ?? key, EVP_sha256()) > 0)
    certificatePEM = Self.text { PEM_write_bio_X509($0, certificate) == 1 }
    keyPEM = Self.text { PEM_write_bio_PrivateKey($0, key, nil, nil, 0, nil, nil) == 1 }
  }

  /// The key under a passphrase.
  func encryptedKeyPEM() throws -> String {
    let loaded = try LoadedCertificate(certificatePEM: certificatePEM, keyPEM: keyPEM)
    return Self.text {
      PEM_write_bio_PrivateKey($0, loaded.key, EVP_aes_128_cbc(), Array("secret".utf8), 6, nil, nil) == 1
    }
  }

  func loaded() throws -> LoadedCertificate {
    try LoadedCertificate(certificatePEM: certificatePEM, keyPEM: keyPEM)
  }

  private static func makeRSAKey() -> OpaquePointer? {
    let context = EVP_PKEY_CTX_new_id(EVP_PKEY_RSA, nil)
    defer { EVP_PKEY_CTX_free(context) }
    var key: OpaquePointer?
    guard EVP_PKEY_keygen_init(context) == 1, EVP_PKEY_CTX_set_rsa_keygen_bits(context, 2048) == 1,
      EVP_PKEY_generate(context, &key) == 1
    else { return nil }
    return key
  }

  private static func text(_ write: (OpaquePointer) -> Bool) -> String {
    guard let bio = BIO_new(BIO_s_mem()) else { return "" }
    defer { BIO_free(bio) }
    guard write(bio) else { return "" }
    var bytes: UnsafeMutablePointer<CChar>?
    let count = copenssl_memory_bytes(bio, &bytes)
    return String(decoding: UnsafeRawBufferPointer(start: bytes, count: count), as: UTF8.self)
  }
}

/// A folder of files, gone with the object.
final class Folder {
  let path: String

  init() throws {
    path = NSTemporaryDirectory() + "/transport-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  @discardableResult
  func write(_ text: String, to name: String) throws -> String {
    try text.write(toFile: "\(path)/\(name)", atomically: true, encoding: .utf8)
    return "\(path)/\(name)"
  }

  /// `NAME.pem` and `NAME.key`.
  @discardableResult
  func write(_ certificate: TestCertificate, as name: String) throws -> TLSCertificateFiles {
    TLSCertificateFiles(
      certificate: try write(certificate.certificatePEM, to: "\(name).pem"),
      key: try write(certificate.keyPEM, to: "\(name).key"))
  }
}

/// A root, a folder with it, and servers whose failures are kept.
final class Authority {
  let root: TestCertificate
  let folder: Folder
  let caFile: String
  let reports = Reports()

  init(_ name: String = "Test Root") throws {
    root = try TestCertificate(name, isCA: true)
    folder = try Folder()
    caFile = try folder.write(root.certificatePEM, to: "ca.pem")
  }

  func issue(
    _ names: [String], key: TestCertificate.KeyKind = .p256, from: Int = -3600, to: Int = 3600
  ) throws -> TestCertificate {
    try TestCertificate(names.first ?? "nobody", names: names, key: key, from: from, to: to, issuer: root)
  }

  /// A server with certificates for `localhost`, or others, that are in no file.
  func server(
    _ certificates: [TestCertificate]? = nil, clock: Box<UInt64>? = nil,
    change: (inout TLSServerConfiguration) -> Void = { _ in }
  ) throws -> TLSServerContext {
    let certificates = try certificates ?? [issue(["localhost", "127.0.0.1"])]
    var configuration = TLSServerConfiguration(certificates: [])
    change(&configuration)
    return try TLSServerContext(
      loaded: certificates.map { try $0.loaded() }, configuration: configuration, report: reports.add,
      uptime: { clock?.value ?? SystemKernel.shared.uptime() })
  }

  func client(highest: Int32 = 0, certificate: TestCertificate? = nil) throws -> TLSClientContext {
    try TLSClientContext(caFile: caFile, highestVersion: highest, certificate: certificate?.loaded())
  }
}

/// Failed handshakes as a server tells of them.
final class Reports: Sendable {
  private let list = Box<[(name: String?, failure: TLSFailure)]>([])
  private let came = DispatchSemaphore(value: 0)

  func add(_ peer: SocketAddress, _ name: String?, _ failure: TLSFailure) {
    list.update { $0.append((name, failure)) }
    came.signal()
  }

  /// The next one.
  func next(sourceLocation: SourceLocation = #_sourceLocation) -> (name: String?, failure: TLSFailure)? {
    guard came.wait(timeout: .now() + patience) == .success else {
      Issue.record("no failure was told", sourceLocation: sourceLocation)
      return nil
    }
    var first: (name: String?, failure: TLSFailure)?
    list.update { first = $0.removeFirst() }
    return first
  }
}

/// OpenSSL on a blocking socket, for what the house's own clients never do.
final class RawTLSClient {
  private let socket: RawSocket
  private let context: OpaquePointer
  let session: OpaquePointer

  /// - Parameter configure: changes the `SSL_CTX`, which trusts everybody.
  init(connectedTo address: SocketAddress, configure: (OpaquePointer) -> Void = { _ in }) throws {
    _ = signal(SIGPIPE, SIG_IGN)
    socket = try RawSocket(connectedTo: address)
    context = try #require(SSL_CTX_new(TLS_client_method()))
    configure(context)
    session = try #require(SSL_new(context))
    SSL_set_fd(session, socket.descriptor)
    SSL_set_connect_state(session)
  }

  deinit {
    SSL_free(session)
    SSL_CTX_free(context)
  }

  /// Nil, or the reason in OpenSSL's words.
  func handshake() -> String? {
    ERR_clear_error()
    return SSL_do_handshake(session) == 1 ? nil : OpenSSLErrors.drain() ?? "closed"
  }

  func write(_ bytes: [UInt8]) { _ = SSL_write(session, bytes, Int32(bytes.count)) }

  /// Reads once; nil, and the reason, where there is nothing to read.
  func read() -> (bytes: [UInt8]?, reason: String?) {
    var bytes = [UInt8](repeating: 0, count: 20_000)
    ERR_clear_error()
    let count = SSL_read(session, &bytes, Int32(bytes.count))
    return count > 0 ? (Array(bytes[..<Int(count)]), nil) : (nil, OpenSSLErrors.drain())
  }
}

/// Waits until `condition` holds on the loop, looking every millisecond of the loop's clock.
func wait(
  until what: String, on loop: EventLoop, sourceLocation: SourceLocation = #_sourceLocation,
  _ condition: @escaping @Sendable () -> Bool
) {
  waitFor(what, sourceLocation: sourceLocation) { done in
    loop.execute {
      var timer: LoopTimer?
      timer = loop.scheduleRepeating(every: .milliseconds(1)) {
        guard condition() else { return }
        timer?.cancel()
        done()
      }
    }
  }
}

/// A value that is used on its loop.
struct OnLoop<Value>: @unchecked Sendable {
  // `@unchecked`: tests hand it through locks and touch the value on its loop only.
  let value: Value
}
