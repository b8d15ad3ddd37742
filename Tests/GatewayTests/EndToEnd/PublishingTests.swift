import Documents
import Foundation
import HTTP1
import MarketData
import Operations
import PubSub
import Settings
import TestTraits
import Testing
import Transport

@testable import Access
@testable import Gateway

@Suite("Publishing with a token, end to end", .serialized, .realTime)
struct PublishingTests {
  private static let secret = (0..<32).map { UInt8($0) }
  private static let desk = try! NewKey(name: "desk", fields: ["publish=risk-state,posts.*"])
  private static let reader = try! NewKey(name: "reader")
  private static let all = try! NewKey(name: "all", fields: ["publish=*"])

  private static func policy() throws -> AccessPolicy {
    let lines = NewKey.section(of: [desk, reader, all])
    var policy = try KeyFile.parse(Array(lines.utf8), path: "keys.yaml") { _ in nil }
    var open = AccessPolicy.Rules()
    open.publish = TopicRules(["posts.*"])
    policy.issuers = [
      AccessPolicy.Issuer(name: "a", key: .secret(secret), issuer: "a", rules: open),
      AccessPolicy.Issuer(name: "b", key: .secret(secret), issuer: "b"),
    ]
    policy.anonymous = AccessPolicy.grant("anonymous", .init(), .init(), expires: nil)
    return policy
  }

