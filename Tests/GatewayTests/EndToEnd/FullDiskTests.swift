import Feeds
import Foundation
import Operations
import Recordings
import Synchronization
import TestTraits
import Testing
import Venues

@testable import Gateway

@Suite("A full disk, end to end", .serialized)
struct FullDiskTests {
  @Test(
    "a gateway whose disk is full goes on serving, and its metrics say that nothing is recorded", .realTime,
    .enabled(if: FileManager.default.fileExists(atPath: "/dev/full")))
  func gateway() async throws {
    let lines = Mutex<[String]>([])
    let log = LogSink { line in lines.withLock { $0.append(line) } }
    let sinks = Mutex<[RecordingSink]>([])
    let harness = try GatewayHarness(
      venues: ["coinbase"],
      recorder: { venue, configuration in
        // Every write to this device fails with ENOSPC (full(4)).
        let sink = try? RecordingSink(path: "/dev/full", venue: venue, configuration: configuration, log: log.logger)
        if let sink { sinks.withLock { $0.append(sink) } }
        return sink
      })
    try await harness.waitUntilLive()
    let probe = try await harness.probe()
    probe.send(
      #"{"op":"subscribe","id":1,"streams":[{"channel":"book","symbols":["coinbase:BTC-USD"],"interval_ms":0}]}"#)
    try await probe.first("an update") { $0.type == "update" }
    let metrics = try await harness.get("/metrics", internal: true).text
    #expect(metrics.contains("tidegate_recording_paused{set=\"full\"} 1\n"))
    let sink = try #require(sinks.withLock { $0.first })
    await withCheckedContinuation { continuation in sink.finish { continuation.resume() } }
    #expect(sink.isEnded && sink.records == 0 && sink.figures.lost > 0)
    let logged = lines.withLock { $0 }
    #expect(logged.count == 1)
    #expect(logged.first?.contains("No space left on device") == true, "\(logged)")
    let before = probe.count
    try await probe.first("updates go on", from: before) { $0.type == "update" }
    #expect(Links.problems(probe.messages) == [])
    await harness.stop()
  }
}
