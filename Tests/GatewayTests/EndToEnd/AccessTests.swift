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

@Suite("Access, end to end", .serialized, .realTime)
struct AccessTests {
  private static let desk = NewKeyBox()

  /// A key each for two desks, and an issuer.
  private static let secret = (0..<32).map { UInt8($0) }

  private static func token(_ claims: String) -> String {
    let signed = Base64URL.encode(Array(#"{"alg":"HS256"}"#.utf8)) + "." + Base64URL.encode(Array(claims.utf8))
    return signed + "." + Base64URL.encode(Digest.hmacSHA256(key: secret, message: Array(signed.utf8)))
  }

  private static func policy() throws -> AccessPolicy {
    var policy = try KeyFile.parse(
      Array(NewKey.section(of: [desk.full, desk.narrow]).utf8), path: "keys.yaml"
    ) { _ in nil }
    policy.issuers = [AccessPolicy.Issuer(name: "local", key: .secret(Self.secret))]
    return policy
  }

  private static func bearer(_ token: String) -> [HTTPField] { [HTTPField("Authorization", "Bearer \(token)")] }

  private static let subscribe =
    "{\"op\":\"subscribe\",\"id\":2,\"streams\":[{\"channel\":\"trades\",\"symbols\":[\"kraken:*\"]},{\"channel\":\"book\",\"symbols\":[\"kraken:BTC-USD\"]}]}"

  @Test("a stream is opened with a key in hello or in the handshake, and gets what the key allows")
  func streams() async throws {
    let harness = try GatewayHarness(venues: ["kraken"], access: Authenticator(policy: try Self.policy()))
    try await harness.waitUntilLive(fields: Self.bearer(Self.desk.full.text))

    let early = try await harness.probe()
    early.send("{\"op\":\"list\",\"id\":1}")
    let refused = try await early.first("a refusal") { $0.type == "error" }
    #expect(refused["code"] as? String == "unauthorized")
    early.send("{\"op\":\"hello\",\"id\":2,\"token\":\"\(Self.desk.full.text)\"}")
    _ = try await early.first("welcome") { $0.type == "welcome" && $0.id == 2 }
    early.send(Self.subscribe)
    let all = try await early.first("a reply") { $0.type == "subscribed" }
    #expect((all["ok"] as? [Any])?.count == 4 && (all["failed"] as? [Any])?.isEmpty == true)

    let narrow = try await harness.probe(fields: Self.bearer(Self.desk.narrow.text))
    narrow.send(Self.subscribe)
    let some = try await narrow.first("a reply") { $0.type == "subscribed" }
    let symbols = (some["ok"] as? [[String: Any]] ?? []).map { $0["symbol"] as? String }
    #expect(symbols == ["kraken:ZEC-USD"], "\(some.text)")
    let failed = (some["failed"] as? [[String: Any]] ?? []).compactMap {
      ($0["error"] as? [String: Any])?["code"] as? String
    }
    #expect(failed == ["forbidden"], "\(some.text)")

    let guess = try await harness.probe()
    guess.send("{\"op\":\"hello\",\"id\":1,\"token\":\"tg_guess\"}")
    #expect(try await guess.closeCode() == 4001)
    await #expect(throws: (any Error).self) { try await harness.probe(fields: Self.bearer("tg_guess")) }
    let metrics = try await harness.get("/metrics", internal: true).text
    #expect(metrics.contains("tidegate_refused_total{reason=\"unauthorized\"} 2"))
    await harness.stop()
  }

  @Test("HTTP asks for the same: 401 without, 403 for what is not allowed, and nothing for shared caches")
  func http() async throws {
    let harness = try GatewayHarness(venues: ["kraken"], access: Authenticator(policy: try Self.policy()))
    let full = Self.bearer(Self.desk.full.text)
    let narrow = Self.bearer(Self.desk.narrow.text)
    try await harness.waitUntilLive(fields: full)
    let none = try await harness.get("/v1/instruments")
    #expect(none.status == 401 && none.fields["WWW-Authenticate"] == "Bearer realm=\"tidegate\"")
    let bad = try await harness.get("/v1/instruments", fields: Self.bearer("x.y.z"))
    #expect(bad.status == 401 && bad.fields["WWW-Authenticate"]?.contains("error=\"invalid_token\"") == true)
    #expect(!bad.text.contains("x.y.z"))
    let inURL = try await harness.get("/v1/instruments?token=\(Self.desk.full.text)")
    #expect(
      inURL.status == 400 && inURL.json["code"] as? String == "token_in_url"
        && !inURL.text.contains(Self.desk.full.text))

    let list = try await harness.get("/v1/instruments", fields: narrow)
    #expect((list.json["instruments"] as? [[String: Any]])?.map { $0["symbol"] as? String } == ["kraken:ZEC-USD"])
    #expect(list.fields["Cache-Control"] == "private, max-age=5")
    #expect(list.fields["Vary"] == "Authorization, Accept-Encoding")
    let expected: [(String, Int)] = [
      ("/v1/trades/kraken:ZEC-USD", 200), ("/v1/trades/kraken:BTC-USD", 403), ("/v1/books/kraken:ZEC-USD", 403),
      ("/v1/tickers/kraken:ZEC-USD", 403), ("/v1/snapshot?symbols=kraken:ZEC-USD", 403), ("/v1/status", 403),
      ("/", 200),
    ]
    for (path, status) in expected {
      var answer = try await harness.get(path, fields: narrow)
      var patience = Patience()
      while answer.status == 503 {
        try await patience.wait(for: "\(path)")
        answer = try await harness.get(path, fields: narrow)
      }
      #expect(answer.status == status, "\(path): \(answer.text)")
      #expect(status != 403 || answer.json["code"] as? String == "forbidden")
    }
    for path in ["/v1/books/kraken:ZEC-USD", "/v1/status", "/v1/snapshot?symbols=kraken:ZEC-USD"] {
      #expect(try await harness.get(path, fields: full).status == 200, "\(path)")
    }
    #expect(
      try await harness.get("/v1/status", fields: Self.bearer(Self.token("{\"exp\":4102444800}"))).status
        == 200)
    await harness.stop()
  }

