import Foundation
import TestTraits
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite("tidegate serve", .realTime)
struct ServeTests {
  private static let promtool = ["/usr/bin/promtool", "/usr/local/bin/promtool", "/opt/homebrew/bin/promtool"].first {
    FileManager.default.isExecutableFile(atPath: $0)
  }

  private static func metrics(of gateway: TidegateProcess) async throws -> String {
    let line = try #require(gateway.printed.split(separator: "\n").first { $0.contains("/metrics") })
    let url = try #require(line.split(separator: " ").last.flatMap { URL(string: String($0)) })
    let (body, _) = try await URLSession.shared.data(from: url)
    return String(decoding: body, as: UTF8.self)
  }

  @Test("/metrics has the process's own figures, and an age for a feed from which nothing ever came")
  func metrics() async throws {
    let gateway = try await TidegateProcess.serving([
      "--feed", "kraken=BTC-USD", "--endpoint", "kraken=ws://127.0.0.1:9/v2",
    ])
    let text = try await Self.metrics(of: gateway)
    for name in [
      "process_resident_memory_bytes", "process_cpu_seconds_total", "process_open_fds", "process_max_fds",
      "process_start_time_seconds", "tidegate_feed_age_seconds{venue=\"kraken\",connection=\"kraken\"}",
    ] {
      let line = text.split(separator: "\n").first { $0.hasPrefix(name + " ") }
      let value = line?.split(separator: " ").last.flatMap { Double($0) }
      #expect(value.map { $0 >= 0 } == true, "\(name): \(line ?? "missing")")
    }
    gateway.send(SIGINT)
    #expect(try await gateway.status() == 0)
  }

  @Test("Prometheus' own checker finds nothing to say of /metrics", .enabled(if: promtool != nil, "no promtool"))
  func promtoolFindsNothing() async throws {
    let gateway = try await TidegateProcess.serving(["--demo"])
    try await gateway.waitUntilLog(contains: "feed live")
    let text = try await Self.metrics(of: gateway)
    let checker = Process()
    checker.executableURL = URL(fileURLWithPath: try #require(Self.promtool))
    checker.arguments = ["check", "metrics"]
    let (input, output) = (Pipe(), Pipe())
    checker.standardInput = input
    checker.standardOutput = output
    checker.standardError = output
    try checker.run()
    try input.fileHandleForWriting.write(contentsOf: Data(text.utf8))
    try input.fileHandleForWriting.close()
    let said = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    checker.waitUntilExit()
    #expect(checker.terminationStatus == 0 && said.isEmpty, "\(said)")
    gateway.send(SIGINT)
    #expect(try await gateway.status() == 0)
  }
}
