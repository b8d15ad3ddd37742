import Operations
import TestSupport
import TestTraits
import Testing
import Transport

@testable import Gateway

/// A gateway has ten thousand clients, and most of them do nothing most of the time.
@Suite("What a session costs while its client does nothing", .serialized, .realTime)
struct StreamSessionTests {
  @Test("a session has 168 bytes, of which nothing is for what may come")
  func size() {
    #expect(instanceSize(of: StreamSession.self) <= 168)
    #expect(MemoryLayout<ClientPace>.size <= 28)
    #expect(MemoryLayout<ProofOfReading>.size <= 4)
  }

  @Test("a frame that came in pieces and a burst over the rate leave nothing behind")
  func afterwards() async throws {
    let harness = try GatewayHarness(venues: ["kraken"], loops: 1)
    let probe = try await harness.probe()
    let node = try #require(harness.gateway.nodes.first)
    func hasExtras() async -> Bool {
      await withCheckedContinuation { continuation in
        node.loop.execute { continuation.resume(returning: node.clients.sessions.contains { $0?.hasExtras == true }) }
      }
    }
    var patience = Patience()
    while await hasExtras() { try await patience.wait(for: "a session that has nothing") }
    let ping: [UInt8] = [0x89, 0xFD, 0, 0, 0, 0] + [UInt8](repeating: 0x70, count: 125)
    probe.send(raw: Array(ping.prefix(60)))
    while await !hasExtras() { try await patience.wait(for: "half a frame") }
    probe.send(raw: Array(ping.dropFirst(60)) + Array(repeatElement(ping, count: 30).joined()))
    while probe.pongs < 31 { try await patience.wait(for: "the last of 31 pongs, \(probe.pongs) came") }
    while await hasExtras() { try await patience.wait(for: "a session that has nothing again") }
    await harness.stop()
  }
}
