import Bytes
import Foundation
import PubSub
import TestSupport
import TestTraits
import Testing
import TidegateClient

@testable import Recordings

@Suite("Recorded sessions in the binary encoding")
struct ReplayBinaryTests {
  /// Every recording with `TIDEGATE_SEEDS`; otherwise one of each of three exchanges.
  private static let names: [String] = {
    guard let folder = recordingsFolder else { return [] }
    let all = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    let names = all.filter { $0.hasSuffix(".ndjson.gz") }.sorted()
    guard environment("TIDEGATE_SEEDS") == nil else { return names }
    return names.filter { name in
      ["binance-spot-20211012", "coinbase-spot-20210417", "okx-mixed-20220227"].contains { name.hasPrefix($0) }
    }
  }()

  private static func play(_ path: String, _ publisher: ReplayPublisher) throws {
    let run = try ReplayRun(try ReplayPlan([path]), publisher: publisher)
    _ = try run.run()
  }

  @Test(
    "each record is the JSON message, byte for byte", .longComputation,
    .enabled(if: recordingsFolder != nil, "no recordings on this machine: set TIDEGATE_RECORDINGS"),
    arguments: ReplayBinaryTests.names)
  func equal(name: String) throws {
    let path = "\(try #require(recordingsFolder))/\(name)"
    let text = ReplayPublisher()
    do {
      try Self.play(path, text)
    } catch is RecordingError where environment("TIDEGATE_SEEDS") != nil && text.count == 0 {
      // Of a venue or of markets that the gateway does not have: it cannot be replayed at all.
      return
    }
    var digest: UInt64 = 0xCBF2_9CE4_8422_2325
    var scales: [Int64: BinaryStream] = [:]
    var failures: [String] = []
    var made: ReplayPublisher?
    let binary = ReplayPublisher(isBinary: true) { (bytes) throws(RecordingError) in
      do throws(BinaryError) {
        let record = try BinaryDecoder.decode(Array(bytes)) { number in
          if let known = scales[number] { return known }
          guard let stream = made?.streams[UInt32(number)], let scale = stream.scale else { return nil }
          return BinaryStream(
            channel: stream.key.channel.rawValue, symbol: stream.key.symbol, base: scale.base,
            priceDigits: scale.priceDigits, sizeDigits: scale.sizeDigits)
        }
        if let scale = record.scale { scales[record.stream] = scale }
        guard let text = record.text else { return failures.append("a record of stream \(record.stream)") }
        withUnsafeBytes(of: UInt64(text.count).littleEndian) { length in
          for byte in length { digest = (digest ^ UInt64(byte)) &* 0x100_0000_01B3 }
        }
        for byte in text { digest = (digest ^ UInt64(byte)) &* 0x100_0000_01B3 }
      } catch {
        failures.append("\(error)")
      }
    }
    made = binary
    try Self.play(path, binary)
    #expect(failures.prefix(3).isEmpty)
    #expect(binary.count == text.count)
    #expect(digest == text.digest)
    if text.count > 100 { #expect(binary.bytes * 3 < text.bytes) }
    made = nil
  }
}
