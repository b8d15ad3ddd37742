import Bytes
import Foundation
import NATS
import Synchronization
import TestTraits
import Testing
import Transport

@testable import Cluster

/// A node on a loop of its own.
private final class RunningNode: @unchecked Sendable {
  // `@unchecked`: everything but `loop` is used on the loop only.
  let loop: EventLoop
  let node: ClusterNode
  var ingest: ClusterIngest<SimulatedPublisher>?
  var edge: ClusterEdge?
  var clients: [Int: SimulatedClient] = [:]
  var violations: [String] = []
  var keyOfSlot: [Int: Int] = [:]
  var lastUpdate = ContinuousClock.now
  var longestSilence = Duration.zero

  init(port: UInt16, _ name: String, isIngest: Bool, _ venue: SimulatedVenue) throws {
    loop = try EventLoop(index: 0, label: "test.\(name)")
    let address = NATSServerAddress("nats://127.0.0.1:\(port)")!
    let link = NATSLink(.init(servers: [address], options: NATSOptions(name: name)), loop: loop)
    let subjects = ClusterSubjects(cluster: "test")
    node = ClusterNode(link, subjects: subjects)
    let (ready, keys) = (DispatchSemaphore(value: 0), venue.keys)
    loop.execute { [self] in
      do {
        if isIngest {
          let made = try ClusterIngest(
            venue: "kraken", node: name, subjects: subjects,
            streams: SimulatedPublisher(keys: keys, repeatsTrades: false), now: node.now)
          made.feed = { IngestFeedReport(feed: .live, age: 1_000, isReady: true) }
          ingest = made
          node.add(made)
        } else {
          let made = try ClusterEdge(venue: "kraken", edge: name, subjects: subjects, now: node.now)
          edge = made
          node.add(made)
          made.onFrame = { [unowned self] frame in take(frame) }
          for (key, name) in keys.enumerated() {
            guard let slot = made.want(name) else { continue }
            keyOfSlot[slot] = key
            clients[key] = SimulatedClient(key: key)
          }
        }
      } catch { violations.append("\(error)") }
      node.start()
      ready.signal()
    }
    ready.wait()
  }

  private func take(_ frame: EdgeFrame) {
    guard let key = keyOfSlot[frame.slot] else { return violations.append("a frame that nobody wants") }
    let now = ContinuousClock.now
    longestSilence = max(longestSilence, now - lastUpdate)
    lastUpdate = now
    if let broken = clients[key]?.take(frame) { violations.append("key \(key): \(broken)") }
  }

  func on<Value: Sendable>(_ body: @escaping @Sendable (RunningNode) -> Value) -> Value {
    let done = DispatchSemaphore(value: 0)
    let result = Mutex<Value?>(nil)
    loop.execute { [self] in
      let value = body(self)
      result.withLock { $0 = value }
      done.signal()
    }
    done.wait()
    return result.withLock { $0! }
  }

  /// The loop ends with its connection, as when the process is killed.
  func kill() {
    let done = DispatchSemaphore(value: 0)
    loop.shutdown { done.signal() }
    done.wait()
  }

  func read(_ key: Int, _ number: UInt64) {
    loop.execute { [self] in
      guard let ingest, let (stream, frame) = ingest.streams.take(key, number) else { return }
      frame.bytes.withUnsafeBytes {
        ingest.publish(
          stream: stream, sequence: frame.sequence, previous: frame.previous, mark: frame.mark, isSnapshot: false, $0)
      }
    }
  }

  func wait(_ condition: @escaping @Sendable (RunningNode) -> Bool) -> Bool {
    for _ in 0..<6_000 {
      if on(condition) { return true }
      usleep(5_000)
    }
    return false
  }
}

/// Nodes on real connections: two ingests, an edge, and nats-server. Skipped where there is none.
@Suite(
  "Nodes of a cluster on a real NATS server", .realTime,
  .enabled(if: NATSServerProcess.path != nil, "needs nats-server (Debian: apt-get install nats-server)"))
struct ClusterNodesTests {
  @Test("an ingest that is killed, or drains, is replaced: clients miss no trade", arguments: [false, true])
  func handover(isPlanned: Bool) throws {
    let server = try NATSServerProcess()
    var venue = SimulatedVenue(keys: 4)
    let ingests = [
      try RunningNode(port: server.port, "in0", isIngest: true, venue),
      try RunningNode(port: server.port, "in1", isIngest: true, venue),
    ]
    let edge = try RunningNode(port: server.port, "edge", isIngest: false, venue)
    defer { for node in ingests + [edge] { node.kill() } }
    func happen(_ count: Int) {
      for _ in 0..<count {
        for key in venue.keys.indices {
          let number = venue.happen(key, at: 0).number
          for ingest in ingests { ingest.read(key, number) }
        }
        usleep(3_000)
      }
    }
    #expect(edge.wait { $0.edge?.indicator.isConnected == true })
    #expect(edge.wait { node in node.keyOfSlot.keys.allSatisfy { node.edge!.venue.isLive($0) } })
    happen(60)
    let active = try #require(ingests.first { $0.on { $0.ingest!.venue.isActive } })
    edge.on { $0.longestSilence = .zero }
    let before = edge.on { $0.edge!.venue.follower.node }
    if isPlanned { active.on { $0.ingest!.drain() } } else { active.kill() }
    let start = ContinuousClock.now
    while edge.on({ $0.edge!.venue.follower.node }) == before, ContinuousClock.now - start < .seconds(20) { happen(1) }
    happen(60)
    let counts = venue.events.map { UInt64($0.count) }
    #expect(
      edge.wait { node in counts.indices.allSatisfy { node.clients[$0]?.known == counts[$0] } })
    #expect(edge.on { $0.violations } == [])
    let clients = edge.on { $0.clients }
    for client in clients.values where !SimulatedVenue.isBook(client.key) {
      #expect(client.continuations == 1 && client.saidLosses == 0)
    }
    // The machine is shared; the simulation holds the exact times.
    let silence = edge.on { $0.longestSilence }
    #expect(silence < .seconds(isPlanned ? 2 : 4), "\(silence)")
    #expect(edge.on { $0.node.unreadable } == 0)
  }

  @Test("an edge whose server is killed is red within three seconds, and whole again when it is back")
  func serverKilled() throws {
    var server = try NATSServerProcess()
    let port = server.port
    var venue = SimulatedVenue(keys: 2)
    let ingest = try RunningNode(port: port, "in0", isIngest: true, venue)
    let edge = try RunningNode(port: port, "edge", isIngest: false, venue)
    defer { for node in [ingest, edge] { node.kill() } }
    #expect(edge.wait { node in node.keyOfSlot.keys.allSatisfy { node.edge!.venue.isLive($0) } })
    func happen() { for key in venue.keys.indices { ingest.read(key, venue.happen(key, at: 0).number) } }
    happen()
    server.end()
    let start = ContinuousClock.now
    #expect(edge.wait { $0.edge?.indicator.isConnected == false })
    #expect(ContinuousClock.now - start < .seconds(3))
    // These are lost: there is no buffer for them.
    for _ in 0..<5 { happen() }
    server = try NATSServerProcess(port: port)
    #expect(edge.wait { $0.edge?.indicator.isConnected == true })
    let counts = venue.events.map { UInt64($0.count) }
    #expect(
      edge.wait { node in counts.indices.allSatisfy { node.clients[$0]?.known == counts[$0] } })
    #expect(edge.on { $0.violations } == [])
    #expect(ingest.on { $0.ingest!.venue.isActive })
  }
}
