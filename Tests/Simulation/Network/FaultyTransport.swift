import TestSupport
import Transport

/// A network in memory whose every choice comes from a seed: how many bytes arrive at a time, and when, which
/// connection is reset, stalls, or goes dead without a word. Hosts on it are `Kernel`s, so that the whole of what
/// stands on the transport runs on it unchanged, in one thread and on its clock.
///
///     let network = FaultyTransport(seed: 7)
///     let host = network.host("10.0.0.1")
///     let loop = network.loop(on: host)
///     network.run(for: 5 * Second.nanoseconds)
///
/// The same seed and the same calls give the same bytes at the same times: `trace.hash` tells.
package final class FaultyTransport {
  /// Nanoseconds since the world began, as every host's monotonic clock shows them. It does not begin at 0, as no
  /// machine's does.
  package private(set) var uptime: UInt64 = 1_000_000_000_000
  /// What may go wrong, and how often. Changed at any time; it rules what is decided from then on.
  package var faults = FaultRates()
  package var statistics = NetworkStatistics()
  package let trace: Trace
  /// Why the run cannot go on: a world that does not come to rest.
  package private(set) var livelock: String?
  /// Connections that are not wholly over, in the order they were made.
  package private(set) var links: [Link] = []

  var random: SeededGenerator
  private var secrets: SeededGenerator
  private var agenda = Agenda()
  private var hosts: [String: SimulatedHost] = [:]
  private var loops: [DrivenLoop] = []
  private var linkNumber = 0
  /// Microseconds from a host's monotonic clock to UTC.
  private let epoch: Int64 = 1_790_000_000_000_000

  /// Turns that may be taken within a second of the world's time; more is a world that runs in circles.
  private static let turnsPerSecond = 60_000

  /// - Parameter prints: writes a line for every event, for people who look for a cause.
  package init(seed: UInt64, prints: Bool = false) {
    random = SeededGenerator(seed: seed)
    secrets = SeededGenerator(seed: seed ^ 0x5EC2_E75A_11CE_D00D)
    trace = Trace(prints: prints)
  }

  // MARK: - Who is there

  /// The host of an address; made when first asked for.
  package func host(_ address: String) -> SimulatedHost {
    if let host = hosts[address] { return host }
    let host = SimulatedHost(network: self, address: address, secrets: secrets.next())
    hosts[address] = host
    return host
  }

  /// A loop on a host, which takes its turns when the network runs.
  package func loop(on host: SimulatedHost, index: Int = 0) -> EventLoop {
    let poller = SimulatedPoller(host: host)
    let loop = EventLoop(index: index, kernel: host, poller: poller)
    loops.append(DrivenLoop(loop: loop, poller: poller))
    return loop
  }

  /// The loops of a host take no turn for `span` ns, as those of a process that was stopped (SIGSTOP); its sockets go
  /// on.
  package func stop(_ host: SimulatedHost, for span: UInt64) {
    for driven in loops where (driven.loop.kernel as? SimulatedHost) === host { driven.pausedUntil = uptime + span }
  }

  /// Forgets a loop that has ended.
  package func remove(_ loop: EventLoop) { loops.removeAll { $0.loop === loop } }

  /// Takes the world apart: sockets and pipes hold each other.
  package func tearDown() {
    for link in links { link.release() }
    links = []
    for host in hosts.values { host.tearDown() }
    hosts = [:]
    loops = []
    agenda = Agenda()
  }

  // MARK: - Time

  var wallMicroseconds: Int64 { epoch + Int64(uptime / 1_000) }

  /// Calls `body` after `delay` ns, between two turns.
  package func schedule(after delay: UInt64, _ body: @escaping () -> Void) {
    agenda.insert(.call(body), at: uptime + delay)
  }

  func schedule(_ event: NetworkEvent, after delay: UInt64) { agenda.insert(event, at: uptime + delay) }

  /// Lets `span` ns pass.
  package func run(for span: UInt64) { run(until: uptime + span) { false } }

  /// Lets time pass until `isDone`, which is asked about every millisecond, or for `limit` ns. Returns whether it was
  /// done.
  package func run(atMost limit: UInt64, until isDone: () -> Bool) -> Bool {
    run(until: uptime + limit, isDone)
    return isDone()
  }

  /// Lets time pass until `isDone`, or until `end`, by the hosts' monotonic clocks.
  package func run(until end: UInt64, _ isDone: () -> Bool) {
    var second = uptime / 1_000_000_000
    var turns = 0
    var nextLook = uptime
    while uptime < end, livelock == nil {
      if uptime >= nextLook {
        if isDone() { return }
        nextLook = uptime + 1_000_000
      }
      while let event = agenda.popDue(uptime) { happen(event) }
      let runnable = loops.indices.filter { loops[$0].wantsTurn(at: uptime) }
      if runnable.isEmpty {
        var next = min(end, agenda.nextTime ?? end)
        for driven in loops { next = min(next, driven.nextTime ?? end) }
        uptime = max(uptime, min(next, end))
        continue
      }
      let chosen = runnable[runnable.count == 1 ? 0 : pick(runnable.count)]
      let driven = loops[chosen]
      _ = driven.loop.step()
      statistics.turns += 1
      // A turn takes its time; now and then the machine has something else to do for longer.
      uptime += UInt64(1_000 + pick(20_000))
      if chance(faults.pause) {
        let pause = UInt64(pick(Int(faults.longestPause))) + 1
        driven.pausedUntil = uptime + pause
        statistics.pauses += 1
        trace.note(uptime, "pause", chosen, Int(pause / 1_000))
      }
      if uptime / 1_000_000_000 != second {
        second = uptime / 1_000_000_000
        turns = 0
      }
      turns += 1
      if turns > Self.turnsPerSecond {
        livelock = "\(turns) turns within a second, the last by loop \(chosen): the world runs in circles"
      }
    }
  }

  // MARK: - Chance

  /// Evenly one of 0..<`count`.
  func pick(_ count: Int) -> Int { count <= 1 ? 0 : Int(random.next() % UInt64(count)) }

  func chance(_ probability: Double) -> Bool {
    guard probability > 0 else { return false }
    return Double(random.next() >> 11) * 0x1p-53 < probability
  }

  // MARK: - Connections

  func makeLink(from client: SimulatedSocket, to server: SimulatedSocket) -> Link {
    linkNumber += 1
    let link = Link(number: linkNumber, network: self, client: client, server: server)
    links.append(link)
    if links.count > 64 {
      for link in links where link.isOver { link.release() }
      links.removeAll { $0.isOver }
    }
    statistics.connections += 1
    plan(link)
    return link
  }

  /// Decides what will happen to a connection.
  private func plan(_ link: Link) {
    func within() -> UInt64 { UInt64(pick(Int(faults.faultWithin))) }
    if chance(faults.reset) { schedule(.fault(link, .reset), after: within()) }
    if chance(faults.halfOpen) { schedule(.fault(link, .halfOpen), after: within()) }
    var stalls = 0
    while stalls < 4, chance(faults.stall) {
      stalls += 1
      schedule(.fault(link, .stall(UInt64(pick(Int(faults.longestStall))))), after: within())
    }
  }

  private func happen(_ event: NetworkEvent) {
    switch event {
    case .transfer(let pipe): pipe.transfer()
    case .reachable(let socket, let address): reach(socket, address)
    case .established(let socket): socket.established()
    case .refused(let socket, let error): socket.refused(error)
    case .reset(let socket): socket.receiveReset()
    case .room(let socket): socket.roomReturned()
    case .fault(let link, let fault): if faults.isOn { strike(link, fault) }
    case .call(let body): body()
    }
  }

  /// Lets a fault happen to a connection now.
  package func strike(_ link: Link, _ fault: LinkFault) {
    guard !link.isOver else { return }
    trace.note(uptime, fault.name, link.number, 0)
    link.strike(fault)
    switch fault {
    case .reset: statistics.resets += 1
    case .halfOpen: statistics.halfOpens += 1
    case .stall: statistics.stalls += 1
    }
  }

  /// A connection request arrives at `address`.
  private func reach(_ socket: SimulatedSocket, _ address: KernelAddress) {
    guard socket.isConnecting else { return }
    let target = address.socketAddress
    let delay = socket.latency()
    guard let listener = hosts[target.host]?.listener(port: target.port), listener.hasRoom else {
      statistics.refusedConnects += 1
      return schedule(.refused(socket, 111), after: delay)  // ECONNREFUSED
    }
    listener.offer(to: socket)
    schedule(.established(socket), after: delay)
  }
}

