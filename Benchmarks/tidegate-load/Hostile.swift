import ArgumentParser
import CLoad
import Glibc
import Histogram

/// What a hostile connection does.
enum HostileKind: String, CaseIterable {
  /// Connects and sends nothing.
  case silent
  /// Sends one byte of a request a second, and never all of it.
  case drip
  /// Opens a WebSocket, subscribes, and never reads.
  case neverRead = "never-read"

  static let names = allCases.map(\.rawValue).joined(separator: ", ")
}

/// Connections that mean no good, held open by one thread: what the gateway ends is opened anew, so that their number
/// stays.
struct Hostile: ~Copyable {
  private enum State: UInt8 { case closed, connecting, open }

  /// Connections under way at once.
  private static let connectsInFlight = 256
  /// New connections a second, those that replace ended ones included.
  private static let connectRate = 5000.0
  /// One source address has some 28,000 ports to one destination, and those of ended connections rest for a minute.
  private static let connectionsPerAddress = 5000

  private let url: StreamURL
  private let kind: HostileKind
  private let count: Int
  /// The handshake, and behind it the subscriptions.
  private let opening: [UInt8]
  private let drip: [UInt8]
  private let epoll: Int32
  private var descriptors: [Int32]
  private var states: [State]
  private var progress: [UInt16]
  private var ended: [Int32]
  private var inFlight = 0
  private(set) var held = 0
  private(set) var endedByGateway = 0
  private(set) var refused = 0

  /// - Parameter subscription: what connections that never read subscribe to.
  init(url: StreamURL, kind: HostileKind, count: Int, subscription: Subscription) throws {
    try Sockets.allowFiles(count)
    let epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
    guard epoll >= 0 else { throw LoadError("no epoll set: \(Sockets.reason(errno))") }
    self.epoll = epoll
    self.url = url
    self.kind = kind
    self.count = count
    let head =
      "GET \(url.path) HTTP/1.1\r\nHost: \(url.host):\(url.port)\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
      + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
      + "Sec-WebSocket-Protocol: tidegate.v1.json\r\n\r\n"
    opening = Array(head.utf8) + subscription.frames.flatMap { $0 }
    drip = Array("GET / HTTP/1.1\r\nHost: a\r\nX-Patience: ".utf8)
    descriptors = Array(repeating: -1, count: count)
    states = Array(repeating: .closed, count: count)
    progress = Array(repeating: 0, count: count)
    ended = (0..<Int32(count)).reversed()
  }

  deinit {
    for descriptor in descriptors where descriptor >= 0 { close(descriptor) }
    close(epoll)
  }

  /// Opens all, says so on standard output, holds them until standard input ends, and says what became of them.
  mutating func run(lifetime: Double) {
    let start = Clock.monotonic
    let end = start + Int64(lifetime * 1e9)
    var opened = 0.0
    var isReady = false
    var nextDrip = start
    var dripSlice = 0
    while Clock.monotonic < end {
      let now = Clock.monotonic
      let allowed = Double(now - start) / 1e9 * Self.connectRate + 1
      while inFlight < Self.connectsInFlight, opened < allowed, let i = ended.popLast() {
        begin(Int(i))
        opened += 1
      }
      // What was not used is not saved up for a burst.
      opened = max(opened, allowed - 500)
      wait()
      if !isReady, held >= count || now - start > 20_000_000_000 {
        isReady = true
        Terminal.write("holding \(held)\n", to: 1)
      }
      if kind == .drip, now >= nextDrip {
        // A fiftieth of the connections every 20 ms.
        nextDrip = now + 20_000_000
        for i in stride(from: dripSlice, to: count, by: 50) where states[i] == .open { sendByte(i) }
        dripSlice = (dripSlice + 1) % 50
      }
      var input = pollfd(fd: 0, events: Int16(POLLIN), revents: 0)
      if poll(&input, 1, 0) != 0 { break }
    }
    Terminal.write("held \(held) ended \(endedByGateway) refused \(refused)\n", to: 1)
  }

