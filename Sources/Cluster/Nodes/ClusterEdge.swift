import Bytes
import NATS
import Transport

/// One venue of an edge, on a node's link. Owned by the link's loop.
package final class ClusterEdge: ClusterPart {
  package private(set) var venue: EdgeVenue
  /// A frame for the clients of a stream; its bytes are valid during the call.
  package var onFrame: (EdgeFrame) -> Void = { _ in }
  /// The venue's dot has changed its colour. Its age is in `indicator`.
  package var onIndicator: (VenueIndicator) -> Void = { _ in }
  /// What the dot shows, as of the last 50 ms.
  package private(set) var indicator = VenueIndicator.reconnecting(.noIngest)

  private let beacon: NATSSubject
  private let digest: NATSSubject
  private let sync: NATSSubject
  private weak var node: ClusterNode?
  private var index = 0
  /// The subscriptions of the slots.
  private var subscriptions: [Int: UInt64] = [:]

  private static let beaconTag = 0
  private static let digestTag = 1
  private static let firstSlotTag = 2

  /// - Throws: if the names make no subject, because they are too long.
  package init(venue: String, edge: String, subjects: ClusterSubjects, now: Int64) throws(NATSSubjectError) {
    self.venue = EdgeVenue(
      venue: venue, edge: edge, now: now, random: UInt64(SystemRandom.uint32()) << 32 | UInt64(SystemRandom.uint32()))
    beacon = try subjects.beacon(venue)
    digest = try subjects.digest(venue)
    sync = try subjects.sync(venue)
  }

  package func begin(_ node: ClusterNode, index: Int) {
    self.node = node
    self.index = index
    _ = node.link.subscribe(NATSSubjectPattern(beacon), tag: node.tag(Self.beaconTag, of: index))
    _ = node.link.subscribe(NATSSubjectPattern(digest), tag: node.tag(Self.digestTag, of: index))
  }

  /// The first client wants a stream: its slot. Nil if there are too many streams, or its name is too long.
  package func want(_ key: ClusterKey) -> Int? {
    guard let node, let subject = try? node.subjects.frames(key), let slot = venue.want(key) else { return nil }
    guard subscriptions[slot] == nil else { return slot }
    // The request follows the subscription on the same connection, so no frame falls between them.
    guard
      let number = node.link.subscribe(NATSSubjectPattern(subject), tag: node.tag(Self.firstSlotTag + slot, of: index))
    else {
      venue.unwant(slot)
      return nil
    }
    subscriptions[slot] = number
    return slot
  }

  /// The last client has left a stream.
  package func unwant(_ slot: Int) {
    venue.unwant(slot)
    if let number = subscriptions.removeValue(forKey: slot) { node?.link.unsubscribe(number) }
  }

  package func linkConnected(_ node: ClusterNode) {
    venue.linkRestored(now: node.now)
    step(node)
  }

  package func receive(_ message: NATSMessage, tag: Int, _ node: ClusterNode) {
    let gaps = venue.gaps
    switch tag {
    case Self.beaconTag:
      guard let heard = node.read(message, { bytes throws(ClusterWireError) in try Beacon(bytes) }) else { return }
      venue.heard(heard, now: node.now)
      step(node)
    case Self.digestTag:
      guard let heard = node.read(message, { bytes throws(ClusterWireError) in try Digest(bytes) }) else { return }
      venue.heard(heard, now: node.now)
    default: venue.receive(message.payload, slot: tag - Self.firstSlotTag, deliver: onFrame)
    }
    // The edge asks for missing frames at once.
    if venue.gaps != gaps { step(node) }
  }

  package func step(_ node: ClusterNode) {
    for case .request(let id, let request) in venue.step(now: node.now) {
      var out = ByteBuffer()
      request.append(to: &out)
      node.link.request(sync, payload: out.takeBytes(), timeout: .microseconds(EdgeVenue.requestTime)) { [weak self] in
        self?.answered(id, $0)
      }
    }
    let next = venue.follower.indicator(now: node.now, confirmed: node.link.lastConfirmed)
    let isChange = !next.hasSameColour(as: indicator)
    indicator = next
    if isChange { onIndicator(next) }
  }

  private func answered(_ id: UInt64, _ answer: Result<NATSMessage, NATSRequestFailure>) {
    guard let node else { return }
    var reply: SyncReply?
    if case .success(let message) = answer {
      reply = node.read(message) { bytes throws(ClusterWireError) in try SyncReply(bytes) }
    }
    venue.answered(id, reply, now: node.now, deliver: onFrame)
    step(node)
  }
}

extension VenueIndicator {
  /// Whether only the age differs.
  func hasSameColour(as other: VenueIndicator) -> Bool {
    switch (self, other) {
    case (.connected, .connected), (.stale, .stale): true
    case (.reconnecting(let a), .reconnecting(let b)): a == b
    default: false
    }
  }
}
