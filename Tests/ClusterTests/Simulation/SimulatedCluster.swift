import Bytes
import TestSupport

@testable import Cluster

/// Ingests, edges and the NATS between them, in simulated time: every message is encoded and read again. Each node has
/// a clock of its own. All is drawn from one seed.
final class SimulatedCluster {
  /// What happens to the network and the nodes.
  struct Faults {
    /// Of a message to one receiver, while faults last.
    var loss = 0.0
    var duplication = 0.0
    /// The mean time between two larger faults, µs; 0 for none.
    var interval: Int64 = 0
    /// Which rule of the nodes is broken on purpose, to see that the checks find it.
    var sabotage = Sabotage.none
  }

  enum Sabotage: CaseIterable {
    case none
    /// Digests name no streams.
    case emptyDigests
    /// An ingest that follows another one repeats the last trade.
    case repeatedTrades
    /// Ingests say that their data is new.
    case freshAges
    /// All epochs have the same number.
    case sameEpochs
  }

  enum Event {
    case venue(key: Int)
    /// The venue's heartbeat.
    case pulse
    case feed(node: Int, process: Int, key: Int, number: UInt64, sent: Int64)
    case step(node: Int, process: Int)
    case arrive(node: Int, process: Int, connection: Int, Message)
    case timeout(node: Int, process: Int, request: UInt64)
    case fault
    case heal(node: Int)
    /// The servers are one cluster again.
    case join
    case resume(node: Int)
    case start(node: Int)
    case observe
    /// One large fault, for tests of it alone.
    case kill
    case drain
  }

  enum Message {
    case beacon([UInt8])
    case digest([UInt8])
    case frames(key: Int, [UInt8])
    case sync(edge: Int, process: Int, request: UInt64, [UInt8])
    case reply(request: UInt64, [UInt8]?)
  }

  static let calm: Int64 = 3_000_000
  static let faultsEnd: Int64 = 14_000_000
  /// When the run ends, µs.
  let end: Int64
  /// While the servers do not reach each other, nodes of different sides do not either.
  private var isSplit = false

  var random: SeededGenerator
  let faults: Faults
  private(set) var venue: SimulatedVenue
  var nodes: [SimulatedNode] = []
  var time: Int64 = 0
  private(set) var violations: [String] = []
  private var heap = EventHeap<Event>()
  /// When the last message of a sender to a receiver arrives: they arrive in order.
  private var lastArrival: [Int: Int64] = [:]
  private(set) var delivered = 0
  /// Observations of a green dot over a live stream, and of others.
  private(set) var green = 0
  private(set) var notGreen = 0
  /// The longest time without an update of the busiest stream at any edge, after the start.
  private(set) var longestSilence: Int64 = 0
  /// When every stream was first live at every edge.
  private(set) var wholeSince: Int64?
  private var lastUpdate: [Int: Int64] = [:]

  init(
    seed: UInt64, faults: Faults, ingests: Int = 2, edges: Int = 2, keys: Int = 6, end: Int64 = 22_000_000
  ) {
    self.end = end
    random = SeededGenerator(seed: seed)
    self.faults = faults
    venue = SimulatedVenue(keys: keys)
    for index in 0..<(ingests + edges) {
      nodes.append(SimulatedNode(index: index, isIngest: index < ingests, &random))
      start(index)
    }
    for key in 0..<keys { schedule(.venue(key: key), at: below(100_000)) }
    schedule(.pulse, at: 0)
    schedule(.observe, at: 25_000)
    if faults.interval > 0 { schedule(.fault, at: Self.calm + below(faults.interval)) }
  }

  func below(_ limit: Int64) -> Int64 { Int64.random(in: 0..<max(1, limit), using: &random) }
  func chance(_ part: Double) -> Bool { Double.random(in: 0..<1, using: &random) < part }
  func schedule(_ event: Event, at time: Int64) { heap.push(event, at: time) }
  func violate(_ what: String) { if violations.count < 5 { violations.append("\(time / 1_000) ms: \(what)") } }

  var isFaulty: Bool { time >= Self.calm && time < Self.faultsEnd }

  func run() {
    while let (at, event) = heap.pop(), at <= end {
      time = at
      handle(event)
    }
    checkEnd()
  }

