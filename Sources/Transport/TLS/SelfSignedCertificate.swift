import COpenSSL
import Glibc

/// A certificate for simulators and tests: P-256, its own root.
package struct SelfSignedCertificate: Sendable {
  package let certificatePEM: String
  package let keyPEM: String

  /// - Parameters:
  ///   - hosts: the DNS names and numeric addresses for which it is valid.
  ///   - validFor: seconds from now; negative for an expired certificate.
  /// - Throws: `.tls` if a host is neither a name nor an address, or if OpenSSL fails.
  package init(hosts: [String], validFor: Int = 86_400) throws(TransportError) {
    guard let key = copenssl_make_p256_key(), let certificate = X509_new() else {
      throw .tls(reason: OpenSSLErrors.drain() ?? "no key could be made")
    }
    defer {
      EVP_PKEY_free(key)
      X509_free(certificate)
    }
    for host in hosts where host.isEmpty || !host.utf8.allSatisfy(Self.isHostByte) {
      throw .tls(reason: "\"\(host)\" is neither a host name nor an address")
    }
    let alternatives = hosts.map { KernelAddress(host: $0, port: 0) == nil ? "DNS:\($0)" : "IP:\($0)" }
    var serial = Int64(bitPattern: UInt64(SystemRandom.uint32()) << 31 | UInt64(SystemRandom.uint32())) & Int64.max
    serial = max(serial, 1)
    // Valid from an hour ago, for slow clocks; an expired one from before its end.
    let start = min(-3600, validFor - 3600)
    let name = X509_get_subject_name(certificate)
    let isMade =
      X509_set_version(certificate, 2) == 1  // v3 is written 2 (RFC 5280 §4.1.2.1).
      && ASN1_INTEGER_set_int64(X509_get_serialNumber(certificate), serial) == 1
      && X509_gmtime_adj(X509_getm_notBefore(certificate), start) != nil
      && X509_gmtime_adj(X509_getm_notAfter(certificate), validFor) != nil
      && X509_set_pubkey(certificate, key) == 1
      && X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, hosts.first ?? "localhost", -1, -1, 0) == 1
      && X509_set_issuer_name(certificate, name) == 1
      && Self.add(NID_basic_constraints, "critical,CA:TRUE", to: certificate)
      && Self.add(NID_key_usage, "critical,digitalSignature,keyCertSign", to: certificate)
      && Self.add(NID_subject_key_identifier, "hash", to: certificate)
      && (hosts.isEmpty || Self.add(NID_subject_alt_name, alternatives.joined(separator: ","), to: certificate))
      && X509_sign(certificate, key, EVP_sha256()) > 0
    guard isMade else { throw .tls(reason: OpenSSLErrors.drain() ?? "no certificate could be made") }
    certificatePEM = Self.text { PEM_write_bio_X509($0, certificate) == 1 }
    keyPEM = Self.text { PEM_write_bio_PrivateKey($0, key, nil, nil, 0, nil, nil) == 1 }
  }

  /// The certificate and key as OpenSSL's objects, which the caller frees.
  func parsed() -> (certificate: OpaquePointer?, key: OpaquePointer?) {
    let certificate = Self.withBIO(certificatePEM) { PEM_read_bio_X509($0, nil, nil, nil) }
    let key = Self.withBIO(keyPEM) { PEM_read_bio_PrivateKey($0, nil, nil, nil) }
    return (certificate, key)
  }

  /// Letters, digits and the other characters of names and addresses; no characters with a meaning in the text of an
  /// extension.
  private static func isHostByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"),
      UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: ":"), UInt8(ascii: "*"):
      true
    default: false
    }
  }

  private static func add(_ kind: Int32, _ value: String, to certificate: OpaquePointer) -> Bool {
    var context = X509V3_CTX()
    X509V3_set_ctx(&context, certificate, certificate, nil, nil, 0)
    guard let made = X509V3_EXT_conf_nid(nil, &context, kind, value) else { return false }
    defer { X509_EXTENSION_free(made) }
    return X509_add_ext(certificate, made, -1) == 1
  }

  private static func text(_ write: (OpaquePointer) -> Bool) -> String {
    guard let bio = BIO_new(BIO_s_mem()) else { return "" }
    defer { BIO_free(bio) }
    guard write(bio) else { return "" }
    var bytes: UnsafeMutablePointer<CChar>?
    let count = copenssl_memory_bytes(bio, &bytes)
    return String(decoding: UnsafeRawBufferPointer(start: bytes, count: count), as: UTF8.self)
  }

  private static func withBIO<Result>(_ text: String, _ body: (OpaquePointer) -> Result?) -> Result? {
    text.withCString { start in
      guard let bio = BIO_new_mem_buf(start, -1) else { return nil }
      defer { BIO_free(bio) }
      return body(bio)
    }
  }
}
