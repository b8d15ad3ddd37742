import Foundation
import HTTPAPI
import History
import Logging
import MarketData
import Settings
import Synchronization
import TestTraits
import Testing
import Transport
import VenueSimulator

@testable import Gateway

/// One gateway takes over from another, both in this process, over sockets.
@Suite("Upgrades, end to end", .serialized, .realTime)
struct UpgradeTests {
  private static let subscribe =
    #"{"op":"subscribe","id":2,"streams":[{"channel":"trades","symbols":["kraken:BTC-USD"]}]}"#
  private let folder = NSTemporaryDirectory() + "tidegate-upgrade-" + UUID().uuidString
  private let log = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

  private func keeper() throws(DataFileError) -> HistoryKeeper {
    try HistoryKeeper(directory: folder, isSimulated: false, retention: Retention(), log: log)
  }

  private func makeHarness(history: HistoryKeeper?) async throws -> GatewayHarness {
    let harness = try GatewayHarness(venues: ["kraken"], rate: 100, history: history) { [folder] configuration in
      configuration.data.directory = folder
    }
    try await harness.waitUntilLive()
    return harness
  }

  /// Feeds beside those of the harness, whose books are there.
  private func warmed(_ harness: GatewayHarness) async throws -> WarmFeeds {
    let warm = try WarmFeeds(harness.gateway.configuration, log: log) { _ in }
    var patience = Patience()
    while warm.warmth.live < warm.warmth.all { try await patience.wait(for: "the feeds; \(warm.warmth)") }
    #expect(warm.warmth == .init(live: 1, all: 1, venues: 1))
    return warm
  }

