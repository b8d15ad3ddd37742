import Bytes
import NATS
import Transport

/// One venue of an ingest, on a node's link. Owned by the link's loop.
package final class ClusterIngest<Streams: ClusterStreams>: ClusterPart {
  /// The publisher.
  package var streams: Streams
  package private(set) var venue: IngestVenue
  /// The state of the feed; asked for every 50 ms.
  package var feed: () -> IngestFeedReport = { IngestFeedReport(feed: .connecting, age: 0, isReady: false) }
  /// An epoch begins, or has ended (nil).
  package var onEpoch: (UInt32?) -> Void = { _ in }

  private let beacon: NATSSubject
  private let digest: NATSSubject
  private let sync: NATSSubject
  private weak var node: ClusterNode?
  private var index = 0
  private var requests: UInt64?
  /// The subjects of open streams.
  private var subjects: [UInt32: NATSSubject] = [:]
  private var scratch = ByteBuffer(capacity: 4_096)
  /// Answers that were not sent: larger than the server's `max_payload`, or without a connection.
  package private(set) var unsentAnswers = 0

  private enum Tag: Int { case beacon, sync }

  /// - Throws: if the names make no subject, because they are too long.
  package init(
    venue: String, node name: String, subjects: ClusterSubjects, streams: Streams, now: Int64
  ) throws(NATSSubjectError) {
    self.streams = streams
    self.venue = IngestVenue(
      venue: venue, node: name, now: now, random: UInt64(SystemRandom.uint32()) << 32 | UInt64(SystemRandom.uint32()))
    beacon = try subjects.beacon(venue)
    digest = try subjects.digest(venue)
    sync = try subjects.sync(venue)
  }

  package func begin(_ node: ClusterNode, index: Int) {
    self.node = node
    self.index = index
    _ = node.link.subscribe(NATSSubjectPattern(beacon), tag: node.tag(Tag.beacon.rawValue, of: index))
  }

  package func linkConnected(_ node: ClusterNode) {
    // Frames published since the last connection are lost.
    venue.linkBroke()
    step(node)
  }

  package func step(_ node: ClusterNode) {
    perform(
      venue.step(
        now: node.now, feed: feed(), isLinked: node.isLinked, random: SystemRandom.uint32(), streams: &streams), node)
  }

  /// Asks the partner to take over: before a restart.
  package func drain() {
    venue.drain()
    if let node { step(node) }
  }

  package func receive(_ message: NATSMessage, tag: Int, _ node: ClusterNode) {
    switch Tag(rawValue: tag) {
    case .beacon:
      guard let heard = node.read(message, { bytes throws(ClusterWireError) in try Beacon(bytes) }) else { return }
      let wasDraining = heard.role == .draining
      perform(venue.heard(heard, now: node.now, streams: &streams), node)
      // A planned hand-over need not wait for the next step.
      if wasDraining { step(node) }
    case .sync: answer(message, node)
    case nil: break
    }
  }

  private func answer(_ message: NATSMessage, _ node: ClusterNode) {
    guard let request = node.read(message, { bytes throws(ClusterWireError) in try SyncRequest(bytes) }),
      let reply = try? NATSSubject(Array(message.reply)),
      let answered = venue.answer(request, now: node.now, streams: &streams)
    else { return }
    if subjects.count >= IngestVenue.streamLimit { subjects = subjects.filter { venue.isOpen($0.key) } }
    for answer in answered.answers where answer.stream != 0 && subjects[answer.stream] == nil {
      subjects[answer.stream] = try? node.subjects.frames(answer.key)
    }
    scratch.removeAll()
    answered.append(to: &scratch)
    if !node.link.publish(reply, scratch.unsafeBytes) { unsentAnswers += 1 }
  }

  /// The publisher made a frame. It goes out at the end of the turn, if an edge wants it.
  package func publish(
    stream: UInt32, sequence: UInt64, previous: UInt64, mark: UInt64, isSnapshot: Bool, _ frame: UnsafeRawBufferPointer
  ) {
    guard let node, let subject = subjects[stream] else { return }
    let head = venue.head(
      stream: stream, sequence: sequence, previous: previous, mark: mark, isSnapshot: isSnapshot, now: node.now)
    guard let head else { return }
    scratch.removeAll()
    head.append(count: frame.count, to: &scratch)
    node.link.publish(subject, scratch.unsafeBytes, frame)
  }

  private func perform(_ actions: [IngestAction], _ node: ClusterNode) {
    for action in actions {
      scratch.removeAll()
      switch action {
      case .beacon(let made):
        made.append(to: &scratch)
        node.link.publish(beacon, scratch.unsafeBytes)
      case .digest(let made):
        made.append(to: &scratch)
        node.link.publish(digest, scratch.unsafeBytes)
      case .activated(let run):
        requests = node.link.subscribe(NATSSubjectPattern(sync), tag: node.tag(Tag.sync.rawValue, of: index))
        onEpoch(run)
      case .deactivated:
        if let requests { node.link.unsubscribe(requests) }
        requests = nil
        subjects.removeAll()
        onEpoch(nil)
      }
    }
  }
}
