import TestSupport
import Testing

@testable import Venues

@Suite("Gate's frames in other libraries' tests")
struct GateRecordingTests {
  @Test(
    "every spot frame is understood",
    .enabled(if: recordingsFolder != nil, "no recordings on this machine: set TIDEGATE_RECORDINGS"))
  func frames() throws {
    let feed = EngineHarness(Gate.venue, ["ETH-USDT"])
    feed.prepare()
    feed.respond(feed.gets[0].request, 200, GateDialectTests.list)
    feed.connect()
    var understood = 0
    for record in try Recording("gate-mixed-20260821-frames-jkorf").texts where record.text.contains("spot.") {
      feed.receive(record.text)
      #expect(feed.error == nil, "\(record.name): \(feed.error?.detail ?? "")")
      understood += 1
    }
    #expect(understood >= 10)
    #expect(feed.engine.symbolCounts[0].trades == 1 && feed.engine.symbolCounts[0].deltas == 1)
  }
}
