/// What a dot shows of a venue at an edge.
package enum VenueIndicator: Sendable, Equatable {
  package enum Reason: Sendable, Equatable {
    /// No active ingest has been heard for `VenueFollower.silence`: `no ingest`.
    case noIngest
    /// The edge's own connection to NATS is not confirmed.
    case noLink
    /// The ingest has no connection to the venue.
    case feed
  }

  /// Live, with the age of the newest data, µs.
  case connected(age: Int64)
  /// The feed is live, and what the edge knows of it is older than `VenueFollower.freshness`.
  case stale(age: Int64)
  case reconnecting(Reason)

  package var isConnected: Bool { if case .connected = self { true } else { false } }
}

/// Whom an edge follows of a venue's ingests, and how old what it knows is. Sans-IO; `now` is a monotonic time in µs.
package struct VenueFollower: Sendable {
  /// What a beacon changed.
  package enum Change: Sendable, Equatable {
    case nothing
    /// Another epoch is followed: all positions are of an old one.
    case run
    /// The ingest may have lost frames: all positions are to be checked.
    case link
  }

  /// Without a beacon, before the venue counts as lost, µs.
  package static let silence: Int64 = 1_500_000
  /// How long a term counts after its last beacon, µs. Only then is a lower one followed.
  package static let memory: Int64 = 3_000_000
  /// The oldest data under a green dot, µs.
  package static let freshness: Int64 = 2_000_000
  /// How far two clocks drift apart at most, as a part: 200 ppm.
  private static let driftParts: Int64 = 5_000

  /// The epoch that is followed; nil before the first beacon. (Swift 6.3.1 crashes when it optimizes a comparison with
  /// `beacon?.run` in another type.)
  package private(set) var run: UInt32?
  private var beacon: Beacon?
  private var arrived: Int64 = 0
  /// The least difference between arrival and sending: of the fastest beacon, which sets what no delay is.
  private var leastOffset: Int64 = 0
  /// When the last digest was sent, or, before the first one of an epoch, the epoch's first beacon: the ingest's time.
  private var digested: UInt64 = 0
  /// Until this time every message of the venue has arrived or is known to be missing: the last digest less its age.
  private var whole: Int64 = 0

  package init() {}

  /// The node that is followed.
  package var node: String? { beacon?.node }
  package var term: ClusterTerm? { beacon?.term }

  package mutating func heard(_ next: Beacon, now: Int64) -> Change {
    guard next.isActive else { return .nothing }
    guard let last = beacon else {
      follow(next, now)
      return .run
    }
    let offset = now - Int64(next.sent)
    if next.run == last.run, next.term == last.term {
      // A repeated or late beacon says less than the last one.
      guard next.sent > last.sent else { return .nothing }
      leastOffset = min(leastOffset + (now - arrived) / Self.driftParts, offset)
      beacon = next
      arrived = now
      return next.link == last.link ? .nothing : .link
    }
    guard next.term > last.term || now - arrived > Self.memory else { return .nothing }
    follow(next, now)
    return .run
  }

  private mutating func follow(_ next: Beacon, _ now: Int64) {
    beacon = next
    run = next.run
    arrived = now
    leastOffset = now - Int64(next.sent)
    digested = next.sent
    whole = Int64(next.sent) - Int64(next.age)
  }

  /// How long ago the ingest sent something, as far as the fastest beacon shows: when it arrived says nothing, because
  /// it may have waited in a socket.
  private func elapsed(since sent: Int64, now: Int64) -> Int64 { now - sent - leastOffset }

  /// A digest of the followed epoch arrived. Returns true if so many were lost before it that streams may have changed
  /// which no digest named: all positions are to be checked.
  package mutating func heard(_ next: Digest) -> Bool {
    guard next.run == run, next.sent > digested else { return false }
    let last = digested
    digested = next.sent
    whole = Int64(next.sent) - Int64(next.age)
    return next.sent - last > UInt64(IngestVenue.digestTime)
  }

  /// - Parameter confirmed: when the edge's own connection was last confirmed (`NATSLink.lastConfirmed`); nil without
  ///   one.
  package func indicator(now: Int64, confirmed: Int64?) -> VenueIndicator {
    guard let confirmed, now - confirmed <= Self.freshness else { return .reconnecting(.noLink) }
    guard let beacon, elapsed(since: Int64(beacon.sent), now: now) <= Self.silence else {
      return .reconnecting(.noIngest)
    }
    // Without digests, frames may be missing that nothing else shows.
    guard elapsed(since: Int64(digested), now: now) <= Self.silence else { return .reconnecting(.noIngest) }
    guard beacon.feed == .live || beacon.feed == .stale else { return .reconnecting(.feed) }
    let age = Int64(beacon.age) + elapsed(since: Int64(beacon.sent), now: now)
    // After a feed that was late, data is old when it is published: if it is lost then, only the next digest tells.
    let isFresh = beacon.feed == .live && max(age, elapsed(since: whole, now: now)) <= Self.freshness
    return isFresh ? .connected(age: age) : .stale(age: age)
  }
}
