import Testing

@testable import Cluster

@Suite("A venue at an ingest")
struct IngestVenueTests {
  private let feed = IngestFeedReport(feed: .live, age: 0, isReady: true)
  private let simulated = SimulatedVenue(keys: 4)

  private func active() -> (IngestVenue, SimulatedPublisher) {
    var ingest = IngestVenue(venue: "kraken", node: "a", now: 0, random: 0)
    var publisher = SimulatedPublisher(keys: simulated.keys, repeatsTrades: false)
    for now in stride(from: Int64(0), through: 1_000_000, by: 50_000) {
      _ = ingest.step(now: now, feed: feed, isLinked: true, random: 42, streams: &publisher)
    }
    #expect(ingest.run == 42)
    return (ingest, publisher)
  }

  private func kinds(_ reply: SyncReply?) -> [SyncAnswer.Kind]? { reply?.answers.map(\.kind) }

  @Test("a warm ingest answers nobody, and publishes nothing")
  func warm() {
    var ingest = IngestVenue(venue: "kraken", node: "a", now: 0, random: 0)
    var publisher = SimulatedPublisher(keys: simulated.keys, repeatsTrades: false)
    let reply = ingest.answer(
      SyncRequest(edge: "e", items: [SyncItem(key: simulated.keys[0])]), now: 0, streams: &publisher)
    let head = ingest.head(stream: 1, sequence: 2, previous: 1, mark: 0, isSnapshot: false, now: 0)
    #expect(reply == nil && head == nil)
  }

  @Test("an edge gets a snapshot, then what is missing, then nothing; of another epoch, events go on after its mark")
  func answers() {
    var (ingest, publisher) = active()
    let key = simulated.keys[0]
    func ask(_ item: SyncItem) -> SyncReply? {
      ingest.answer(SyncRequest(edge: "e", items: [item]), now: 1_000_000, streams: &publisher)
    }
    let first = ask(SyncItem(key: key))
    #expect(kinds(first) == [.snapshot])
    for number in 1...3 as ClosedRange<UInt64> { _ = publisher.take(0, number) }
    let item = SyncItem(key: key, run: 42, sequence: 1)
    let second = ask(item)
    #expect(second?.answers.first?.frames.map(\.sequence) == [2, 3, 4])
    #expect(kinds(ask(SyncItem(key: key, run: 42, sequence: 4))) == [.current])
    #expect(kinds(ask(SyncItem(key: key, run: 42, sequence: 99))) == [.snapshot])
    let continued = ask(SyncItem(key: key, run: 41, sequence: 500, mark: 2))?.answers.first
    #expect(continued?.kind == .continued && continued?.mark == 3 && continued?.frames.count == 1)
    #expect(ask(SyncItem(key: key, run: 41, sequence: 500, mark: 3))?.answers.first?.frames == [])
    #expect(kinds(ask(SyncItem(key: key, run: 41, sequence: 500, mark: 4))) == [.behind])
    #expect(kinds(ask(SyncItem(key: simulated.keys[1], run: 41, sequence: 500))) == [.snapshot])
    #expect(kinds(ask(SyncItem(key: ClusterKey(venue: "kraken", tokens: ["none"])))) == [.unknown])
    #expect(kinds(ask(SyncItem(key: ClusterKey(venue: "okx", tokens: ["K0", "trades"])))) == [.unknown])
  }

  @Test("a stream that no edge asks for is closed after 30 s, and at once when the last edge leaves it")
  func interest() {
    var (ingest, publisher) = active()
    let keys = simulated.keys
    _ = ingest.answer(
      SyncRequest(edge: "e", items: [SyncItem(key: keys[0]), SyncItem(key: keys[1])]), now: 1_000_000,
      streams: &publisher)
    _ = ingest.answer(SyncRequest(edge: "f", items: [SyncItem(key: keys[1])]), now: 1_000_000, streams: &publisher)
    _ = ingest.answer(SyncRequest(edge: "e", items: [], left: [keys[0], keys[1]]), now: 1_000_000, streams: &publisher)
    #expect(publisher.key(1) == nil && publisher.key(2) == 1)
    var closed: Int64?
    for now in stride(from: Int64(1_050_000), through: 40_000_000, by: 50_000) {
      _ = ingest.step(now: now, feed: feed, isLinked: true, random: 1, streams: &publisher)
      if publisher.key(2) == nil, closed == nil { closed = now }
    }
    #expect(closed.map { (31_000_000...36_100_000).contains($0) } == true, "\(closed ?? 0)")
  }

  @Test("an answer stays below the servers' limit; what does not fit is asked for again")
  func largeAnswers() throws {
    struct Large: ClusterStreams {
      mutating func open(_ key: ClusterKey) -> UInt32? { key.tokens.first.flatMap(UInt32.init) }
      mutating func close(_ stream: UInt32) {}
      func sequence(_ stream: UInt32) -> UInt64? { 1 }
      func frames(_ stream: UInt32, after sequence: UInt64) -> [SyncAnswer.Frame]? { nil }
      func snapshot(_ stream: UInt32) -> SyncAnswer.Frame? {
        SyncAnswer.Frame(sequence: 1, previous: 0, bytes: [UInt8](repeating: 0, count: 300_000))
      }
      func events(_ stream: UInt32, after mark: UInt64) -> ClusterEvents { .unknown }
    }
    var (ingest, _) = active()
    var large = Large()
    let items = (1...10).map { SyncItem(key: ClusterKey(venue: "kraken", tokens: ["\($0)"])) }
    let made = ingest.answer(SyncRequest(edge: "e", items: items), now: 1_000_000, streams: &large)
    let reply = try #require(made)
    #expect(reply.answers.map(\.kind) == [.snapshot, .snapshot, .snapshot] + Array(repeating: .later, count: 7))
  }

  @Test("a digest names streams for a while after their last frame, and is sent empty as well")
  func digests() {
    var (ingest, publisher) = active()
    _ = ingest.answer(
      SyncRequest(edge: "e", items: [SyncItem(key: simulated.keys[0])]), now: 1_000_000, streams: &publisher)
    _ = ingest.head(stream: 1, sequence: 7, previous: 6, mark: 0, isSnapshot: false, now: 1_200_000)
    var named: [Int] = []
    for now in stride(from: Int64(1_250_000), through: 5_000_000, by: 50_000) {
      for case .digest(let digest) in ingest.step(
        now: now, feed: feed, isLinked: true, random: 1, streams: &publisher)
      {
        named.append(digest.items.count)
        if let item = digest.items.first { #expect(item == Digest.Item(stream: 1, sequence: 7)) }
      }
    }
    #expect(named.count >= 7 && named.prefix(3) == [1, 1, 1] && named.last == 0)
  }

  @Test("beacons are sent five times a second, and at once after a change")
  func beacons() {
    var (ingest, publisher) = active()
    func step(_ now: Int64) -> [Beacon] {
      ingest.step(now: now, feed: feed, isLinked: true, random: 1, streams: &publisher).compactMap {
        if case .beacon(let beacon) = $0 { beacon } else { nil }
      }
    }
    let sent = stride(from: Int64(1_050_000), to: 3_050_000, by: 50_000).flatMap { step($0) }
    #expect(sent.count == 10 && sent.allSatisfy { $0.role == .active && $0.run == 42 })
    ingest.linkBroke()
    #expect(step(3_060_000).first?.link == 1)
    ingest.drain()
    #expect(step(3_070_000).first?.role == .draining)
  }
}
