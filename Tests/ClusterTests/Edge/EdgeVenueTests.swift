import Bytes
import Testing

@testable import Cluster

/// An edge that follows one ingest, and what its clients got.
private struct Edge {
  var venue = EdgeVenue(venue: "kraken", edge: "e", now: 0, random: 5)
  var said: [String] = []
  var now: Int64 = 0

  init() { beacon(run: 5) }

  mutating func beacon(run: UInt32, term: UInt64 = 1, link: UInt16 = 0) {
    now += 1
    venue.heard(
      Beacon(
        term: ClusterTerm(number: term, node: "a"), role: .active, node: "a", run: run, link: link, feed: .live, age: 0,
        sent: UInt64(now)), now: now)
  }

  mutating func want(_ name: String) -> Int { venue.want(Self.key(name)) ?? -1 }
  static func key(_ name: String) -> ClusterKey { ClusterKey(venue: "kraken", tokens: [name]) }

  mutating func requests() -> [(id: UInt64, SyncRequest)] {
    venue.step(now: now).map { action in
      switch action {
      case .request(let id, let request): (id, request)
      }
    }
  }

  mutating func frame(
    _ slot: Int, _ sequence: UInt64, after previous: UInt64, run: UInt32 = 5, isSnapshot: Bool = false
  ) {
    var out = ByteBuffer()
    ClusterFrameHead(run: run, stream: 1, sequence: sequence, previous: previous, isSnapshot: isSnapshot)
      .append(count: 1, to: &out)
    out.append(UInt8(ascii: "x"))
    let bytes = out.takeBytes()
    var got: [String] = []
    bytes.withUnsafeBytes { venue.receive($0, slot: slot) { got.append(Self.text($0)) } }
    said += got
  }

  mutating func answer(_ id: UInt64, _ answers: [SyncAnswer]?, run: UInt32 = 5) {
    var got: [String] = []
    venue.answered(id, answers.map { SyncReply(run: run, answers: $0) }, now: now) { got.append(Self.text($0)) }
    said += got
  }

  static func snapshot(_ name: String, _ sequence: UInt64) -> SyncAnswer {
    SyncAnswer(
      key: key(name), kind: .snapshot, stream: 1, sequence: sequence,
      frames: [SyncAnswer.Frame(sequence: sequence, previous: 0, bytes: [1])])
  }

  private static func text(_ frame: EdgeFrame) -> String {
    switch frame.kind {
    case .update: "u\(frame.sequence)"
    case .snapshot(let reason): "\(reason) \(frame.sequence)"
    case .continued: "c\(frame.sequence)"
    }
  }

  /// A stream with its first snapshot, at 10.
  static func live() -> (Edge, slot: Int) {
    var edge = Edge()
    let slot = edge.want("a")
    guard let (id, _) = edge.requests().first else { return (edge, slot) }
    edge.answer(id, [snapshot("a", 10)])
    return (edge, slot)
  }
}

@Suite("A venue at an edge")
struct EdgeVenueTests {
  @Test("frames wait for the snapshot; those that it contains are dropped, the others follow it")
  func joining() {
    var edge = Edge()
    let slot = edge.want("a")
    let requests = edge.requests()
    #expect(requests.count == 1 && requests[0].1.items == [SyncItem(key: Edge.key("a"))])
    // The same stream for another client is no second request.
    #expect(edge.want("a") == slot && edge.requests().isEmpty)
    for sequence in 9...12 as ClosedRange<UInt64> { edge.frame(slot, sequence, after: sequence - 1) }
    #expect(edge.said == [] && !edge.venue.isLive(slot))
    edge.answer(requests[0].id, [Edge.snapshot("a", 10)])
    #expect(edge.said == ["subscribe 10", "u11", "u12"])
    #expect(edge.venue.isLive(slot))
  }

