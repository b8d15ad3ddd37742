import Foundation
import Logging
import MarketData
import Synchronization
import TestSupport
import Testing
import Venues

@testable import Gateway

@Suite("A full disk costs the recording and nothing else")
struct FullDiskTests {
  private static let header = RecordingHeader(
    venue: "coinbase", market: "spot", symbols: ["BTC-USD"], channels: [], started: Timestamp(microseconds: 1))

  private static func temporaryPath() -> String {
    FileManager.default.temporaryDirectory.appendingPathComponent("tidegate-\(UUID().uuidString).ndjson.gz").path
  }

  /// A file on a disk that takes `capacity` bytes, the last write in part.
  private static func file(_ path: String, capacity: Int) throws -> RecordingFile {
    var left = capacity
    return try RecordingFile(path: path) { descriptor, bytes in
      guard left > 0 else {
        errno = ENOSPC
        return -1
      }
      let count = write(descriptor, bytes.baseAddress, min(left, bytes.count))
      left -= max(0, count)
      return count
    }
  }

  /// Text that does not compress.
  private static func noise(_ count: Int, _ random: inout SeededGenerator) -> [UInt8] {
    (0..<count).map { _ in UInt8.random(in: 0x30...0x7A, using: &random) }
  }

  private static func records(_ path: String) throws -> Int {
    let reader = try RecordingReader(path: path)
    var count = 0
    while try reader.next() != nil { count += 1 }
    return count
  }

  @Test("the file reads to its end and holds what it says, wherever the disk ended", arguments: testSeeds(4))
  func whole(_ seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let path = Self.temporaryPath()
    defer { try? FileManager.default.removeItem(atPath: path) }
    let capacity = 200_000 + Int.random(in: 0..<600_000, using: &random)
    let writer = try RecordingWriter(file: try Self.file(path, capacity: capacity), header: Self.header)
    var failures: [RecordingError] = []
    for time in 0..<400 {
      let message = Self.noise(4000, &random)
      do throws(RecordingError) {
        var failure: RecordingError?
        message.withUnsafeBytes { bytes in
          do throws(RecordingError) {
            try writer.text(bytes, connection: 0, at: Timestamp(microseconds: Int64(time)))
          } catch {
            failure = error
          }
        }
        if let failure { throw failure }
      } catch {
        failures.append(error)
      }
    }
    try writer.finish()
    #expect(failures.count == 1, "seed \(seed): it is told once")
    #expect(failures.first?.reason.contains("No space left on device") == true)
    #expect(failures.first?.path == path)
    #expect(writer.savedRecords < writer.records)
    let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
    #expect(size <= capacity)
    if size == 0 {
      #expect(writer.savedRecords == 0)
    } else {
      #expect(try Self.records(path) == writer.savedRecords, "seed \(seed)")
    }
  }

  @Test("the log says it once, with what was kept, and what comes after is dropped")
  func told() async throws {
    var random = SeededGenerator(seed: 5)
    let path = Self.temporaryPath()
    defer { try? FileManager.default.removeItem(atPath: path) }
    let log = LogCapture()
    let sink = try RecordingSink(
      file: try Self.file(path, capacity: 500_000), venue: try #require(VenueRegistry.venue(named: "coinbase")),
      configuration: FeedConfiguration(symbols: ["BTC-USD"]), log: log.logger)
    for time in 0..<600 {
      Self.noise(4000, &random).withUnsafeBytes { sink.received($0, at: Timestamp(microseconds: Int64(time))) }
    }
    await withCheckedContinuation { continuation in sink.finish { continuation.resume() } }
    #expect(sink.isEnded)
    let lines = log.lines
    #expect(lines.count == 1, "\(lines)")
    let kept = try Self.records(path)
    #expect(kept > 0 && kept == sink.records)
    #expect(lines.first?.contains("recording ended; the feed goes on without it") == true)
    #expect(lines.first?.contains("No space left on device") == true)
    #expect(lines.first?.contains("records_kept=\(kept)") == true)
    #expect(lines.first?.contains(path) == true)
  }

  @Test(
    "a gateway whose disk is full goes on serving", .enabled(if: FileManager.default.fileExists(atPath: "/dev/full")))
  func gateway() async throws {
    let log = LogCapture()
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
    let sink = try #require(sinks.withLock { $0.first })
    // What was recorded so far is to be written now.
    await withCheckedContinuation { continuation in sink.finish { continuation.resume() } }
    #expect(sink.isEnded)
    #expect(log.lines.count == 1)
    #expect(log.lines.first?.contains("No space left on device") == true, "\(log.lines)")
    let before = probe.count
    try await probe.first("updates go on", from: before) { $0.type == "update" }
    #expect(Links.problems(probe.messages) == [])
    await harness.stop()
  }
}

/// A logger that keeps its lines.
final class LogCapture: Sendable {
  private let kept = Mutex<[String]>([])

  var lines: [String] { kept.withLock { $0 } }

  var logger: Logger {
    Logger(label: "test") { [self] _ in Handler(capture: self) }
  }

  private struct Handler: LogHandler {
    let capture: LogCapture
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.info

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
      let details = (event.metadata ?? [:]).sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
      capture.kept.withLock { $0.append("\(event.level) \(event.message) \(details.joined(separator: " "))") }
    }
  }
}