  private func handle(_ event: Event) {
    switch event {
    case .venue(let key): happen(key)
    case .pulse:
      for node in nodes where node.isIngest && node.isRunning { send(to: node, key: -1, number: 0) }
      schedule(.pulse, at: time + 250_000)
    case .feed(let node, let process, let key, let number, let sent):
      run(node, process, event) { $0.read(key, number, sent, self) }
    case .step(let node, let process):
      run(node, process, event) { node in
        node.step(self)
        self.schedule(event, at: self.time + 20_000 + self.below(20_000))
      }
    case .arrive(let node, let process, let connection, let message):
      run(node, process, event) { node in
        // What was under way when the connection broke is lost.
        if node.connection == connection { node.receive(message, self) }
      }
    case .timeout(let node, let process, let request):
      run(node, process, event) { $0.receive(.reply(request: request, nil), self) }
    case .fault: fault()
    case .heal(let node): heal(node)
    case .join: isSplit = false
    case .resume(let node):
      nodes[node].stoppedUntil = nil
      let waiting = nodes[node].waiting
      nodes[node].waiting = []
      for event in waiting { handle(event) }
    case .start(let node): start(node)
    case .kill: active?.isRunning = false
    case .drain: active?.drain()
    case .observe:
      if wholeSince == nil, isWhole { wholeSince = time }
      if time >= Self.calm { observe() }
      schedule(.observe, at: time + 25_000)
    }
  }

  private var active: SimulatedNode? { nodes.first { $0.ingest?.isActive == true } }

  /// Runs `body` on a node, unless its process has ended; later, if it is stopped.
  private func run(_ index: Int, _ process: Int, _ event: Event, _ body: (SimulatedNode) -> Void) {
    let node = nodes[index]
    guard node.isRunning, node.process == process else { return }
    if node.stoppedUntil != nil { return node.waiting.append(event) }
    body(node)
  }

  // MARK: The venue

  /// Whether every stream at every edge is live.
  private var isWhole: Bool {
    nodes.allSatisfy { node in node.isIngest || node.keyOfSlot.keys.allSatisfy { node.edge?.isLive($0) == true } }
  }

  private func happen(_ key: Int) {
    let event = venue.happen(key, at: time)
    for node in nodes where node.isIngest && node.isRunning { send(to: node, key: key, number: event.number) }
    // The first two keys are busy, the others change now and then, and stop before the end.
    let mean: Int64 = key < 2 ? 40_000 : key < 4 ? 700_000 : 3_000_000
    let next = time + 1_000 + below(2 * mean)
    if next < end - 3_000_000 { schedule(.venue(key: key), at: next) }
  }

  private func send(to node: SimulatedNode, key: Int, number: UInt64) {
    let at = max(node.feedBusyUntil, time + 500 + below(20_000))
    node.feedBusyUntil = at
    schedule(.feed(node: node.index, process: node.process, key: key, number: number, sent: time), at: at)
  }

  // MARK: The network

  /// Publishes to all nodes that `wants` names. Returns whether anyone could get it.
  @discardableResult
  func publish(_ message: Message, from sender: SimulatedNode, to wants: (SimulatedNode) -> Bool) -> Bool {
    guard sender.isLinked else { return false }
    var isHeard = false
    for node in nodes where node !== sender && node.isRunning && node.isLinked && wants(node) {
      guard !isSplit || node.side == sender.side else { continue }
      isHeard = true
      if isFaulty, chance(faults.loss) { continue }
      for _ in 0..<(isFaulty && chance(faults.duplication) ? 2 : 1) { send(message, from: sender, to: node) }
    }
    return isHeard
  }

  private func send(_ message: Message, from sender: SimulatedNode, to node: SimulatedNode) {
    let pair = sender.index * 64 + node.index
    let stall = max(sender.stalledUntil, node.stalledUntil)
    let at = max(lastArrival[pair] ?? 0, max(time, stall) + 100 + below(chance(0.02) ? 60_000 : 3_000))
    lastArrival[pair] = at
    schedule(
      .arrive(node: node.index, process: node.process, connection: node.connection, message), at: at)
  }

  func reply(_ request: UInt64, _ bytes: [UInt8], to edge: Int, process: Int, from sender: SimulatedNode) {
    guard nodes[edge].process == process else { return }
    publish(.reply(request: request, bytes), from: sender) { $0.index == edge }
  }

  // MARK: Faults

