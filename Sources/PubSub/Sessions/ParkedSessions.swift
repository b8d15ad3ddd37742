import DequeModule
import MarketData

/// Sessions of clients that have left and may return, and the streams that run for them.
///
/// Bounded by `limit`; beyond it, the oldest session is dropped. All times are the hub's steady time.
struct ParkedSessions {
  struct Session {
    var subject: String?
    var isPaused: Bool
    /// The event streams whose missed messages the session may request.
    var streams: [UInt32]
    var expires: Timestamp
  }

  /// How long a session can be resumed after the end of its connection, µs.
  static let time = 120 * Microseconds.second
  /// How long streams are kept for a client that has taken its session and is about to join them, µs.
  static let handOverTime = 10 * Microseconds.second

  let limit: Int
  private var sessions: [SessionToken: Session] = [:]
  /// In order of expiry; a token that is not in `sessions` was resumed.
  private var order: Deque<(token: SessionToken, expires: Timestamp)> = []
  private var handedOver: Deque<(streams: [UInt32], expires: Timestamp)> = []

  init(limit: Int) { self.limit = limit }

  var count: Int { sessions.count }

  /// In order of expiry. O(sessions).
  var all: [(token: SessionToken, session: Session)] {
    order.compactMap { entry in sessions[entry.token].map { (entry.token, $0) } }
  }

  /// Stores a session; returns the streams of one that was dropped for it. Amortised O(1).
  mutating func park(_ token: SessionToken, _ session: Session) -> [UInt32] {
    sessions[token] = session
    order.append((token, session.expires))
    guard sessions.count > limit else { return [] }
    while let (token, _) = order.popFirst() {
      if let old = sessions.removeValue(forKey: token) { return old.streams }
    }
    return []
  }

  /// Removes a session; its streams are kept for the time of a hand-over.
  mutating func take(_ token: SessionToken, subject: String?, now: Timestamp) -> Session? {
    guard let session = sessions[token], session.subject == subject, session.expires > now else { return nil }
    sessions[token] = nil
    keep(session.streams, now: now)
    return session
  }

  /// Keeps streams for the time of a hand-over.
  mutating func keep(_ streams: [UInt32], now: Timestamp) {
    if !streams.isEmpty { handedOver.append((streams, now + Self.handOverTime)) }
  }

  /// Removes expired entries. Returns the streams that were kept for them, one entry for each time. O(expired).
  mutating func expire(at now: Timestamp) -> [UInt32] {
    var streams: [UInt32] = []
    while let first = order.first, first.expires <= now {
      order.removeFirst()
      if let old = sessions.removeValue(forKey: first.token) { streams += old.streams }
    }
    while let first = handedOver.first, first.expires <= now {
      handedOver.removeFirst()
      streams += first.streams
    }
    return streams
  }
}
