import COpenSSL
import Glibc
import Synchronization

/// The keys that session tickets are sealed with (RFC 5077 §4), the same on all loops and over reloads of certificates.
///
/// A key seals tickets for one period and opens them for another, so a ticket works for at least a period. Stolen keys
/// of a running process decrypt at most the last two periods (RFC 9325 §7.3 requires regular rotation). The keys never
/// leave the process.
final class TLSTicketKeys: Sendable {
  /// One key: a name, which the ticket has, an AES-256 key and a key for HMAC-SHA-256.
  final class Key: @unchecked Sendable {
    // `@unchecked`: the bytes are written in `init` only.
    private let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: 80, alignment: 16)

    init() { SystemRandom.fill(bytes) }

    deinit {
      OPENSSL_cleanse(bytes.baseAddress, bytes.count)
      bytes.deallocate()
    }

    var name: UnsafeMutableRawBufferPointer { .init(rebasing: bytes[0..<16]) }
    var cipherKey: UnsafeMutablePointer<UInt8> { bytes.baseAddress!.assumingMemoryBound(to: UInt8.self) + 16 }
    var macKey: UnsafeMutableRawPointer { bytes.baseAddress! + 48 }
  }

  private struct Keys {
    var current = Key()
    var previous: Key?
    var madeAt: UInt64
  }

  private let keys: Mutex<Keys>
  private let period: UInt64
  private let uptime: @Sendable () -> UInt64

  /// - Parameters:
  ///   - period: how long a key is used, s.
  ///   - uptime: monotonic nanoseconds.
  init(period: Int, uptime: @escaping @Sendable () -> UInt64) {
    self.period = UInt64(period) * 1_000_000_000
    self.uptime = uptime
    keys = Mutex(Keys(madeAt: uptime()))
  }

  /// Makes all present tickets invalid.
  func discardAll() {
    let now = uptime()
    keys.withLock { $0 = Keys(madeAt: now) }
  }

  /// The key to seal with.
  func current() -> Key {
    let now = uptime()
    return keys.withLock { keys in
      rotate(&keys, now)
      return keys.current
    }
  }

  /// The key of that name, and whether it still seals tickets; nil if it was dropped.
  func key(named name: UnsafeRawBufferPointer) -> (key: Key, isCurrent: Bool)? {
    let now = uptime()
    return keys.withLock { keys in
      rotate(&keys, now)
      if name.elementsEqual(keys.current.name) { return (keys.current, true) }
      if let previous = keys.previous, name.elementsEqual(previous.name) { return (previous, false) }
      return nil
    }
  }

  private func rotate(_ keys: inout Keys, _ now: UInt64) {
    let age = now &- keys.madeAt
    guard age >= period else { return }
    // After two periods without a handshake, the last key is as old as the previous one would be.
    keys.previous = age < 2 * period ? keys.current : nil
    keys.current = Key()
    keys.madeAt = now
  }

  /// OpenSSL requests a key (SSL_CTX_set_tlsext_ticket_key_evp_cb(3)). Returns 1 if the key exists, 2 if the ticket
  /// should be replaced, 0 if there is no key, −1 for a failure.
  func seal(
    _ session: OpaquePointer?, name: UnsafeMutablePointer<UInt8>, vector: UnsafeMutablePointer<UInt8>,
    cipher: OpaquePointer?, mac: OpaquePointer?, isSealing: Bool
  ) -> Int32 {
    let nameBytes = UnsafeMutableRawBufferPointer(start: name, count: 16)
    let key: Key
    var answer: Int32 = 1
    if isSealing {
      key = current()
      nameBytes.copyMemory(from: UnsafeRawBufferPointer(key.name))
      SystemRandom.fill(UnsafeMutableRawBufferPointer(start: vector, count: 16))
      guard EVP_EncryptInit_ex(cipher, EVP_aes_256_cbc(), nil, key.cipherKey, vector) == 1 else { return -1 }
    } else {
      guard let found = self.key(named: UnsafeRawBufferPointer(nameBytes)) else { return 0 }
      key = found.key
      // Tickets of TLS 1.3 are for one use (RFC 8446 appendix C.4), so each is replaced.
      if !found.isCurrent || SSL_version(session) == TLS1_3_VERSION { answer = 2 }
      guard EVP_DecryptInit_ex(cipher, EVP_aes_256_cbc(), nil, key.cipherKey, vector) == 1 else { return -1 }
    }
    return Self.setKey(key, of: mac) ? answer : -1
  }

  private static func setKey(_ key: Key, of mac: OpaquePointer?) -> Bool {
    OSSL_MAC_PARAM_KEY.withCString { keyName in
      OSSL_MAC_PARAM_DIGEST.withCString { digestName in
        "SHA256".withCString { digest in
          var parameters = [
            OSSL_PARAM_construct_octet_string(keyName, key.macKey, 32),
            OSSL_PARAM_construct_utf8_string(digestName, UnsafeMutablePointer(mutating: digest), 0),
            OSSL_PARAM_construct_end(),
          ]
          return EVP_MAC_CTX_set_params(mac, &parameters) == 1
        }
      }
    }
  }
}
