import COpenSSL

/// SHA-256 and functions based on it, by OpenSSL.
package enum Digest {
  /// Bytes of a SHA-256 digest.
  package static let count = 32

  /// SHA-256 (FIPS 180-4) of `bytes`.
  package static func sha256(_ bytes: [UInt8]) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      var length: UInt32 = 0
      guard EVP_Digest(bytes, bytes.count, buffer.baseAddress, &length, EVP_sha256(), nil) == 1 else {
        preconditionFailure("OpenSSL has no SHA-256")
      }
      filled = Int(length)
    }
  }

  /// HMAC-SHA-256 (RFC 2104) of `message`.
  package static func hmacSHA256(key: [UInt8], message: [UInt8]) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      var length: UInt32 = 0
      guard
        HMAC(EVP_sha256(), key, Int32(key.count), message, message.count, buffer.baseAddress, &length) != nil
      else { preconditionFailure("OpenSSL has no SHA-256") }
      filled = Int(length)
    }
  }

  /// Whether two byte strings are equal, in a time that depends only on their lengths. Strings of different lengths are
  /// not equal.
  package static func equalInConstantTime(_ a: [UInt8], _ b: [UInt8]) -> Bool {
    a.count == b.count && CRYPTO_memcmp(a, b, a.count) == 0
  }
}
