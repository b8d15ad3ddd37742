import Bytes
import NATS
import TestSupport
import Testing

@testable import Cluster

@Suite("Messages between nodes")
struct ClusterWireTests {
  private static let beacon = Beacon(
    term: ClusterTerm(number: 7, node: "in0"), role: .active, node: "in0", run: 99, link: 3, feed: .live, age: 12_000,
    sent: 5_000_000, revision: 4)
  private static let key = ClusterKey(venue: "kraken", tokens: ["BTC-USD", "book", "d25", "100"])

  private func bytes(_ body: (inout ByteBuffer) -> Void) -> [UInt8] {
    var out = ByteBuffer()
    body(&out)
    return out.takeBytes()
  }

  private func read<Value>(
    _ bytes: [UInt8], _ body: (UnsafeRawBufferPointer) throws(ClusterWireError) -> Value
  ) -> Result<Value, ClusterWireError> {
    // A copy of its own size, so that a read past it is found.
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
    defer { copy.deallocate() }
    copy.copyBytes(from: bytes)
    do throws(ClusterWireError) { return .success(try body(UnsafeRawBufferPointer(copy))) } catch {
      return .failure(error)
    }
  }

  private func beacon(_ bytes: [UInt8]) -> Result<Beacon, ClusterWireError> {
    read(bytes) { bytes throws(ClusterWireError) in try Beacon(bytes) }
  }

  @Test("each message is read as it was written")
  func roundTrips() {
    #expect(beacon(bytes { Self.beacon.append(to: &$0) }) == .success(Self.beacon))
    let digest = Digest(
      run: 9, sent: 5, age: 7, items: [.init(stream: 1, sequence: 2), .init(stream: 3, sequence: .max)])
    #expect(
      read(bytes { digest.append(to: &$0) }) { bytes throws(ClusterWireError) in try Digest(bytes) } == .success(digest)
    )
    let request = SyncRequest(
      edge: "e1", items: [SyncItem(key: Self.key, run: 1, sequence: 2, mark: 3), SyncItem(key: Self.key)],
      left: [Self.key])
    #expect(
      read(bytes { request.append(to: &$0) }) { bytes throws(ClusterWireError) in try SyncRequest(bytes) }
        == .success(request))
    let frame = SyncAnswer.Frame(sequence: 5, previous: 4, mark: 6, bytes: [1, 2, 3])
    let reply = SyncReply(
      run: 4,
      answers: [
        SyncAnswer(key: Self.key, kind: .frames, stream: 8, sequence: 5, mark: 6, frames: [frame, frame]),
        SyncAnswer(key: Self.key, kind: .later),
      ])
    #expect(
      read(bytes { reply.append(to: &$0) }) { bytes throws(ClusterWireError) in try SyncReply(bytes) }
        == .success(reply))
  }

  @Test("frames of one message are read in order; a snapshot follows nothing")
  func frames() {
    let first = ClusterFrameHead(run: 1, stream: 2, sequence: 9, previous: 7, mark: 3)
    let second = ClusterFrameHead(run: 1, stream: 2, sequence: 10, previous: 0, mark: 0, isSnapshot: true)
    let message = bytes { out in
      first.append(count: 2, to: &out)
      out.append([7, 8])
      second.append(count: 0, to: &out)
    }
    #expect(message.count == 2 * ClusterFrameHead.size + 2)
    let found = read(message) { bytes throws(ClusterWireError) in
      var frames = ClusterFrames(bytes)
      var found: [(ClusterFrameHead, [UInt8])] = []
      while let (head, bytes) = try frames.next() { found.append((head, Array(bytes))) }
      return found
    }
    guard case .success(let frames) = found else {
      Issue.record("not readable")
      return
    }
    #expect(frames.map(\.0) == [first, second] && frames.map(\.1) == [[7, 8], []])
  }

  @Test("a cut message, one that goes on, and one of another version are refused")
  func damage() {
    let whole = bytes { Self.beacon.append(to: &$0) }
    for count in 0..<whole.count { #expect(beacon(Array(whole.prefix(count))) == .failure(.length)) }
    #expect(beacon(whole + [0]) == .failure(.length))
    #expect(beacon([2] + whole.dropFirst()) == .failure(.version(2)))
    #expect(beacon([1, 9] + whole.dropFirst(2)) == .failure(.value))
  }

  @Test("an active beacon claims its own term, and has an epoch")
  func forgedBeacons() {
    var forged = Self.beacon
    forged.term = ClusterTerm(number: 8, node: "other")
    #expect(beacon(bytes { forged.append(to: &$0) }) == .failure(.value))
    forged = Self.beacon
    forged.run = 0
    #expect(beacon(bytes { forged.append(to: &$0) }) == .failure(.value))
    forged.role = .warm
    #expect(beacon(bytes { forged.append(to: &$0) }) == .success(forged))
    forged.age = .max
    #expect(beacon(bytes { forged.append(to: &$0) }) == .failure(.value))
  }

  @Test("a count that is larger than the message is refused before anything is stored")
  func counts() {
    let digest: [UInt8] = [1, 9, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0, 0]
    #expect(read(digest) { bytes throws(ClusterWireError) in try Digest(bytes) } == .failure(.limit))
  }

  @Test("a key is the tail of its subject, whatever its tokens contain")
  func keys() throws {
    let subjects = ClusterSubjects(cluster: "main")
    for tokens in [["BTC-USD", "book"], ["a.b", "*", ">", "", " x"], ["ü", "=", "@1", "kPEPE"]] {
      let key = ClusterKey(venue: "hyperliquid", tokens: tokens)
      #expect(ClusterKey(tail: key.tail) == key)
      let subject = try subjects.frames(key)
      #expect(subject.bytes.withUnsafeBytes { subjects.key($0) } == key)
    }
    #expect(try subjects.frames(Self.key).description == "tg.main.f.kraken.BTC-USD.book.d25.100")
    #expect(try subjects.beacon("a.b").description == "tg.main.b.a=2Eb")
    for bad in ["kraken", "", "kraken..x", "kraken.=2e", "kraken.=FF"] { #expect(ClusterKey(tail: bad.utf8) == nil) }
    #expect(Array("tg.other.f.a.b".utf8).withUnsafeBytes { subjects.key($0) } == nil)
  }
}
