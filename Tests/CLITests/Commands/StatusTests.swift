import Foundation
import TestTraits
import Testing

@Suite("tidegate status and bundle", .realTime)
struct StatusTests {
  @Test("its exit status is the gateway's health, and 3 where there is none")
  func check() async throws {
    let gateway = try await TidegateProcess.serving(["--demo"])
    let address = try gateway.internalAddress
    try await gateway.waitUntilLog(contains: "feed live")
    var status: Int32 = -1
    for _ in 0..<200 where status != 0 {
      status = try await TidegateProcess(["status", "--check", "--at", address]).status()
      try await Task.sleep(for: .milliseconds(50))
    }
    #expect(status == 0)
    let silent = try await TidegateProcess.serving([
      "--feed", "kraken=BTC-USD", "--endpoint", "kraken=ws://127.0.0.1:9/v2",
    ])
    let failing = try TidegateProcess(["status", "--check", "--at", try silent.internalAddress])
    #expect(try await failing.status() == 2)
    #expect(failing.printed.contains("failing: 0 of 1 feeds live"))
    let told = try TidegateProcess(["status", "--at", try silent.internalAddress])
    #expect(try await told.status() == 0)
    #expect(try await TidegateProcess(["status", "--at", "127.0.0.1:9"]).status() == 3)
    silent.send(SIGINT)
    _ = try await silent.status()
    gateway.send(SIGINT)
    _ = try await gateway.status()
  }

  @Test("a bundle is an archive with health, metrics and, with the token, the configuration; no secret is in it")
  func bundle() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tidegate-bundle-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let token = folder.appendingPathComponent("token").path
    try "a-token-that-is-long-enough".write(toFile: token, atomically: true, encoding: .utf8)
    let gateway = try await TidegateProcess.serving(["--demo"], environment: ["TIDEGATE_ADMIN_TOKEN_FILE": token])
    let archive = folder.appendingPathComponent("b.tar.gz").path
    let bundle = try TidegateProcess([
      "bundle", "--at", try gateway.internalAddress, "--token-file", token, "--out", archive,
    ])
    #expect(try await bundle.status() == 0)
    let tar = Process()
    tar.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    tar.arguments = ["tar", "-xzf", archive, "-C", folder.path, "--strip-components=1"]
    try tar.run()
    tar.waitUntilExit()
    func text(_ name: String) throws -> String {
      try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)
    }
    #expect(try text("health.json").contains("\"status\""))
    #expect(try text("metrics.txt").contains("tidegate_build_info"))
    #expect(try text("configuration.json").contains("\"admin.token-file\""))
    #expect(try text("errors-kraken.json").contains("\"venue\":\"kraken\""))
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) where name.contains(".json") {
      #expect(try !text(name).contains("a-token-that-is-long-enough"), "\(name)")
    }
    gateway.send(SIGINT)
    _ = try await gateway.status()
  }
}
