import Foundation
import TestTraits
import Testing

@Suite("tidegate recordings", .realTime)
struct RecordingsCommandTests {
  private static let header =
    #"{"recording":1,"venue":"coinbase","market":"spot","symbols":["BTC-USD"],"channels":[],"started":1700000000000000}"#

  private static func line(_ message: String, second: Int) -> String {
    let text = message.replacing("\"", with: "\\\"")
    return #"{"t":\#(1_700_000_000_000_000 + second * 1_000_000),"c":0,"k":"text","m":"\#(text)"}"#
  }

  /// A snapshot, and a change and a trade every second for 20 s.
  private static var lines: [String] {
    var lines = [
      header,
      line(
        #"{"type":"snapshot","product_id":"BTC-USD","bids":[["20.00","1"]],"asks":[["20.50","1"]]}"#, second: 0),
    ]
    for second in 1...20 {
      let size = "0.\(second + 10)"
      lines.append(
        line(
          #"{"type":"l2update","product_id":"BTC-USD","changes":[["buy","20.\#(second + 10)","\#(size)"]]}"#,
          second: second))
      lines.append(
        line(
          #"{"type":"match","trade_id":\#(second),"side":"sell","size":"\#(size)","price":"20.50","product_id":"BTC-USD","time":"2023-11-14T22:13:20Z"}"#,
          second: second))
    }
    return lines
  }

  private static func withFile(_ body: (_ file: String, _ folder: String) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tidegate-test-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appendingPathComponent("a.ndjson")
    try Data(lines.joined(separator: "\n").appending("\n").utf8).write(to: file)
    try await body(file.path, folder.path)
  }

  /// Runs the command and returns what it printed.
  private static func run(_ arguments: String..., status: Int32 = 0) async throws -> String {
    try await run(arguments, status: status)
  }

  private static func run(_ arguments: [String], status: Int32) async throws -> String {
    let process = try TidegateProcess(arguments)
    let result = try await process.status()
    #expect(result == status, "\(arguments): \(process.printed)\(process.logged)")
    return status == 64 ? process.logged : process.printed
  }

  @Test("list, index and verify say what is in a folder, and end with 1 if something is damaged")
  func folder() async throws {
    try await Self.withFile { file, folder in
      #expect(
        try await Self.run("recordings", folder).contains("2023-11-14T22:13:40.000000Z        41  0.0 MB     0  no"))
      #expect(try await Self.run("recordings", "index", folder).contains("41 records"))
      #expect(try await Self.run("recordings", "index", folder).contains("indexed already"))
      #expect(try await Self.run("recordings", "index", "--force", folder).contains("41 records"))
      #expect(try await Self.run("recordings", "list", folder).hasSuffix("  0  yes\n"))
      let json = try await Self.run("recordings", "list", "--json", folder)
      let document = try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any]
      #expect((document?["recordings"] as? [[String: Any]])?.first?["messages"] as? Int == 41)
      _ = try await Self.run("recordings", "verify", folder)
      try Data((Self.lines + ["garbage"]).joined(separator: "\n").appending("\n").utf8)
        .write(to: URL(fileURLWithPath: file))
      #expect(try await Self.run("recordings", "verify", folder, status: 1).contains("1 line is no record"))
      #expect(try await Self.run("recordings", "list", folder).contains("was made before"))
    }
  }

  @Test("cut and export take a part; replay plays it, or shows the books of an instant")
  func parts() async throws {
    try await Self.withFile { file, folder in
      let out = folder + "/cut.ndjson.gz"
      let (from, to) = ("2023-11-14T22:13:25Z", "2023-11-14T22:13:30Z")
      let cut = try await Self.run("recordings", "cut", file, "--from", from, "--to", to, "--out", out)
      #expect(cut.contains("10 records from 2023-11-14T22:13:25.000000Z to 2023-11-14T22:13:29.000000Z"))
      // The best bid of 19 s.
      #expect(try await Self.run("replay", out, "--strict").contains("20.19"))
      #expect(try await Self.run("replay", file, "--from", from, "--to", to).contains("10 frames in 4 s"))
      #expect(try await Self.run("replay", file, "--at", from).contains("0 frames in 0 s"))
      let trades = try await Self.run("recordings", "export", file, "--from", from, "--to", to)
      #expect(trades.split(separator: "\n").count == 6 && trades.hasPrefix("received,time,symbol"))
      let top = try await Self.run("recordings", "export", out, "--what", "top", "--format", "ndjson")
      #expect(top.split(separator: "\n").last?.contains(#""bid":"20.19""#) == true)
    }
  }

  @Test("wrong usage is refused in words")
  func refusals() async throws {
    let (day, next) = ("2024-01-01T00:00:00Z", "2024-01-02T00:00:00Z")
    try await Self.withFile { file, folder in
      for (arguments, words) in [
        (["recordings", "list", folder + "/x"], "cannot be read"),
        (["recordings", "cut", file, "--out", "x"], "give --from, --to"),
        (["recordings", "cut", file, "--from", "noon", "--out", "x"], "--from noon is not allowed; a time is written"),
        (["recordings", "cut", file, "--to", day, "--out", file], "exists"),
        (["recordings", "export", file, "--what", "books"], "give trades or top"),
        (["recordings", "export", file, "--format", "parquet"], "give csv or ndjson"),
        (["replay", file, "--at", day, "--from", day], "--at cannot be given"),
        (["replay", file, "--from", next, "--to", day], "--from is not before --to"),
      ] {
        let said = try await Self.run(arguments, status: 64)
        #expect(said.contains(words), "\(arguments): \(said)")
      }
    }
  }
}