  private static func jwt(_ issuer: String, _ claim: String) -> [HTTPField] {
    let claims = "{\"iss\":\"\(issuer)\",\"sub\":\"x\",\"exp\":4102444800,\"tidegate\":{\(claim)}}"
    let signed = Base64URL.encode(Array(#"{"alg":"HS256"}"#.utf8)) + "." + Base64URL.encode(Array(claims.utf8))
    let token = signed + "." + Base64URL.encode(Digest.hmacSHA256(key: secret, message: Array(signed.utf8)))
    return bearer(token)
  }

  private static func bearer(_ token: String) -> [HTTPField] { [HTTPField("Authorization", "Bearer \(token)")] }

  private func post(
    _ harness: GatewayHarness, _ name: String, _ document: String = "{}", _ fields: [HTTPField]
  ) async throws -> Answer {
    try await HTTPProbe.send(
      "POST", "/v1/topics/\(name)", to: harness.gateway.address,
      fields: fields + [HTTPField("Content-Type", "application/json")], body: Array(document.utf8),
      loop: harness.clientLoop)
  }

  @Test("tokens × topics: each publishes to what it may, and to nothing else")
  func matrix() async throws {
    let harness = try GatewayHarness(venues: ["kraken"], access: Authenticator(policy: try Self.policy()))
    let callers: [(name: String, fields: [HTTPField], topics: [String])] = [
      ("desk", Self.bearer(Self.desk.text), ["risk-state", "posts.a"]),
      ("reader", Self.bearer(Self.reader.text), []),
      ("all", Self.bearer(Self.all.text), ["risk-state", "posts.a", "other"]),
      // The issuer's line and the token both have to allow it.
      ("a, all", Self.jwt("a", #""publish":["*"]"#), ["posts.a"]),
      ("a, one", Self.jwt("a", #""publish":["risk-state","posts.a"]"#), ["posts.a"]),
      ("a, silent", Self.jwt("a", ""), []), ("a, none", Self.jwt("a", #""publish":[]"#), []),
      ("b, all", Self.jwt("b", #""publish":["*"]"#), []),
      ("nobody", [], []),
    ]
    for caller in callers {
      for topic in ["risk-state", "posts.a", "other"] {
        let answer = try await post(harness, topic, "{}", caller.fields)
        let expected = caller.topics.contains(topic) ? 201 : caller.fields.isEmpty ? 401 : 403
        #expect(answer.status == expected, "\(caller.name) \(topic): \(answer.text)")
        #expect(expected != 401 || answer.fields["WWW-Authenticate"] != nil)
      }
    }
    let refused = try await post(harness, "other", "{}", Self.bearer(Self.desk.text))
    #expect(refused.text.contains("it allows posts.*, risk-state"), "\(refused.text)")
    #expect(try await post(harness, "other", "{}", Self.jwt("a", #""publish":["A B"]"#)).status == 401)
    await harness.stop()
  }

  @Test("what a token publishes is told to subscribers; what is no document, or has another type, is refused")
  func documents() async throws {
    let harness = try GatewayHarness(venues: ["kraken"], access: Authenticator(policy: try Self.policy()))
    let fields = Self.bearer(Self.desk.text)
    let probe = try await harness.probe(fields: fields)
    probe.send(#"{"op":"subscribe","id":1,"streams":[{"channel":"topic","symbols":["risk-state"]}]}"#)
    try await probe.first("a reply") { $0.type == "subscribed" }
    #expect(try await post(harness, "risk-state", #"{"state":"NORMAL"}"#, fields).json["number"] as? Int == 1)
    try await probe.first("the document") { $0.text.contains(#"{"state":"NORMAL"}"#) }
    #expect(try await post(harness, "risk-state", "{", fields).status == 400)
    #expect(
      try await post(harness, "risk-state", "\"" + String(repeating: "x", count: 66_000) + "\"", fields).status == 413)
    let form = try await HTTPProbe.send(
      "POST", "/v1/topics/risk-state", to: harness.gateway.address,
      fields: fields + [HTTPField("Content-Type", "text/plain")], body: [0x7B, 0x7D], loop: harness.clientLoop)
    #expect(form.status == 415)
    await harness.stop()
  }

  @Test("a token publishes no faster than it may, and others are not held up")
  func pace() async throws {
    let harness = try GatewayHarness(venues: ["kraken"], access: Authenticator(policy: try Self.policy()))
    var statuses: [Int: Int] = [:]
    for _ in 0..<2 * TopicPace.documentsPerSecond {
      let answer = try await post(harness, "risk-state", "1", Self.bearer(Self.desk.text))
      statuses[answer.status, default: 0] += 1
      if answer.status == 429 { #expect(answer.fields["Retry-After"] != nil && answer.json["retry"] as? Bool == true) }
    }
    #expect(Set(statuses.keys).isSubset(of: [201, 429]) && (statuses[201] ?? 0) >= TopicPace.documentsPerSecond)
    #expect(try await post(harness, "risk-state", "1", Self.bearer(Self.all.text)).status == 201)
    await harness.stop()
  }

  @Test("a topic with a schema takes documents of it alone, on both ports; a reload changes it")
  func schemas() async throws {
    let schema = try TopicSchema(
      Array(#"{"type":"object","required":["state"],"properties":{"state":{"enum":["NORMAL","HARD_STOP"]}}}"#.utf8))
    let harness = try GatewayHarness(venues: ["kraken"], access: Authenticator(policy: try Self.policy())) {
      $0.topics.schemas = ["risk-state": schema]
    }
    let fields = Self.bearer(Self.all.text)
    #expect(try await post(harness, "risk-state", #"{"state":"NORMAL"}"#, fields).status == 201)
    let refused = try await post(harness, "risk-state", #"{"state":"FINE"}"#, fields)
    #expect(refused.status == 422 && refused.json["code"] as? String == "invalid_document")
    #expect(refused.json["message"] as? String == "state must be one of NORMAL, HARD_STOP")
    let inside = await TopicPublisher.publish(
      Array("{}".utf8), to: "risk-state", at: .internal(harness.gateway.internalAddress), loop: harness.clientLoop)
    guard case .refused(let reason) = inside else {
      Issue.record("published")
      return
    }
    #expect(reason.contains("state is missing"))
    #expect(try await post(harness, "other", #"{"state":"FINE"}"#, fields).status == 201)
    var next = harness.gateway.current
    next.topics.schemas = [:]
    let fresh = next
    let outcome = harness.gateway.reload { () throws(ConfigurationProblems) in fresh }
    #expect(outcome == .done(changed: ["topics: the schema of risk-state was removed"], needsRestart: []))
    #expect(try await post(harness, "risk-state", #"{"state":"FINE"}"#, fields).status == 201)
    await harness.stop()
  }

  @Test("topics are listed, and found by the instrument that their newest document is of")
  func symbols() async throws {
    let harness = try GatewayHarness(venues: ["kraken"], access: Authenticator(policy: try Self.policy()))
    let fields = Self.bearer(Self.all.text)
    for (topic, document) in [
      ("shielded-pool", #"{"symbol":"kraken:ZEC-USD","percent":"23.4"}"#), ("supply", #"{"symbol":"kraken:ZEC-USD"}"#),
      ("supply", #"{"symbol":"kraken:BTC-USD"}"#), ("posts", #"{"symbol":7}"#), ("list", #"["symbol"]"#),
      ("nested", #"{"a":{"symbol":"kraken:ZEC-USD"}}"#),
    ] { #expect(try await post(harness, topic, document, fields).status == 201) }
    func names(_ path: String) async throws -> [String] {
      let answer = try await harness.get(path, fields: fields)
      return (answer.json["topics"] as? [[String: Any]] ?? []).compactMap { $0["topic"] as? String }
    }
    #expect(try await names("/v1/topics") == ["list", "nested", "posts", "shielded-pool", "supply"])
    #expect(try await names("/v1/topics?symbol=kraken:ZEC-USD") == ["shielded-pool"])
    #expect(try await names("/v1/topics?symbol=kraken:BTC-USD") == ["supply"])
    await harness.stop()
  }

  @Test("the command publishes with a token on the client port")
  func publisher() async throws {
    let harness = try GatewayHarness(venues: ["kraken"], access: Authenticator(policy: try Self.policy()))
    let url = try #require(EndpointURL("http://\(harness.gateway.address.description)"))
    func publish(_ token: String) async -> TopicPublisher.Outcome {
      await TopicPublisher.publish(
        Array("[1]".utf8), to: "risk-state", at: .client(url, token: token, tls: nil), loop: harness.clientLoop)
    }
    #expect(await publish(Self.desk.text) == .published(#"{"topic":"risk-state","number":1}"#))
    guard case .refused(let reason) = await publish(Self.reader.text) else {
      Issue.record("published")
      return
    }
    #expect(reason.contains("does not allow publishing to risk-state"))
    await harness.stop()
  }
}
