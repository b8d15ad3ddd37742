import Bytes
import Cluster

extension FuzzTarget {
  /// Messages between the nodes of a cluster: what is read is written and read again as it was, and no message stops an
  /// edge or an ingest. The first byte picks the kind.
  static let cluster = FuzzTarget("cluster", words: ["kraken.a", "\u{1}", "\u{1}\u{0}\u{0}\u{0}"]) {
    (bytes) throws(FuzzFailure) in
    guard let kind = bytes.first else { return }
    let message = UnsafeRawBufferPointer(rebasing: bytes[1...])
    switch kind % 5 {
    case 0: try beacon(message)
    case 1: try digest(message)
    case 2: try request(message)
    case 3: try reply(message)
    default: try frames(message)
    }
  }

  private static func written(_ body: (inout ByteBuffer) -> Void) -> [UInt8] {
    var out = ByteBuffer()
    body(&out)
    return out.takeBytes()
  }

  private static func beacon(_ message: UnsafeRawBufferPointer) throws(FuzzFailure) {
    guard let beacon = try? Beacon(message) else { return }
    try requireSame(written { beacon.append(to: &$0) }, Array(message), "a beacon is written differently")
    var edge = EdgeVenue(venue: "kraken", edge: "e", now: 0, random: 1)
    edge.heard(beacon, now: 1)
    edge.heard(beacon, now: 5_000_000)
    _ = edge.follower.indicator(now: 5_000_000, confirmed: 5_000_000)
    var claim = VenueClaim(node: "z", now: 0, random: 1)
    _ = claim.heard(beacon, now: 1)
    try require(!claim.step(now: 2, isReady: true, isLinked: true) || beacon.role == .draining, "an early claim")
  }

  private static func digest(_ message: UnsafeRawBufferPointer) throws(FuzzFailure) {
    guard let digest = try? Digest(message) else { return }
    try requireSame(written { digest.append(to: &$0) }, Array(message), "a digest is written differently")
    var edge = live(run: digest.run)
    edge.heard(digest, now: 3)
    try require(edge.step(now: 4).count <= EdgeVenue.requestLimit, "too many requests")
  }

  /// An edge that follows an epoch and wants two streams.
  private static func live(run: UInt32) -> EdgeVenue {
    var edge = EdgeVenue(venue: "kraken", edge: "e", now: 0, random: 1)
    for name in ["a", "b"] { _ = edge.want(ClusterKey(venue: "kraken", tokens: [name])) }
    edge.heard(
      Beacon(
        term: ClusterTerm(number: 1, node: "a"), role: .active, node: "a", run: run, link: 0, feed: .live, age: 0,
        sent: 1), now: 1)
    return edge
  }

  private struct NoStreams: ClusterStreams {
    mutating func open(_ key: ClusterKey) -> UInt32? { UInt32(key.tokens.count) }
    mutating func close(_ stream: UInt32) {}
    func sequence(_ stream: UInt32) -> UInt64? { 7 }
    func frames(_ stream: UInt32, after sequence: UInt64) -> [SyncAnswer.Frame]? { nil }
    func snapshot(_ stream: UInt32) -> SyncAnswer.Frame? { SyncAnswer.Frame(sequence: 7, previous: 0, bytes: [1]) }
    func events(_ stream: UInt32, after mark: UInt64) -> ClusterEvents { .unknown }
  }

  private static func request(_ message: UnsafeRawBufferPointer) throws(FuzzFailure) {
    guard let request = try? SyncRequest(message) else { return }
    try requireSame(written { request.append(to: &$0) }, Array(message), "a request is written differently")
    var ingest = IngestVenue(venue: "kraken", node: "a", now: 0, random: 0)
    var streams = NoStreams()
    for now in stride(from: Int64(0), through: 1_300_000, by: 100_000) {
      _ = ingest.step(
        now: now, feed: IngestFeedReport(feed: .live, age: 0, isReady: true), isLinked: true, random: 9,
        streams: &streams)
    }
    let reply = ingest.answer(request, now: 1_300_000, streams: &streams)
    try require(reply?.answers.count == request.items.count, "an item has no answer")
  }

  private static func reply(_ message: UnsafeRawBufferPointer) throws(FuzzFailure) {
    guard let reply = try? SyncReply(message) else { return }
    try requireSame(written { reply.append(to: &$0) }, Array(message), "a reply is written differently")
    var edge = live(run: reply.run)
    for case .request(let id, _) in edge.step(now: 2) {
      var last: [Int: (run: UInt32, sequence: UInt64)] = [:]
      var isInOrder = true
      edge.answered(id, reply, now: 3) { frame in
        if let before = last[frame.slot], before.run == frame.run, before.sequence >= frame.sequence {
          isInOrder = false
        }
        last[frame.slot] = (frame.run, frame.sequence)
      }
      try require(isInOrder, "a sequence went back")
    }
  }

  private static func frames(_ message: UnsafeRawBufferPointer) throws(FuzzFailure) {
    var reader = ClusterFrames(message)
    var again = ByteBuffer()
    do throws(ClusterWireError) {
      while let (head, bytes) = try reader.next() {
        head.append(count: bytes.count, to: &again)
        again.append(bytes)
      }
    } catch {
      // The frames before it were whole.
      return try require(again.count <= message.count, "more frames than bytes")
    }
    try requireSame(again.count, message.count, "frames are written differently")
  }
}
