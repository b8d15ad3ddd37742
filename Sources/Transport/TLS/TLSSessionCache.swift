import COpenSSL
import Glibc
import Synchronization

/// A session of OpenSSL's that is held.
struct TLSSessionReference: @unchecked Sendable {
  // `@unchecked`: an `SSL_SESSION` counts its references atomically, and no code changes a session after it was passed
  // on.
  let pointer: OpaquePointer
}

/// What a client may resume, by peer: a reconnect then takes no signatures and no certificates. Newest first; a session
/// of TLS 1.3 is taken out with its use (RFC 8446 appendix C.4), one of TLS 1.2 is not.
final class TLSSessionCache: Sendable {
  /// Sessions of all peers together; the oldest makes room.
  static let limit = 64
  /// Sessions of one peer.
  static let limitPerPeer = 4
  /// The longest a session is used, whatever the server allows, s: the peer's certificate is looked at again after
  /// that.
  static let ageLimit = 86_400

  private struct Entry {
    let peer: String
    let session: TLSSessionReference
  }
  private let entries = Mutex<[Entry]>([])

  deinit { for entry in entries.withLock({ $0 }) { SSL_SESSION_free(entry.session.pointer) } }

  var count: Int { entries.withLock { $0.count } }

  /// Keeps `session`, whose reference it takes over.
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

  /// Forgets what there is of `peer`.
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

  /// A resumed handshake shows no certificate, so its dates are looked at here.
  private static func isUsable(_ session: TLSSessionReference, _ now: Int) -> Bool {
    guard SSL_SESSION_is_resumable(session.pointer) == 1 else { return false }
    let age = now - SSL_SESSION_get_time(session.pointer)
    guard age >= 0, age < min(SSL_SESSION_get_timeout(session.pointer), ageLimit) else { return false }
    guard let certificate = SSL_SESSION_get0_peer(session.pointer) else { return true }
    return CertificateDetails.notAfter(certificate).map { $0 > now } ?? false
  }
}
