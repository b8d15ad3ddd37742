import CLoad
import COpenSSL
import Glibc
import Histogram

/// What a fleet of clients shall do.
struct FleetPlan {
  var label: String
  var url: StreamURL
  var clients: Int
  /// Subscribe requests, each a whole masked frame; all clients send the same.
  var requests: [[UInt8]]
  /// Streams that a client asks for, which bounds its table of links.
  var streamsPerClient: Int
  var connectRate: Double
  var warmup: Double
  var duration: Double
  var slowClients: Int
  var slowBytesPerSecond: Int
  var probe: ProcessProbe?
  var idleOnly: Bool
}

/// N WebSocket clients on one thread, one epoll set and one slab of slots.
///
/// Reads headers and the few fields that the figures need, in the buffer that `recv` filled: what the tool costs comes
/// on top of what it measures, as both share the machine.
struct Fleet: ~Copyable {
  enum State: UInt8 { case unused, connecting, securing, handshaking, open, closed }

  struct Client {
    var fd: Int32 = -1
    /// Of `wss`.
    var tls: OpaquePointer?
    var state = State.unused
    var isSlow = false
    /// Subscribe requests that were answered.
    var replies = 0
    /// Data frames since it connected.
    var frames: UInt64 = 0
    /// `sent` of the last heartbeat less frames counted then.
    var missing: Int64 = 0
    /// Bytes that a slow client may read now.
    var budget = 0
    /// The beginning of a frame (or handshake) whose rest has not come.
    var partial: UnsafeMutablePointer<UInt8>?
    var partialCount = 0
    var partialCapacity = 0
  }

  enum Link {
    static let unknown: UInt8 = 0
    static let linked: UInt8 = 1
    static let broken: UInt8 = 2
  }

  /// Handshakes under way at once.
  static let connectsInFlight = 256
  /// Bytes of one `recv` into the shared buffer.
  static let readBytes = 256 << 10
  /// The largest frame accepted.
  static let frameLimit = 32 << 20
  /// Stream numbers told apart; larger ones are a protocol error.
  static let streamLimit = 1 << 20
  static let eventsPerWait = 512
  /// Rate classes.
  static let classes = 5
  /// Receive buffer of a slow client's socket, so that the kernel does not read on for it.
  static let slowReceiveBuffer: Int32 = 16 << 10

  let plan: FleetPlan
  let slowCount: Int
  let tls: TLSClient?
  /// Streams a client may have: those it asked for, each in every class if a slow one is moved about.
  let tableWidth: Int
  let epoll: Int32
  let slots: UnsafeMutablePointer<Client>
  let buffer: UnsafeMutablePointer<UInt8>
  let events: UnsafeMutablePointer<epoll_event>
  /// Per client and stream: the last `seq`, and whether it is linked.
  let lastSeq: UnsafeMutablePointer<UInt64>
  let links: UnsafeMutablePointer<UInt8>
  /// Stream number → 1 + its column in the tables above.
  let columns: UnsafeMutablePointer<UInt32>
  var columnCount = 0
  var handshake: [UInt8]
  var inFlight = 0
  var openCount = 0
  var repliedCount = 0
  var isMeasuring = false
  var isClosing = false
  var slowAreSlow = false
  var nextSlowTurn: Int64 = 0
  /// Latencies of the second under way; added to the figures when it ends.
  var second = Figures.emptyHistogram()
  var deliveriesAtSecond: UInt64 = 0
  var figures = Figures()

