import Foundation
import TestSupport
import Testing

@testable import HTTPAPI
@testable import Recordings

@Suite("Gzip of answers")
struct GzipEncoderTests {
  /// What `compressed` holds, as a reader of recordings reads it.
  private static func inflated(_ compressed: [UInt8]) throws -> [UInt8] {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent("tidegate-\(UUID().uuidString).gz").path
    try Data(compressed).write(to: URL(fileURLWithPath: path))
    defer { try? FileManager.default.removeItem(atPath: path) }
    let reader = try LineReader(path: path)
    var out: [UInt8] = []
    while let line = try reader.next({ (line: RawSpan) in line.withUnsafeBytes { Array($0) } }) {
      if !out.isEmpty { out.append(UInt8(ascii: "\n")) }
      out += line
    }
    #expect(!reader.isCutOff)
    return out
  }

  @Test("a body comes out whole, whatever its length, in as many pieces as it is long")
  func pieces() throws {
    var random = SeededGenerator(seed: 5)
    for length in [0, 1, 1_024, GzipEncoder.pieceBytes, GzipEncoder.pieceBytes + 1, 5 * GzipEncoder.pieceBytes + 77] {
      let body = (0..<length).map { _ in UInt8(ascii: "0") + UInt8.random(in: 0..<10, using: &random) }
      let encoder = try #require(GzipEncoder(body))
      var turns = 1
      var whole = encoder.advance()
      while whole == nil {
        turns += 1
        whole = encoder.advance()
      }
      #expect(turns == max(1, (length + GzipEncoder.pieceBytes - 1) / GzipEncoder.pieceBytes))
      let compressed = try #require(whole)
      #expect(length < 1_024 || compressed.count < length * 6 / 10)
      #expect(try Self.inflated(compressed) == body, "\(length)")
    }
  }

  @Test(
    "is sent to whom it is welcome",
    arguments: [
      (["gzip"], true), (["gzip, deflate, br"], true), (["br;q=1.0, gzip;q=0.5"], true), (["GZip"], true),
      (["*"], true),
      (["x-gzip"], true), (["identity"], false), ([], false), (["gzip;q=0"], false), (["gzip; q=0.000"], false),
      (["*;q=0"], false), (["gzip;q=0, *"], false), (["*, gzip;q=0"], false), (["deflate", "gzip"], true),
      ([""], false),
    ])
  func acceptance(fields: [String], isAccepted: Bool) {
    #expect(GzipEncoder.isAccepted(fields) == isAccepted, "\(fields)")
  }
}
