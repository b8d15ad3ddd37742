import COpenSSL
import Glibc
import Synchronization

/// A retained session of OpenSSL.
struct TLSSessionReference: @unchecked Sendable {
  // `@unchecked`: an `SSL_SESSION` counts its references atomically, and no code changes a session after it was passed
  // on.
  let pointer: OpaquePointer
}

/// The sessions that a client can resume, by peer. A reconnection then needs no signatures and no certificates. Newest
/// first. A session of TLS 1.3 is removed with its use (RFC 8446 appendix C.4), one of TLS 1.2 is not.
final class TLSSessionCache: Sendable {
  /// The most sessions of all peers; beyond it, the oldest is dropped.
  static let limit = 64
  /// The most sessions of one peer.
  static let limitPerPeer = 4
  /// The longest use of a session, s, even if the server allows more. After that, the peer's certificate is checked
  /// again.
  static let ageLimit = 86_400

  private struct Entry {
    let peer: String
    let session: TLSSessionReference
  }
  private let entries = Mutex<[Entry]>([])

  deinit { for entry in entries.withLock({ $0 }) { SSL_SESSION_free(entry.session.pointer) } }

  var count: Int { entries.withLock { $0.count } }

  /// Stores `session`, and takes over the reference.
  func insert(_ session: TLSSessionReference, for peer: String) {
    let dropped: [TLSSessionReference] = entries.withLock { entries in
      var dropped: [TLSSessionReference] = []
      entries.append(Entry(peer: peer, session: session))
      if entries.count(where: { $0.peer == peer }) > Self.limitPerPeer,
        let oldest = entries.firstIndex(where: { $0.peer == peer })
      {
        dropped.append(entries.remove(at: oldest).session)
      }
      if entries.count > Self.limit { dropped.append(entries.removeFirst().session) }
      return dropped
    }
    for session in dropped { SSL_SESSION_free(session.pointer) }
  }

  /// A session to resume with `peer` at `now` (Unix s); the caller frees its reference. O(sessions).
  func take(for peer: String, now: Int) -> TLSSessionReference? {
    while true {
      let found: TLSSessionReference? = entries.withLock { entries in
        guard let index = entries.lastIndex(where: { $0.peer == peer }) else { return nil }
        let session = entries[index].session
        if SSL_SESSION_get_protocol_version(session.pointer) == TLS1_3_VERSION || !Self.isUsable(session, now) {
          entries.remove(at: index)
        } else {
          SSL_SESSION_up_ref(session.pointer)
        }
        return session
      }
      guard let found else { return nil }
      if Self.isUsable(found, now) { return found }
      SSL_SESSION_free(found.pointer)
    }
  }

  /// Drops the sessions of `peer`.
  func removeAll(of peer: String) {
    let dropped: [Entry] = entries.withLock { entries in
      let dropped = entries.filter { $0.peer == peer }
      entries.removeAll { $0.peer == peer }
      return dropped
    }
    for entry in dropped { SSL_SESSION_free(entry.session.pointer) }
  }

  /// Forgets everything.
  func removeAll() {
    let dropped = entries.withLock { entries in
      let dropped = entries
      entries = []
      return dropped
    }
    for entry in dropped { SSL_SESSION_free(entry.session.pointer) }
  }

  /// A resumed handshake has no certificate, so its dates are checked here.
  private static func isUsable(_ session: TLSSessionReference, _ now: Int) -> Bool {
    guard SSL_SESSION_is_resumable(session.pointer) == 1 else { return false }
    let age = now - SSL_SESSION_get_time(session.pointer)
    guard age >= 0, age < min(SSL_SESSION_get_timeout(session.pointer), ageLimit) else { return false }
    guard let certificate = SSL_SESSION_get0_peer(session.pointer) else { return true }
    return CertificateDetails.notAfter(certificate).map { $0 > now } ?? false
  }
}
