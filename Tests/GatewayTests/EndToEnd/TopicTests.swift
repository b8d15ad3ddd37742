import Foundation
import GRDB
import HTTP1
import History
import Logging
import MarketData
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

  @Test(
    "documents, their numbers and the epoch are there after a restart; older ones are forgotten in the file as well")
  func restart() throws {
    let folder = NSTemporaryDirectory() + "tidegate-topics-" + UUID().uuidString
    defer { try? FileManager.default.removeItem(atPath: folder) }
    var limits = TopicBoard.Limits()
    (limits.kept, limits.topicBytes) = (3, 40)
    let log = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    let request = HTTPRequestHead(
      method: "POST", target: "/v1/topics/a", fields: HTTPFields([HTTPField("Content-Type", "application/json")]))
    func run(_ epoch: String, _ documents: [String]) throws -> (epoch: String, page: String) {
      let file = try DataFile(path: folder + "/history.sqlite", parts: SchemaPart.all, stamp: nil)
      defer { file.close() }
      let topics = PublishedTopics(file, limits: limits, epoch: epoch, log: log)
      for document in documents {
        let done = DispatchSemaphore(value: 0)
        topics.publish(Array(document.utf8), to: "a", request, now: Timestamp(microseconds: 5)) { answer, news in
          #expect((answer.status == 201) == (news != nil))
          done.signal()
        }
        done.wait()
      }
      let rows = try file.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM topic_document") } ?? 0
      let page = topics.read("a", after: 0, limit: 100)
      let shown = String(decoding: page.body, as: UTF8.self)
      #expect(shown.components(separatedBy: "\"document\":").count - 1 == rows, "the file keeps what memory does")
      return (topics.epoch, shown)
    }
    let first = try run("e1", ["1", "2", "3", "4", "5", "{"])
    #expect(first.page.contains("\"number\":5,\"lost\":2,\"documents\":[{\"number\":3,"), "\(first.page)")
    let second = try run("e2", [])
    #expect(second.epoch == "e1" && second.page == first.page)
    // The newest is kept however large it is; those before it go.
    let third = try run("e3", ["\"\(String(repeating: "x", count: 50))\""])
    #expect(third.epoch == "e1" && third.page.contains("\"number\":6,\"lost\":5,"), "\(third.page)")
    let fourth = try run("e4", ["7"])
    #expect(fourth.page.contains("\"number\":7,\"lost\":6,"), "\(fourth.page)")
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
