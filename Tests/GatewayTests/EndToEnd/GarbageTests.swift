import Bytes
import Foundation
import FuzzTargets
import TestSupport
import TestTraits
import Testing
import Transport
import WebSocket

@testable import Gateway

@Suite("Garbage through sockets", .realTime)
struct GarbageTests {
  /// Connections; `TIDEGATE_GARBAGE=1000000` makes it 20,000.
  private static let connections = max(200, (environment("TIDEGATE_GARBAGE").flatMap(Int.init) ?? 0) / 50)

  private static let request =
    "GET /v1/status HTTP/1.1\r\nHost: a\r\nAccept: */*\r\nContent-Length: 3\r\n\r\nabc"
  private static let upgrade =
    "GET /v1/stream HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
  private static let messages = [
    #"{"op":"subscribe","id":1,"streams":[{"channel":"trades","symbols":["coinbase:BTC-USD"]}]}"#,
    #"{"op":"list","id":2}"#, #"{"op":"unsubscribe","all":true}"#, #"{"op":"hello","heartbeat_s":1}"#,
  ]

  /// What one connection sends.
  private static func bytes(_ mutator: inout SeededMutator) -> [UInt8] {
    guard mutator.below(3) > 0 else { return mutator.mutate([Array(request.utf8), Array(upgrade.utf8)], limit: 4096) }
    var out = ByteBuffer()
    for _ in 0..<(1 + mutator.below(20)) {
      let payload = mutator.mutate(messages.map { Array($0.utf8) }, limit: 1024)
      WebSocketFrame.append(
        mutator.below(8) == 0 ? .binary : .text, payload: payload.span.bytes,
        mask: UInt32(truncatingIfNeeded: mutator.next()), isFinal: mutator.below(6) > 0, to: &out)
    }
    var frames = Array(out.unsafeBytes)
    if mutator.below(3) == 0 { frames = mutator.mutate([frames], limit: 16 << 10) }
    return Array(upgrade.utf8) + frames
  }

  /// Connects, sends, says that nothing more comes, and reads to the end. False if there was none within 20 s.
  private static func send(_ bytes: [UInt8], to address: SocketAddress) -> Bool {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var patience = timeval(tv_sec: 20, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    var to = sockaddr_in()
    to.sin_family = sa_family_t(AF_INET)
    to.sin_port = UInt16(address.port).bigEndian
    inet_pton(AF_INET, "127.0.0.1", &to.sin_addr)
    let connected = withUnsafePointer(to: to) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard connected == 0 else { return false }
    // The gateway may have closed before all is sent.
    _ = Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    shutdown(descriptor, Int32(SHUT_WR))
    var chunk = [UInt8](repeating: 0, count: 16 << 10)
    while true {
      let count = recv(descriptor, &chunk, chunk.count, 0)
      if count == 0 { return true }
      if count < 0 { return errno == ECONNRESET }
    }
  }

  @Test("every connection is ended, none is left, and others are served as before", arguments: testSeeds(1))
  func sockets(_ seed: UInt64) async throws {
    let harness = try GatewayHarness(venues: ["coinbase"])
    try await harness.waitUntilLive()
    let probe = try await harness.probe()
    probe.send(
      #"{"op":"subscribe","id":1,"streams":[{"channel":"book","symbols":["coinbase:BTC-USD"],"interval_ms":0}]}"#)
    try await probe.first("an update") { $0.type == "update" }
    let address = harness.gateway.address
    let stuck = await withCheckedContinuation { continuation in
      // Blocking calls: a thread of their own.
      Thread.detachNewThread {
        var mutator = SeededMutator(seed: seed, words: ["\r\n", "Host: b\r\n", "{", "\"op\":"])
        var stuck: [Int] = []
        for connection in 0..<Self.connections where stuck.count < 3 {
          if !Self.send(Self.bytes(&mutator), to: address) { stuck.append(connection) }
        }
        continuation.resume(returning: stuck)
      }
    }
    #expect(stuck == [], "seed \(seed): these connections had no end")
    let before = probe.count
    try await probe.first("updates go on", from: before) { $0.type == "update" }
    #expect(Links.problems(probe.messages) == [])
    var patience = Patience()
    while true {
      let metrics = try await harness.get("/metrics", internal: true)
      if metrics.text.contains("\ntidegate_clients{transport=\"ws\",encoding=\"plain\"} 1\n") { break }
      try await patience.wait(for: "one client to be left: \(metrics.text)")
    }
    await harness.stop()
  }
}
