import Foundation
import HTTP1
import Settings
import TestTraits
import Testing

@testable import Gateway

@Suite("Simulated prices, end to end", .serialized, .realTime)
struct SimulatedPricesTests {
  @Test("what an exchange that calls itself simulated sends is marked wherever a client may look")
  func marks() async throws {
    let harness = try GatewayHarness(venues: ["kraken"])
    try await harness.waitUntilLive()
    let stream = try await harness.probe()
    stream.send("{\"op\":\"hello\",\"id\":1}")
    let welcome = try await stream.first("welcome") { $0.type == "welcome" }
    #expect(welcome["simulated"] as? Bool == true, "\(welcome.text)")
    let heartbeat = try await stream.first("a heartbeat") { $0.type == "heartbeat" }
    let feed = (heartbeat["feeds"] as? [String: Any])?["kraken"] as? [String: Any]
    #expect(feed?["simulated"] as? Bool == true, "\(heartbeat.text)")
    stream.send("{\"op\":\"subscribe\",\"streams\":[{\"channel\":\"status\"}]}")
    let status = try await stream.first("status") { $0.type == "snapshot" }
    let feeds = (status["data"] as? [String: Any])?["feeds"] as? [[String: Any]] ?? []
    #expect(feeds.map { $0["simulated"] as? Bool } == [true], "\(status.text)")

    for path in ["books", "trades"] {
      let answer = try await harness.get("/v1/\(path)/kraken:BTC-USD")
      #expect(answer.json["simulated"] as? Bool == true, "\(path): \(answer.text)")
      #expect(answer.fields["Tidegate-Feeds"]?.hasSuffix(";simulated") == true)
    }
    for (path, name) in [
      ("/v1/status", "feeds"), ("/v1/instruments", "instruments"), ("/v1/snapshot?symbols=kraken:BTC-USD", "snapshots"),
    ] {
      let items = try await harness.get(path).json[name] as? [[String: Any]] ?? []
      #expect(!items.isEmpty && items.allSatisfy { $0["simulated"] as? Bool == true }, "\(path): \(items)")
    }
    let front = try await harness.get("/").text
    #expect(front.contains("NOT REAL: kraken (simulated)"), "\(front)")
    let metrics = try await harness.get("/metrics", internal: true).text
    #expect(metrics.contains("tidegate_feed_simulated{venue=\"kraken\",connection=\"kraken\"} 1"))
    await harness.stop()
  }

  @Test("a demo's feeds are marked before anything has come, and a feed that nobody simulates is not")
  func before() async throws {
    for isDemo in [true, false] {
      let harness = try GatewayHarness(venues: ["kraken"]) { configuration in
        configuration.demo = isDemo
        configuration.feeds[0].endpoint = "wss://127.0.0.1:1/"
        configuration.feeds[0].restEndpoint = "https://127.0.0.1:1"
      }
      var feeds: [[String: Any]] = []
      var patience = Patience()
      while feeds.isEmpty {
        feeds = try await harness.get("/v1/status").json["feeds"] as? [[String: Any]] ?? []
        try await patience.wait(for: "the feed's state")
      }
      #expect(feeds[0]["simulated"] as? Bool == (isDemo ? true : nil), "\(feeds)")
      #expect(try await harness.get("/").text.contains("NOT REAL") == isDemo)
      await harness.stop()
    }
  }

  @Test("a replayed recording is marked as one")
  func replayed() async throws {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent("tidegate-\(UUID().uuidString).ndjson")
      .path
    let lines = [
      #"{"recording":1,"venue":"kraken","market":"spot","symbols":["BTC-USD"],"channels":["book"],"started":1}"#,
      #"{"t":2,"c":0,"k":"text","m":"{\"channel\":\"heartbeat\"}"}"#,
    ]
    try lines.joined(separator: "\n").write(toFile: path, atomically: false, encoding: .utf8)
    defer { try? FileManager.default.removeItem(atPath: path) }
    let harness = try GatewayHarness(venues: []) { $0.replay = [path] }
    var feeds: [[String: Any]] = []
    var patience = Patience()
    while feeds.isEmpty {
      feeds = try await harness.get("/v1/status").json["feeds"] as? [[String: Any]] ?? []
      try await patience.wait(for: "the recording's state")
    }
    #expect(feeds[0]["simulated"] as? Bool == true && feeds[0]["replayed"] as? Bool == true, "\(feeds)")
    #expect(try await harness.get("/").text.contains("NOT REAL: kraken (replayed)"))
    await harness.stop()
  }
}