  @Test("/v1/status names the feeds that the key covers, and no other")
  func status() async throws {
    var policy = try Self.policy()
    policy.keys[1].rules.channels.insert(.status)
    let harness = try GatewayHarness(venues: ["kraken", "coinbase"], access: Authenticator(policy: policy))
    try await harness.waitUntilLive(fields: Self.bearer(Self.desk.full.text))
    func venues(_ token: String) async throws -> [String?] {
      let answer = try await harness.get("/v1/status", fields: Self.bearer(token))
      return (answer.json["feeds"] as? [[String: Any]] ?? []).map { $0["venue"] as? String }
    }
    #expect(try await venues(Self.desk.full.text) == ["kraken", "coinbase"])
    #expect(try await venues(Self.desk.narrow.text) == ["kraken"])
    await harness.stop()
  }

  @Test("connections of a key are bounded, and its requests")
  func perKey() async throws {
    var policy = try Self.policy()
    policy.keys[0].rules.connections = 1
    policy.keys[0].rules.requestsPerSecond = 1
    let harness = try GatewayHarness(venues: ["kraken"], access: Authenticator(policy: policy))
    let token = Self.desk.full.text
    let first = try await harness.probe(fields: Self.bearer(token))
    let second = try await harness.probe()
    second.send("{\"op\":\"hello\",\"id\":1,\"token\":\"\(token)\"}")
    #expect(try await second.closeCode() == 4129)
    first.disconnect()
    var patience = Patience()
    while true {
      let again = try await harness.probe()
      again.send("{\"op\":\"hello\",\"id\":1,\"token\":\"\(token)\"}")
      let answer = try await again.first("an answer", orClose: true) { $0.type == "welcome" }
      if answer != nil { break }
      try await patience.wait(for: "the key's connection to be given back")
    }
    var statuses: [Int] = []
    for _ in 0..<10 { statuses.append(try await harness.get("/v1/status", fields: Self.bearer(token)).status) }
    #expect(statuses.contains(429))
    await harness.stop()
  }

