import Testing
import WebSocket

@testable import Gateway

/// WebSocket pings of clients, over sockets.
@Suite("Pings, end to end", .serialized)
struct PingTests {
  @Test("a client that pings and does not read is owed one pong, not a queue of them")
  func flood() async throws {
    let harness = try GatewayHarness(venues: ["kraken"])
    let probe = try await harness.probe()
    probe.stopReading()
    // 20 MB of pongs: more than the kernel takes and the gateway would queue before it cuts a connection off.
    let ping: [UInt8] = [0x89, 0xFD, 0, 0, 0, 0] + [UInt8](repeating: 0x70, count: 125)
    let pings = Array(repeatElement(ping, count: 4_000).joined())
    for _ in 0..<40 {
      probe.send(raw: pings)
      var patience = Patience()
      while await probe.unsentBytes() > 0 { try await patience.wait(for: "the pings to be taken") }
    }
    probe.startReading()
    probe.send(#"{"op":"ping","id":7,"time":1}"#)
    _ = try await probe.first("the pong of the protocol") { $0.type == "pong" && $0.id == 7 }
    await harness.stop()
  }
}
