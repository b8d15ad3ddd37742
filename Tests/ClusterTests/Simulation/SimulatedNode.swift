import Bytes
import TestSupport

@testable import Cluster

/// A process, and its connection to NATS.
final class SimulatedNode {
  let index: Int
  let isIngest: Bool
  var isRunning = false
  /// Counts processes, and connections.
  var process = 0
  var connection = 0
  var isLinked = true
  /// The server that it is connected to, where the two do not reach each other.
  var side = 0
  var mustRestore = false
  var stalledUntil: Int64 = 0
  var stoppedUntil: Int64?
  var waiting: [SimulatedCluster.Event] = []
  var feedBusyUntil: Int64 = 0
  private(set) var ingest: IngestVenue?
  private(set) var edge: EdgeVenue?
  private(set) var indicator = VenueIndicator.reconnecting(.noIngest)
  private(set) var clients: [Int: SimulatedClient] = [:]
  private(set) var keyOfSlot: [Int: Int] = [:]
  private var slotOfKey: [Int: Int] = [:]
  private(set) var activations = 0
  private var publisher = SimulatedPublisher(keys: [], repeatsTrades: false)
  private var lastRead: Int64 = 0
  private var readToEnd = false
  /// Nodes have clocks that agree in nothing but their speed, and in that only nearly.
  private let clockStart: Int64
  private let clockSpeed: Double

  init(index: Int, isIngest: Bool, _ random: inout SeededGenerator) {
    self.index = index
    self.isIngest = isIngest
    clockStart = Int64.random(in: 0...1_000_000_000_000, using: &random)
    clockSpeed = 1 + Double.random(in: -0.0001...0.0001, using: &random)
  }

  private func now(_ world: SimulatedCluster) -> Int64 { clockStart + Int64(Double(world.time) * clockSpeed) }

  func begin(_ world: SimulatedCluster) {
    process += 1
    isRunning = true
    stoppedUntil = nil
    waiting = []
    mustRestore = false
    let now = now(world)
    if isIngest {
      ingest = IngestVenue(venue: "kraken", node: "in\(index)", now: now, random: world.random.next())
      publisher = SimulatedPublisher(keys: world.venue.keys, repeatsTrades: world.faults.sabotage == .repeatedTrades)
      lastRead = world.time
    } else {
      var edge = EdgeVenue(venue: "kraken", edge: "edge\(index)", now: now, random: world.random.next())
      keyOfSlot = [:]
      clients = [:]
      for (key, name) in world.venue.keys.enumerated() {
        guard let slot = edge.want(name) else { continue }
        keyOfSlot[slot] = key
        slotOfKey[key] = slot
        clients[key] = SimulatedClient(key: key)
      }
      self.edge = edge
      indicator = .reconnecting(.noIngest)
    }
  }

  // MARK: Ingest

  /// - Parameter sent: when the venue sent it. A node that counted from when it read it would take what waited in its
  ///   socket for new.
  func read(_ key: Int, _ number: UInt64, _ sent: Int64, _ world: SimulatedCluster) {
    lastRead = sent
    guard key >= 0, number > publisher.read[key] else { return }
    guard let (stream, frame) = publisher.take(key, number) else { return }
    let head = ingest?.head(
      stream: stream, sequence: frame.sequence, previous: frame.previous, mark: frame.mark, isSnapshot: false,
      now: now(world))
    guard let head else { return }
    var out = ByteBuffer()
    head.append(count: frame.bytes.count, to: &out)
    out.append(frame.bytes)
    world.publish(.frames(key: key, out.takeBytes()), from: self) { !$0.isIngest }
  }

  func step(_ world: SimulatedCluster) {
    if mustRestore, isLinked {
      mustRestore = false
      linkRestored(world)
    }
    if isIngest { stepIngest(world) } else { stepEdge(world) }
  }

