import COpenSSL

/// A public key for checking signatures: RSA of 2048 to 8192 bits, or ECDSA on P-256.
package final class SignatureKey: @unchecked Sendable {
  // `@unchecked`: constant after `init`; OpenSSL counts an `EVP_PKEY`'s references atomically, and checking only reads
  // it.

  package enum Kind: Sendable, Equatable { case rsa, p256 }

  /// The reason why a file has no usable key.
  package enum Problem: Error, Sendable, Equatable, CustomStringConvertible {
    case notPEM(reason: String)
    case unusable(String)

    package var description: String {
      switch self {
      case .notPEM(let reason): "it is not a public key or certificate in PEM (\(reason))"
      case .unusable(let what): "it holds \(what); use RSA of 2048 to 8192 bits or EC on P-256"
      }
    }
  }

  package let kind: Kind
  private let key: OpaquePointer
  /// SHA-256 of the key in its standard form (SubjectPublicKeyInfo), which identifies the key.
  package let fingerprint: [UInt8]

  /// Reads `-----BEGIN PUBLIC KEY-----`, or the key of a `-----BEGIN CERTIFICATE-----`, whose dates and issuer do not
  /// matter here. A private key is refused, because a machine that only checks must not have it.
  package init(pem: [UInt8]) throws(Problem) {
    // A BIO reads from the array's own memory (BIO_new_mem_buf(3)), which has to live as long as it does.
    let found = pem.withUnsafeBytes { bytes in Self.publicKey(in: bytes) ?? Self.certifiedKey(in: bytes) }
    guard let key = found else { throw .notPEM(reason: OpenSSLErrors.drain() ?? "unreadable") }
    ERR_clear_error()
    let bits = Int(EVP_PKEY_get_bits(key))
    let kind: Kind?
    let name: String
    switch EVP_PKEY_get_base_id(key) {
    case EVP_PKEY_RSA:
      // The minimum is from RFC 7518 section 3.3; the maximum keeps a check under a millisecond.
      kind = (2048...8192).contains(bits) ? .rsa : nil
      name = "an RSA key of \(bits) bits"
    case EVP_PKEY_EC:
      let curve = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 80) { text in
        text[0] = 0
        _ = EVP_PKEY_get_group_name(key, text.baseAddress, text.count, nil)
        return String(cString: text.baseAddress!)
      }
      kind = curve == "prime256v1" ? .p256 : nil
      name = "an EC key on \(curve)"
    default:
      kind = nil
      name = "a key of another kind"
    }
    guard let kind else {
      EVP_PKEY_free(key)
      throw .unusable(name)
    }
    var der: UnsafeMutablePointer<UInt8>?
    let length = i2d_PUBKEY(key, &der)
    fingerprint = Digest.sha256(Array(UnsafeBufferPointer(start: der, count: Int(max(0, length)))))
    copenssl_free(der)
    self.kind = kind
    self.key = key
  }

  deinit { EVP_PKEY_free(key) }

  private static func publicKey(in pem: UnsafeRawBufferPointer) -> OpaquePointer? {
    guard let bio = BIO_new_mem_buf(pem.baseAddress, Int32(clamping: pem.count)) else { return nil }
    defer { BIO_free(bio) }
    // A callback that gives no passphrase; the default one would ask on the terminal.
    return PEM_read_bio_PUBKEY(bio, nil, { _, _, _, _ in 0 }, nil)
  }

  private static func certifiedKey(in pem: UnsafeRawBufferPointer) -> OpaquePointer? {
    ERR_clear_error()
    guard let bio = BIO_new_mem_buf(pem.baseAddress, Int32(clamping: pem.count)) else { return nil }
    defer { BIO_free(bio) }
    guard let certificate = PEM_read_bio_X509(bio, nil, { _, _, _, _ in 0 }, nil) else { return nil }
    defer { X509_free(certificate) }
    return X509_get_pubkey(certificate)
  }

  /// Whether `signature` is one of `message` by this key's owner: RSASSA-PKCS1-v1_5 with SHA-256 (RFC 8017 section
  /// 8.2), or ECDSA with SHA-256 as 32 bytes of r and 32 of s (RFC 7518 section 3.4). About 30 and 90 µs.
  package func verifies(_ signature: [UInt8], of message: [UInt8]) -> Bool {
    switch kind {
    case .rsa: return check(signature, message)
    case .p256:
      guard signature.count == 64, let der = Self.der(signature) else { return false }
      return check(der, message)
    }
  }

  private func check(_ signature: [UInt8], _ message: [UInt8]) -> Bool {
    guard let context = EVP_MD_CTX_new() else { return false }
    defer {
      EVP_MD_CTX_free(context)
      ERR_clear_error()
    }
    return EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key) == 1
      && EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
  }

  /// The two numbers as a DER sequence, which OpenSSL reads.
  private static func der(_ raw: [UInt8]) -> [UInt8]? {
    guard let signature = ECDSA_SIG_new() else { return nil }
    defer { ECDSA_SIG_free(signature) }
    let (r, s) = raw.withUnsafeBufferPointer { bytes in
      (BN_bin2bn(bytes.baseAddress, 32, nil), BN_bin2bn(bytes.baseAddress! + 32, 32, nil))
    }
    guard let r, let s, ECDSA_SIG_set0(signature, r, s) == 1 else {
      BN_free(r)
      BN_free(s)
      return nil
    }
    var out: UnsafeMutablePointer<UInt8>?
    let length = i2d_ECDSA_SIG(signature, &out)
    defer { copenssl_free(out) }
    return length > 0 ? Array(UnsafeBufferPointer(start: out, count: Int(length))) : nil
  }
}
