import Foundation
import HTTP1
import Settings
import TestTraits
import Testing

@testable import Access
@testable import Gateway

@Suite("Server-sent events end to end", .serialized, .realTime)
struct EventsTests {
  private static let trades = "/v1/events?streams=trades:kraken:BTC-USD&heartbeat_s=1"

  private static func probe(_ harness: GatewayHarness, _ target: String, _ fields: [HTTPField] = []) -> EventProbe {
    EventProbe(harness.gateway.address, target, fields: fields, loop: harness.clientLoop)
  }

  /// The numbers of a stream's messages, each once.
  private static func sequence(_ probe: EventProbe) -> [Int] {
    probe.events.filter { $0.type == "update" }.compactMap(\.seq)
  }

  @Test(
    "have what a WebSocket client gets, with heartbeats; a reader that comes back misses no trade and has none twice")
  func resume() async throws {
    let harness = try GatewayHarness(venues: ["kraken"], rate: 60)
    try await harness.waitUntilLive()
    let first = Self.probe(harness, Self.trades)
    let welcome = try await first.first("welcome") { $0.type == "welcome" }
    #expect(welcome.json["heartbeat_s"] as? Int == 1)
    let subscribed = try await first.first("the reply") { $0.type == "subscribed" }
    #expect((subscribed.json["ok"] as? [Any])?.count == 1)
    _ = try await first.first("a snapshot") { $0.type == "snapshot" }
    _ = try await first.first("a heartbeat") { $0.type == "heartbeat" }
    _ = try await first.first("trades") { $0.type == "update" && Self.sequence(first).count > 20 }
    let head = try #require(first.head)
    #expect(head.hasPrefix("HTTP/1.1 200") && head.contains("text/event-stream") && head.contains("Connection: close"))
    #expect(head.contains("Access-Control-Allow-Origin: *"))
    // The time to wait comes with the first event: a block of its own would be an event without data.
    #expect(first.retry == 2_000 && first.emptyBlocks == 0)
    first.close()
    let id = first.lastID
    #expect(!id.isEmpty)
    let seen = Self.sequence(first)
    let second = Self.probe(harness, Self.trades, [HTTPField("Last-Event-ID", id)])
    let again = try await second.first("welcome") { $0.type == "welcome" }
    let entry = try #require((again.json["ok"] as? [[String: Any]])?.first)
    #expect(entry["recovered"] as? Bool == true, "\(again.text)")
    _ = try await second.first("new trades") { $0.type == "update" && ($0.seq ?? 0) > (seen.last ?? 0) + 5 }
    #expect(!second.events.contains { $0.type == "snapshot" })
    let all = Set(seen).union(Self.sequence(second)).sorted()
    #expect(all == Array((all.first ?? 0)...(all.last ?? 0)), "a hole in \(seen) and \(Self.sequence(second))")
    // What it has comes again only as far as it was not told.
    let repeated = Set(seen).intersection(Self.sequence(second))
    #expect(repeated.count < seen.count / 2)
    let other = Self.probe(
      harness, "/v1/events?streams=trades:kraken:ETH-USD", [HTTPField("Last-Event-ID", id)])
    let fresh = try await other.first("welcome") { $0.type == "welcome" }
    #expect(fresh.json["ok"] == nil)
    for probe in [second, other] { probe.close() }
    await harness.stop()
  }

  @Test("are refused in words; HEAD has the head alone; metrics count their readers; the gateway's end is told")
  func edges() async throws {
    let harness = try GatewayHarness(venues: ["kraken"])
    try await harness.waitUntilLive()
    let address = harness.gateway.address
    for (target, code) in [
      ("/v1/events", "bad_request"), ("/v1/events?streams=puls:a:b", "unknown_channel"),
      ("/v1/events?stream=status", "bad_parameter"), ("/v1/events?streams=status&heartbeat_s=0", "out_of_range"),
      ("/v1/events?streams=status&token=x", "token_in_url"),
    ] {
      let answer = try await harness.get(target, fields: [HTTPField("Origin", "https://page.example")])
      #expect(answer.status == 400, "\(target)")
      if code != "token_in_url" { #expect(answer.json["code"] as? String == code, "\(answer.text)") }
      #expect(answer.fields["Access-Control-Allow-Origin"] == "*")
    }
    let head = try await HTTPProbe.send("HEAD", Self.trades, to: address, loop: harness.clientLoop)
    #expect(head.status == 200 && head.body.isEmpty && head.fields["Content-Type"] == "text/event-stream")
    #expect(head.fields["Content-Length"] == nil, "nobody knows how long a stream will be")
    let post = try await HTTPProbe.send("POST", Self.trades, to: address, loop: harness.clientLoop)
    #expect(post.status == 405)
    let probe = Self.probe(harness, "/v1/events?streams=pulse:kraken:BTC-USD,kraken:NOPE-USD")
    let reply = try await probe.first("the reply") { $0.type == "subscribed" }
    #expect((reply.json["failed"] as? [[String: Any]])?.first?["symbol"] as? String == "kraken:NOPE-USD")
    let metrics = try await harness.get("/metrics", internal: true)
    #expect(metrics.text.contains(#"tidegate_clients{transport="http",encoding="events"} 1"#))
    #expect(metrics.text.contains(#"tidegate_http_requests_total{route="/v1/events",code="200"}"#))
    harness.gateway.drain(seconds: 2) {}
    let notice = try await probe.first("a notice") { $0.type == "notice" }
    #expect(notice.json["code"] as? String == "drain")
    await harness.stop()
    let end = try #require(probe.events.last)
    #expect(end.type == "end" && end.json["code"] as? Int == 4201, "\(end.text)")
    #expect(probe.isClosed)
  }

  @Test("where tokens are asked for, need one in Authorization, and show what it allows")
  func access() async throws {
    let key = try NewKey(name: "desk", fields: ["symbols=kraken:ZEC-USD"])
    let policy = try KeyFile.parse(Array(NewKey.section(of: [key]).utf8), path: "keys.yaml") { _ in nil }
    let harness = try GatewayHarness(venues: ["kraken"], access: Authenticator(policy: policy))
    let bearer = [HTTPField("Authorization", "Bearer \(key.text)")]
    let target = "/v1/events?streams=trades:kraken:*"
    let without = try await harness.get(target)
    #expect(without.status == 401 && without.fields["WWW-Authenticate"] != nil)
    let wrong = try await harness.get(target, fields: [HTTPField("Authorization", "Bearer tk_wrong")])
    #expect(wrong.status == 401)
    var patience = Patience()
    while true {
      let probe = Self.probe(harness, target, bearer)
      let reply = try await probe.first("the reply") { $0.type == "subscribed" }
      let symbols = (reply.json["ok"] as? [[String: Any]] ?? []).compactMap { $0["symbol"] as? String }
      probe.close()
      if symbols == ["kraken:ZEC-USD"] { break }
      #expect(symbols.isEmpty)
      try await patience.wait(for: "the market that the key allows; \(reply.text)")
    }
    await harness.stop()
  }
}