  @Test("a gap is mended from the ring without a notice, or by a snapshot")
  func gaps() {
    for isMended in [true, false] {
      var (edge, slot) = Edge.live()
      edge.frame(slot, 11, after: 10)
      edge.frame(slot, 14, after: 13)
      edge.frame(slot, 15, after: 14)
      let requests = edge.requests()
      #expect(!edge.venue.isLive(slot) && requests.first?.1.items.first?.sequence == 11)
      let frames = (12...14 as ClosedRange<UInt64>).map { SyncAnswer.Frame(sequence: $0, previous: $0 - 1, bytes: [1]) }
      edge.answer(
        requests[0].id,
        [
          isMended
            ? SyncAnswer(key: Edge.key("a"), kind: .frames, stream: 1, sequence: 14, frames: frames)
            : Edge.snapshot("a", 14)
        ])
      #expect(
        edge.said.dropFirst() == (isMended ? ["u11", "u12", "u13", "u14", "u15"] : ["u11", "resync 14", "u15"]))
      #expect(edge.venue.isLive(slot) && edge.venue.gaps == 1)
    }
  }

  @Test("repeated frames, and frames of an ingest that is not followed, are dropped")
  func repeats() {
    var (edge, slot) = Edge.live()
    edge.frame(slot, 11, after: 10)
    edge.frame(slot, 11, after: 10)
    edge.frame(slot, 10, after: 9)
    edge.frame(slot, 12, after: 11, run: 4)
    edge.frame(slot, 12, after: 11)
    #expect(edge.said.dropFirst() == ["u11", "u12"] && edge.venue.gaps == 0)
  }

  @Test("a snapshot in the stream takes the place of what is missing before it")
  func snapshotFrames() {
    var (edge, slot) = Edge.live()
    edge.frame(slot, 20, after: 0, isSnapshot: true)
    edge.frame(slot, 21, after: 20)
    #expect(edge.said.dropFirst() == ["resync 20", "u21"] && edge.venue.gaps == 0)
  }

  @Test("another epoch: old frames and old answers are dropped, and clients go on by mark or get a snapshot")
  func epochs() {
    var (edge, slot) = Edge.live()
    edge.frame(slot, 12, after: 11)
    let old = edge.requests()
    edge.beacon(run: 6, term: 2)
    edge.frame(slot, 3, after: 2, run: 6)
    edge.answer(old[0].id, [Edge.snapshot("a", 99)])
    #expect(edge.said == ["subscribe 10"] && !edge.venue.isLive(slot))
    let requests = edge.requests()
    #expect(requests.count == 1)
    let frame = SyncAnswer.Frame(sequence: 2, previous: 2, mark: 8, bytes: [1])
    edge.answer(
      requests[0].id,
      [SyncAnswer(key: Edge.key("a"), kind: .continued, stream: 1, sequence: 2, mark: 8, frames: [frame])],
      run: 6)
    #expect(edge.said == ["subscribe 10", "c2", "u3"] && edge.venue.isLive(slot))
  }

  @Test(
    "a digest with a higher position, and another link of the ingest, make an edge ask; a stream is not live until then"
  )
  func checks() {
    var (edge, slot) = Edge.live()
    edge.venue.heard(Digest(run: 5, sent: 1, age: 0, items: [.init(stream: 1, sequence: 10)]), now: 2)
    #expect(edge.venue.isLive(slot) && edge.requests().isEmpty)
    edge.venue.heard(Digest(run: 5, sent: 2, age: 0, items: [.init(stream: 1, sequence: 11)]), now: 3)
    #expect(!edge.venue.isLive(slot))
    edge.answer(edge.requests()[0].id, [Edge.snapshot("a", 11)])
    #expect(edge.venue.isLive(slot))
    edge.beacon(run: 5, link: 1)
    #expect(!edge.venue.isLive(slot))
    // Frames that follow are passed on meanwhile.
    edge.frame(slot, 12, after: 11)
    edge.answer(edge.requests()[0].id, [SyncAnswer(key: Edge.key("a"), kind: .current, stream: 1, sequence: 11)])
    #expect(edge.said == ["subscribe 10", "resync 11", "u12"] && edge.venue.isLive(slot))
  }

  @Test("a stream that the ingest closed and opened anew begins with a snapshot, and not with questions for ever")
  func reopened() {
    var (edge, slot) = Edge.live()
    edge.beacon(run: 5, link: 1)
    var answer = SyncAnswer(key: Edge.key("a"), kind: .current, stream: 2, sequence: 10)
    edge.answer(edge.requests()[0].id, [answer])
    #expect(!edge.venue.isLive(slot))
    edge.now += EdgeVenue.retryTime
    let again = edge.requests()[0]
    #expect(again.1.items == [SyncItem(key: Edge.key("a"))])
    answer = Edge.snapshot("a", 10)
    answer.stream = 2
    edge.answer(again.id, [answer])
    #expect(edge.said == ["subscribe 10", "resync 10"] && edge.venue.isLive(slot))
  }

  @Test("a request without an answer is repeated after a while, and a stream that does not exist is asked for rarely")
  func failures() {
    var edge = Edge()
    let slot = edge.want("a")
    edge.answer(edge.requests()[0].id, nil)
    #expect(edge.requests().isEmpty)
    edge.now += 2 * EdgeVenue.retryTime
    let again = edge.requests()
    #expect(again.count == 1)
    edge.now += EdgeVenue.requestTime
    #expect(edge.requests().isEmpty)
    edge.now += 2 * EdgeVenue.retryTime
    let third = edge.requests()
    edge.answer(third[0].id, [SyncAnswer(key: Edge.key("a"), kind: .unknown)])
    #expect(!edge.venue.isLive(slot) && edge.requests().isEmpty)
    var asked = 0
    for _ in 0..<200 {
      edge.now += 50_000
      for (id, _) in edge.requests() {
        asked += 1
        edge.answer(id, [SyncAnswer(key: Edge.key("a"), kind: .unknown)])
      }
    }
    #expect((1...2).contains(asked))
  }

  @Test("what arrives for a stream that nobody wants any more is dropped, and the ingest hears of it")
  func leaving() {
    var (edge, slot) = Edge.live()
    edge.venue.unwant(slot)
    edge.frame(slot, 11, after: 10)
    #expect(edge.requests().first?.1.left == [Edge.key("a")])
    let other = edge.want("b")
    #expect(other == slot && edge.said == ["subscribe 10"] && !edge.venue.isLive(other))
  }

  @Test("requests are bounded, and held frames are; what is dropped is found missing")
  func bounds() {
    var edge = Edge()
    let slots = (0..<3_000).map { edge.want("s\($0)") }
    let requests = edge.requests()
    #expect(requests.count == EdgeVenue.requestLimit && requests.allSatisfy { $0.1.items.count == SyncRequest.limit })
    for sequence in 1...1_000 as ClosedRange<UInt64> { edge.frame(slots[0], sequence, after: sequence - 1) }
    let held = UInt64(EdgeStream.heldFrames)
    edge.answer(requests[0].id, [SyncAnswer(key: Edge.key("s0"), kind: .pending, stream: 1)])
    #expect(edge.said.last == "u\(held)" && edge.said.count == Int(held))
    edge.frame(slots[0], 1_001, after: 1_000)
    #expect(!edge.venue.isLive(slots[0]))
  }

  @Test("a stream that the ingest has opened again under another number begins anew, with a snapshot")
  func openedAgain() {
    var (edge, slot) = Edge.live()
    var out = ByteBuffer()
    ClusterFrameHead(run: 5, stream: 9, sequence: 3, previous: 2).append(count: 0, to: &out)
    let bytes = out.takeBytes()
    bytes.withUnsafeBytes { edge.venue.receive($0, slot: slot) { _ in } }
    #expect(!edge.venue.isLive(slot))
    var snapshot = Edge.snapshot("a", 2)
    snapshot.stream = 9
    edge.answer(edge.requests()[0].id, [snapshot])
    #expect(edge.said == ["subscribe 10", "resync 2", "u3"] && edge.venue.isLive(slot))
  }

  @Test("an unreadable message is counted, and what was in it is found missing")
  func unreadable() {
    var (edge, slot) = Edge.live()
    [9, 9, 9 as UInt8].withUnsafeBytes { edge.venue.receive($0, slot: slot) { _ in } }
    #expect(edge.venue.unreadable == 1)
    edge.frame(slot, 12, after: 11)
    #expect(!edge.venue.isLive(slot))
  }
}
