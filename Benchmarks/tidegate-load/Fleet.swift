import CLoad
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
  var slowFraction: Double
  var slowBytesPerSecond: Int
  var probe: ProcessProbe?
  var idleOnly: Bool
}

/// N WebSocket clients on one thread, one epoll set and one slab of slots.
///
/// Reads headers and the few fields that the figures need, in the buffer that `recv` filled: what the tool costs comes on
/// top of what it measures, as both share the machine.
struct Fleet: ~Copyable {
  enum State: UInt8 { case unused, connecting, handshaking, open, closed }

  struct Client {
    var fd: Int32 = -1
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
  /// Receive buffer of a slow client's socket, so that the kernel does not read on for it.
  static let slowReceiveBuffer: Int32 = 16 << 10

  let plan: FleetPlan
  let slowCount: Int
  private let epoll: Int32
  private let slots: UnsafeMutablePointer<Client>
  private let buffer: UnsafeMutablePointer<UInt8>
  private let events: UnsafeMutablePointer<epoll_event>
  /// Per client and stream: the last `seq`, and whether it is linked.
  private let lastSeq: UnsafeMutablePointer<UInt64>
  private let links: UnsafeMutablePointer<UInt8>
  /// Stream number → 1 + its column in the tables above.
  private let columns: UnsafeMutablePointer<UInt32>
  private var columnCount = 0
  private var handshake: [UInt8]
  private var inFlight = 0
  private var openCount = 0
  private var repliedCount = 0
  private var isMeasuring = false
  private var isClosing = false
  private var slowAreSlow = false
  private var nextSlowTurn: Int64 = 0
  /// Latencies of the second under way; added to the figures when it ends.
  private var second = Figures.emptyHistogram()
  private var deliveriesAtSecond: UInt64 = 0
  var figures = Figures()

  init(_ plan: FleetPlan) throws {
    try Sockets.allowFiles(plan.clients)
    let epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
    guard epoll >= 0 else { throw LoadError("no epoll set: \(Sockets.reason(errno))") }
    self.plan = plan
    self.epoll = epoll
    slowCount = Int((plan.slowFraction * Double(plan.clients)).rounded())
    slots = .allocate(capacity: plan.clients)
    slots.initialize(repeating: Client(), count: plan.clients)
    buffer = .allocate(capacity: Self.readBytes)
    events = .allocate(capacity: Self.eventsPerWait)
    let cells = plan.clients * max(plan.streamsPerClient, 1)
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
    for cell in 0..<(plan.clients * max(plan.streamsPerClient, 1)) where links[cell] == Link.broken {
      figures.gaps += 1
    }
    for i in slowCount..<plan.clients { figures.missing += slots[i].missing }
    closeAll()
    return figures
  }