  private func fault() {
    guard time < Self.faultsEnd else { return }
    schedule(.fault, at: time + 100_000 + below(2 * faults.interval))
    let node = nodes[Int(below(Int64(nodes.count)))]
    guard node.isRunning else { return }
    switch below(6) {
    case 0:
      // SIGKILL, and a restart.
      node.isRunning = false
      schedule(.start(node: node.index), at: min(Self.faultsEnd, time + 200_000 + below(4_000_000)))
    case 1 where node.stoppedUntil == nil:
      // SIGSTOP, and SIGCONT.
      let until = min(Self.faultsEnd, time + 100_000 + below(4_000_000))
      node.stoppedUntil = until
      schedule(.resume(node: node.index), at: until)
    case 2 where node.isLinked:
      // The connection to NATS breaks; what is under way is lost.
      node.isLinked = false
      node.connection += 1
      schedule(.heal(node: node.index), at: min(Self.faultsEnd, time + 100_000 + below(4_000_000)))
    case 3: node.stalledUntil = min(Self.faultsEnd, time + below(2_500_000))
    case 4 where node.isIngest:
      // The exchange is away, or only slow.
      node.feedBusyUntil = max(node.feedBusyUntil, min(Self.faultsEnd, time + below(3_000_000)))
    case 5 where !isSplit:
      // Server from server.
      isSplit = true
      for node in nodes { node.side = Int(below(2)) }
      schedule(.join, at: min(Self.faultsEnd, time + 100_000 + below(4_000_000)))
    default: break
    }
  }

  private func heal(_ index: Int) {
    let node = nodes[index]
    node.isLinked = true
    guard node.isRunning else { return }
    if node.stoppedUntil == nil { node.linkRestored(self) } else { node.mustRestore = true }
  }

  private func start(_ index: Int) {
    let node = nodes[index]
    node.begin(self)
    if node.isIngest {
      // A feed begins with a snapshot of what has happened.
      for (key, events) in venue.events.enumerated() {
        for event in events {
          schedule(
            .feed(node: index, process: node.process, key: key, number: event.number, sent: time), at: time + 50_000)
        }
      }
      node.feedBusyUntil = time + 50_000
    }
    schedule(.step(node: index, process: node.process), at: time + below(20_000))
  }

  // MARK: Rules

  func deliver(_ frame: EdgeFrame, to node: SimulatedNode) {
    delivered += 1
    guard let key = node.keyOfSlot[frame.slot] else {
      return violate("a frame of slot \(frame.slot), which nobody wants")
    }
    if key == 0 {
      let id = node.index
      if let last = lastUpdate[id], time > Self.calm { longestSilence = max(longestSilence, time - last) }
      lastUpdate[id] = time
    }
    if let broken = node.take(frame, key: key) { violate("edge \(node.index), \(venue.keys[key].tokens): \(broken)") }
  }

  /// No dot is green over data older than 2 s: of a stream that counts as live, every event that happened 2 s ago is
  /// known. A tenth of a second is the network's part, which no node can know.
  private func observe() {
    for node in nodes where !node.isIngest && node.isRunning && node.stoppedUntil == nil {
      guard node.indicator.isConnected else {
        notGreen += 1
        continue
      }
      for (slot, key) in node.keyOfSlot where node.edge?.isLive(slot) == true {
        green += 1
        let events = venue.events[key]
        guard let known = node.clients[key]?.known else {
          violate("edge \(node.index): a book that never was")
          continue
        }
        guard Int(known) < events.count else { continue }
        let missing = events[Int(known)]
        if time - missing.time > 2_100_000 {
          violate(
            "edge \(node.index): green, and event \(missing.number) of key \(key) is missing since "
              + "\(missing.time / 1_000) ms"
          )
        }
      }
    }
  }

  /// After the faults, everything is whole: dots are green, and every client knows everything.
  private func checkEnd() {
    let active = nodes.filter { $0.isRunning && $0.ingest?.isActive == true }.count
    if active != 1 { violate("\(active) active ingests at the end") }
    for node in nodes where !node.isIngest {
      if !node.indicator.isConnected { violate("edge \(node.index) is not green at the end: \(node.indicator)") }
      for (slot, key) in node.keyOfSlot {
        if node.edge?.isLive(slot) != true { violate("edge \(node.index), key \(key) is not live at the end") }
        let known = node.clients[key]?.known
        if known != UInt64(venue.events[key].count) {
          violate("edge \(node.index), key \(key): \(known ?? 0) of \(venue.events[key].count) events at the end")
        }
      }
    }
  }
}
