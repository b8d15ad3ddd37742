import Access
import Compatibility
import Foundation
import HTTP1
import Settings
import TestSupport
import TestTraits
import Testing

@testable import Gateway

@Suite("Clients follow recorded time", .serialized, .realTime)
struct ReplayTests {
  private static let start = RecordedGateway.start
  private static let streams = "streams=trades:coinbase:BTC-USD&streams=book:coinbase:BTC-USD;depth=full"

  private static func target(_ from: Int, _ to: Int, _ more: String = "") -> String {
    "/v1/replay?\(streams)&from=\(start + from * 1_000_000)&to=\(start + to * 1_000_000)\(more)"
  }

  private static func lines(_ answer: Answer) throws -> [[String: Any]] {
    try answer.text.split(separator: "\n").map { line in
      try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any], "\(line)")
    }
  }

  private static func ids(_ messages: [[String: Any]]) -> [String] {
    messages.filter { $0["channel"] as? String == "trades" && $0["type"] as? String == "update" }
      .flatMap { ($0["data"] as? [String: Any])?["trades"] as? [[String: Any]] ?? [] }
      .compactMap { $0["id"] as? String }
  }

  @Test("over HTTP: the same messages as live, one a line, marked as replayed, and the same bytes again")
  func lines() async throws {
    try await RecordedGateway.run { harness in
      let answer = try await harness.get(Self.target(10, 20))
      #expect(answer.status == 200 && answer.fields["Content-Type"] == "application/x-ndjson", "\(answer.text)")
      #expect(answer.fields["Transfer-Encoding"] == "chunked")
      #expect(answer.fields["Cache-Control"]?.hasPrefix("no-store") == true)
      let messages = try Self.lines(answer)
      #expect(messages.first?["state"] as? String == "begun" && messages.first?["replayed"] as? Bool == true)
      #expect(messages.last?["state"] as? String == "ended")
      let joined = messages.filter { $0["type"] as? String == "subscribed" }
      #expect(joined.count == 2 && joined.allSatisfy { $0["replayed"] as? Bool == true })
      #expect(Self.ids(messages) == (110..<120).map(String.init))
      let again = try await harness.get(Self.target(10, 20))
      #expect(again.body == answer.body)
      let head = try await HTTPProbe.send(
        "HEAD", Self.target(10, 20), to: harness.gateway.address, loop: harness.clientLoop)
      #expect(head.status == 200 && head.body.isEmpty && head.fields["Content-Type"] == "application/x-ndjson")
    }
  }

  @Test("over a WebSocket: the messages of HTTP as frames, then close code 1000")
  func frames() async throws {
    try await RecordedGateway.run { harness in
      let lines = try await harness.get(Self.target(10, 20, "&speed=max")).text
      let probe = try await harness.probe(target: Self.target(10, 20, "&speed=max"))
      let code = try await probe.closeCode()
      #expect(code == 1000)
      #expect(probe.messages.map(\.text) == lines.split(separator: "\n").map(String.init))
    }
  }

  @Test("the recorded speed takes the recorded time; pause, seek and speed change it")
  func control() async throws {
    try await RecordedGateway.run { harness in
      let probe = try await harness.probe(target: Self.target(5, 30))
      try await probe.first("a trade") { $0.channel == "trades" && $0.type == "update" }
      probe.send(#"{"op":"pause"}"#)
      try await probe.first("the pause") { $0["state"] as? String == "paused" }
      // Twenty recorded seconds are left, so that it cannot have ended by itself.
      #expect(probe.messages.allSatisfy { $0["state"] as? String != "ended" })
      let before = probe.count
      probe.send(#"{"op":"seek","time":\#(Self.start + 25_000_000)}"#)
      probe.send(#"{"op":"speed","speed":"max"}"#)
      probe.send(#"{"op":"resume"}"#)
      let code = try await probe.closeCode()
      #expect(code == 1000)
      let messages = probe.messages.dropFirst(before)
      #expect(messages.contains { $0["state"] as? String == "sought" })
      let joined = messages.filter { $0.type == "subscribed" }
      #expect(joined.count == 2, "the streams begin anew")
      #expect(Self.ids(messages.map(\.json)) == (125..<130).map(String.init))
    }
  }

  @Test("a request that cannot be served gets the reason, costs nothing, and ends")
  func refusals() async throws {
    try await RecordedGateway.run { harness in
      let trades = "/v1/replay?streams=trades:coinbase:BTC-USD"
      let cases: [(String, Int, String)] = [
        ("\(trades)&from=9223372036854775807", 400, "bad_parameter"), ("\(trades)&from=-1", 400, "bad_parameter"),
        ("\(trades)&from=10000000000000000", 404, "not_recorded"), ("\(trades)&from=0&to=1", 404, "not_recorded"),
        ("\(trades)&from=20&to=10", 400, "bad_parameter"), ("\(trades)&from=10&to=10", 400, "bad_parameter"),
        (trades, 400, "bad_parameter"), ("\(trades)&from=0&speed=0", 400, "bad_parameter"),
        ("\(trades)&from=0&speed=1e300", 400, "bad_parameter"), ("\(trades)&from=0&at=1", 400, "bad_parameter"),
        ("/v1/replay?streams=trades:coinbase:ETH-USD&from=0", 404, "not_recorded"),
        ("/v1/replay?streams=trades:coinbase:*&from=0", 400, "bad_request"),
        ("/v1/replay?streams=quote:composite:BTC-USD&from=0", 400, "bad_request"),
        ("/v1/replay?streams=status&from=0", 400, "bad_request"), ("/v1/replay?from=0", 400, "bad_request"),
        ("/v1/replay?streams=nothing:a:b&from=0", 400, "unknown_channel"),
      ]
      for (target, status, code) in cases {
        let answer = try await harness.get(target)
        #expect(answer.status == status && answer.json["code"] as? String == code, "\(target): \(answer.text)")
      }
      let probe = try await harness.probe(target: "/v1/replay?streams=trades:coinbase:ETH-USD&from=0")
      let code = try await probe.closeCode()
      #expect(code == 1011)
      #expect(probe.messages.last?["code"] as? String == "not_recorded")
      let post = try await HTTPProbe.send("POST", trades, to: harness.gateway.address, loop: harness.clientLoop)
      #expect(post.status == 405)
    }
  }

  @Test("clients that hold all places are refused, and each that leaves makes room")
  func seats() async throws {
    try await RecordedGateway.run { harness in
      var probes: [StreamProbe] = []
      for _ in 0..<4 {
        let probe = try await harness.probe(target: Self.target(1, 30, "&speed=0.01"))
        try await probe.first("the beginning") { $0["state"] as? String == "begun" }
        probes.append(probe)
      }
      let refused = try await harness.get(Self.target(1, 5))
      #expect(refused.status == 429 && refused.json["code"] as? String == "rate_limited", "\(refused.text)")
      probes[0].disconnect()
      var patience = Patience()
      while try await harness.get(Self.target(1, 5)).status != 200 { try await patience.wait(for: "a free place") }
    }
  }

  @Test("a client that reads nothing is played no further than what waits for it")
  func slow() async throws {
    try await RecordedGateway.run(seconds: 3_000) { harness in
      let probe = try await harness.probe(target: Self.target(0, 3_000, "&speed=max"))
      probe.stopReading()
      let other = try await harness.get(Self.target(0, 3_000))
      #expect(try Self.lines(other).last?["state"] as? String == "ended")
      probe.startReading()
      let code = try await probe.closeCode()
      #expect(code == 1000)
      #expect(Self.ids(probe.messages.map(\.json)).count == 2_999)
    }
  }

  @Test("a token follows the recorded time of its channels and symbols only")
  func grants() async throws {
    let full = try NewKey(name: "desk-1")
    let other = try NewKey(name: "desk-2", fields: ["symbols=kraken:ZEC-USD"])
    let narrow = try NewKey(name: "desk-3", fields: ["channels=trades"])
    let policy = try KeyFile.parse(Array(NewKey.section(of: [full, other, narrow]).utf8), path: "keys.yaml") { _ in nil
    }
    try await RecordedGateway.run(access: Authenticator(policy: policy)) { harness in
      let trades = "/v1/replay?streams=trades:coinbase:BTC-USD&from=\(Self.start)&to=\(Self.start + 3_000_000)"
      let cases: [(String, NewKey?, Int)] = [
        (trades, full, 200), (trades, other, 403), (trades, narrow, 200), (Self.target(0, 3), narrow, 403),
        (trades, nil, 401),
      ]
      for (target, key, status) in cases {
        let fields = key.map { [HTTPField("Authorization", "Bearer \($0.text)")] } ?? []
        let answer = try await harness.get(target, fields: fields)
        #expect(answer.status == status, "\(target): \(answer.text)")
      }
    }
  }

  // MARK: tardis-machine

  private static func options(_ text: String) -> String {
    "?options=" + (text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "")
  }

  @Test("tardis-machine's replays: the same messages over HTTP and a WebSocket, and errors in its words")
  func tardis() async throws {
    try await RecordedGateway.run(change: { $0.compatibility[.tardis] = true }) { harness in
      var patience = Patience()
      while (try await harness.get("/v1/instruments").json["instruments"] as? [Any])?.isEmpty != false {
        try await patience.wait(for: "the list of markets")
      }
      let request =
        #"[{"exchange":"coinbase","symbols":["BTC-USD"],"dataTypes":["trade","book_change","book_snapshot_1_1s"],"from":"2026-08-01T02:54:02Z","to":"2026-08-01T02:54:12.000Z","withDisconnectMessages":true}]"#
      let answer = try await harness.get("/compat/tardis/replay-normalized" + Self.options(request))
      #expect(answer.status == 200 && answer.fields["Content-Type"] == "application/x-json-stream", "\(answer.text)")
      let messages = try Self.lines(answer)
      let trades = messages.filter { $0["type"] as? String == "trade" }
      #expect(trades.compactMap { $0["id"] as? String } == (110..<120).map(String.init), "\(answer.text.prefix(500))")
      #expect(messages.first { $0["type"] as? String == "book_change" }?["isSnapshot"] as? Bool == true)
      #expect(Set(messages.compactMap { $0["type"] as? String }) == ["trade", "book_change", "book_snapshot"])
      #expect(trades.first?["localTimestamp"] as? String == "2026-08-01T02:54:02.000000Z")
      let probe = try await harness.probe(
        subprotocol: nil, target: "/compat/tardis/ws-replay-normalized" + Self.options(request))
      let code = try await probe.closeCode()
      #expect(code == 1000)
      #expect(probe.messages.map(\.text) == answer.text.split(separator: "\n").map(String.init))
      for (old, new, word) in [
        ("coinbase", "nowhere", "unknown exchange"), ("BTC-USD", "XYZ", "has no XYZ"), ("trade\"", "x\"", "data type"),
        ("2026-08-01T02:54:02Z", "yesterday", "\"from\""), ("2026-08-01T02:54:12.000Z", "2026-08-01", "\"to\""),
      ] {
        let wrong = Self.options(request.replacing(old, with: new))
        let refusal = try await harness.get("/compat/tardis/replay-normalized" + wrong)
        #expect(refusal.status == 400 && refusal.text.contains(word.replacing("\"", with: "\\\"")), "\(refusal.text)")
        let closed = try await harness.probe(subprotocol: nil, target: "/compat/tardis/ws-replay-normalized" + wrong)
        let code = try await closed.closeCode()
        #expect(code == 1011)
      }
      let plain = try await harness.get("/compat/tardis/ws-replay-normalized" + Self.options(request))
      #expect(plain.status == 426)
    }
  }
}