  private mutating func connectAll() throws {
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

  private mutating func begin(_ i: Int) throws {
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

  private func watch(_ i: Int, _ interest: UInt32, _ operation: Int32) {
    var event = epoll_event(events: interest, data: epoll_data_t(u64: UInt64(i)))
    epoll_ctl(epoll, operation, slots[i].fd, &event)
  }

  private mutating func subscribeAll() throws {
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

  private mutating func slowDown() {
    for i in 0..<slowCount where slots[i].state == .open { watch(i, 0, EPOLL_CTL_DEL) }
    slowAreSlow = slowCount > 0
    nextSlowTurn = Clock.monotonic
  }

  private mutating func measure() {
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

  private mutating func progress(_ elapsed: Double) {
    let p99 = second.totalCount > 0 ? "\(second.valueAtPercentile(99)) µs" : "-"
    let name = plan.label + String(repeating: " ", count: max(0, 7 - plan.label.count))
    var line = "\(name) \(Decimal.text(elapsed, digits: 0)) s  \(figures.deliveries - deliveriesAtSecond) deliveries/s"
    line += "  p99 \(p99)  gaps \(figures.gaps)  clients \(openCount)"
    if let resident = plan.probe?.residentBytes {
      line += "  RSS \(Decimal.text(Double(resident) / 1e6, digits: 1)) MB"
    }
    Terminal.say(line + "\n")
    deliveriesAtSecond = figures.deliveries
    figures.latency.add(second)
    second.reset()
  }

  private mutating func closeAll() {
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

  // MARK: - The loop

  private mutating func pump(until end: Int64) {
    while true {
      let rest = end - Clock.monotonic
      guard rest > 0 else { return }
      wait(rest)
    }
  }

  /// Waits for events for at most about `limit` ns and handles one batch of them.
  private mutating func wait(_ limit: Int64) {
    var limit = limit
    if slowAreSlow { limit = min(limit, 5_000_000) }
    let milliseconds = Int32(min((limit + 999_999) / 1_000_000, 1000))
    let count = epoll_wait(epoll, events, Int32(Self.eventsPerWait), milliseconds)
    if count > 0 {
      for k in 0..<Int(count) { handle(Int(events[k].data.u64), events[k].events) }
    }
    if slowAreSlow { readSlowly() }
  }

  private mutating func handle(_ i: Int, _ ready: UInt32) {
    switch slots[i].state {
    case .connecting:
      var code: Int32 = 0
      var size = socklen_t(MemoryLayout<Int32>.size)
      getsockopt(slots[i].fd, SOL_SOCKET, SO_ERROR, &code, &size)
      guard code == 0 else { return fail(i, "connect: \(Sockets.reason(code))") }
      slots[i].state = .handshaking
      transmit(i, handshake)
      watch(i, EPOLLIN.rawValue, EPOLL_CTL_MOD)
    case .handshaking, .open: _ = receive(i, limit: Self.readBytes)
    case .unused, .closed: break
    }
  }

  private mutating func readSlowly() {
    let now = Clock.monotonic
    guard now >= nextSlowTurn else { return }
    nextSlowTurn = now + 20_000_000
    let share = max(plan.slowBytesPerSecond / 50, 1)
    for i in 0..<slowCount where slots[i].state == .open {
      slots[i].budget = min(slots[i].budget + share, max(plan.slowBytesPerSecond, share))
      let got = receive(i, limit: min(slots[i].budget, Self.readBytes))
      slots[i].budget -= got
    }
  }

  private mutating func transmit(_ i: Int, _ bytes: [UInt8]) {
    let sent = send(slots[i].fd, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    if sent != bytes.count, !isClosing {
      fail(i, "send of \(bytes.count) bytes: \(sent < 0 ? Sockets.reason(errno) : "only \(sent) went out")")
    }
  }

  /// One `recv` of at most `limit` bytes; returns how many came.
  private mutating func receive(_ i: Int, limit: Int) -> Int {
    let fd = slots[i].fd
    let held = slots[i].partialCount
    let base: UnsafeMutablePointer<UInt8>
    if held > 0 {
      growPartial(i, held + min(limit, 64 << 10))
      base = slots[i].partial.unsafelyUnwrapped
    } else {
      base = buffer
    }
    let room = held > 0 ? min(limit, slots[i].partialCapacity - held) : limit
    let n = recv(fd, base + held, room, 0)
    guard n > 0 else {
      if n < 0, errno == EAGAIN || errno == EINTR { return 0 }
      fail(i, n == 0 ? "closed by the server" : "recv: \(Sockets.reason(errno))")
      return 0
    }
    if isMeasuring {
      if slots[i].isSlow {
        figures.slowBytes &+= UInt64(n)
      } else {
        figures.bytes &+= UInt64(n)
        figures.receives &+= 1
      }
    }
    let total = held + n
    var start = 0
    if slots[i].state == .handshaking {
      guard let length = finishHandshake(i, base, total) else { return n }
      start = length
    }
    if slots[i].state == .open { start += frames(i, base + start, total - start) }
    guard slots[i].fd >= 0 else { return n }
    keep(i, base, start, total)
    return n
  }

  /// Keeps `base[start..<total]` for the next `recv`.
  private mutating func keep(_ i: Int, _ base: UnsafeMutablePointer<UInt8>, _ start: Int, _ total: Int) {
    let rest = total - start
    if slots[i].partialCount > 0 {
      if rest > 0 {
        if start > 0 { memmove(base, base + start, rest) }
      } else {
        slots[i].partial?.deallocate()
        slots[i].partial = nil
        slots[i].partialCapacity = 0
      }
    } else if rest > 0 {
      growPartial(i, rest)
      if let partial = slots[i].partial { memcpy(partial, base + start, rest) }
    }
    slots[i].partialCount = rest
  }

  private mutating func growPartial(_ i: Int, _ needed: Int) {
    guard slots[i].partialCapacity < needed else { return }
    let capacity = max(needed, slots[i].partialCapacity * 2)
    let grown = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
    if let old = slots[i].partial {
      memcpy(grown, old, slots[i].partialCount)
      old.deallocate()
    }
    slots[i].partial = grown
    slots[i].partialCapacity = capacity
  }

  /// The length of the answer's head when it is whole and a good 101; otherwise nil, and what came is kept.
  private mutating func finishHandshake(_ i: Int, _ base: UnsafeMutablePointer<UInt8>, _ total: Int) -> Int? {
    let answer = UnsafeBufferPointer(start: UnsafePointer(base), count: total)
    guard let end = Text.find("\r\n\r\n", in: answer) else {
      keep(i, base, 0, total)
      return nil
    }
    let head = UnsafeBufferPointer(rebasing: answer[..<end])
    guard Text.find("HTTP/1.1 101", in: head) == 0, Text.find("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=", in: head) != nil else {
      let line = String(decoding: head.prefix { $0 != UInt8(ascii: "\r") }, as: UTF8.self)
      fail(i, "the upgrade was answered '\(line)'")
      return nil
    }
    slots[i].state = .open
    inFlight -= 1
    openCount += 1
    return end + 4
  }

  // MARK: - Frames

  /// Handles the whole frames at the front of `bytes`; returns how many bytes they have.
  private mutating func frames(_ i: Int, _ bytes: UnsafeMutablePointer<UInt8>, _ count: Int) -> Int {
    // After `recv`, before any work on what came.
    let now = Clock.utc
    var at = 0
    while count - at >= 2 {
      let first = bytes[at]
      var header = 2
      var length = Int(bytes[at + 1])
      if length == 126 {
        guard count - at >= 4 else { break }
        header = 4
        length = Int(bytes[at + 2]) << 8 | Int(bytes[at + 3])
      } else if length == 127 {
        guard count - at >= 10 else { break }
        header = 10
        var wide: UInt64 = 0
        for k in 2..<10 { wide = wide << 8 | UInt64(bytes[at + k]) }
        length = Int(clamping: wide)
      } else if length > 127 {
        protocolError(i, "a masked frame from a server")
        return at
      }
      guard length <= Self.frameLimit else {
        protocolError(i, "a frame of \(length) bytes")
        return at
      }
      guard count - at >= header + length else { break }
      let payload = bytes + at + header
      switch first {
      case 0x81: message(i, payload, length, frame: header + length, now: now)
      case 0x88: closed(i, payload, length)
      case 0x89:
        // A pong with the same payload under the mask 0, which leaves it as it is.
        if length <= 125 {
          transmit(
            i, [0x8A, 0x80 | UInt8(length), 0, 0, 0, 0] + Array(UnsafeBufferPointer(start: payload, count: length)))
        }
      case 0x8A: break
      default: protocolError(i, "a frame that begins with byte \(first)")
      }
      at += header + length
      if slots[i].state != .open { return at }
    }
    return at
  }

  private mutating func message(_ i: Int, _ bytes: UnsafeMutablePointer<UInt8>, _ count: Int, frame: Int, now: Int64) {
    guard let head = MessageHead(bytes, count) else { return protocolError(i, "a text frame that is no JSON object") }
    switch head.kind {
    case .update:
      guard head.found.isSuperset(of: .update) else {
        return protocolError(i, "an update without stream, prev, seq or time")
      }
      slots[i].frames &+= 1
      follow(i, head)
      guard isMeasuring else { return }
      guard !slots[i].isSlow else {
        figures.slowDeliveries &+= 1
        return
      }
      figures.updates &+= 1
      figures.deliveries &+= 1
      let late = now &- head.time
      if late < 0 { figures.fromTheFuture &+= 1 }
      _ = second.record(min(UInt64(max(late, 0)), Figures.latencyLimit))
      if i == slowCount { figures.trace.append(time: head.time, bytes: frame) }
    case .snapshot:
      guard head.found.isSuperset(of: .snapshot) else {
        return protocolError(i, "a snapshot without stream, seq or time")
      }
      slots[i].frames &+= 1
      if let cell = cell(i, head.stream) {
        if links[cell] == Link.broken { figures.resyncs &+= 1 }
        links[cell] = Link.linked
        lastSeq[cell] = head.seq
      }
      guard isMeasuring else { return }
      if slots[i].isSlow {
        figures.slowDeliveries &+= 1
      } else {
        figures.snapshots &+= 1
        figures.deliveries &+= 1
      }
    case .heartbeat:
      if isMeasuring { figures.heartbeats &+= 1 }
      if head.found.contains(.sent) { slots[i].missing = Int64(head.sent) - Int64(slots[i].frames) }
    case .subscribed: subscribed(i, UnsafeBufferPointer(start: UnsafePointer(bytes), count: count))
    case .notice: notice(i, UnsafeBufferPointer(start: UnsafePointer(bytes), count: count))
    case .error:
      figures.errors &+= 1
      note(String(decoding: UnsafeBufferPointer(start: bytes, count: min(count, 300)), as: UTF8.self))
    case .other: break
    }
  }

  /// Checks that an update follows what this client last had of the stream.
  private mutating func follow(_ i: Int, _ head: MessageHead) {
    guard let cell = cell(i, head.stream) else { return }
    switch links[cell] {
    case Link.linked where lastSeq[cell] != head.prev: links[cell] = Link.broken
    case Link.broken:
      // No snapshot came between: a gap. From here on links are checked again.
      figures.gaps &+= 1
      note("stream \(head.stream) of client \(i): prev \(head.prev) after seq \(lastSeq[cell]), and no snapshot")
      links[cell] = Link.linked
    default: links[cell] = Link.linked
    }
    if links[cell] == Link.linked { lastSeq[cell] = head.seq }
  }

  /// The place of a client's stream in the tables; nil, and an error, if the stream was not asked for.
  private mutating func cell(_ i: Int, _ stream: UInt64) -> Int? {
    guard stream < Self.streamLimit else {
      protocolError(i, "stream number \(stream)")
      return nil
    }
    var column = Int(columns[Int(stream)])
    if column == 0 {
      guard columnCount < plan.streamsPerClient else {
        protocolError(i, "more than the \(plan.streamsPerClient) streams asked for")
        return nil
      }
      columnCount += 1
      column = columnCount
      columns[Int(stream)] = UInt32(column)
    }
    return i * max(plan.streamsPerClient, 1) + column - 1
  }

  private mutating func subscribed(_ i: Int, _ text: UnsafeBufferPointer<UInt8>) {
    slots[i].replies += 1
    if slots[i].replies == plan.requests.count { repliedCount += 1 }
    var from = Text.find("\"ok\":[", in: text) ?? text.count
    let failed = Text.find("\"failed\":[", in: text) ?? text.count
    let end = failed > from ? failed : text.count
    while let at = Text.find("\"stream\":", in: text, from: from), at < end {
      if let stream = Text.number(after: "\"stream\":", in: text, from: at),
        let seq = Text.number(after: "\"seq\":", in: text, from: at), let cell = cell(i, stream),
        links[cell] == Link.unknown
      {
        links[cell] = Link.linked
        lastSeq[cell] = seq
      }
      from = at + 9
    }
    if failed + 10 < text.count, text[failed + 10] != UInt8(ascii: "]") {
      figures.refused &+= 1
      note(String(decoding: text[failed..<min(text.count, failed + 300)], as: UTF8.self))
    }
  }

  private mutating func notice(_ i: Int, _ text: UnsafeBufferPointer<UInt8>) {
    figures.notices &+= 1
    guard Text.find("\"code\":\"lost\"", in: text) != nil else { return }
    figures.announcedLost &+= Text.number(after: "\"count\":", in: text) ?? 0
    if let stream = Text.number(after: "\"stream\":", in: text), let to = Text.number(after: "\"to_seq\":", in: text),
      let cell = cell(i, stream)
    {
      links[cell] = Link.linked
      lastSeq[cell] = to
    }
  }

  // MARK: - Ends

  private mutating func note(_ text: String) {
    if figures.firstError.isEmpty { figures.firstError = text }
  }

  private mutating func protocolError(_ i: Int, _ what: String) {
    figures.protocolErrors &+= 1
    note("client \(i): \(what)")
    end(i)
  }

  private mutating func closed(_ i: Int, _ payload: UnsafeMutablePointer<UInt8>, _ length: Int) {
    if !isClosing {
      let code = length >= 2 ? UInt16(payload[0]) << 8 | UInt16(payload[1]) : 1005
      figures.closeCodes[code, default: 0] += 1
      let reason = String(decoding: UnsafeBufferPointer(start: payload, count: length).dropFirst(2), as: UTF8.self)
      note("client \(i) was closed with \(code) \(reason)")
    }
    end(i)
  }

  private mutating func fail(_ i: Int, _ what: String) {
    if !isClosing { note("client \(i): \(what)") }
    end(i)
  }

  private mutating func end(_ i: Int) {
    guard slots[i].fd >= 0 else { return }
    if !isClosing {
      if slots[i].isSlow { figures.slowDisconnected &+= 1 }
      figures.disconnected &+= 1
    }
    if slots[i].state == .open {
      openCount -= 1
    } else {
      inFlight -= 1
    }
    // A reset leaves no TIME_WAIT behind, which would use up the ports of the next round.
    var reset = linger(l_onoff: 1, l_linger: 0)
    setsockopt(slots[i].fd, SOL_SOCKET, SO_LINGER, &reset, socklen_t(MemoryLayout<linger>.size))
    close(slots[i].fd)
    slots[i].fd = -1
    slots[i].state = .closed
    slots[i].partial?.deallocate()
    slots[i].partial = nil
    slots[i].partialCount = 0
    slots[i].partialCapacity = 0
  }
}