/// What may go wrong on a network and how often; probabilities are 0…1.
package struct FaultRates: Sendable {
  /// Whether what was planned for connections still happens.
  package var isOn = true
  /// A connection is reset at some moment, for both ends.
  package var reset = 0.0
  /// A connection goes dead at some moment: nothing arrives any more, and nobody is told.
  package var halfOpen = 0.0
  /// A connection stands still for a while, again and again with this probability.
  package var stall = 0.0
  /// When the faults of a connection happen, ns after it was made, at the latest.
  package var faultWithin: UInt64 = 10_000_000_000
  package var longestStall: UInt64 = 5_000_000_000
  /// A connection request is refused, or is never answered.
  package var refuse = 0.0
  package var swallow = 0.0
  /// A request that is in the queue of a listener is gone when it is accepted.
  package var abortAccept = 0.0
  /// A send takes a part although there is room: the kernel is short of memory for a moment.
  package var partialSend = 0.0
  /// A loop does not get its turn for a while.
  package var pause = 0.0
  package var longestPause: UInt64 = 50_000_000
  /// Connections whose bytes come in small pieces, of those the ones whose bytes come one by one.
  package var fineGrain = 0.0
  package var byteGrain = 0.0
  /// Connections with little bandwidth.
  package var narrow = 0.0
  /// The longest latency of a connection, ns.
  package var longestLatency: UInt64 = 1_000_000
  package init() {}
}

/// What happens to one connection.
package enum LinkFault: Sendable {
  case reset, halfOpen
  /// For so many ns.
  case stall(UInt64)

  var name: StaticString {
    switch self {
    case .reset: "reset"
    case .halfOpen: "half-open"
    case .stall: "stall"
    }
  }
}

