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
    #expect(!table.printed.contains(" \n"), "no padding where no terminal is")
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
    #expect(refused.logged.contains("this is not the operators' token; give it with --token-file"))
    for command in [["top", "--once"], ["bundle"], ["status"]] {
      let other = try TidegateProcess(
        command + ["--at", try gateway.clientAddress], environment: ["TIDEGATE_ADMIN_TOKEN_FILE": token])
      #expect(try await other.status() == 3, "\(command)")
      #expect(other.logged.hasSuffix("is not an internal port of Tidegate\n"), "\(other.logged)")
    }
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

  @Test("beside a demo it needs no token to be typed, and the demo says what to open")
  func demo() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tidegate-top-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let environment = ["TIDEGATE_DATA_DIRECTORY": folder.path]
    let gateway = try await TidegateProcess.serving(["--demo"], environment: environment)
    let lines = gateway.printed.split(separator: "\n").map(String.init)
    #expect(lines[0].hasPrefix("open http://127.0.0.1:") && lines[0].hasSuffix("/"), "\(lines)")
    let address = try gateway.internalAddress
    #expect(lines[1].hasPrefix("open http://\(address)/ops#token="), "\(lines)")
    #expect(lines.contains { $0.hasSuffix("tidegate top --at \(address)") }, "\(lines)")
    let table = try TidegateProcess(["top", "--once", "--at", address], environment: environment)
    #expect(try await table.status() == 0, "\(table.logged)")
    let file = folder.appendingPathComponent("demo-admin-token")
    let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? NSNumber
    #expect(mode?.intValue == 0o600)
    let token = try String(contentsOf: file, encoding: .utf8)
    #expect(lines[1].hasSuffix("#token=" + token.trimmingCharacters(in: .newlines)))
    gateway.send(SIGINT)
    _ = try await gateway.status()
    // The same again, so that an open page keeps working.
    let second = try await TidegateProcess.serving(["--demo"], environment: environment)
    #expect(try String(contentsOf: file, encoding: .utf8) == token)
    second.send(SIGINT)
    _ = try await second.status()
  }
}
