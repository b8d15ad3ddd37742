import Foundation
import TestSupport
import Testing

/// A record of a recording, as a test that looks at frames one by one needs it.
struct RecordedFrame {
  /// `text`, `http`, `sent`…
  let kind: String
  let text: String
  /// Of a `http` record.
  let url: String
  /// The name of the fixture that it comes from, where it has one.
  let name: String

  /// The records of `name`, without the header. Precondition: there are recordings on this machine.
  static func all(of name: String) throws -> [RecordedFrame] {
    try unpacked("\(try #require(recordingsFolder))/\(name).ndjson.gz").compactMap { line in
      guard let record = try JSONSerialization.jsonObject(with: line) as? [String: Any],
        let kind = record["k"] as? String
      else { return nil }
      return RecordedFrame(
        kind: kind, text: record["m"] as? String ?? "", url: record["url"] as? String ?? "",
        name: record["n"] as? String ?? "")
    }
  }

  /// What the recording adds up to, by symbol.
  static func expected(of name: String) throws -> [String: [String: Any]] {
    let data = try Data(contentsOf: URL(fileURLWithPath: "\(try #require(recordingsFolder))/\(name).expected.json"))
    let whole = try JSONSerialization.jsonObject(with: data) as? [String: Any]
    return whole?["symbols"] as? [String: [String: Any]] ?? [:]
  }

  private static func unpacked(_ path: String) throws -> [Data] {
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
