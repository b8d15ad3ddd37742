import Dispatch
import Foundation
import Logging
import MarketData
import Synchronization
import TestSupport
import TestTraits
import Testing
import Venues

@testable import Feeds
@testable import Recordings

@Suite("A full disk costs the recording and nothing else")
struct RecordingSinkTests {
  private static let header = RecordingHeader(
    venue: "coinbase", market: "spot", symbols: ["BTC-USD"], channels: [], started: Timestamp(microseconds: 1))

  private static func temporaryPath() -> String {
    FileManager.default.temporaryDirectory.appendingPathComponent("tidegate-\(UUID().uuidString).ndjson.gz").path
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

  @Test("the log says it once, writing goes on when there is room, and the gap says what is missing", .realTime)
  func told() async throws {
    var random = SeededGenerator(seed: 5)
    let path = Self.temporaryPath()
    defer { try? FileManager.default.removeItem(atPath: path) }
    let log = LogCapture()
    let disk = SmallDisk(capacity: 500_000)
    let clock = Mutex(Timestamp(microseconds: 1_000))
    let sink = try RecordingSink(
      to: .file(path), venue: try #require(VenueRegistry.venue(named: "coinbase")),
      configuration: FeedConfiguration(symbols: ["BTC-USD"]), policy: RecordingPolicy(), log: log.logger,
      clock: { clock.withLock { $0 } },
      makeFile: { (path, mode) throws(RecordingError) in try disk.open(path, mode) })
    func send(_ times: Range<Int>) {
      for time in times {
        Self.noise(4000, &random).withUnsafeBytes {
          sink.received($0, at: Timestamp(microseconds: Int64(1_000 + time)))
        }
      }
    }
    send(0..<600)
    sink.tickNow()
    #expect(log.lines.count == 2, "\(log.lines)")
    #expect(log.lines.last?.contains("error recording paused; the feed continues without it") == true)
    #expect(log.lines.last?.contains("No space left on device") == true)
    #expect(log.lines.last?.contains(path) == true)
    let paused = sink.figures
    #expect(paused.pausedBy?.contains("No space left on device") == true && paused.failures == 1)
    #expect(paused.records + paused.lost == 600)
    #expect(try Self.records(path) == paused.records)

    // Time passes, but there is no room yet: nothing more is said.
    clock.withLock { $0 = $0 + 5 * Microseconds.second }
    sink.tickNow()
    #expect(log.lines.count == 2, "\(log.lines)")
    #expect(sink.figures.failures == 2)
    disk.grow(to: 100_000_000)
    clock.withLock { $0 = $0 + 60 * Microseconds.second }
    sink.tickNow()
    #expect(sink.figures.pausedBy == nil)
    #expect(log.lines.last?.contains("recording resumed") == true)
    #expect(log.lines.last?.contains("records_lost=\(paused.lost)") == true)
    send(600..<700)
    await withCheckedContinuation { continuation in sink.finish { continuation.resume() } }
    #expect(sink.isEnded && log.lines.count == 3)

    let reader = try RecordingReader(path: path)
    var texts = 0
    var gaps: [Int] = []
    while let record = try reader.next() {
      if record.kind == .gap {
        gaps.append(record.lost)
        #expect(texts == paused.records)
      } else {
        texts += 1
      }
    }
    #expect(gaps == [paused.lost])
    #expect(texts == paused.records + 100)
    #expect(!reader.isCutOff)
  }

  @Test("what the disk is too slow for is counted and marked where it is missing", .realTime)
  func slow() async throws {
    let path = Self.temporaryPath()
    defer { try? FileManager.default.removeItem(atPath: path) }
    let log = LogCapture()
    let disk = SmallDisk(capacity: .max)
    let sink = try RecordingSink(
      to: .file(path), venue: try #require(VenueRegistry.venue(named: "coinbase")),
      configuration: FeedConfiguration(symbols: ["BTC-USD"]), policy: RecordingPolicy(), log: log.logger,
      pendingLimit: 100_000, clock: { Timestamp(microseconds: 1) },
      makeFile: { (path, mode) throws(RecordingError) in try disk.open(path, mode) })
    let frame = [UInt8](repeating: 0x61, count: 1_000)
    // The queue is kept busy, so that nothing is taken from it.
    let gate = DispatchSemaphore(value: 0)
    sink.hold(until: gate)
    for _ in 0..<200 { frame.withUnsafeBytes { sink.received($0, at: Timestamp(microseconds: 1)) } }
    let lost = sink.figures.lost
    #expect(lost > 50 && lost < 150)
    gate.signal()
    sink.tickNow()
    frame.withUnsafeBytes { sink.received($0, at: Timestamp(microseconds: 1)) }
    await withCheckedContinuation { continuation in sink.finish { continuation.resume() } }
    var kinds: [RecordKind] = []
    let reader = try RecordingReader(path: path)
    while let record = try reader.next() {
      kinds.append(record.kind)
      if record.kind == .gap { #expect(record.lost == lost) }
    }
    #expect(kinds == Array(repeating: .text, count: 200 - lost) + [.gap, .text])
    #expect(log.lines.count { $0.contains("too slow") } == 1, "\(log.lines)")
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

extension SmallDisk {
  /// A recording on this disk.
  fileprivate func open(_ path: String, _ mode: RecordingFile.Mode) throws(RecordingError) -> RecordingFile {
    try RecordingFile(path: path, mode: mode, write: write)
  }
}