/// What a network did.
package struct NetworkStatistics: Sendable, Equatable {
  package var connections = 0
  package var turns = 0
  package var bytes = 0
  /// Pieces that arrived, and those of them that held a single byte or left some of what was sent behind.
  package var arrivals = 0
  package var partialReads = 0
  package var singleBytes = 0
  /// Sends that took less than they were given.
  package var partialWrites = 0
  package var resets = 0
  package var halfOpens = 0
  package var stalls = 0
  package var pauses = 0
  package var refusedConnects = 0
  package var acceptFailures = 0

  package mutating func add(_ other: NetworkStatistics) {
    connections += other.connections
    turns += other.turns
    bytes += other.bytes
    arrivals += other.arrivals
    partialReads += other.partialReads
    singleBytes += other.singleBytes
    partialWrites += other.partialWrites
    resets += other.resets
    halfOpens += other.halfOpens
    stalls += other.stalls
    pauses += other.pauses
    refusedConnects += other.refusedConnects
    acceptFailures += other.acceptFailures
  }
  package init() {}
}

/// A loop and whether it wants a turn.
private final class DrivenLoop {
  let loop: EventLoop
  let poller: SimulatedPoller
  var pausedUntil: UInt64 = 0

  init(loop: EventLoop, poller: SimulatedPoller) {
    self.loop = loop
    self.poller = poller
  }

  func wantsTurn(at uptime: UInt64) -> Bool {
    guard uptime >= pausedUntil, !loop.hasEnded else { return false }
    if poller.hasEvents { return true }
    guard let next = loop.nextTurn else { return false }
    return next <= uptime
  }

  var nextTime: UInt64? {
    if loop.hasEnded { return nil }
    if poller.hasEvents { return pausedUntil }
    return loop.nextTurn.map { max($0, pausedUntil) }
  }
}

enum NetworkEvent {
  /// The next piece of what a pipe carries arrives.
  case transfer(Pipe)
  case reachable(SimulatedSocket, KernelAddress)
  case established(SimulatedSocket)
  /// With an `errno`.
  case refused(SimulatedSocket, Int32)
  case reset(SimulatedSocket)
  case room(SimulatedSocket)
  case fault(Link, LinkFault)
  case call(() -> Void)
}

/// What is to happen, by time and then in the order it was decided.
private struct Agenda {
  private var heap: ContiguousArray<(time: UInt64, sequence: UInt64, event: NetworkEvent)> = []
  private var sequence: UInt64 = 0

  var nextTime: UInt64? { heap.first?.time }

  mutating func insert(_ event: NetworkEvent, at time: UInt64) {
    sequence += 1
    heap.append((time, sequence, event))
    var index = heap.count - 1
    while index > 0 {
      let parent = (index - 1) / 2
      guard isBefore(index, parent) else { return }
      heap.swapAt(index, parent)
      index = parent
    }
  }

  mutating func popDue(_ now: UInt64) -> NetworkEvent? {
    guard let first = heap.first, first.time <= now else { return nil }
    heap.swapAt(0, heap.count - 1)
    heap.removeLast()
    var index = 0
    while true {
      var least = index
      for child in [2 * index + 1, 2 * index + 2] where child < heap.count && isBefore(child, least) { least = child }
      guard least != index else { break }
      heap.swapAt(index, least)
      index = least
    }
    return first.event
  }

  private func isBefore(_ a: Int, _ b: Int) -> Bool {
    heap[a].time != heap[b].time ? heap[a].time < heap[b].time : heap[a].sequence < heap[b].sequence
  }
}

/// What has happened so far, as one number, and as lines for whoever looks for a cause.
package final class Trace {
  /// Two runs that did the same have the same. FNV-1a.
  package private(set) var hash: UInt64 = 0xCBF2_9CE4_8422_2325
  private let prints: Bool

  init(prints: Bool) { self.prints = prints }

  func note(_ time: UInt64, _ what: StaticString, _ subject: Int, _ amount: Int) {
    mix(time)
    mix(UInt64(truncatingIfNeeded: subject))
    mix(UInt64(truncatingIfNeeded: amount))
    if prints { print("\(Self.seconds(time)) \(what) \(subject) \(amount)") }
  }

  func note(_ bytes: UnsafeRawBufferPointer) {
    var offset = 0
    while offset + 8 <= bytes.count {
      mix(bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
      offset += 8
    }
    while offset < bytes.count {
      mix(UInt64(bytes[offset]))
      offset += 1
    }
  }

  /// A line for people; it does not count.
  package func say(_ time: UInt64, _ text: @autoclosure () -> String) {
    if prints { print("\(Self.seconds(time)) \(text())") }
  }

  private func mix(_ value: UInt64) { hash = (hash ^ value) &* 0x0000_0100_0000_01B3 }

  private static func seconds(_ time: UInt64) -> String {
    let micros = (time - 1_000_000_000_000) / 1_000
    let fraction = String(micros % 1_000_000)
    return "\(micros / 1_000_000).\(String(repeating: "0", count: 6 - fraction.count))\(fraction)"
  }
}
