import Foundation
import Settings
import TestTraits
import Testing
import TidegateClient
import TidegateEpoll
import Transport
import VenueSimulator
import WebSocket

@testable import Gateway

/// permessage-deflate from the venues through the gateway to its clients, over sockets.
@Suite("Compression, end to end", .serialized, .realTime)
struct CompressionTests {
  private static let book = #"""
    {"op":"subscribe","id":1,"streams":[{"channel":"book","symbols":["kraken:BTC-USD"],"depth":"full","interval_ms":100}]}
    """#

  /// A counter of the metrics.
  private static func metric(_ name: String, _ harness: GatewayHarness) async throws -> Int {
    let text = try await harness.get("/metrics", internal: true).text
    let line = text.split(separator: "\n").first { $0.hasPrefix("tidegate_\(name) ") }
    return try #require(line?.split(separator: " ").last.flatMap { Int($0) }, "\(name) in \(text)")
  }

  @Test("a frame is compressed once for all clients that take it, and reads the same as for those that do not")
  func shared() async throws {
    // No message of these streams is small, so that every one is compressed.
    let harness = try GatewayHarness(venues: ["kraken"]) { $0.compression.thresholdBytes = 64 }
    try await harness.waitUntilLive()
    let plain = try await harness.probe()
    let browser = try await harness.probe(offers: [.init()])
    // As Python's websockets offers it.
    let small = try await harness.probe(offers: [.init(serverMaxWindowBits: 12, clientMaxWindowBits: .bits(12))])
    #expect(plain.deflate == nil)
    #expect(browser.deflate?.serverNoContextTakeover == true && browser.deflate?.clientMaxWindowBits == 12)
    #expect(small.deflate?.serverMaxWindowBits == 12)
    for probe in [plain, browser, small] { probe.send(Self.book) }
    for probe in [plain, browser, small] {
      _ = try await probe.first("a snapshot") { $0.type == "snapshot" }
    }
    let seq = try await plain.first("an update") { $0.type == "update" }.seq
    var texts: Set<String> = []
    for probe in [plain, browser, small] {
      texts.insert(
        try await probe.first("an update from \(seq + 20) on") { $0.type == "update" && $0.seq == seq + 20 }.text)
      #expect(Links.problems(probe.messages) == [])
    }
    #expect(texts.count == 1)
    let made = try await Self.metric("frames_compressed_total", harness)
    let sent = try await Self.metric("compressed_frames_sent_total", harness)
    // Two take each update; snapshots and replies are each client's own.
    #expect(made > 0 && Double(sent) > 1.5 * Double(made), "\(made) made, \(sent) sent")
    let before = try await Self.metric("compression_input_bytes_total", harness)
    let after = try await Self.metric("compression_output_bytes_total", harness)
    #expect(after > 0 && after < before)
    #expect(try await Self.metric("clients_compressing_total", harness) == 2)
    await harness.stop()
  }

  @Test("compression that is turned off is declined")
  func disabled() async throws {
    let harness = try GatewayHarness(venues: ["kraken"]) { $0.compression.enabled = false }
    let probe = try await harness.probe(offers: [.init()])
    #expect(probe.deflate == nil)
    probe.send(#"{"op":"ping","time":1}"#)
    _ = try await probe.first("the pong") { $0.type == "pong" }
    await harness.stop()
  }

  @Test("a request that inflates beyond the limit is refused with 1009, and garbage with 1007")
  func bombs() async throws {
    let harness = try GatewayHarness(venues: ["kraken"])
    let bomb = try await harness.probe(offers: [.init()])
    bomb.send(#"{"op":"ping","x":"\#(String(repeating: " ", count: 4 << 20))"}"#)
    #expect(try await bomb.closeCode() == 1009)
    let garbage = try await harness.probe(offers: [.init()])
    garbage.send(raw: [0xC1, 0x82, 0, 0, 0, 0, 0xFF, 0xFF])
    #expect(try await garbage.closeCode() == 1007)
    await harness.stop()
  }

  @Test("small messages that inflate to large ones are taken at the rate of work, and others notice nothing")
  func expansion() async throws {
    let harness = try GatewayHarness(venues: ["kraken"])
    let client = try await harness.probe(offers: [.init()])
    let good = try await harness.probe()
    let clock = ContinuousClock()
    let start = clock.now
    for id in 1...40 { client.send(#"{"op":"ping","id":\#(id)\#(String(repeating: " ", count: 60_000))}"#) }
    good.send(#"{"op":"ping","id":1}"#)
    _ = try await good.first("the other's pong") { $0.type == "pong" }
    #expect(client.messages.count { $0.type == "pong" } < 40)
    _ = try await client.first("the last pong") { $0.type == "pong" && $0.id == 40 }
    // 2.4 MB, of which 1 MiB is done at once, at 240 KiB a second.
    #expect(clock.now - start >= .seconds(5))
    await harness.stop()
  }

  @Test(
    "a venue that supports it is asked for compression and its book is exact; the client library takes it by default")
  func venueAndClient() async throws {
    let harness = try GatewayHarness(venues: ["coinbase", "kraken"])
    try await harness.waitUntilLive()
    let url = try GatewayURL("ws://\(harness.gateway.address.description)/v1/stream")
    let follower = ClientFollower(
      GatewayClient(url: url, transport: .epoll), StreamRequest.book("coinbase:BTC-USD", every: .zero).untyped)
    try await follower.wait("updates") { $0.filter { $0.book != nil }.count > 20 ? true : nil }
    #expect(follower.failure.isEmpty, "\(follower.failure)")
    let plain = ClientFollower(
      GatewayClient(url: url, transport: .epoll(offersCompression: false)), StreamRequest.status.untyped)
    try await plain.first("the status") { $0.info != nil }
    #expect(try await Self.metric("clients_compressing_total", harness) == 1)
    #expect(harness.exchanges["coinbase"]!.statistics.compressingClients == 1)
    #expect(harness.exchanges["kraken"]!.statistics.compressingClients == 0)
    await harness.stop()
  }
}
