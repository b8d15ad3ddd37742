import COpenSSL
import Glibc
import Synchronization

/// TLS 1.2 and 1.3 as a client: verifies the chain against the system's roots, or `caFile` alone, and the host name.
/// Sends SNI and ALPN `http/1.1`. Sessions are resumed where the server allows it; no early data is ever sent (RFC 8446
/// §8: it could be replayed).
package final class TLSClientContext: @unchecked Sendable {
  // `@unchecked`: the `SSL_CTX` behind the lock counts its references atomically and never changes (SSL_CTX_new(3));
  // the rest is constant or has its own lock.
  private let current: Mutex<ContextReference>
  private let caFile: String?
  private let highestVersion: Int32
  private let certificate: LoadedCertificate?
  let sessions = TLSSessionCache()

  /// - Parameter caFile: PEM file of the roots to trust instead of the system's.
  /// - Throws: `.certificateFile` if it cannot be read or holds no certificate.
  package convenience init(caFile: String? = nil) throws(TransportError) {
    try self.init(caFile: caFile, highestVersion: 0)
  }

  /// - Parameters:
  ///   - highestVersion: for example `TLS1_2_VERSION`; 0 for the highest one.
  ///   - certificate: the certificate for servers that request one.
  init(caFile: String?, highestVersion: Int32, certificate: LoadedCertificate? = nil) throws(TransportError) {
    self.caFile = caFile
    self.highestVersion = highestVersion
    self.certificate = certificate
    current = Mutex(try Self.make(caFile, highestVersion, certificate))
  }

  /// Reads the roots again, for connections from now on; sessions of the old ones are dropped.
  /// - Throws: as `init`; the old roots stay.
  package func reload() throws(TransportError) {
    let made = try Self.make(caFile, highestVersion, certificate)
    current.withLock { $0 = made }
    sessions.removeAll()
  }

  private static func make(
    _ caFile: String?, _ highestVersion: Int32, _ certificate: LoadedCertificate?
  ) throws(TransportError) -> ContextReference {
    let reference = try ContextReference(TLS_client_method())
    let context = reference.pointer
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, TLSSession.verify)
    _ = copenssl_set_session_cache_mode(context, Int(SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL))
    SSL_CTX_sess_set_new_cb(context) { session, made in
      guard let made, let owner = TLSSession.of(session) else { return 0 }
      return owner.keep(TLSSessionReference(pointer: made)) ? 1 : 0
    }
    let protocols: [UInt8] = [8] + Array("http/1.1".utf8)
    // Unlike similar functions, this one returns 0 for success.
    guard SSL_CTX_set_alpn_protos(context, protocols, UInt32(protocols.count)) == 0 else {
      throw .tls(reason: OpenSSLErrors.drain() ?? "ALPN was refused")
    }
    if highestVersion != 0 { _ = copenssl_set_max_version(context, highestVersion) }
    try certificate?.use(in: context)
    if let caFile {
      try loadRoots(caFile, into: context)
    } else if SSL_CTX_set_default_verify_paths(context) != 1 {
      throw .tls(reason: "the system's roots cannot be loaded (\(OpenSSLErrors.drain() ?? "no reason given"))")
    }
    return reference
  }

  func makeSession(descriptor: Int32, host: String, port: UInt16) throws(TransportError) -> TLSSession {
    try TLSSession(
      context: current.withLock { $0 }, descriptor: descriptor, role: .client(host: host, port: port, cache: sessions))
  }
}

/// An `SSL_CTX`, which is freed with the last reference to this object.
final class ContextReference: @unchecked Sendable {
  // `@unchecked`: an `SSL_CTX` counts its references atomically and is not changed after it is set up (SSL_CTX_new(3)).
  let pointer: OpaquePointer

  /// TLS 1.2 with forward secrecy and authenticated encryption only (RFC 9325 §4.2); TLS 1.3 has nothing else.
  private static let cipherSuites = "ECDHE+AESGCM:ECDHE+CHACHA20"
  private static let groups = "X25519:P-256:P-384"
  private static let signatureAlgorithms =
    "ecdsa_secp256r1_sha256:ecdsa_secp384r1_sha384:ecdsa_secp521r1_sha512:ed25519:"
    + "rsa_pss_rsae_sha256:rsa_pss_rsae_sha384:rsa_pss_rsae_sha512:rsa_pss_pss_sha256:rsa_pss_pss_sha384:"
    + "rsa_pss_pss_sha512:rsa_pkcs1_sha256:rsa_pkcs1_sha384:rsa_pkcs1_sha512"

  init(_ method: OpaquePointer?) throws(TransportError) {
    guard let context = SSL_CTX_new(method) else {
      throw .tls(reason: OpenSSLErrors.drain() ?? "no memory for a context")
    }
    pointer = context
    // 112 bits everywhere: no SHA-1 signatures, no RSA below 2048 bits (SSL_CTX_set_security_level(3)).
    SSL_CTX_set_security_level(context, 2)
    let isSet =
      copenssl_configure(context) == 1 && SSL_CTX_set_cipher_list(context, Self.cipherSuites) == 1
      && copenssl_set_groups(context, Self.groups) == 1
      && copenssl_set_signature_algorithms(context, Self.signatureAlgorithms) == 1
    guard isSet else { throw .tls(reason: OpenSSLErrors.drain() ?? "the settings were refused") }
  }

  deinit { SSL_CTX_free(pointer) }
}

/// Trusts the certificates of a PEM file in `context`.
func loadRoots(_ path: String, into context: OpaquePointer) throws(TransportError) {
  let certificates = LoadedCertificate.parseCertificates(try LoadedCertificate.read(path))
  defer { for certificate in certificates { X509_free(certificate) } }
  guard !certificates.isEmpty else {
    throw .certificateFile(path: path, reason: "it holds no PEM certificate (-----BEGIN CERTIFICATE-----)")
  }
  let store = SSL_CTX_get_cert_store(context)
  for certificate in certificates where X509_STORE_add_cert(store, certificate) != 1 {
    throw .certificateFile(path: path, reason: OpenSSLErrors.drain() ?? "a certificate was refused")
  }
}
