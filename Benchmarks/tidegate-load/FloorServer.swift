import CLoad
import Glibc

/// The least that a fan-out can cost: accepted sockets, and a loop that sends one ready frame to each of them.
///
/// It knows no channels, queues or limits. With `tidegate` as its protocol it answers subscribe requests, so that the
/// same clients run against it; the loop is the same.
struct FloorServer: ~Copyable {
  enum Dialect: String, CaseIterable {
    /// Frames go to every socket from its upgrade on.
    case bare
    /// Frames go to a socket from its first subscribe request on, as updates of the streams that it named.
    case tidegate
  }

  struct Peer {
    var fd: Int32 = -1
    var isUpgraded = false
    var input: [UInt8] = []
    /// What `send` did not take of a frame; nothing else may go out before it.
    var rest: [UInt8] = []
  }

  /// Bytes of a request head or client frame that are kept while they are incomplete.
  static let inputLimit = 128 << 10
  /// The smallest frame that holds the fields that clients check.
  static let minimumFrame = 160

  let clients: Int
  let dialect: Dialect
  /// Frames of one instant of the trace go out in one send per socket.
  let gathers: Bool
  let trace: Trace
  private let listener: Int32
  private let epoll: Int32
  private let timer: Int32
  private var peers: [Peer] = []
  /// Per peer, for the loop: its socket once it is subscribed, else -1; and whether it has a rest to send first.
  private let targets: UnsafeMutablePointer<Int32>
  private let owes: UnsafeMutablePointer<Bool>
  /// `channel` and `symbol` of each stream, in order of first request.
  private var streams: [(channel: String, symbol: String)] = []
  private var seqs: [UInt64] = []
  private var nextStream = 0
  private var out: [UInt8] = []
  private var skipped: UInt64 = 0

  init(port: UInt16, clients: Int, dialect: Dialect, gathers: Bool, trace: Trace) throws {
    try Sockets.allowFiles(clients)
    let listener = try Sockets.stream(nonblocking: true)
    Sockets.set(listener, SOL_SOCKET, SO_REUSEADDR, 1)
    let bound = Sockets.withAddress(Sockets.address("127.0.0.1", port)) { bind(listener, $0, $1) }
    guard bound == 0, listen(listener, 4096) == 0 else {
      throw LoadError("cannot listen on 127.0.0.1:\(port): \(Sockets.reason(errno))")
    }
    let epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
    let timer = timerfd_create(CLOCK_MONOTONIC, O_NONBLOCK | O_CLOEXEC)
    guard epoll >= 0, timer >= 0 else { throw LoadError("no epoll set or timer: \(Sockets.reason(errno))") }
    self.clients = clients
    self.dialect = dialect
    self.gathers = gathers
    self.trace = trace
    self.listener = listener
    self.epoll = epoll
    self.timer = timer
    targets = .allocate(capacity: clients)
    targets.initialize(repeating: -1, count: clients)
    owes = .allocate(capacity: clients)
    owes.initialize(repeating: false, count: clients)
    if dialect == .bare {
      streams = [("trades", "floor:BTC-USD")]
      seqs = [0]
    }
    watch(listener, key: .max)
    watch(timer, key: .max - 1)
  }

  deinit {
    for peer in peers where peer.fd >= 0 { close(peer.fd) }
    close(listener)
    close(epoll)
    close(timer)
    targets.deallocate()
    owes.deallocate()
  }

