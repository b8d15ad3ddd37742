import COpenSSL
import Glibc

/// The files of a certificate and its key.
package struct TLSCertificateFiles: Sendable, Equatable {
  /// PEM file of the chain, leaf first.
  package var certificate: String
  /// PEM file of the leaf's key, without a passphrase.
  package var key: String

  package init(certificate: String, key: String) {
    self.certificate = certificate
    self.key = key
  }
}

/// The properties of a certificate in use.
package struct TLSCertificateInfo: Sendable, Equatable {
  /// The file of the certificate; empty if it is not from a file.
  package let file: String
  /// DNS names, in lower case, and addresses.
  package let names: [String]
  /// When the first of its chain expires, Unix seconds.
  package let expiry: Int
}

/// A chain and its key as OpenSSL's objects, checked to be usable together.
final class LoadedCertificate {
  let leaf: OpaquePointer
  let chain: [OpaquePointer]
  let key: OpaquePointer
  let info: TLSCertificateInfo

  /// The most bytes of a PEM file; a chain of a few certificates has ten thousand.
  static let fileLimit = 1 << 20

  /// - Throws: `.certificateFile`, naming the file, what is wrong with it and what to do.
  init(files: TLSCertificateFiles) throws(TransportError) {
    let certificateText = try Self.read(files.certificate)
    let keyText = try Self.read(files.key)
    let certificates = Self.parseCertificates(certificateText)
    var isComplete = false
    defer { if !isComplete { for certificate in certificates { X509_free(certificate) } } }
    func unusable(_ path: String, _ reason: String) -> TransportError {
      .certificateFile(path: path, reason: reason)
    }
    guard let leaf = certificates.first else {
      let hint = certificateText.contains("PRIVATE KEY-----") ? "; it looks like a key: are the two files swapped?" : ""
      throw unusable(files.certificate, "it holds no PEM certificate (-----BEGIN CERTIFICATE-----)\(hint)")
    }
    let key = try Self.parseKey(keyText, path: files.key)
    defer { if !isComplete { EVP_PKEY_free(key) } }
    guard X509_check_private_key(leaf, key) == 1 else {
      ERR_clear_error()
      let other = certificates.dropFirst().contains { X509_check_private_key($0, key) == 1 }
      ERR_clear_error()
      if other {
        throw unusable(
          files.certificate,
          "its first certificate is not that of the key; put that one first, and its issuers after it")
      }
      throw unusable(
        files.key, "key values mismatch: it is not the key of the first certificate in \(files.certificate)")
    }
    for (index, certificate) in certificates.enumerated() {
      let which = index == 0 ? "its certificate" : "certificate \(index + 1) of its chain"
      if CertificateDetails.hasEnded(certificate) {
        let when = CertificateDetails.notAfter(certificate).map(CertificateDetails.text) ?? "in the past"
        throw unusable(files.certificate, "\(which) expired on \(when); renew it")
      }
      if X509_cmp_current_time(X509_get0_notBefore(certificate)) > 0 {
        let when = CertificateDetails.notBefore(certificate).map(CertificateDetails.text) ?? "a later time"
        throw unusable(files.certificate, "\(which) is not valid before \(when); check this machine's clock")
      }
      if index > 0, X509_check_issued(certificate, certificates[index - 1]) != X509_V_OK {
        throw unusable(
          files.certificate,
          "certificate \(index + 1) did not issue certificate \(index); put the leaf first and each issuer after")
      }
    }
    isComplete = true
    self.leaf = leaf
    self.chain = Array(certificates.dropFirst())
    self.key = key
    self.info = TLSCertificateInfo(
      file: files.certificate, names: CertificateDetails.names(leaf),
      expiry: certificates.compactMap { CertificateDetails.notAfter($0) }.min() ?? 0)
  }

  /// Uses a self-made certificate without checks, so that tests can use an expired one.
  convenience init(_ certificate: SelfSignedCertificate) throws(TransportError) {
    try self.init(certificatePEM: certificate.certificatePEM, keyPEM: certificate.keyPEM)
  }

