import Foundation
import TestTraits
import Testing
import Transport

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What operators and their tools send to a running process must not end it by accident.
@Suite("Signals of commands that run for long", .realTime)
struct ServiceSignalsTests {
  @Test("SIGHUP finds nothing to read in a gateway without files, which says so and serves on")
  func hangUpWithoutFiles() async throws {
    // A demo has a file: its operators' token.
    let gateway = try await TidegateProcess.serving(
      ["--feed", "kraken=BTC-USD", "--endpoint", "kraken=ws://127.0.0.1:9/v2"],
      environment: ["TIDEGATE_DRAIN_SECONDS": "1"])
    gateway.send(SIGHUP)
    try await gateway.waitUntilLog(contains: "nothing to reload")
    #expect(gateway.isRunning)
    gateway.send(SIGTERM)
    #expect(try await gateway.status() == 0)
  }

  @Test("SIGHUP reads the key file and the roots again, and the log names both")
  func hangUpWithFiles() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tidegate-signals-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let keys = folder.appendingPathComponent("keys").path
    let roots = folder.appendingPathComponent("roots.pem").path
    try "anonymous channels=pulse\n".write(toFile: keys, atomically: true, encoding: .utf8)
    let certificate = try SelfSignedCertificate(hosts: ["localhost"])
    try certificate.certificatePEM.write(toFile: roots, atomically: true, encoding: .utf8)
    let gateway = try await TidegateProcess.serving(
      ["--feed", "kraken=BTC-USD", "--endpoint", "kraken=ws://127.0.0.1:9/v2", "--ca", roots],
      environment: ["TIDEGATE_KEYS_FILE": keys])
    gateway.send(SIGHUP)
    try await gateway.waitUntilLog(contains: "roots for venues read again")
    try await gateway.waitUntilLog(contains: "keys read again")
    try "nonsense\n".write(toFile: keys, atomically: true, encoding: .utf8)
    try "".write(toFile: roots, atomically: true, encoding: .utf8)
    gateway.send(SIGHUP)
    try await gateway.waitUntilLog(contains: "keys not reloaded")
    try await gateway.waitUntilLog(contains: "venue roots not reloaded")
    gateway.send(SIGINT)
    #expect(try await gateway.status() == 0)
  }

  @Test("SIGHUP ends a key that the configuration no longer has, in a demo as with real feeds, and says only that")
  func removedKey() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tidegate-signals-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appendingPathComponent("tidegate.yaml").path
    // The SHA-256 of "test", and of "foo".
    let staying = "    b: {sha256: 2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae}\n"
    let ending = "    a: {sha256: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08}\n"
    func write(_ keys: String) throws {
      try "demo: true\naccess:\n  keys:\n\(keys)".write(toFile: file, atomically: true, encoding: .utf8)
    }
    try write(ending + staying)
    let gateway = try await TidegateProcess.serving(
      ["--config", file], environment: ["TIDEGATE_DRAIN_SECONDS": "1"])
    func status(_ key: String) async throws -> Int? {
      let web = try #require(
        gateway.printed.split { $0 == " " || $0 == "\n" }.first { $0.hasSuffix("/v1/instruments") })
      var request = URLRequest(url: try #require(URL(string: String(web).replacing("instruments", with: "status"))))
      request.setValue("Bearer \(key)", forHTTPHeaderField: "Authorization")
      return (try await URLSession.shared.data(for: request).1 as? HTTPURLResponse)?.statusCode
    }
    #expect(try await status("test") == 200)
    try write(staying)
    gateway.send(SIGHUP)
    try await gateway.waitUntilLog(contains: "keys read again")
    #expect(try await status("test") == 401)
    #expect(try await status("foo") == 200)
    gateway.send(SIGHUP)
    try await gateway.waitUntilLog(contains: "the configuration is unchanged")
    let between = gateway.logged.components(separatedBy: "keys read again")
    #expect(between.count == 3, "one line at each signal")
    #expect(!between[1].contains("unchanged") && !gateway.logged.contains("nothing to reload"), "\(gateway.logged)")
    gateway.send(SIGTERM)
    #expect(try await gateway.status() == 0)
  }

  @Test("signals that mean nothing, and SIGHUP from the start to the end of a drain, do not end a gateway")
  func anyTime() async throws {
    let gateway = try TidegateProcess(
      [
        "serve", "--demo", "--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0", "--loops", "1",
      ], environment: ["TIDEGATE_DRAIN_SECONDS": "1"])
    // The program's own first line is its earliest sign of life; from there on, without a pause.
    let sending = Task {
      while !gateway.printed.contains("/metrics"), gateway.isRunning { try await Task.sleep(for: .milliseconds(1)) }
      while gateway.isRunning {
        for signal in [SIGHUP, SIGUSR1, SIGPIPE, SIGXFSZ] { gateway.send(signal) }
        try await Task.sleep(for: .milliseconds(2))
      }
    }
    try await gateway.waitUntilLog(contains: "signal=SIGUSR1")
    try await gateway.waitUntilLog(contains: "the configuration is unchanged")
    gateway.send(SIGTERM)
    let status = try await gateway.status()
    sending.cancel()
    #expect(status == 0, "\(gateway.logged.suffix(2_000))")
  }

  @Test("SIGUSR2 is refused in words where no other process can take over, and the gateway serves on")
  func upgradeRefused() async throws {
    let gateway = try await TidegateProcess.serving(["--demo"], environment: ["TIDEGATE_DRAIN_SECONDS": "1"])
    gateway.send(SIGUSR2)
    try await gateway.waitUntilLog(contains: "upgrade refused")
    #expect(gateway.isRunning)
    gateway.send(SIGTERM)
    try await gateway.waitUntilLog(contains: "msg=draining")
    #expect(try await gateway.status() == 0)
  }

  @Test("a process that is said to take over, and was not started to, says so and does not serve")
  func strangeOrigin() async throws {
    let gateway = try TidegateProcess(
      ["serve", "--demo", "--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0"],
      environment: ["SUCCESSOR_OF_TIDEGATE": "1"])
    #expect(try await gateway.status() != 0)
    #expect(gateway.logged.contains("SUCCESSOR_OF_TIDEGATE"))
  }

  @Test("a gateway whose terminal was closed ends, and does not take that for a request to read files")
  func terminal() async throws {
    var (controller, terminal): (Int32, Int32) = (-1, -1)
    try #require(openpty(&controller, &terminal, nil, nil, nil) == 0)
    let gateway = try TidegateProcess(
      ["serve", "--demo", "--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0", "--loops", "1"],
      environment: ["TIDEGATE_DRAIN_SECONDS": "1"],
      standardInput: FileHandle(fileDescriptor: terminal, closeOnDealloc: true))
    try await gateway.waitUntilOutput(contains: "/metrics")
    gateway.send(SIGHUP)
    try await gateway.waitUntilLog(contains: "the configuration is unchanged")
    close(controller)
    // The kernel tells of it, and so does the shell; the second is no wish for more haste.
    gateway.send(SIGHUP)
    try await gateway.waitUntilLog(contains: "msg=draining")
    gateway.send(SIGHUP)
    #expect(try await gateway.status() == 0)
    #expect(!gateway.logged.contains("msg=stopping"))
  }

  @Test("a simulated exchange and a recorder outlive the signals that mean nothing to them, and end with 0 at SIGTERM")
  func others() async throws {
    let exchange = try TidegateProcess(["simulate", "--venue", "kraken", "--listen", "127.0.0.1:0"])
    try await exchange.waitUntilOutput(contains: "--endpoint")
    let endpoint = try #require(exchange.printed.split { $0 == " " || $0 == "\n" }.first { $0.hasPrefix("kraken=ws:") })
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tidegate-signals-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let recorder = try TidegateProcess([
      "record", "--feed", "kraken=BTC-USD", "--endpoint", String(endpoint), "--out", folder.path + "/",
    ])
    try await recorder.waitUntilLog(contains: "msg=metrics")
    for process in [exchange, recorder] {
      for signal in [SIGHUP, SIGUSR1, SIGUSR2, SIGPIPE, SIGXFSZ] { process.send(signal) }
      try await process.waitUntilLog(contains: "signal=SIGUSR1")
      try await process.waitUntilLog(contains: "signal=SIGUSR2")
      try await process.waitUntilLog(contains: "nothing to reload")
    }
    recorder.send(SIGTERM)
    #expect(try await recorder.status() == 0)
    #expect(recorder.logged.contains("msg=recorded"))
    exchange.send(SIGTERM)
    #expect(try await exchange.status() == 0)
  }

  @Test("the log of a wanted stop has no warning", arguments: [SIGTERM, SIGINT])
  func wantedStop(_ signal: Int32) async throws {
    let gateway = try await TidegateProcess.serving(["--demo"], environment: ["TIDEGATE_DRAIN_SECONDS": "1"])
    try await gateway.waitUntilLog(contains: "feed live")
    gateway.send(signal)
    #expect(try await gateway.status() == 0)
    // A demo warns at its start, once for each feed, and of protocols that cannot say that its prices are not real.
    let atStart = ["the prices of this feed are not real", "clients of other protocols take simulated prices for real"]
    #expect(gateway.logLines("level=warning").filter { line in !atStart.contains { line.contains($0) } } == [])
    #expect(gateway.logLines("level=error") == [])
  }

  @Test("a failed attempt to reach a venue is one line")
  func failedAttempt() async throws {
    let gateway = try await TidegateProcess.serving(
      [
        "--feed", "kraken=BTC-USD", "--endpoint", "kraken=ws://127.0.0.1:9/v2", "--feed", "binance=BTC-USDT",
        "--endpoint", "binance=ws://127.0.0.1:9/stream", "--endpoint", "binance.rest=http://127.0.0.1:9",
      ])
    try await gateway.waitUntilLog { log in
      log.split(separator: "\n").contains { $0.contains("attempt=3") && $0.contains("venue=kraken") }
    }
    let attempts = gateway.logLines("venue=kraken").prefix { !$0.contains("attempt=3") }
    #expect(attempts.count == 2, "\(attempts.joined(separator: "\n"))")
    // A list is asked for again within an attempt; each request that fails is a line that says why.
    try await gateway.waitUntilLog { log in log.split(separator: "\n").count { $0.contains("venue=binance") } >= 2 }
    #expect((Array(attempts) + gateway.logLines("venue=binance")).allSatisfy { $0.contains(" reason=") })
    gateway.send(SIGINT)
    #expect(try await gateway.status() == 0)
  }
}
