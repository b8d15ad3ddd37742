import TestTraits
import Testing
import Transport
import WebSocket

@testable import Gateway

/// WebSocket pings of clients, over sockets.
@Suite("Pings, end to end", .serialized, .realTime)
struct PingTests {
  @Test("a client that floods with pings is held back, and closed with 4129; others notice nothing")
  func flood() async throws {
    let harness = try GatewayHarness(venues: ["kraken"])
    let probe = try await harness.probe()
    let good = try await harness.probe()
    let ping: [UInt8] = [0x89, 0xFD, 0, 0, 0, 0] + [UInt8](repeating: 0x70, count: 125)
    probe.send(raw: Array(repeatElement(ping, count: 4_000).joined()))
    for id in 1...3 {
      good.send("{\"op\":\"ping\",\"id\":\(id)}")
      _ = try await good.first("pong \(id)") { $0.type == "pong" && $0.id == id }
    }
    #expect(try await probe.closeCode() == 4129)
    // 20 at once and 20 a second.
    #expect(probe.pongs <= 20 + 20 * 8, "\(probe.pongs)")
    good.send("{\"op\":\"ping\",\"id\":4}")
    _ = try await good.first("pong 4") { $0.type == "pong" && $0.id == 4 }
    await harness.stop()
  }

  @Test("a client that pings and does not read is owed one pong, not a queue of them")
  func deaf() async throws {
    let harness = try GatewayHarness(venues: ["kraken"])
    let probe = try await harness.probe()
    probe.stopReading()
    let ping: [UInt8] = [0x89, 0xFD, 0, 0, 0, 0] + [UInt8](repeating: 0x70, count: 125)
    probe.send(raw: Array(repeatElement(ping, count: 15).joined()))
    probe.startReading()
    probe.send(#"{"op":"ping","id":7,"time":1}"#)
    _ = try await probe.first("the pong of the protocol") { $0.type == "pong" && $0.id == 7 }
    await harness.stop()
  }

  @Test("until a client answers the greeting it gets 4 KiB and the message that goes over it, then all that goes on")
  func unproven() async throws {
    let harness = try GatewayHarness(venues: ["kraken"], rate: 100)
    try await harness.waitUntilLive()
    let wish =
      #"{"op":"subscribe","streams":[{"channel":"trades","symbols":["kraken:*"]},{"channel":"book","symbols":["kraken:*"],"depth":10,"interval_ms":0}]}"#
    // In one write with the handshake: what it says a second after it came would count as reading.
    let silent = try await harness.probe(answersPings: false, first: wish)
    let good = try await harness.probe(first: wish)
    var patience = Patience()
    while good.count < 300 { try await patience.wait(for: "300 messages, \(good.count) came") }
    let held = silent.messages.map(\.text.utf8.count)
    #expect(held.first != nil)
    #expect(held.dropLast().reduce(0, +) < ProofOfReading.limit, "\(held)")
    let index = silent.count
    silent.pong()
    for symbol in ["kraken:BTC-USD", "kraken:ETH-USD"] {
      try await silent.first("the book of \(symbol)", from: index) { $0.channel == "book" && $0.symbol == symbol }
      try await silent.first("trades of \(symbol)", from: index) { $0.channel == "trades" && $0.symbol == symbol }
    }
    await harness.stop()
  }

  @Test("nothing follows the close frame, however much is published before the client answers it")
  func afterClose() async throws {
    let harness = try GatewayHarness(venues: ["kraken"], rate: 100, loops: 1)
    try await harness.waitUntilLive()
    let wish = #"{"op":"subscribe","streams":[{"channel":"trades","symbols":["kraken:*"]}]}"#
    let quiet = try await harness.probe()
    quiet.send(wish)
    try await quiet.first("a trade") { $0.type == "update" }
    let node = try #require(harness.gateway.nodes.first)
    // What a client is closed with that answers no ping, without the minute that it has for it.
    node.loop.execute { for session in node.clients.sessions { session?.close(code: 4110, reason: "no pong") } }
    #expect(try await quiet.closeCode() == 4110)
    let good = try await harness.probe()
    good.send(wish)
    var patience = Patience()
    while good.count < 200 { try await patience.wait(for: "200 messages, \(good.count) came") }
    #expect(quiet.bytesAfterClose == 0)
    await harness.stop()
  }
}
