import Foundation
import HTTP1
import MarketData
import Operations
import PubSub
import TestTraits
import Testing
import Transport

@testable import Gateway

@Suite("Topics end to end", .serialized, .realTime)
struct TopicTests {
  private static let json = [HTTPField("Content-Type", "application/json")]

  private func post(
    _ harness: GatewayHarness, _ name: String, _ document: String, fields: [HTTPField] = json,
    to address: SocketAddress? = nil, host: String? = nil
  ) async throws -> Answer {
    try await HTTPProbe.send(
      "POST", "/v1/topics/\(name)", to: address ?? harness.gateway.internalAddress, host: host, fields: fields,
      body: Array(document.utf8), loop: harness.clientLoop)
  }

  @Test("what an operator publishes is read on the client port, numbered, by its number and from its tag")
  func publishAndRead() async throws {
    let harness = try GatewayHarness(venues: ["kraken"])
    for state in ["NORMAL", "SOFT_BRAKE", "HARD_STOP"] {
      #expect(try await post(harness, "risk-state", "{\"state\":\"\(state)\"}").status == 201)
    }
    let newest = try await harness.get("/v1/topics/risk-state")
    #expect(newest.status == 200 && newest.text.contains("\"document\":{\"state\":\"HARD_STOP\"}"))
    #expect(newest.json["number"] as? Int == 3)
    let followed = try await harness.get("/v1/topics/risk-state?after=1&limit=10")
    #expect((followed.json["documents"] as? [[String: Any]])?.compactMap { $0["number"] as? Int } == [2, 3])
    let tag = try #require(newest.fields["ETag"])
    #expect(try await harness.get("/v1/topics/risk-state", fields: [HTTPField("If-None-Match", tag)]).status == 304)
    #expect(try await harness.get("/v1/topics/risk-state", internal: true).json["number"] as? Int == 3)
    await harness.stop()
  }

  @Test("a large card shows the pool of the market that the topic's newest document names, and of no other")
  func pool() async throws {
    let harness = try GatewayHarness(venues: ["kraken"])
    try await harness.waitUntilLive()
    func card(_ symbol: String, _ size: String = "large") async throws -> String {
      var patience = Patience()
      while true {
        let text = try await harness.get("/v1/cards/price/\(symbol).svg?size=\(size)").text
        if !text.contains("not known yet") { return text }
        try await patience.wait(for: "a price of \(symbol)")
      }
    }
    #expect(try await card("kraken:ZEC-USD").contains("24H HIGH"))
    let document = "{\"symbol\":\"kraken:ZEC-USD\",\"percent\":\"23.4\",\"amount\":\"1234567\"}"
    #expect(try await post(harness, "shielded-pool", document).status == 201)
    let text = try await card("kraken:ZEC-USD")
    #expect(text.contains("SHIELDED POOL") && text.contains("1,234,567 ZEC"), "\(text)")
    #expect(try await card("kraken:BTC-USD").contains("24H HIGH"))
    #expect(try await !card("kraken:ZEC-USD", "medium").contains("SHIELDED POOL"))
    await harness.stop()
  }

  @Test("nobody publishes on the client port, from a page of another site, or what is no document")
  func refusals() async throws {
    let harness = try GatewayHarness(venues: ["kraken"])
    let open = try await post(harness, "a", "{}", to: harness.gateway.address)
    #expect(open.status == 403 && open.text.contains("has no tokens"), "\(open.text)")
    #expect(try await post(harness, "a", "{}", fields: [HTTPField("Content-Type", "text/plain")]).status == 415)
    #expect(try await post(harness, "a", "{}", host: "attacker.example").status == 421)
    #expect(try await post(harness, "a", "{").status == 400)
    #expect(try await post(harness, "A", "{}").status == 400)
    #expect(try await post(harness, "a", "\"" + String(repeating: "x", count: 70_000) + "\"").status == 413)
    #expect(try await harness.get("/v1/topics/a").status == 404)
    await harness.stop()
  }

  @Test("publishes as the command does, and says why not")
  func publisher() async throws {
    let harness = try GatewayHarness(venues: ["kraken"])
    let address = harness.gateway.internalAddress
    let first = await TopicPublisher.publish(
      Array("[1]".utf8), to: "feed", at: .internal(address), loop: harness.clientLoop)
    #expect(first == .published(#"{"topic":"feed","number":1}"#))
    guard
      case .refused(let reason) = await TopicPublisher.publish(
        [], to: "feed", at: .internal(address), loop: harness.clientLoop)
    else {
      Issue.record("an empty document was published")
      return await harness.stop()
    }
    #expect(!reason.contains("{") && reason.contains("JSON"), "\(reason)")
    await harness.stop()
  }
}
