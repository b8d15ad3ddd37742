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
    #expect(good.last == "OK: FILE can be used as it is: 2 symbols of kraken, for clients on 127.0.0.1:8080")
    let mixed = try await Self.check("feeds:\n  kraken: [BTC-USD, \"*-EUR\"]\n  okx: [\"*-USDT:top20\"]\n")
    #expect(mixed.last.contains("1 symbol and 1 selection of kraken, 1 selection of okx, for clients"), "\(mixed.last)")
    let bad = try await Self.check("feeds:\n  kraken: [BTC-USD]\nlimits:\n  clients: 5\n  clients: 6\n")
    #expect(bad.status == 64)
    #expect(bad.all.contains("error: limits.clients: appears twice (file FILE, lines 4 and 5)"))
    #expect(bad.last == "NOT OK: FILE cannot be used as it is")
  }

  /// Configurations that are well-formed and do not work; `FOLDER` is a folder with the files below.
  private static let refusedTexts = [
    "feeds:\n  kraken: [BTC-USD-PERP]\n",
    "feeds:\n  kraken: [BTC-USD]\nadmin:\n  token-file: FOLDER/short\n",
    "feeds:\n  kraken: [BTC-USD]\nkeys-file: FOLDER/short\n",
    "feeds:\n  kraken: [BTC-USD]\nca-file: FOLDER/short\n",
    "feeds:\n  kraken: [BTC-USD]\nlisten: 192.0.2.1:8080\n",
    "feeds:\n  kraken: [BTC-USD]\ninternal-listen: 0.0.0.0:9090\n",
    "feeds:\n  kraken: [BTC-USD]\nlimits:\n  clients: many\n",
    "feeds:\n  kraken: [BTC-USD]\nready-feeds: 2\n",
    "feeds:\n  kraken: [BTC-USD]\nrecord: FOLDER/none/r.ndjson\n",
    "feeds:\n  kraken: [BTC-USD]\ntls:\n  certificate: FOLDER/short\n  key: FOLDER/short\n",
    "replay: [FOLDER/short]\n",
    "log-level: debug\n",
  ]
  /// Configurations that a gateway starts with, although a part of them never works.
  private static let lastingTexts = [
    "feeds:\n  okx: [BTC-USDT, BTC-USDT-20201225]\n",
    "feeds:\n  kraken: [BTC-USD]\ndata:\n  directory: FOLDER/short/data\n",
  ]

  /// Runs both commands on a file with this text.
  private static func both(_ text: String) async throws -> (check: TidegateProcess, serve: TidegateProcess, file: URL) {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tidegate-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try "short\n".write(to: folder.appendingPathComponent("short"), atomically: true, encoding: .utf8)
    let file = folder.appendingPathComponent("tidegate.yaml")
    try text.replacing("FOLDER", with: folder.path).write(to: file, atomically: true, encoding: .utf8)
    let ports = ["TIDEGATE_LISTEN": "127.0.0.1:0", "TIDEGATE_INTERNAL_LISTEN": "127.0.0.1:0"]
    var environment = ports.filter { name, _ in
      !text.contains(name == "TIDEGATE_LISTEN" ? "\nlisten" : "internal-listen")
    }
    // The file names a folder itself.
    environment["TIDEGATE_DATA_DIRECTORY"] = text.contains("data:") ? "\(folder.path)/short/data" : "none"
    // No feed may reach the network.
    environment["TIDEGATE_ENDPOINTS"] = text.contains("okx") ? "okx=ws://127.0.0.1:9/" : nil
    return (
      try TidegateProcess(["check-config", file.path], environment: environment),
      try TidegateProcess(["serve", "--config", file.path], environment: environment), folder
    )
  }

  @Test("it refuses in the same words what serve refuses at its start", arguments: refusedTexts)
  func refusals(text: String) async throws {
    let (check, serve, folder) = try await Self.both(text)
    defer { try? FileManager.default.removeItem(at: folder) }
    let served = try await serve.status()
    #expect(served != 0, "serve started with \(text)")
    #expect(try await check.status() == 64, "\(text)")
    let errors = serve.logLines("error: ")
    #expect(!errors.isEmpty && errors == check.logLines("error: "), "\(serve.logged)\n\(check.logged)")
  }

  @Test("it refuses what serve starts with but can never do, which serve logs", arguments: lastingTexts)
  func lasting(text: String) async throws {
    let (check, serve, folder) = try await Self.both(text)
    defer { try? FileManager.default.removeItem(at: folder) }
    #expect(try await check.status() == 64, "\(text)")
    try await serve.waitUntilOutput(contains: "/metrics")
    try await serve.waitUntilLog(contains: "a setting can never work")
    serve.send(SIGINT)
    #expect(try await serve.status() == 0)
  }
}
