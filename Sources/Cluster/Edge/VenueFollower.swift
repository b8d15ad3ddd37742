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
  /// When the present epoch was first heard of.
  private var followed: Int64 = 0
  /// The least difference between arrival and sending: of the fastest beacon, which sets what no delay is.
  private var leastOffset: Int64 = 0
  /// How much longer the last beacon took than the fastest one.
  private var delay: Int64 = 0
  /// The last digest: when it was sent, and when it arrived.
  private var digest: (sent: UInt64, arrived: Int64)?

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
      delay = offset - leastOffset
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
    followed = now
    leastOffset = now - Int64(next.sent)
    delay = 0
    digest = nil
  }

  /// A digest of the followed epoch arrived. Returns true if so many were lost before it that streams may have changed
  /// which no digest named: all positions are to be checked.
  package mutating func heard(_ next: Digest, now: Int64) -> Bool {
    guard next.run == run, next.sent > digest?.sent ?? 0 else { return false }
    let last = digest?.sent ?? next.sent
    digest = (next.sent, now)
    return next.sent - last > UInt64(IngestVenue.digestTime)
  }

  /// - Parameter confirmed: when the edge's own connection was last confirmed (`NATSLink.lastConfirmed`); nil without
  ///   one.
  package func indicator(now: Int64, confirmed: Int64?) -> VenueIndicator {
    guard let confirmed, now - confirmed <= Self.freshness else { return .reconnecting(.noLink) }
    guard let beacon, now - arrived + delay <= Self.silence else { return .reconnecting(.noIngest) }
    // Without digests, frames may be missing that nothing else shows.
    guard now - (digest?.arrived ?? followed) + delay <= Self.silence else { return .reconnecting(.noIngest) }
    guard beacon.feed == .live || beacon.feed == .stale else { return .reconnecting(.feed) }
    let age = Int64(beacon.age) + delay + now - arrived
    return beacon.feed == .live && age <= Self.freshness ? .connected(age: age) : .stale(age: age)
  }
}
