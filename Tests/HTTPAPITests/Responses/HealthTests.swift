import Bytes
import Foundation
import MarketData
import PubSub
import Testing

@testable import HTTPAPI

@Suite("Health")
struct HealthTests {
  private static func feed(_ venue: String, _ state: FeedState, reason: String? = nil) -> FeedStatus {
    var feed = FeedStatus(venue: venue, state: state, since: Timestamp(microseconds: 0))
    feed.reason = reason
    return feed
  }

  private static func object(_ health: Health) throws -> [String: Any] {
    var out = ByteBuffer()
    health.append(uptimeSeconds: 86, to: &out)
    return try #require(try JSONSerialization.jsonObject(with: Data(out.takeBytes())) as? [String: Any])
  }

  @Test("all is well")
  func ok() throws {
    let health = Health(feeds: [Self.feed("a", .live), Self.feed("b", .live)], required: 2, isDraining: false)
    #expect(health.isReady && health.status == .ok && health.reasons.isEmpty)
    #expect(health.text == "ready: 2 of 2 feeds live, 2 required\na: live\nb: live\n")
    let object = try Self.object(health)
    #expect(object["status"] as? String == "ok" && object["uptime_s"] as? Int == 86)
    #expect(object["feeds_live"] as? Int == 2 && object["ready"] as? Bool == true)
  }

  @Test("a feed that is not live degrades it, and fails it where it is needed")
  func feeds() throws {
    let feeds = [Self.feed("a", .live), Self.feed("b", .reconnecting, reason: "refused")]
    #expect(Health(feeds: feeds, required: 1, isDraining: false).status == .degraded)
    #expect(Health(feeds: feeds, required: 1, isDraining: false).reasons == ["b is reconnecting: refused"])
    let failing = Health(feeds: feeds, required: 2, isDraining: false)
    #expect(!failing.isReady && failing.status == .failing)
    #expect(failing.reasons.first == "1 of 2 feeds are live; ready-feeds requires 2")
    #expect(failing.text.hasPrefix("not ready: 1 of 2 feeds live, 2 required\n"))
  }

  @Test("symbols that are refused or rebuilt are named, a few of them")
  func symbols() throws {
    var feed = Self.feed("a", .live)
    for symbol in ["S1", "S2", "S3", "S4"] { feed.failed["a:\(symbol)"] = "no" }
    feed.syncing["a:T1"] = "a \"gap\""
    let health = Health(feeds: [feed], required: 1, isDraining: false)
    #expect(health.status == .degraded && health.isReady)
    #expect(
      try Self.object(health)["reasons"] as? [String] == [
        "a does not serve 4 symbols: a:S1 (no), a:S2 (no), a:S3 (no), …", "a rebuilds 1 symbol: a:T1 (a \"gap\")",
      ])
  }

  @Test("while clients are sent away it is not ready, whatever the feeds do")
  func draining() {
    let health = Health(feeds: [Self.feed("a", .live)], required: 0, isDraining: true)
    #expect(!health.isReady && health.status == .failing)
    #expect(health.text.hasPrefix("draining"))
    #expect(Health(feeds: [], required: 0, isDraining: false).isReady)
  }
}