  init(_ plan: FleetPlan) throws {
    try Sockets.allowFiles(plan.clients)
    let epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
    guard epoll >= 0 else { throw LoadError("no epoll set: \(Sockets.reason(errno))") }
    tls = plan.url.isSecure ? try TLSClient() : nil
    self.plan = plan
    self.epoll = epoll
    slowCount = plan.slowClients
    tableWidth = max(plan.streamsPerClient, 1) * (plan.slowClients > 0 ? Self.classes : 1)
    slots = .allocate(capacity: plan.clients)
    slots.initialize(repeating: Client(), count: plan.clients)
    buffer = .allocate(capacity: Self.readBytes)
    events = .allocate(capacity: Self.eventsPerWait)
    let cells = plan.clients * tableWidth
    lastSeq = .allocate(capacity: cells)
    lastSeq.initialize(repeating: 0, count: cells)
    links = .allocate(capacity: cells)
    links.initialize(repeating: Link.unknown, count: cells)
    columns = .allocate(capacity: Self.streamLimit)
    columns.initialize(repeating: 0, count: Self.streamLimit)
    // The key of RFC 6455 section 1.3, whose accept value is known without SHA-1.
    handshake = Array(
      ("GET \(plan.url.path) HTTP/1.1\r\nHost: \(plan.url.host):\(plan.url.port)\r\nUpgrade: websocket\r\n"
        + "Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
        + "Sec-WebSocket-Protocol: tidegate.v1.json\r\n\r\n").utf8)
    figures.label = plan.label
    figures.clients = plan.clients
    figures.slowClients = slowCount
    figures.streamsPerClient = plan.streamsPerClient
  }

  deinit {
    for i in 0..<plan.clients {
      if let session = slots[i].tls { SSL_free(session) }
      if slots[i].fd >= 0 { close(slots[i].fd) }
      slots[i].partial?.deallocate()
    }
    slots.deallocate()
    buffer.deallocate()
    events.deallocate()
    lastSeq.deallocate()
    links.deallocate()
    columns.deallocate()
    close(epoll)
  }

  // MARK: - The run

  /// Connects, subscribes, warms up, measures, drains, closes.
  mutating func run() throws -> Figures {
    figures.residentBefore = plan.probe?.residentBytes
    try connectAll()
    pump(until: Clock.monotonic + 1_000_000_000)
    figures.connected = openCount
    figures.residentIdle = plan.probe?.residentBytes
    if plan.idleOnly {
      closeAll()
      figures.residentEnd = plan.probe?.residentBytes
      return figures
    }
    try subscribeAll()
    slowDown()
    pump(until: Clock.monotonic + Int64(plan.warmup * 1e9))
    measure()
    isMeasuring = false
    // What is under way gets time to arrive: a broken link is a gap only if no snapshot follows.
    pump(until: Clock.monotonic + 500_000_000)
    for cell in 0..<(plan.clients * tableWidth) where links[cell] == Link.broken {
      figures.gaps += 1
    }
    for i in slowCount..<plan.clients { figures.missing += slots[i].missing }
    closeAll()
    return figures
  }

  mutating func connectAll() throws {
    let start = Clock.monotonic
    let patience = 20.0 + Double(plan.clients) / max(plan.connectRate, 1)
    let deadline = start + Int64(patience * 1e9)
    var started = 0
    while openCount + Int(figures.disconnected) < plan.clients {
      let now = Clock.monotonic
      guard now < deadline else {
        throw LoadError(
          "only \(openCount) of \(plan.clients) clients were connected within \(Int(patience)) s. \(figures.firstError)"
        )
      }
      let allowed = Double(now - start) / 1e9 * plan.connectRate + 1
      while started < plan.clients, inFlight < Self.connectsInFlight, Double(started) < allowed {
        try begin(started)
        started += 1
      }
      wait(1_000_000)
    }
    figures.connectSeconds = Double(Clock.monotonic - start) / 1e9
    guard openCount == plan.clients else {
      throw LoadError("\(figures.disconnected) of \(plan.clients) clients were turned away. \(figures.firstError)")
    }
  }

  mutating func begin(_ i: Int) throws {
    let fd = try Sockets.stream(nonblocking: true)
    slots[i].fd = fd
    slots[i].isSlow = i < slowCount
    slots[i].state = .connecting
    if slots[i].isSlow { Sockets.set(fd, SOL_SOCKET, SO_RCVBUF, Self.slowReceiveBuffer) }
    if plan.clients > 20_000 {
      // One source address has some 28,000 ports to one destination.
      let source = Sockets.address("127.0.0.\(2 + i / 20_000)", 0)
      _ = Sockets.withAddress(source) { bind(fd, $0, $1) }
    }
    let result = Sockets.withAddress(Sockets.address(plan.url.host, plan.url.port)) { connect(fd, $0, $1) }
    guard result == 0 || errno == EINPROGRESS else {
      throw LoadError("cannot connect to \(plan.url.host):\(plan.url.port): \(Sockets.reason(errno))")
    }
    watch(i, EPOLLOUT.rawValue, EPOLL_CTL_ADD)
    inFlight += 1
  }

