import Foundation
import TestSupport
import Testing

@testable import Venues

@Suite("Gate's frames in other libraries' tests")
struct GateRecordingTests {
  @Test(
    "every spot frame is understood",
    .enabled(if: recordingsFolder != nil, "no recordings on this machine: set TIDEGATE_RECORDINGS"))
  func frames() throws {
    let folder = try #require(recordingsFolder)
    let feed = HandlerHarness(GateHandler.venue, ["ETH-USDT"])
    feed.prepare()
    feed.respond(feed.gets[0].request, 200, GateHandlerTests.list)
    feed.connect()
    var understood = 0
    for line in try unpacked("\(folder)/gate-mixed-20260821-frames-jkorf.ndjson.gz") {
      guard let record = try JSONSerialization.jsonObject(with: line) as? [String: Any],
        record["k"] as? String == "text",
        let text = record["m"] as? String, text.contains("spot.")
      else { continue }
      feed.receive(text)
      #expect(feed.error == nil, "\(record["n"] ?? ""): \(feed.error?.detail ?? "")")
      understood += 1
    }
    #expect(understood >= 10)
    #expect(feed.handler.symbolCounts[0].trades == 1 && feed.handler.symbolCounts[0].deltas == 1)
  }

  /// The lines of a gzip file.
  private func unpacked(_ path: String) throws -> [Data] {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["gzip", "-dc", path]
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.run()
    let data = try pipe.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    return data.split(separator: 0x0A)
  }
}
