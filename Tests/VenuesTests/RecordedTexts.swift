import Foundation
import TestSupport
import Testing

/// The records of a recording, and what they add up to, read by Foundation and gzip: nothing of the house.
struct RecordedTexts {
  let records: [[String: Any]]
  /// By the venue's own names.
  let expected: [String: [String: Any]]

  init(_ name: String) throws {
    let folder = try #require(recordingsFolder)
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["gzip", "-dc", "\(folder)/\(name).ndjson.gz"]
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.run()
    let data = try pipe.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    records = try data.split(separator: 0x0A).compactMap {
      try JSONSerialization.jsonObject(with: $0) as? [String: Any]
    }
    let sums = try JSONSerialization.jsonObject(
      with: Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(name).expected.json")))
    expected = (sums as? [String: Any])?["symbols"] as? [String: [String: Any]] ?? [:]
  }

  /// Text frames with the time of their arrival, µs, and the name of the fixture, if there is one.
  var texts: [(text: String, time: Int64, name: String)] {
    records.compactMap { record in
      guard record["k"] as? String == "text", let text = record["m"] as? String else { return nil }
      return (text, (record["t"] as? Int64) ?? 0, record["n"] as? String ?? "")
    }
  }
}
