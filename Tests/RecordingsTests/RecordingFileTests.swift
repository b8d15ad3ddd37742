import Foundation
import MarketData
import TestSupport
import TestTraits
import Testing

@testable import Recordings

@Suite("A recording on a disk that fills up")
struct RecordingFileTests {
  private static let header = RecordingHeader(
    venue: "coinbase", market: "spot", symbols: ["BTC-USD"], channels: [], started: Timestamp(microseconds: 1))

  private static func temporaryPath() -> String {
    FileManager.default.temporaryDirectory.appendingPathComponent("tidegate-\(UUID().uuidString).ndjson.gz").path
  }

  /// A file on a disk that takes `capacity` bytes, the last write in part.
  private static func file(_ path: String, capacity: Int) throws -> RecordingFile {
    try RecordingFile(path: path, write: SmallDisk(capacity: capacity).write)
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

  @Test(
    "the file reads to its end and holds what it says, wherever the disk ended", .longComputation,
    arguments: testSeeds(4))
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
}