  /// The port that clients connect to.
  var port: UInt16 {
    var address = sockaddr_in()
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    _ = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(listener, $0, &size) }
    }
    return UInt16(bigEndian: address.sin_port)
  }

  private func watch(_ fd: Int32, key: UInt64) {
    var event = epoll_event(events: EPOLLIN.rawValue, data: epoll_data_t(u64: key))
    epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event)
  }

  /// Serves until all clients have come and gone again, or for `lifetime` s.
  mutating func run(lifetime: Double) {
    let end = Clock.monotonic + Int64(lifetime * 1e9)
    var began: Int64 = 0
    var cycle: Int64 = 0
    var index = 0
    var nextHeartbeat: Int64 = 0
    while Clock.monotonic < end {
      let subscribed = subscribedCount
      if began == 0 {
        _ = poll(nanoseconds: 50_000_000)
        if subscribed == clients {
          began = Clock.monotonic
          nextHeartbeat = began + 5_000_000_000
        }
        continue
      }
      if subscribed == 0 { return }
      var now = Clock.monotonic
      let due = began + (cycle * trace.period + trace.entries[index].offset) * 1000
      if now < due {
        if dialect == .tidegate, now >= nextHeartbeat {
          heartbeat()
          nextHeartbeat += 5_000_000_000
        }
        _ = poll(nanoseconds: due - now)
        continue
      }
      now = Clock.monotonic
      out.removeAll(keepingCapacity: true)
      let instant = trace.entries[index].offset
      repeat {
        appendUpdate(bytes: trace.entries[index].bytes)
        index += 1
      } while gathers && index < trace.entries.count && trace.entries[index].offset - instant < 200
      sendToAll()
      if index == trace.entries.count {
        index = 0
        cycle += 1
        // A server that cannot keep up repeats the trace late rather than faster than it can.
        if Clock.monotonic - due > 1_000_000_000 { began += Clock.monotonic - due }
      }
    }
    if skipped > 0 { Terminal.say("floor: \(skipped) frames were not sent because a socket was full\n") }
  }

  private var subscribedCount = 0

  // MARK: - Sending

  /// Appends an update that is `bytes` long as a frame.
  private mutating func appendUpdate(bytes: Int) {
    let stream = nextStream
    nextStream = (nextStream + 1) % streams.count
    let frame = max(bytes, Self.minimumFrame)
    let header = frame - 2 < 126 ? 2 : frame - 4 < 65536 ? 4 : 10
    let payload = frame - header
    out.append(0x81)
    Self.append(length: payload, to: &out)
    let start = out.count
    let (channel, symbol) = streams[stream]
    out += "{\"type\":\"update\",\"channel\":\"\(channel)\",\"symbol\":\"\(symbol)\",\"stream\":\(stream + 1)".utf8
    out += ",\"prev\":\(seqs[stream]),\"seq\":\(seqs[stream] + 1),\"time\":\(Clock.utc),\"data\":{\"pad\":\"".utf8
    seqs[stream] += 1
    let pad = payload - (out.count - start) - 3
    out.append(contentsOf: repeatElement(UInt8(ascii: "0"), count: max(pad, 0)))
    out += "\"}}".utf8
    if pad < 0 {
      // The names were longer than the frame was to be: the frame is as long as it must be.
      Self.rewrite(length: out.count - start, header: header, at: start - header, in: &out)
    }
  }

  private static func append(length: Int, to out: inout [UInt8]) {
    if length < 126 {
      out.append(UInt8(length))
    } else if length < 65536 {
      out += [126, UInt8(length >> 8), UInt8(length & 255)]
    } else {
      out.append(127)
      for shift in stride(from: 56, through: 0, by: -8) { out.append(UInt8(truncatingIfNeeded: length >> shift)) }
    }
  }

  private static func rewrite(length: Int, header: Int, at start: Int, in out: inout [UInt8]) {
    var fresh: [UInt8] = [0x81]
    append(length: length, to: &fresh)
    out.replaceSubrange(start..<(start + header), with: fresh)
  }

  private mutating func sendToAll() {
    let frames = out
    frames.withUnsafeBytes { bytes in
      for i in 0..<peers.count where targets[i] >= 0 {
        if owes[i], !flush(i) {
          skipped += 1
          continue
        }
        let n = send(targets[i], bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
        if n == bytes.count { continue }
        guard n >= 0 else {
          skipped += 1
          continue
        }
        peers[i].rest = Array(bytes[n...])
        owes[i] = true
      }
    }
  }

  /// Whether nothing is left over.
  private mutating func flush(_ i: Int) -> Bool {
    let n = send(peers[i].fd, peers[i].rest, peers[i].rest.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
    if n > 0 { peers[i].rest.removeFirst(n) }
    owes[i] = !peers[i].rest.isEmpty
    return !owes[i]
  }

  private mutating func heartbeat() {
    let text = "{\"type\":\"heartbeat\",\"time\":\(Clock.utc),\"feeds\":{}}"
    out.removeAll(keepingCapacity: true)
    out.append(0x81)
    Self.append(length: text.utf8.count, to: &out)
    out += text.utf8
    sendToAll()
  }

  // MARK: - Receiving

  /// Waits for what clients send, at most `nanoseconds`; whether something came.
  private mutating func poll(nanoseconds: Int64) -> Bool {
    var timeout = itimerspec()
    timeout.it_value.tv_sec = Int(nanoseconds / 1_000_000_000)
    timeout.it_value.tv_nsec = Int(nanoseconds % 1_000_000_000)
    timerfd_settime(timer, 0, &timeout, nil)
    var events = [epoll_event](repeating: epoll_event(), count: 256)
    let count = epoll_wait(epoll, &events, 256, -1)
    guard count > 0 else { return false }
    var came = false
    for event in events[..<Int(count)] {
      switch event.data.u64 {
      case .max: acceptAll()
      case .max - 1:
        var expirations: UInt64 = 0
        read(timer, &expirations, 8)
        continue
      default: receive(Int(event.data.u64))
      }
      came = true
    }
    return came
  }

  private mutating func acceptAll() {
    while true {
      let fd = accept(listener, nil, nil)
      guard fd >= 0 else { return }
      guard peers.count < clients else {
        close(fd)
        continue
      }
      _ = fcntl(fd, F_SETFL, O_NONBLOCK)
      Sockets.set(fd, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
      peers.append(Peer(fd: fd))
      watch(fd, key: UInt64(peers.count - 1))
    }
  }

  private mutating func receive(_ i: Int) {
    var chunk = [UInt8](repeating: 0, count: 16 << 10)
    let n = recv(peers[i].fd, &chunk, chunk.count, 0)
    guard n > 0, peers[i].input.count + n <= Self.inputLimit else {
      if n < 0, errno == EAGAIN { return }
      return drop(i)
    }
    peers[i].input += chunk[..<n]
    if !peers[i].isUpgraded, !upgrade(i) { return }
    while let request = nextMessage(i) {
      guard peers[i].fd >= 0 else { return }
      if dialect == .tidegate { answer(i, request) }
    }
  }

  private mutating func drop(_ i: Int) {
    if targets[i] >= 0 { subscribedCount -= 1 }
    targets[i] = -1
    owes[i] = false
    close(peers[i].fd)
    peers[i] = Peer()
  }

  private mutating func upgrade(_ i: Int) -> Bool {
    let text = String(decoding: peers[i].input, as: UTF8.self)
    guard let end = peers[i].input.withUnsafeBufferPointer({ Text.find("\r\n\r\n", in: $0) }) else { return false }
    let name = "sec-websocket-key:"
    guard let line = text.split(separator: "\r\n").first(where: { $0.lowercased().hasPrefix(name) }) else {
      drop(i)
      return false
    }
    let key = line.dropFirst(name.count).filter { $0 != " " }
    let answer = Array(
      ("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        + "Sec-WebSocket-Accept: \(WebSocketAccept.value(for: key))\r\n\r\n").utf8)
    send(peers[i].fd, answer, answer.count, Int32(MSG_NOSIGNAL))
    peers[i].input.removeFirst(end + 4)
    peers[i].isUpgraded = true
    if dialect == .bare {
      targets[i] = peers[i].fd
      subscribedCount += 1
    }
    return true
  }

  /// The next whole text message of a client, unmasked; a close frame ends the connection.
  private mutating func nextMessage(_ i: Int) -> [UInt8]? {
    while true {
      let input = peers[i].input
      guard input.count >= 6 else { return nil }
      var header = 2
      var length = Int(input[1] & 0x7F)
      if length == 126 {
        header = 4
        length = Int(input[2]) << 8 | Int(input[3])
      }
      // A client of the load test never sends 64 KiB at once.
      guard length < 127 || header == 4 else {
        drop(i)
        return nil
      }
      guard input.count >= header + 4 + length else { return nil }
      let mask = Array(input[header..<(header + 4)])
      let payload = (0..<length).map { input[header + 4 + $0] ^ mask[$0 & 3] }
      peers[i].input.removeFirst(header + 4 + length)
      switch input[0] {
      case 0x81: return payload
      case 0x88:
        send(peers[i].fd, [0x88, 0x02, 0x03, 0xE8] as [UInt8], 4, Int32(MSG_NOSIGNAL))
        drop(i)
        return nil
      default: continue
      }
    }
  }

  /// Answers a subscribe request: one stream for every channel and symbol in it, and a snapshot of each.
  private mutating func answer(_ i: Int, _ request: [UInt8]) {
    let id = request.withUnsafeBufferPointer { Text.number(after: "\"id\":", in: $0) } ?? 0
    let text = String(decoding: request, as: UTF8.self)
    var items: [String] = []
    var snapshots: [UInt8] = []
    for item in text.components(after: "{\"channel\":\"") {
      guard let quote = item.firstIndex(of: "\"") else { continue }
      let channel = String(item[..<quote])
      var symbols = [""]
      if let list = item.components(after: "\"symbols\":[").first, let close = list.firstIndex(of: "]") {
        symbols = list[..<close].split(separator: ",").map { String($0.dropFirst().dropLast()) }
      }
      for symbol in symbols {
        var index = streams.firstIndex { $0.channel == channel && $0.symbol == symbol } ?? streams.count
        if index == streams.count {
          streams.append((channel, symbol))
          seqs.append(0)
          index = streams.count - 1
        }
        items.append(
          "{\"stream\":\(index + 1),\"channel\":\"\(channel)\",\"symbol\":\"\(symbol)\",\"epoch\":\"f\",\"seq\":\(seqs[index])}"
        )
        let snapshot = Array(
          ("{\"type\":\"snapshot\",\"channel\":\"\(channel)\",\"symbol\":\"\(symbol)\",\"stream\":\(index + 1),"
            + "\"seq\":\(seqs[index]),\"reason\":\"subscribe\",\"time\":\(Clock.utc),\"data\":{}}").utf8)
        snapshots.append(0x81)
        Self.append(length: snapshot.count, to: &snapshots)
        snapshots += snapshot
      }
    }
    let reply = Array(
      ("{\"type\":\"subscribed\",\"id\":\(id),\"total\":\(items.count),\"ok\":[\(items.joined(separator: ","))],\"failed\":[]}")
        .utf8)
    var bytes: [UInt8] = [0x81]
    Self.append(length: reply.count, to: &bytes)
    bytes += reply
    peers[i].rest += bytes + snapshots
    _ = flush(i)
    if targets[i] < 0 {
      targets[i] = peers[i].fd
      subscribedCount += 1
    }
  }
}

extension StringProtocol {
  /// What follows each occurrence of `marker`, up to the next one.
  func components(after marker: String) -> [Substring] {
    var found: [Substring] = []
    var rest = Substring(self)
    while let range = rest.firstRange(of: marker) {
      rest = rest[range.upperBound...]
      let end = rest.firstRange(of: marker)?.lowerBound ?? rest.endIndex
      found.append(rest[..<end])
    }
    return found
  }
}