  @Test("another key file is in force at once, also for those who are in; one with mistakes is not taken")
  func reload() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tidegate-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appendingPathComponent("keys.yaml")
    func write(_ text: String) throws { try text.write(to: file, atomically: true, encoding: .utf8) }
    try write(NewKey.section(of: [Self.desk.full, Self.desk.narrow]))
    let harness = try GatewayHarness(venues: ["kraken"], access: Authenticator(path: file.path))
    try await harness.waitUntilLive(fields: Self.bearer(Self.desk.full.text))
    let full = try await harness.probe(fields: Self.bearer(Self.desk.full.text))
    let narrow = try await harness.probe(fields: Self.bearer(Self.desk.narrow.text))
    full.send(Self.subscribe)
    _ = try await full.first("a reply") { $0.type == "subscribed" }

    try write("nonsense")
    harness.gateway.reload()
    #expect(try await harness.get("/v1/status", fields: Self.bearer(Self.desk.full.text)).status == 200)

    try write(NewKey.section(of: [Self.desk.full]) + "      symbols: kraken:ETH-USD\n")
    harness.gateway.reload()
    let notice = try await full.first("a notice") { $0.type == "notice" && $0["code"] as? String == "forbidden" }
    #expect((notice["streams"] as? [Int])?.count == 3 && notice["total"] as? Int == 1)
    #expect(try await narrow.closeCode() == 4001)
    #expect(try await harness.get("/v1/status", fields: Self.bearer(Self.desk.narrow.text)).status == 401)
    await harness.stop()
  }

  @Test("keys that the configuration itself holds are in force at once with it; none at all takes another start")
  func reloadOfConfiguration() async throws {
    let harness = try GatewayHarness(venues: ["kraken"], access: Authenticator(policy: try Self.policy())) {
      $0.access = try? Self.policy()
    }
    try await harness.waitUntilLive(fields: Self.bearer(Self.desk.full.text))
    let narrow = try await harness.probe(fields: Self.bearer(Self.desk.narrow.text))
    var next = harness.gateway.current
    next.access?.keys.removeLast()
    #expect(harness.gateway.reload { () in next } == .done(changed: ["access: 1 keys, 1 issuers"], needsRestart: []))
    #expect(try await narrow.closeCode() == 4001)
    #expect(try await harness.get("/v1/status", fields: Self.bearer(Self.desk.narrow.text)).status == 401)
    next.access = nil
    #expect(
      harness.gateway.reload { () in next } == .done(changed: [], needsRestart: ["access: anybody"]))
    #expect(try await harness.get("/v1/status").status == 401)
    #expect(try await harness.get("/v1/status", fields: Self.bearer(Self.desk.full.text)).status == 200)
    await harness.stop()
  }

  @Test("pages of other origins are refused, in any case and as null; those that are let in may read, and only those")
  func origins() async throws {
    let harness = try GatewayHarness(venues: ["kraken"]) { $0.origins = ["https://app.example"] }
    func upgrade(_ origin: String?) async throws -> Int {
      var fields = [
        HTTPField("Upgrade", "websocket"), HTTPField("Connection", "Upgrade"), HTTPField("Sec-WebSocket-Version", "13"),
        HTTPField("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
      ]
      if let origin { fields.append(HTTPField("Origin", origin)) }
      return try await HTTPProbe.send(
        "GET", "/v1/stream", to: harness.gateway.address, fields: fields, closes: false, loop: harness.clientLoop
      ).status
    }
    #expect(try await upgrade(nil) == 101)
    for origin in ["https://app.example", "HTTPS://App.Example"] {
      #expect(try await upgrade(origin) == 101, "\(origin)")
    }
    for origin in [
      "null", "http://app.example", "https://app.example:8443", "https://app.example.evil", "https://evil.app.example",
      "https://app.example/", "",
    ] {
      #expect(try await upgrade(origin) == 403, "\(origin)")
    }
    let mine = try await harness.get("/v1/status", fields: [HTTPField("Origin", "https://app.example")])
    #expect(
      mine.fields["Access-Control-Allow-Origin"] == "https://app.example"
        && mine.fields["Vary"] == "Origin, Accept-Encoding")
    let other = try await harness.get("/v1/status", fields: [HTTPField("Origin", "https://evil.example")])
    #expect(other.fields["Access-Control-Allow-Origin"] == nil)
    await harness.stop()
  }
}

/// Keys that are made once.
private struct NewKeyBox: Sendable {
  let full = try! NewKey(name: "desk-1")
  let narrow = try! NewKey(name: "desk-2", fields: ["channels=trades", "symbols=kraken:ZEC-USD"])
}