  func watch(_ i: Int, _ interest: UInt32, _ operation: Int32) {
    var event = epoll_event(events: interest, data: epoll_data_t(u64: UInt64(i)))
    epoll_ctl(epoll, operation, slots[i].fd, &event)
  }

  mutating func subscribeAll() throws {
    for i in 0..<plan.clients where slots[i].state == .open {
      for request in plan.requests { transmit(i, request) }
      if i & 15 == 15 { wait(0) }
    }
    let patience = 20.0 + Double(plan.clients) / 200
    let deadline = Clock.monotonic + Int64(patience * 1e9)
    while repliedCount + Int(figures.disconnected) < plan.clients {
      guard Clock.monotonic < deadline else {
        throw LoadError(
          "only \(repliedCount) of \(plan.clients) subscriptions were answered within \(Int(patience)) s. "
            + figures.firstError)
      }
      wait(10_000_000)
    }
  }

  mutating func slowDown() {
    for i in 0..<slowCount where slots[i].state == .open { watch(i, 0, EPOLL_CTL_DEL) }
    slowAreSlow = slowCount > 0
    nextSlowTurn = Clock.monotonic
  }

  mutating func measure() {
    second.reset()
    figures.deliveries = 0
    deliveriesAtSecond = 0
    isMeasuring = true
    let cpu = plan.probe?.cpuNanoseconds
    let own = Clock.processCPU
    let start = Clock.monotonic
    let end = start + Int64(plan.duration * 1e9)
    var tick = start
    while tick < end {
      tick = min(tick + 1_000_000_000, end)
      pump(until: tick)
      progress(Double(tick - start) / 1e9)
    }
    figures.seconds = Double(Clock.monotonic - start) / 1e9
    if let cpu, let probe = plan.probe { figures.serverCPU = max(0, probe.cpuNanoseconds - cpu) }
    figures.toolCPU = Clock.processCPU - own
    figures.residentEnd = plan.probe?.residentBytes
  }

  mutating func progress(_ elapsed: Double) {
    let p99 = second.totalCount > 0 ? "\(second.valueAtPercentile(99)) µs" : "-"
    let name = plan.label + String(repeating: " ", count: max(0, 7 - plan.label.count))
    var line = "\(name) \(Decimal.text(elapsed, digits: 0)) s  \(figures.deliveries - deliveriesAtSecond) deliveries/s"
    line += "  p99 \(p99)  gaps \(figures.gaps)  clients \(openCount)"
    if let resident = plan.probe?.residentBytes {
      line += "  RSS \(Decimal.text(Double(resident) / 1e6, digits: 1)) MB"
    }
    Terminal.say(line + "\n")
    let has = second.totalCount > 0
    figures.timeline.append(
      LatencyChart.Second(
        at: elapsed, deliveries: figures.deliveries - deliveriesAtSecond,
        p50: has ? second.valueAtPercentile(50) : nil, p99: has ? second.valueAtPercentile(99) : nil))
    deliveriesAtSecond = figures.deliveries
    figures.latency.add(second)
    sampleSlow()
    second.reset()
  }

  mutating func closeAll() {
    isClosing = true
    // Masked close frame with code 1000.
    let frame: [UInt8] = [0x88, 0x82, 1, 2, 3, 4, 0x03 ^ 1, 0xE8 ^ 2]
    for i in 0..<plan.clients where slots[i].state == .open { transmit(i, frame) }
    if slowAreSlow {
      for i in 0..<slowCount where slots[i].state == .open { end(i) }
    }
    let deadline = Clock.monotonic + 1_000_000_000
    while openCount > 0, Clock.monotonic < deadline { wait(10_000_000) }
    for i in 0..<plan.clients where slots[i].fd >= 0 { end(i) }
  }
}
