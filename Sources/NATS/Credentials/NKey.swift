import COpenSSL

/// A user's Ed25519 key (an *nkey*), which signs the nonce of a server. Its description holds the public part only.
package final class NKey: @unchecked Sendable, CustomStringConvertible {
  // `@unchecked`: constant after `init`; OpenSSL counts an `EVP_PKEY`'s references atomically, and signing only reads
  // it.

  /// The reason why a text is not a user's seed. It holds nothing of the text.
  package enum Problem: Error, Sendable, Equatable, CustomStringConvertible {
    case notBase32
    case checksum
    /// The seed of an account, an operator, a server…
    case notAUser
    case refused

    package var description: String {
      switch self {
      case .notBase32: "it is not a seed: a seed is 58 letters and digits and begins with SU"
      case .checksum: "its checksum is wrong: a character is missing or mistyped"
      case .notAUser: "it is not the seed of a user, which begins with SU"
      case .refused: "OpenSSL refuses it"
      }
    }
  }

  /// `U…`, which the server has in its configuration.
  package let publicKey: String
  private let key: OpaquePointer

  /// The five bits that mark a seed and a user, at the top of a byte (nkeys, `strkey.go`).
  private static let seedPrefix: UInt8 = 18 << 3
  private static let userPrefix: UInt8 = 20 << 3

  /// - Parameter seed: `SU…`, 58 characters: 13 prefix bits, 32 bytes and a CRC-16 in Base32.
  package init(seed: some Collection<UInt8>) throws(Problem) {
    guard seed.count == 58, var raw = Base32.decode(seed) else { throw .notBase32 }
    defer { raw.withUnsafeMutableBytes { OPENSSL_cleanse($0.baseAddress, $0.count) } }
    guard CRC16.checksum(raw[..<34]) == UInt16(raw[34]) | UInt16(raw[35]) << 8 else { throw .checksum }
    guard raw[0] & 0xF8 == Self.seedPrefix, (raw[0] & 7) << 5 | raw[1] >> 3 == Self.userPrefix, raw[1] & 7 == 0 else {
      throw .notAUser
    }
    guard
      let key = raw[2..<34].withUnsafeBufferPointer({
        EVP_PKEY_new_raw_private_key(NID_ED25519, nil, $0.baseAddress, $0.count)
      })
    else {
      ERR_clear_error()
      throw .refused
    }
    var count = 32
    let part = [UInt8](unsafeUninitializedCapacity: 32) { buffer, filled in
      filled = EVP_PKEY_get_raw_public_key(key, buffer.baseAddress, &count) == 1 ? count : 0
    }
    guard part.count == 32 else {
      EVP_PKEY_free(key)
      ERR_clear_error()
      throw .refused
    }
    let named = [Self.userPrefix] + part
    let checksum = CRC16.checksum(named)
    publicKey = Base32.encode(named + [UInt8(truncatingIfNeeded: checksum), UInt8(checksum >> 8)])
    self.key = key
  }

  deinit { EVP_PKEY_free(key) }

  package var description: String { publicKey }

  /// The Ed25519 signature of `message` (RFC 8032), 64 bytes; nil if OpenSSL fails. About 40 µs.
  package func sign(_ message: [UInt8]) -> [UInt8]? {
    guard let context = EVP_MD_CTX_new() else { return nil }
    defer {
      EVP_MD_CTX_free(context)
      ERR_clear_error()
    }
    guard EVP_DigestSignInit(context, nil, nil, nil, key) == 1 else { return nil }
    var count = 64
    let signature = [UInt8](unsafeUninitializedCapacity: 64) { buffer, filled in
      filled = EVP_DigestSign(context, buffer.baseAddress, &count, message, message.count) == 1 ? count : 0
    }
    return signature.count == 64 ? signature : nil
  }
}
