import Bytes

/// What an ingest knows of its venue's feed.
package struct IngestFeedReport: Sendable, Equatable {
  package var feed: Beacon.Feed
  /// Since the venue's last message, µs.
  package var age: UInt64
  /// Whether the node could publish now: live, with books in sync.
  package var isReady: Bool

  package init(feed: Beacon.Feed, age: UInt64, isReady: Bool) {
    self.feed = feed
    self.age = age
    self.isReady = isReady
  }
}

/// What the owner of an ingest must do.
package enum IngestAction: Sendable, Equatable {
  /// Publish it on the venue's subject of beacons.
  case beacon(Beacon)
  /// Publish it on the venue's subject of digests.
  case digest(Digest)
  /// This node publishes now: begin a new epoch with this number, and subscribe to the venue's sync requests.
  case activated(run: UInt32)
  /// Another node publishes: end the epoch and the subscription.
  case deactivated
}

/// One venue at an ingest: claims, beacons, the interest of edges, digests, and answers to them. Sans-IO; `now` is a
/// monotonic time in µs. The streams themselves are the publisher's (`ClusterStreams`).
package struct IngestVenue {
  /// Between two beacons and two digests, µs.
  package static let beaconInterval: Int64 = 200_000
  package static let digestInterval: Int64 = 500_000
  /// A stream is in digests for so long after its last frame: in three of them, µs.
  package static let digestTime: Int64 = 1_600_000
  /// An edge that has not asked for a stream for so long does not want it, µs.
  package static let interestTime: Int64 = 30_000_000
  /// How long after its claim an ingest waits for events that clients have already, µs. Until then their streams are
  /// not live; a snapshot would take back trades that they have seen.
  package static let catchUpTime: Int64 = 30_000_000
  /// The most streams, and the most edges of a stream.
  package static let streamLimit = Digest.limit
  package static let edgeLimit = 256

  private struct Stream {
    let key: ClusterKey
    var sequence: UInt64
    var changed: Int64
    /// When each edge last asked.
    var edges: [String: Int64] = [:]
  }

  package let venue: String
  package let node: String
  package private(set) var claim: VenueClaim
  /// The epoch; 0 while not active.
  package private(set) var run: UInt32 = 0
  /// `NATSLink.number`, as far as edges are concerned.
  package private(set) var link: UInt16 = 0
  private var streams: [UInt32: Stream] = [:]
  private var numbers: [ClusterKey: UInt32] = [:]
  /// When the present epoch began.
  private var began: Int64 = 0
  private var nextBeacon: Int64
  private var nextDigest: Int64
  private var nextExpiry: Int64
  private var drains = false

  package init(venue: String, node: String, now: Int64, random: UInt64) {
    self.venue = venue
    self.node = node
    claim = VenueClaim(node: node, now: now, random: random)
    nextBeacon = now
    nextDigest = now + Self.digestInterval
    nextExpiry = now + Self.interestTime
  }

  package var isActive: Bool { claim.isActive }

  /// Frames of this node may have been lost: its connection broke, or its queue was dropped.
  package mutating func linkBroke() {
    link &+= 1
    nextBeacon = .min
  }

  /// The node shuts down: its partner should take over now.
  package mutating func drain() {
    drains = true
    nextBeacon = .min
  }

  /// Whether an edge wants a stream.
  package func isOpen(_ stream: UInt32) -> Bool { streams[stream] != nil }

  // MARK: Messages

  /// A beacon of another ingest of the venue.
  package mutating func heard(
    _ beacon: Beacon, now: Int64, streams publisher: inout some ClusterStreams
  )
    -> [IngestAction]
  {
    guard claim.heard(beacon, now: now) else { return [] }
    return end(&publisher)
  }

  private mutating func end(_ publisher: inout some ClusterStreams) -> [IngestAction] {
    for stream in streams.keys.sorted() { publisher.close(stream) }
    streams.removeAll()
    numbers.removeAll()
    run = 0
    nextBeacon = .min
    return [.deactivated]
  }

  /// The answer to an edge; nil while this node is not active.
  package mutating func answer(
    _ request: SyncRequest, now: Int64, streams publisher: inout some ClusterStreams
  ) -> SyncReply? {
    guard isActive, run != 0 else { return nil }
    for key in request.left {
      guard let stream = numbers[key] else { continue }
      streams[stream]?.edges[request.edge] = nil
      if streams[stream]?.edges.isEmpty == true { close(stream, &publisher) }
    }
    var reply = SyncReply(run: run, answers: [])
    var size = 0
    for item in request.items {
      // An answer of its own is always sent, however large.
      guard size < SyncReply.byteLimit else {
        reply.answers.append(SyncAnswer(key: item.key, kind: .later))
        continue
      }
      let answer = answer(item, of: request.edge, now, &publisher)
      guard size == 0 || size + answer.size <= SyncReply.byteLimit else {
        reply.answers.append(SyncAnswer(key: item.key, kind: .later))
        continue
      }
      size += answer.size
      reply.answers.append(answer)
    }
    return reply
  }

  private mutating func answer(
    _ item: SyncItem, of edge: String, _ now: Int64, _ publisher: inout some ClusterStreams
  ) -> SyncAnswer {
    var answer = SyncAnswer(key: item.key, kind: .unknown)
    guard item.key.venue == venue, let number = publisher.open(item.key) else { return answer }
    if streams[number] == nil {
      guard streams.count < Self.streamLimit else {
        publisher.close(number)
        return answer
      }
      streams[number] = Stream(key: item.key, sequence: publisher.sequence(number) ?? 0, changed: now)
      numbers[item.key] = number
    }
    if streams[number]?.edges[edge] != nil || streams[number].map({ $0.edges.count < Self.edgeLimit }) == true {
      streams[number]?.edges[edge] = now
    }
    answer.stream = number
    answer.mark = item.mark
    guard let sequence = publisher.sequence(number) else {
      answer.kind = .pending
      return answer
    }
    answer.sequence = sequence
    if item.run == run {
      if item.sequence == sequence {
        answer.kind = .current
        return answer
      }
      if item.sequence < sequence, let frames = publisher.frames(number, after: item.sequence), !frames.isEmpty,
        frames.count <= SyncReply.frameLimit, frames.reduce(0, { $0 + $1.bytes.count }) < SyncReply.byteLimit
      {
        answer.kind = .frames
        answer.frames = frames
        return answer
      }
    } else if item.run != 0, item.mark > 0 {
      switch publisher.events(number, after: item.mark) {
      case .unknown: break
      // It reads the venue a little later than the last ingest did.
      case .behind where now - began < Self.catchUpTime:
        answer.kind = .behind
        return answer
      case .behind: break
      case .update(let events):
        answer.kind = .continued
        answer.mark = max(item.mark, events.mark)
        if !events.bytes.isEmpty { answer.frames = [events] }
        return answer
      }
    }
    guard let snapshot = publisher.snapshot(number) else {
      answer.kind = .pending
      return answer
    }
    answer.kind = .snapshot
    answer.mark = snapshot.mark
    answer.frames = [snapshot]
    return answer
  }

  /// The publisher made a frame: the head to publish it with; nil if no edge wants it. O(1), no allocation.
  package mutating func head(
    stream: UInt32, sequence: UInt64, previous: UInt64, mark: UInt64, isSnapshot: Bool, now: Int64
  ) -> ClusterFrameHead? {
    guard run != 0, let index = streams.index(forKey: stream) else { return nil }
    streams.values[index].sequence = sequence
    streams.values[index].changed = now
    return ClusterFrameHead(
      run: run, stream: stream, sequence: sequence, previous: previous, mark: mark, isSnapshot: isSnapshot)
  }

  // MARK: Time

  /// Call it at least every 50 ms.
  /// - Parameters:
  ///   - isLinked: the connection to NATS is good (`NATSLink.lastConfirmed`).
  ///   - random: the number of the epoch, if one begins.
  package mutating func step(
    now: Int64, feed: IngestFeedReport, isLinked: Bool, random: UInt32, streams publisher: inout some ClusterStreams
  ) -> [IngestAction] {
    var actions: [IngestAction] = []
    if claim.step(now: now, isReady: feed.isReady && !drains, isLinked: isLinked) {
      run = max(1, random)
      began = now
      nextBeacon = .min
      actions.append(.activated(run: run))
    }
    if now >= nextBeacon {
      actions.append(.beacon(beacon(now, feed)))
      nextBeacon = now + Self.beaconInterval
    }
    if now >= nextDigest {
      nextDigest = now + Self.digestInterval
      if run != 0 { actions.append(.digest(digest(now, feed))) }
    }
    if now >= nextExpiry {
      nextExpiry = now + Self.interestTime / 6
      expire(now, &publisher)
    }
    return actions
  }

  private func beacon(_ now: Int64, _ feed: IngestFeedReport) -> Beacon {
    var term = claim.highest
    var role = feed.isReady && !drains ? Beacon.Role.warm : .notReady
    if case .active(let mine) = claim.state {
      term = mine
      role = drains ? .draining : .active
    }
    return Beacon(
      term: term, role: role, node: node, run: run, link: link, feed: feed.feed, age: feed.age,
      sent: UInt64(max(0, now)))
  }

  /// Sent also if it is empty: an edge whose digests do not arrive cannot know what else does not.
  private func digest(_ now: Int64, _ feed: IngestFeedReport) -> Digest {
    let changed = streams.compactMap { stream, state in
      now - state.changed <= Self.digestTime && state.sequence > 0
        ? Digest.Item(stream: stream, sequence: state.sequence) : nil
    }
    return Digest(run: run, sent: UInt64(max(0, now)), age: feed.age, items: changed)
  }

  /// Closes the streams that no edge has asked for lately.
  private mutating func expire(_ now: Int64, _ publisher: inout some ClusterStreams) {
    for (number, stream) in streams {
      let edges = stream.edges.filter { now - $0.value < Self.interestTime }
      if edges.isEmpty { close(number, &publisher) } else { streams[number]?.edges = edges }
    }
  }

  private mutating func close(_ stream: UInt32, _ publisher: inout some ClusterStreams) {
    if let key = streams.removeValue(forKey: stream)?.key { numbers[key] = nil }
    publisher.close(stream)
  }
}
