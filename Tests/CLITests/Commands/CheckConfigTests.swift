import Foundation
import TestTraits
import Testing

@Suite("tidegate check-config", .realTime)
struct CheckConfigTests {
  /// Runs it on a file with this text; its status and the last line of what it says.
  private static func check(_ text: String) async throws -> (status: Int32, last: String, all: String) {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("tidegate-\(UUID().uuidString).yaml")
    defer { try? FileManager.default.removeItem(at: file) }
    try text.write(to: file, atomically: true, encoding: .utf8)
    let process = try TidegateProcess(["check-config", file.path])
    let status = try await process.status()
    let all = try await process.everything
    let said = all.replacing(file.path, with: "FILE")
    return (status, said.split(separator: "\n").last.map(String.init) ?? "", said)
  }

  @Test("the last line is the verdict")
  func verdict() async throws {
    let good = try await Self.check("feeds:\n  kraken: [BTC-USD, ETH-USD]\n")
    #expect(good.status == 0)
    #expect(
      good.last == "OK: FILE can be used as it is: 2 symbols or selections of kraken, for clients on 127.0.0.1:8080")
    let bad = try await Self.check("feeds:\n  kraken: [BTC-USD]\nlimits:\n  clients: 5\n  clients: 6\n")
    #expect(bad.status == 64)
    #expect(bad.all.contains("error: limits.clients: appears twice (file FILE, lines 4 and 5)"))
    #expect(bad.last == "NOT OK: FILE cannot be used as it is")
  }
}
