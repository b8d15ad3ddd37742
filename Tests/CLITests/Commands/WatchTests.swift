import Foundation
import TestTraits
import Testing

@Suite("tidegate watch", .realTime)
struct WatchTests {
  /// The URL of a gateway's streams, as its first lines say it.
  private static func stream(of gateway: TidegateProcess) throws -> String {
    let words = gateway.printed.split { $0 == " " || $0 == "\n" }
    return String(try #require(words.first { $0.hasPrefix("ws://") && $0.hasSuffix("/v1/stream") }))
  }

  private static func run(
    _ arguments: [String], environment: [String: String] = [:]
  ) async throws -> (status: Int32, printed: String, logged: String) {
    let process = try TidegateProcess(["watch"] + arguments, environment: environment)
    return (try await process.status(), process.printed, process.logged)
  }

  @Test("with --once it ends with 1 where no gateway answers, as a table and as JSON", arguments: [[], ["--json"]])
  func nobody(form: [String]) async throws {
    let end = try await Self.run(["ws://127.0.0.1:9/v1/stream", "kraken:BTC-USD", "--once"] + form)
    #expect(end.status == 1)
    #expect(end.logged.contains("error: "), "\(end.logged)")
    if !form.isEmpty { #expect(end.printed.isEmpty, "\(end.printed)") }
  }

  @Test("it shows a market with 0, and ends with 2 where all that it was asked for is refused")
  func markets() async throws {
    let gateway = try await TidegateProcess.serving(["--demo"])
    try await gateway.waitUntilLog(contains: "feed live")
    let url = try Self.stream(of: gateway)
    let table = try await Self.run([url, "kraken:BTC-USD", "--once"])
    #expect(table.status == 0, "\(table)")
    #expect(table.printed.contains("\tkraken:BTC-USD\t"), "\(table.printed)")
    let frames = try await Self.run([url, "kraken:BTC-USD", "--once", "--json"])
    #expect(frames.status == 0, "\(frames)")
    let lines = frames.printed.split(separator: "\n").map { Data($0.utf8) }
    #expect(!lines.isEmpty && lines.allSatisfy { (try? JSONSerialization.jsonObject(with: $0)) is [String: Any] })
    for form in [[], ["--json"]] {
      let refused = try await Self.run([url, "kraken:NO-SUCH"] + form)
      #expect(refused.status == 2, "\(refused)")
      #expect(refused.logged.contains("NO-SUCH"))
    }
    gateway.send(SIGINT)
    _ = try await gateway.status()
  }

  @Test("where keys are set it takes one from a file or the environment, and without one ends with 2 and says how")
  func keys() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tidegate-watch-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let made = try TidegateProcess(["key", "desk"])
    #expect(try await made.status() == 0)
    let words = made.printed.split { $0 == " " || $0 == "\n" }.map(String.init)
    let key = try #require(words.first { $0.hasPrefix("tg_") })
    let section = try #require(made.printed.firstRange(of: "  access:"))
    let (keys, token) = (folder.appendingPathComponent("keys.yaml"), folder.appendingPathComponent("token"))
    try made.printed[section.lowerBound...].write(to: keys, atomically: true, encoding: .utf8)
    try (key + "\n").write(to: token, atomically: true, encoding: .utf8)
    let gateway = try await TidegateProcess.serving(["--demo"], environment: ["TIDEGATE_KEYS_FILE": keys.path])
    try await gateway.waitUntilLog(contains: "feed live")
    let wish = [try Self.stream(of: gateway), "kraken:BTC-USD", "--once"]
    let unknown = try await Self.run(wish)
    #expect(unknown.status == 2, "\(unknown)")
    #expect(unknown.logged.contains("--token-file"), "\(unknown.logged)")
    #expect(try await Self.run(wish + ["--token-file", token.path]).status == 0)
    #expect(try await Self.run(wish, environment: ["TIDEGATE_TOKEN": key]).status == 0)
    let wrong = try await Self.run(wish, environment: ["TIDEGATE_TOKEN": "tg_" + String(repeating: "0", count: 40)])
    #expect(wrong.status == 1)
    #expect(!wrong.logged.contains("tg_0000"), "a secret is never shown")
    #expect(try await Self.run(wish + ["--token-file", folder.appendingPathComponent("none").path]).status == 64)
    gateway.send(SIGINT)
    _ = try await gateway.status()
  }
}
