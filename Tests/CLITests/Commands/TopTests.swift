import Foundation
import TestTraits
import Testing

@Suite("tidegate top", .realTime)
struct TopTests {
  @Test("it shows the state once, as a table or as JSON; a wrong token is 1, no gateway 3")
  func once() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tidegate-top-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    func file(_ name: String, _ text: String) throws -> String {
      let path = folder.appendingPathComponent(name).path
      try text.write(toFile: path, atomically: true, encoding: .utf8)
      return path
    }
    let token = try file("token", "a-token-that-is-long-enough\n")
    let gateway = try await TidegateProcess.serving(["--demo"], environment: ["TIDEGATE_ADMIN_TOKEN_FILE": token])
    let address = try gateway.internalAddress
    try await gateway.waitUntilLog(contains: "feed live")
    let table = try TidegateProcess(["top", "--once", "--at", address, "--token-file", token])
    #expect(try await table.status() == 0)
    #expect(table.printed.contains("● kraken") && table.printed.contains("prices are SIMULATED"))
    #expect(table.printed.contains("limits.clients") && table.printed.contains("loop 0"))
    let json = try TidegateProcess(
      ["top", "--once", "--json", "--at", address], environment: ["TIDEGATE_ADMIN_TOKEN_FILE": token])
    #expect(try await json.status() == 0)
    let state = try #require(try JSONSerialization.jsonObject(with: Data(json.printed.utf8)) as? [String: Any])
    #expect(state["type"] as? String == "state")
    let events = try #require(state["events"] as? [[String: Any]])
    #expect(events.contains { $0["event"] as? String == "feed_state" })
    let wrong = try file("wrong", "another-token-of-some-length")
    let refused = try TidegateProcess(["top", "--once", "--at", address, "--token-file", wrong])
    #expect(try await refused.status() == 1)
    #expect(refused.logged.contains("the operators' token is needed"))
    #expect(try await TidegateProcess(["top", "--at", "127.0.0.1:9", "--token-file", token]).status() == 3)
    #expect(try await TidegateProcess(["top", "--at", address, "--token-file", "/nowhere"]).status() == 64)
    // Without --once it goes on until it is told to end.
    let lines = try TidegateProcess(["top", "--json", "--at", address, "--token-file", token])
    try await lines.waitUntilOutput { $0.split(separator: "\n").count >= 3 }
    lines.send(SIGTERM)
    _ = try await lines.status()
    gateway.send(SIGINT)
    _ = try await gateway.status()
  }
}