  private mutating func begin(_ i: Int) {
    guard let descriptor = try? Sockets.stream(nonblocking: true) else { return ended.insert(Int32(i), at: 0) }
    let source = Sockets.address("127.0.0.\(2 + i / Self.connectionsPerAddress)", 0)
    _ = Sockets.withAddress(source) { bind(descriptor, $0, $1) }
    let result = Sockets.withAddress(Sockets.address(url.host, url.port)) { connect(descriptor, $0, $1) }
    guard result == 0 || errno == EINPROGRESS else {
      close(descriptor)
      refused += 1
      return ended.insert(Int32(i), at: 0)
    }
    descriptors[i] = descriptor
    states[i] = .connecting
    progress[i] = 0
    inFlight += 1
    watch(i, EPOLLOUT.rawValue, EPOLL_CTL_ADD)
  }

  private func watch(_ i: Int, _ interest: UInt32, _ operation: Int32) {
    var event = epoll_event(events: interest, data: epoll_data_t(u64: UInt64(i)))
    epoll_ctl(epoll, operation, descriptors[i], &event)
  }

  private mutating func wait() {
    withUnsafeTemporaryAllocation(of: epoll_event.self, capacity: 512) { events in
      let ready = epoll_wait(epoll, events.baseAddress, 512, 5)
      guard ready > 0 else { return }
      for k in 0..<Int(ready) {
        let i = Int(events[k].data.u64)
        if states[i] == .connecting { connected(i) } else { end(i) }
      }
    }
  }

  private mutating func connected(_ i: Int) {
    inFlight -= 1
    var code: Int32 = 0
    var size = socklen_t(MemoryLayout<Int32>.size)
    getsockopt(descriptors[i], SOL_SOCKET, SO_ERROR, &code, &size)
    guard code == 0 else {
      refused += 1
      return release(i)
    }
    states[i] = .open
    held += 1
    // Only the end is waited for: nothing is ever read.
    watch(i, EPOLLRDHUP.rawValue, EPOLL_CTL_MOD)
    if kind == .neverRead { _ = send(descriptors[i], opening, opening.count, Int32(MSG_NOSIGNAL)) }
  }

  private mutating func sendByte(_ i: Int) {
    let index = min(Int(progress[i]), drip.count - 1)
    var byte = index == drip.count - 1 ? UInt8(ascii: "z") : drip[index]
    _ = send(descriptors[i], &byte, 1, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
    progress[i] &+= 1
  }

  private mutating func end(_ i: Int) {
    held -= 1
    endedByGateway += 1
    release(i)
  }

  private mutating func release(_ i: Int) {
    close(descriptors[i])
    descriptors[i] = -1
    states[i] = .closed
    ended.insert(Int32(i), at: 0)
  }
}

/// The hostile connections as a process of their own, so that their CPU time is not the clients'.
struct HostileProcess {
  let held: Int
  private let pid: pid_t
  private let input: Int32
  private let output: Int32

  /// Starts this executable again as `hostile` and waits until its connections are open.
  init(arguments words: [String]) throws {
    var input: [Int32] = [0, 0]
    var output: [Int32] = [0, 0]
    guard pipe(&input) == 0, pipe(&output) == 0 else { throw LoadError("no pipe: \(Sockets.reason(errno))") }
    for fd in input + output { _ = fcntl(fd, F_SETFD, FD_CLOEXEC) }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, input[0], 0)
    posix_spawn_file_actions_adddup2(&actions, output[1], 1)
    var arguments: [UnsafeMutablePointer<CChar>?] = (["tidegate-load", "hostile"] + words).map { strdup($0) } + [nil]
    defer { for argument in arguments { free(argument) } }
    var child: pid_t = 0
    let code = posix_spawn(&child, "/proc/self/exe", &actions, nil, &arguments, environ)
    close(input[0])
    close(output[1])
    guard code == 0 else { throw LoadError("the hostile connections did not start: \(Sockets.reason(code))") }
    pid = child
    self.input = input[1]
    self.output = output[0]
    let answer = Self.line(output[0])
    guard answer.count == 2, let held = Int(answer[1]) else {
      kill(child, SIGKILL)
      waitpid(child, nil, 0)
      throw LoadError("the hostile connections did not open; is the gateway's limit of connections high enough?")
    }
    self.held = held
  }

  /// Ends them; how many were held at the end, how many the gateway had ended, how many it had refused.
  func stop() -> (held: Int, ended: Int, refused: Int) {
    close(input)
    let answer = Self.line(output)
    close(output)
    waitpid(pid, nil, 0)
    guard answer.count == 6 else { return (0, 0, 0) }
    return (Int(answer[1]) ?? 0, Int(answer[3]) ?? 0, Int(answer[5]) ?? 0)
  }