  private func sockets(of gateway: Gateway) async throws -> [ServiceManager.KeptSocket] {
    let copies = await withCheckedContinuation { continuation in
      gateway.copySockets { continuation.resume(returning: $0) }
    }
    return zip(KeptPorts.Name.allCases, try #require(copies)).map { .init(name: $0.rawValue, descriptor: $1) }
  }

  /// Where the trades stopped, as a `hello` that resumes.
  private func resume(_ messages: [Message]) throws -> String {
    let session = try #require(messages.first { $0.type == "welcome" }?["session"] as? String)
    let item = try #require((messages.first { $0.type == "subscribed" }?["ok"] as? [[String: Any]])?.first)
    let (stream, epoch) = (try #require(item["stream"] as? Int), try #require(item["epoch"] as? String))
    let last = try #require(messages.last { $0.stream == stream && $0.seq >= 0 })
    return #"{"op":"hello","id":9,"resume":{"session":"\#(session)","streams":[{"channel":"trades","#
      + #""symbol":"kraken:BTC-USD","interval_ms":0,"stream":\#(stream),"epoch":"\#(epoch)","seq":\#(last.seq)}]}}"#
  }

  private func stop(_ gateway: Gateway) async {
    await withCheckedContinuation { continuation in gateway.stop(within: .milliseconds(500)) { continuation.resume() } }
  }

  @Test("the next gateway has its books at once, and a client goes on with its session and every trade")
  func takeOver() async throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let harness = try await makeHarness(history: try keeper())
    let old = harness.gateway
    let probe = try await harness.probe()
    probe.send(#"{"op":"hello","id":1,"heartbeat_s":1}"#)
    probe.send(Self.subscribe)
    try await probe.first("a trade") { $0.type == "update" && $0.channel == "trades" }
    let warm = try await warmed(harness)
    let sockets = try await sockets(of: old)
    await withCheckedContinuation { continuation in old.handOver { continuation.resume() } }
    let frozen = probe.messages.count

    let next = try Gateway(
      configuration: old.configuration, history: try keeper(), log: log, sockets: sockets, warm: warm)
    try next.start()
    #expect(next.address == old.address && next.internalAddress == old.internalAddress)
    try await harness.waitUntilLive()
    // No other connection to the venue was made for it.
    #expect(harness.exchanges["kraken"]?.statistics.connections == 2)

    let ended = Mutex(false)
    old.leave(seconds: 3) { ended.withLock { $0 = true } }
    try await probe.first("the notice", from: frozen) { $0["code"] as? String == "drain" }
    let heartbeat = try await probe.first("a heartbeat", from: frozen) { $0.type == "heartbeat" }
    let state = ((heartbeat["feeds"] as? [String: Any])?["kraken"] as? [String: Any])?["state"] as? String
    #expect(state == "reconnecting")
    #expect(try await probe.closeCode() == 4201)
    #expect(!probe.messages[frozen...].contains { $0.type == "update" && $0.channel == "trades" })

    let again = try await harness.probe()
    again.send(try resume(probe.messages))
    let welcome = try await again.first("the welcome") { $0.type == "welcome" }
    #expect(welcome["resumed"] as? Bool == true)
    #expect((welcome["ok"] as? [[String: Any]])?.first?["recovered"] as? Bool == true)
    var last = try #require(probe.messages.last { $0.channel == "trades" && $0.seq >= 0 })
    for _ in 0..<3 {
      let position = last
      last = try await again.first("trades") { message in
        message.type == "update" && message.stream == position.stream && message.seq > position.seq
      }
      #expect(last.prev == position.seq)
    }
    var patience = Patience()
    while !ended.withLock({ $0 }) { try await patience.wait(for: "the end of the gateway before") }
    await stop(next)
    await harness.stop()
  }

  @Test(
    "a request from before a hand-over is answered from the live market, whatever loop has its feed", arguments: 0..<2)
  func owedAnswers(_ shift: Int) async throws {
    let harness = try GatewayHarness(venues: ["kraken"], rate: 100)
    try await harness.waitUntilLive()
    let nodes = harness.gateway.nodes
    for node in nodes { await onLoop(of: node) { $0.settings.handOverAnswerTime = 60 * Microseconds.second } }
    // One connection more shifts the next to the other loop.
    for _ in 0..<shift { _ = try await harness.get("/v1/status") }
    let socket = try ClientSocket(to: harness.gateway.address)
    var patience = Patience()
    var isThere = false
    while !isThere {
      try await patience.wait(for: "the connection")
      for node in nodes where await onLoop(of: node, { $0.clients.httpSessions.sessions.contains(where: \.owesAnswer) })
      {
        isThere = true
      }
    }
    harness.gateway.handOver {}
    // A loop that waits for nothing has ended its feeds after these.
    for _ in 0..<3 { for node in nodes { await onLoop(of: node) { _ in } } }
    socket.send(Array("GET /v1/quotes/kraken:BTC-USD HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8))
    var answer = ""
    while answer.isEmpty {
      try await patience.wait(for: "the answer")
      answer = socket.received
    }
    #expect(answer.hasPrefix("HTTP/1.1 200 "), "\(answer)")
    await harness.stop()
  }

  private func onLoop<Value: Sendable>(
    of node: LoopNode, _ body: @escaping @Sendable (LoopNode) -> Value
  ) async -> Value {
    await withCheckedContinuation { continuation in
      node.loop.execute { continuation.resume(returning: body(node)) }
    }
  }

  @Test("a gateway that is replaced before its instruments came leaves their streams to the next as it found them")
  func twice() async throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let harness = try await makeHarness(history: try keeper())
    let probe = try await harness.probe()
    probe.send(#"{"op":"hello","id":1}"#)
    probe.send(Self.subscribe)
    try await probe.first("a trade") { $0.type == "update" && $0.channel == "trades" }
    let warm = try await warmed(harness)
    await withCheckedContinuation { continuation in harness.gateway.handOver { continuation.resume() } }
    // Its own feed has had no time for an instrument.
    var configuration = harness.gateway.configuration
    configuration.feeds[0].endpoint = "ws://127.0.0.1:9"
    let between = try Gateway(configuration: configuration, history: try keeper(), log: log)
    try between.start()
    await withCheckedContinuation { continuation in between.handOver { continuation.resume() } }
    configuration.feeds = harness.gateway.configuration.feeds
    let next = try Gateway(configuration: configuration, history: try keeper(), log: log, warm: warm)
    try next.start()
    let again = try await StreamProbe(next.address, loop: harness.clientLoop)
    again.send(try resume(probe.messages))
    let welcome = try await again.first("the welcome") { $0.type == "welcome" }
    #expect(welcome["resumed"] as? Bool == true)
    #expect((welcome["ok"] as? [[String: Any]])?.first?["recovered"] as? Bool == true, "\(welcome)")
    await stop(between)
    await stop(next)
    await harness.stop()
  }

  @Test("where the data file cannot be opened in the end, trades that were held back are published all the same")
  func withoutHistory() async throws {
    let harness = try await makeHarness(history: nil)
    let warm = try await warmed(harness)
    let sockets = try await sockets(of: harness.gateway)
    await withCheckedContinuation { continuation in harness.gateway.handOver { continuation.resume() } }
    let next = try Gateway(configuration: harness.gateway.configuration, log: log, sockets: sockets, warm: warm)
    try next.start()
    try await harness.waitUntilLive()
    let probe = try await harness.probe()
    probe.send(Self.subscribe)
    try await probe.first("a trade") { $0.type == "update" && $0.channel == "trades" }
    await stop(next)
    await harness.stop()
  }

  @Test("who had connected to a gateway that hands over is taken in; what would be written there is refused")
  func latecomers() async throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let harness = try await makeHarness(history: try keeper())
    let probe = try await harness.probe()
    let (streaming, asking) = (try RawConnection(harness.gateway.address), try RawConnection(harness.gateway.address))
    // They are accepted in the order in which they connected.
    let third = try await harness.probe()
    await withCheckedContinuation { continuation in harness.gateway.handOver { continuation.resume() } }
    harness.gateway.leave(seconds: 2) {}
    try await probe.first("the notice") { $0["code"] as? String == "drain" }
    let rule =
      #"{"name":"x","rule":{"condition":{"type":"price","symbol":"kraken:BTC-USD","is":"above","value":"1"}}}"#
    let answer = try asking.ask(
      "POST /v1/alerts HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        + "Content-Length: \(rule.utf8.count)\r\n\r\n" + rule)
    #expect(answer.hasPrefix("HTTP/1.1 503 "), "\(answer)")
    let upgrade = try streaming.ask(
      "GET /v1/stream HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n")
    #expect(upgrade.hasPrefix("HTTP/1.1 101 "), "\(upgrade)")
    #expect(try await probe.closeCode() == 4201)
    withExtendedLifetime(third) {}
    await harness.stop()
  }
}

/// A connection on which a request is made later.
private final class RawConnection {
  private let descriptor: Int32

  init(_ address: SocketAddress) throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var time = timeval(tv_sec: 20, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
    var peer = sockaddr_in()
    peer.sin_family = sa_family_t(AF_INET)
    peer.sin_port = in_port_t(address.port).bigEndian
    peer.sin_addr.s_addr = inet_addr("127.0.0.1")
    let result = withUnsafePointer(to: &peer) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    try #require(result == 0)
  }

  deinit { close(descriptor) }

  /// The beginning of the answer.
  func ask(_ request: String) throws -> String {
    try #require(write(descriptor, Array(request.utf8), request.utf8.count) == request.utf8.count)
    var buffer = [UInt8](repeating: 0, count: 2_000)
    return String(decoding: buffer[..<max(0, read(descriptor, &buffer, buffer.count))], as: UTF8.self)
  }
}