  private func stepIngest(_ world: SimulatedCluster) {
    let age = world.faults.sabotage == .freshAges ? 0 : world.time - lastRead
    let feed = IngestFeedReport(
      feed: age < 1_500_000 ? .live : .down, age: UInt64(age),
      isReady: age < 500_000 && feedBusyUntil <= world.time + 50_000)
    let actions = ingest?.step(
      now: now(world), feed: feed, isLinked: isLinked,
      random: world.faults.sabotage == .sameEpochs ? 7 : UInt32(truncatingIfNeeded: world.random.next()),
      streams: &publisher)
    perform(actions ?? [], world)
  }

  private func perform(_ actions: [IngestAction], _ world: SimulatedCluster) {
    for action in actions {
      var out = ByteBuffer()
      switch action {
      case .beacon(let beacon):
        beacon.append(to: &out)
        world.publish(.beacon(out.takeBytes()), from: self) { _ in true }
      case .digest(let digest):
        var digest = digest
        if world.faults.sabotage == .emptyDigests { digest.items = [] }
        digest.append(to: &out)
        world.publish(.digest(out.takeBytes()), from: self) { !$0.isIngest }
      case .activated: activations += 1
      case .deactivated: break
      }
    }
  }

  func drain() { ingest?.drain() }

  // MARK: Edge

  private func stepEdge(_ world: SimulatedCluster) {
    for case .request(let id, let request) in edge?.step(now: now(world)) ?? [] {
      var out = ByteBuffer()
      request.append(to: &out)
      let message = SimulatedCluster.Message.sync(edge: index, process: process, request: id, out.takeBytes())
      let isHeard = world.publish(message, from: self) { $0.ingest?.isActive == true }
      // No responders: the server says so.
      if !isHeard, isLinked {
        world.schedule(.timeout(node: index, process: process, request: id), at: world.time + 500)
      }
    }
    observe(world)
  }

  private var lastConfirmed: Int64 = 0

  private func observe(_ world: SimulatedCluster) {
    // A connection that is cut is noticed by its `PING`s, one a second.
    let confirmed = isLinked && stalledUntil <= world.time ? now(world) : lastConfirmed
    lastConfirmed = confirmed
    indicator = edge?.follower.indicator(now: now(world), confirmed: confirmed) ?? .reconnecting(.noIngest)
  }

  func linkRestored(_ world: SimulatedCluster) {
    ingest?.linkBroke()
    edge?.linkRestored(now: now(world))
  }

  // MARK: Messages

  func receive(_ message: SimulatedCluster.Message, _ world: SimulatedCluster) {
    do {
      try take(message, world)
    } catch { world.violate("node \(index) cannot read a message: \(error)") }
    if !isIngest { observe(world) }
  }

  private func take(_ message: SimulatedCluster.Message, _ world: SimulatedCluster) throws {
    let now = now(world)
    switch message {
    case .beacon(let bytes):
      let beacon = try bytes.withUnsafeBytes { try Beacon($0) }
      edge?.heard(beacon, now: now)
      if let actions = ingest?.heard(beacon, now: now, streams: &publisher) { perform(actions, world) }
    case .digest(let bytes):
      edge?.heard(try bytes.withUnsafeBytes { try Digest($0) }, now: now)
    case .frames(let key, let bytes):
      guard let slot = slotOfKey[key] else { return }
      bytes.withUnsafeBytes { edge?.receive($0, slot: slot) { world.deliver($0, to: self) } }
    case .sync(let edge, let process, let id, let bytes):
      let request = try bytes.withUnsafeBytes { try SyncRequest($0) }
      guard let reply = ingest?.answer(request, now: now, streams: &publisher) else { return }
      var out = ByteBuffer()
      reply.append(to: &out)
      world.reply(id, out.takeBytes(), to: edge, process: process, from: self)
    case .reply(let id, let bytes):
      var reply: SyncReply?
      if let bytes { reply = try bytes.withUnsafeBytes { try SyncReply($0) } }
      edge?.answered(id, reply, now: now) { world.deliver($0, to: self) }
    }
  }

  func take(_ frame: EdgeFrame, key: Int) -> String? { clients[key]?.take(frame) }
}