  /// From text, without checking its dates.
  init(certificatePEM: String, keyPEM: String) throws(TransportError) {
    let certificates = Self.parseCertificates(certificatePEM)
    guard let leaf = certificates.first else { throw .tls(reason: "no certificate") }
    do {
      key = try Self.parseKey(keyPEM, path: "key")
    } catch {
      for certificate in certificates { X509_free(certificate) }
      throw error
    }
    self.leaf = leaf
    chain = Array(certificates.dropFirst())
    info = TLSCertificateInfo(
      file: "", names: CertificateDetails.names(leaf), expiry: CertificateDetails.notAfter(leaf) ?? 0)
  }

  deinit {
    X509_free(leaf)
    for certificate in chain { X509_free(certificate) }
    EVP_PKEY_free(key)
  }

  /// The types of keys; a context can have one certificate of each.
  var keyType: Int32 { EVP_PKEY_get_base_id(key) }

  /// Adds it to `context`, beside those of other key types.
  func use(in context: OpaquePointer) throws(TransportError) {
    var isUsed = SSL_CTX_use_certificate(context, leaf) == 1 && SSL_CTX_use_PrivateKey(context, key) == 1
    for certificate in chain where isUsed { isUsed = copenssl_add_chain_certificate(context, certificate) == 1 }
    guard isUsed else {
      let reason = OpenSSLErrors.drain() ?? "refused"
      throw info.file.isEmpty
        ? .tls(reason: reason)
        : .certificateFile(path: info.file, reason: "\(reason); it must be ECDSA, Ed25519 or RSA of 2048 bits or more")
    }
  }

  /// The text of a PEM file.
  static func read(_ path: String) throws(TransportError) -> String {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw .certificateFile(path: path, reason: TransportError.words(errno)) }
    defer { Glibc.close(descriptor) }
    var bytes: [UInt8] = []
    while bytes.count <= fileLimit {
      var error: Int32 = 0
      let more = [UInt8](unsafeUninitializedCapacity: 64 << 10) { buffer, filled in
        let count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
        if count < 0 { error = errno }
        filled = max(0, count)
      }
      if error != 0 { throw .certificateFile(path: path, reason: TransportError.words(error)) }
      if more.isEmpty { return String(decoding: bytes, as: UTF8.self) }
      bytes += more
    }
    throw .certificateFile(path: path, reason: "it is larger than \(fileLimit) bytes; it must be a PEM file")
  }

  static func parseCertificates(_ text: String) -> [OpaquePointer] {
    defer { ERR_clear_error() }
    return withBIO(text) { bio in
      var certificates: [OpaquePointer] = []
      while let certificate = PEM_read_bio_X509(bio, nil, noPassphrase, nil) { certificates.append(certificate) }
      return certificates
    } ?? []
  }

  private static func parseKey(_ text: String, path: String) throws(TransportError) -> OpaquePointer {
    ERR_clear_error()
    if let key = withBIO(text, { PEM_read_bio_PrivateKey($0, nil, noPassphrase, nil) }) { return key }
    let reason = OpenSSLErrors.drain() ?? "unreadable"
    if text.contains("ENCRYPTED") {
      throw .certificateFile(
        path: path,
        reason: "the key has a passphrase, which a start cannot ask for; remove it with "
          + "\"openssl pkey -in \(path) -out NEW\" and let only this service read NEW")
    }
    guard text.contains("PRIVATE KEY-----") else {
      let hint =
        text.contains("BEGIN CERTIFICATE-----") ? "; it looks like a certificate: are the two files swapped?" : ""
      throw .certificateFile(path: path, reason: "it holds no PEM private key (-----BEGIN PRIVATE KEY-----)\(hint)")
    }
    throw .certificateFile(path: path, reason: "its PEM private key cannot be read (\(reason))")
  }

  /// Gives no passphrase; OpenSSL's own callback would ask on the terminal.
  private static let noPassphrase:
    @convention(c) (UnsafeMutablePointer<CChar>?, Int32, Int32, UnsafeMutableRawPointer?)
      -> Int32 = { _, _, _, _ in -1 }

  private static func withBIO<Result>(_ text: String, _ body: (OpaquePointer) -> Result?) -> Result? {
    text.withCString { start in
      guard let bio = BIO_new_mem_buf(start, -1) else { return nil }
      defer { BIO_free(bio) }
      return body(bio)
    }
  }
}
