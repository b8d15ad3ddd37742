import TestTraits
import Testing
import VenueSimulator

@testable import Gateway

@Suite("What loops tell each other of instruments", .serialized, .realTime)
struct AnnouncementTests {
  /// Instruments that all loops were told of so far.
  private func announced(_ harness: GatewayHarness) async -> Int {
    var count = 0
    for node in harness.gateway.nodes {
      count += await withCheckedContinuation { continuation in
        node.loop.execute { continuation.resume(returning: node.currentMetrics.entriesAnnounced) }
      }
    }
    return count
  }

  @Test("a book that leaves and enters sync is told of alone, however many markets the feed has")
  func one() async throws {
    let harness = try GatewayHarness(venues: ["kraken"])
    try await harness.waitUntilLive()
    let probe = try await harness.probe()
    probe.send(
      #"{"op":"subscribe","id":1,"streams":[{"channel":"book","symbols":["kraken:ZEC-USD"],"interval_ms":0}]}"#)
    try await probe.first("updates") { $0.type == "update" }
    let before = await announced(harness)
    #expect(before >= 3)
    harness.exchanges["kraken"]!.inject(try Fault(parsing: "checksum=ZEC-USD"))
    try await probe.first("a fresh snapshot") {
      $0.type == "snapshot" && $0["reason"] as? String == "resync"
    }
    try await harness.waitUntilLive()
    let after = await announced(harness)
    // Out of sync and back; all three markets each time would be six.
    #expect((1...4).contains(after - before), "\(after - before)")
    await harness.stop()
  }
}