  private static func line(_ fd: Int32) -> [Substring] {
    var bytes: [UInt8] = []
    var byte: UInt8 = 0
    while read(fd, &byte, 1) == 1, byte != 0x0A, bytes.count < 256 { bytes.append(byte) }
    return String(decoding: bytes, as: UTF8.self).split(separator: " ")
  }
}

/// The hostile connections by themselves.
struct HostileCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "hostile", abstract: "Holds N hostile connections open until standard input ends.")

  @Option(help: "The gateway's stream.") var url = "ws://127.0.0.1:8080/v1/stream"
  @Option(help: "How many.") var connections = 10_000
  @Option(help: "What they do: \(HostileKind.names).") var kind = HostileKind.silent.rawValue
  @Option(help: "Symbols that connections which never read subscribe to.") var symbols = "kraken:BTC-USD"
  @Option(help: "Their channels.") var channels = "trades,quote"
  @Option(help: "Levels a side of their book streams.") var depth = 25
  @Option(help: "Their rate class, ms.") var intervalMs = 0
  @Option(help: "Exit after so many seconds.") var lifetime = 3600.0

  func validate() throws {
    guard HostileKind(rawValue: kind) != nil else {
      throw ValidationError("--kind takes \(HostileKind.names), not '\(kind)'")
    }
    guard (1...200_000).contains(connections) else { throw ValidationError("--connections takes 1 to 200000") }
  }

  func run() throws {
    do {
      let subscription = try Subscription(
        channels: channels.split(separator: ",").map(String.init),
        symbols: symbols.split(separator: ",").map(String.init), depth: depth, intervalMs: intervalMs)
      var hostile = try Hostile(
        url: StreamURL(url), kind: HostileKind(rawValue: kind) ?? .silent, count: connections,
        subscription: subscription)
      hostile.run(lifetime: lifetime)
    } catch let error as LoadError {
      Terminal.say("tidegate-load: \(error)\n")
      throw ExitCode.failure
    }
  }
}

/// Runs without and with hostile connections, in turns.
struct HostileComparison {
  let kind: String
  let connections: Int
  var quiet: [Figures] = []
  var besieged: [Figures] = []
  var held: [Int] = []
  var ended = 0
  var refused = 0

  /// p99 with them over p99 without, turn by turn.
  var ratios: [Double] {
    zip(quiet, besieged).compactMap { pair in
      guard pair.0.latency.totalCount > 0, pair.1.latency.totalCount > 0 else { return nil }
      return Double(pair.1.latency.valueAtPercentile(99)) / Double(max(1, pair.0.latency.valueAtPercentile(99)))
    }
  }

  var json: JSONObject {
    var object = JSONObject()
    object["hostile_kind"] = .text(kind)
    object["hostile_connections"] = .integer(Int64(connections))
    object["hostile_held_least"] = .integer(Int64(held.min() ?? 0))
    object["hostile_ended_by_gateway"] = .integer(Int64(ended))
    object["hostile_refused"] = .integer(Int64(refused))
    object["p99_ratio_median"] = .number(Comparison.median(ratios), digits: 3)
    object["p99_ratio_max"] = .number(ratios.max() ?? 0, digits: 3)
    object["quiet"] = .array(quiet.map(\.json))
    object["besieged"] = .array(besieged.map(\.json))
    return object
  }
}

extension RunCommand {
  /// Measures without and with `hostile` connections, `rounds` times.
  func runHostile(_ target: StreamURL, _ subscription: Subscription, probe: ProcessProbe?) throws -> HostileComparison {
    var comparison = HostileComparison(kind: hostileKind, connections: hostile)
    for _ in 0..<rounds {
      comparison.quiet.append(try run(target, subscription, label: "quiet", probe: probe))
      let process = try HostileProcess(arguments: [
        "--url", url, "--connections", "\(hostile)", "--kind", hostileKind,
        "--symbols", subscription.symbols.joined(separator: ","), "--channels", channels, "--depth", "\(depth)",
        "--interval-ms", "\(intervalMs)",
      ])
      comparison.held.append(process.held)
      Terminal.say("\(process.held) hostile connections (\(hostileKind)) are open\n")
      let figures = Result { try run(target, subscription, label: "hostile", probe: probe) }
      let end = process.stop()
      comparison.held.append(end.held)
      comparison.ended += end.ended
      comparison.refused += end.refused
      comparison.besieged.append(try figures.get())
    }
    return comparison
  }
}
