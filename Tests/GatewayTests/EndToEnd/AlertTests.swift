import Access
import Foundation
import HTTP1
import MarketData
import PubSub
import Settings
import TestTraits
import Testing
import Transport

@testable import Gateway

@Suite("Alerts end to end", .serialized, .realTime)
struct AlertTests {
  private static let secret = (0..<32).map { UInt8($0) }
  private static let keys = ["ann", "bob"].map { try! NewKey(name: $0) }

  private static func token(_ claims: String) -> String {
    let signed = Base64URL.encode(Array(#"{"alg":"HS256"}"#.utf8)) + "." + Base64URL.encode(Array(claims.utf8))
    return signed + "." + Base64URL.encode(Digest.hmacSHA256(key: secret, message: Array(signed.utf8)))
  }

  private static func bearer(_ token: String) -> [HTTPField] { [HTTPField("Authorization", "Bearer \(token)")] }
  private static let json = HTTPField("Content-Type", "application/json")

  private static func body(_ symbol: String = "kraken:BTC-USD", _ value: String = "1") -> String {
    """
    {"name":"over","rule":{"condition":{"type":"price","symbol":"\(symbol)","is":"above","value":"\(value)"}}}
    """
  }

  private func send(
    _ harness: GatewayHarness, _ method: String, _ path: String, _ body: String = "", fields: [HTTPField] = [],
    host: String? = nil
  ) async throws -> Answer {
    try await HTTPProbe.send(
      method, path, to: harness.gateway.address, host: host,
      fields: fields + (body.isEmpty ? [] : [Self.json]), body: Array(body.utf8), loop: harness.clientLoop)
  }

  @Test("a rule that has expired already is refused, and one that expires later is not")
  func expiry() async throws {
    let harness = try GatewayHarness(venues: ["kraken"])
    func body(_ expires: Int64) -> String {
      "{\"name\":\"x\",\"rule\":{\"condition\":{\"type\":\"countdown\",\"for_s\":500},\"expires\":\(expires)}}"
    }
    let now = Int64(Date().timeIntervalSince1970 * 1e6)
    for expires in [0, 5, now - 1] {
      let refused = try await send(harness, "POST", "/v1/alerts", body(expires))
      #expect(refused.status == 422 && refused.text.contains("`expires`: has passed"), "\(refused.text)")
    }
    let made = try await send(harness, "POST", "/v1/alerts", body(now + 600_000_000))
    #expect(made.status == 201, "\(made.text)")
    let path = "/v1/alerts/\(try #require(made.json["id"] as? String))"
    #expect(try await send(harness, "PUT", path, body(5)).status == 422)
    #expect(try await harness.get(path).text.contains("\"expires\":\(now + 600_000_000)"))
    await harness.stop()
  }

  @Test("a rule made over HTTP fires on live prices, on every device, and a device that comes later sees it")
  func wholeWay() async throws {
    let harness = try GatewayHarness(venues: ["kraken"])
    try await harness.waitUntilLive()
    let phone = try await harness.probe()
    phone.send("{\"op\":\"subscribe\",\"id\":1,\"streams\":[{\"channel\":\"alerts\"}]}")
    let empty = try await phone.first("a snapshot") { $0.type == "snapshot" && $0.channel == "alerts" }
    #expect(empty.text.contains("\"data\":{\"kept\":false,\"alerts\":[]}"), "\(empty.text)")
    let made = try await send(harness, "POST", "/v1/alerts", Self.body())
    #expect(made.status == 201, "\(made.text)")
    let id = try #require(made.json["id"] as? String)
    #expect(made.fields["Location"] == "/v1/alerts/\(id)")
    let fired = try await phone.first("a firing") {
      $0.type == "update" && !(($0.data["firings"] as? [Any]) ?? []).isEmpty
    }
    #expect(fired.text.contains("\"state\":\"alerting\"") && fired.text.contains("\"symbol\":\"kraken:BTC-USD\""))
    #expect(!fired.text.contains("late_by_ms"), "the market was live all along: \(fired.text)")

    let tablet = try await harness.probe()
    tablet.send("{\"op\":\"subscribe\",\"id\":1,\"streams\":[{\"channel\":\"alerts\"}]}")
    let later = try await tablet.first("a snapshot") { $0.type == "snapshot" && $0.channel == "alerts" }
    #expect(later.text.contains("\"state\":\"alerting\""))
    tablet.send("{\"op\":\"alert\",\"id\":2,\"action\":\"ack\",\"alert\":\"\(id)\"}")
    let acknowledged = try await tablet.first("a reply") { $0.type == "alert" && $0.id == 2 }
    #expect((acknowledged["alert"] as? [String: Any])?["state"] as? String == "disabled")
    _ = try await phone.first("the acknowledgement") { $0.text.contains("\"acknowledged\":1") }

    let read = try await harness.get("/v1/alerts/\(id)")
    let tag = try #require(read.fields["ETag"])
    #expect(try await harness.get("/v1/alerts/\(id)", fields: [HTTPField("If-None-Match", tag)]).status == 304)
    #expect((try await harness.get("/v1/alerts/\(id)/firings").json["firings"] as? [Any])?.count == 1)
    let match = [HTTPField("If-Match", tag)]
    #expect(try await send(harness, "PATCH", "/v1/alerts/\(id)", "{\"name\":\"b\"}", fields: match).status == 200)
    #expect(try await send(harness, "PATCH", "/v1/alerts/\(id)", "{\"name\":\"c\"}", fields: match).status == 412)
    #expect(try await send(harness, "POST", "/v1/alerts/\(id)/sing").status == 404)
    #expect(try await send(harness, "DELETE", "/v1/alerts").status == 405)
    #expect(try await send(harness, "DELETE", "/v1/alerts/\(id)").status == 204)
    _ = try await phone.first("the end of the rule") { $0.text.contains("\"removed\":[\"\(id)\"]") }
    #expect(try await harness.get("/v1/alerts/\(id)").status == 404)
    await harness.stop()
  }

  @Test(
    "the stream makes, changes and deletes rules; requests behind one wait for its reply; mistakes say what is wrong")
  func stream() async throws {
    let harness = try GatewayHarness(venues: ["kraken"])
    try await harness.waitUntilLive()
    let probe = try await harness.probe()
    let body = Self.body("kraken:BTC-USD", "900000000")
    for number in [1, 2] {
      probe.send("{\"op\":\"alert\",\"id\":\(number),\"action\":\"create\",\"key\":\"k\",\"body\":\(body)}")
    }
    probe.send("{\"op\":\"ping\",\"id\":3}")
    _ = try await probe.first("a pong") { $0.type == "pong" }
    let replies = probe.messages.filter { $0.type == "alert" || $0.type == "pong" }
    #expect(replies.map(\.id) == [1, 2, 3], "in their order")
    let ids = replies.prefix(2).compactMap { ($0["alert"] as? [String: Any])?["id"] as? String }
    #expect(Set(ids).count == 1 && ids.count == 2, "the same key makes one rule")
    let mistakes = [
      ("{\"op\":\"alert\",\"id\":10,\"action\":\"sing\"}", "bad_request"),
      ("{\"op\":\"alert\",\"id\":11,\"action\":\"create\",\"body\":\(Self.body("kraken:NOPE-USD"))}", "unknown_symbol"),
      ("{\"op\":\"alert\",\"id\":12,\"action\":\"ack\"}", "bad_request"),
      ("{\"op\":\"alert\",\"id\":13,\"action\":\"delete\",\"alert\":\"zz\"}", "unknown_alert"),
      ("{\"op\":\"alert\",\"id\":14,\"action\":\"create\",\"body\":{\"name\":\"a\"}}", "invalid_alert"),
      ("{\"op\":\"alert\",\"id\":15,\"action\":\"delete\",\"alert\":\"\(ids[0])\",\"revision\":9}", "changed"),
      ("{\"op\":\"alert\",\"id\":16,\"action\":\"delete\",\"alert\":\"\(ids[0])\",\"volume\":9}", "bad_request"),
    ]
    for (index, (text, code)) in mistakes.enumerated() {
      probe.send(text)
      let error = try await probe.first("an error") { $0.type == "error" && $0.id == 10 + index }
      #expect(error["code"] as? String == code, "\(error.text)")
    }
    probe.send("{\"op\":\"alert\",\"id\":20,\"action\":\"delete\",\"alert\":\"\(ids[0])\"}")
    let removed = try await probe.first("a reply") { $0.id == 20 }
    #expect(removed["removed"] as? String == ids[0])
    await harness.stop()
  }

  /// Who may try: every token, and none.
  private struct Caller {
    var name: String
    var fields: [HTTPField]
    /// Whether it has alerts of its own at all, and with whom it shares them.
    var owner: String?
  }

  @Test("tokens × routes × stream requests: nobody reads or changes what is another's")
  func matrix() async throws {
    var policy = try KeyFile.parse(Array(NewKey.section(of: Self.keys).utf8), path: "keys.yaml") { _ in nil }
    policy.issuers = ["one", "two"].map {
      AccessPolicy.Issuer(name: $0, key: .secret(Self.secret + Array($0.utf8)), issuer: $0)
    }
    policy.anonymous = AccessPolicy.grant("anonymous", .init(), .init(), expires: nil)
    func jwt(_ issuer: String, _ subject: String?) -> [HTTPField] {
      let sub = subject.map { ",\"sub\":\"\($0)\"" } ?? ""
      let claims = "{\"iss\":\"\(issuer)\",\"exp\":4102444800\(sub)}"
      let signed = Base64URL.encode(Array(#"{"alg":"HS256"}"#.utf8)) + "." + Base64URL.encode(Array(claims.utf8))
      let mac = Digest.hmacSHA256(key: Self.secret + Array(issuer.utf8), message: Array(signed.utf8))
      return Self.bearer(signed + "." + Base64URL.encode(mac))
    }
    let callers = [
      Caller(name: "key ann", fields: Self.bearer(Self.keys[0].text), owner: "ann"),
      Caller(name: "key bob", fields: Self.bearer(Self.keys[1].text), owner: "bob"),
      // The same names in other mouths.
      Caller(name: "one/ann", fields: jwt("one", "ann"), owner: "one/ann"),
      Caller(name: "two/ann", fields: jwt("two", "ann"), owner: "two/ann"),
      Caller(name: "one/ann again", fields: jwt("one", "ann"), owner: "one/ann"),
      Caller(name: "one, nobody", fields: jwt("one", nil), owner: nil),
      Caller(name: "anonymous", fields: [], owner: nil),
    ]
    let harness = try GatewayHarness(venues: ["kraken"], access: Authenticator(policy: policy))
    try await harness.waitUntilLive()
    for victim in callers where victim.owner != nil {
      let made = try await send(
        harness, "POST", "/v1/alerts", Self.body("kraken:BTC-USD", "900000000"), fields: victim.fields)
      #expect(made.status == 201, "\(victim.name): \(made.text)")
      let id = try #require(made.json["id"] as? String)
      for caller in callers {
        let mayRead = caller.owner == victim.owner
        let refused = caller.owner == nil ? 403 : 404
        let what = "\(caller.name) at the alert of \(victim.name)"
        let list = try await harness.get("/v1/alerts", fields: caller.fields)
        #expect(list.status == (caller.owner == nil ? 403 : 200), "\(what)")
        #expect(list.text.contains("\"id\":\"\(id)\"") == mayRead, "\(what): \(list.text)")
        for path in ["", "/firings"] {
          let answer = try await harness.get("/v1/alerts/\(id)\(path)", fields: caller.fields)
          #expect(answer.status == (mayRead ? 200 : refused), "\(what): GET \(path)")
        }
        let probe = try await harness.probe(fields: caller.fields)
        probe.send("{\"op\":\"subscribe\",\"id\":1,\"streams\":[{\"channel\":\"alerts\"}]}")
        let reply = try await probe.first("a reply") { $0.type == "subscribed" }
        #expect((reply["ok"] as? [Any])?.isEmpty == (caller.owner == nil), "\(what)")
        if caller.owner != nil {
          let snapshot = try await probe.first("a snapshot") { $0.type == "snapshot" }
          #expect(snapshot.text.contains("\"id\":\"\(id)\"") == mayRead, "\(what): \(snapshot.text)")
        }
        guard !mayRead else { continue }
        let writes = [
          ("PUT", "", Self.body()), ("PATCH", "", "{\"name\":\"mine\"}"), ("DELETE", "", ""), ("POST", "/ack", ""),
          ("POST", "/snooze", "{\"for_s\":5}"), ("POST", "/pause", ""), ("POST", "/resume", ""),
          ("POST", "/enable", ""), ("POST", "/disable", ""),
        ]
        for (method, path, body) in writes {
          let answer = try await send(harness, method, "/v1/alerts/\(id)\(path)", body, fields: caller.fields)
          #expect(answer.status == refused, "\(what): \(method) \(path) \(answer.text)")
        }
        for (index, action) in ControlRequest.Action.allCases.enumerated() where action != .create && action != .replace
        {
          let body =
            action == .change ? ",\"body\":{\"name\":\"mine\"}" : action == .snooze ? ",\"body\":{\"for_s\":5}" : ""
          probe.send(
            "{\"op\":\"alert\",\"id\":\(50 + index),\"action\":\"\(action.rawValue)\",\"alert\":\"\(id)\"\(body)}")
          let error = try await probe.first("an error") { $0.id == 50 + index }
          let code = caller.owner == nil ? "forbidden" : "unknown_alert"
          #expect(error["code"] as? String == code, "\(what): \(action) \(error.text)")
        }
        probe.disconnect()
      }
      try await webhooks(of: victim, callers, harness)
      try await portfolios(of: victim, callers, harness)
      let untouched = try await harness.get("/v1/alerts/\(id)", fields: victim.fields)
      #expect(untouched.json["revision"] as? Int == 1 && untouched.json["state"] as? String == "running")
    }
    await harness.stop()
  }

  private func webhooks(of victim: Caller, _ callers: [Caller], _ harness: GatewayHarness) async throws {
    let made = try await send(
      harness, "POST", "/v1/webhooks", "{\"url\":\"https://push.example.com/\"}", fields: victim.fields)
    let id = try #require(made.json["id"] as? String)
    for caller in callers {
      let mayRead = caller.owner == victim.owner
      let refused = caller.owner == nil ? 403 : 404
      let what = "\(caller.name) at the webhook of \(victim.name)"
      let list = try await harness.get("/v1/webhooks", fields: caller.fields)
      #expect(list.text.contains("\"id\":\"\(id)\"") == mayRead, "\(what)")
      let one = try await harness.get("/v1/webhooks/\(id)", fields: caller.fields)
      #expect(one.status == (mayRead ? 200 : refused), "\(what)")
      guard !mayRead else { continue }
      #expect(
        try await send(harness, "DELETE", "/v1/webhooks/\(id)", fields: caller.fields).status == refused, "\(what)")
    }
    #expect(try await send(harness, "DELETE", "/v1/webhooks/\(id)", fields: victim.fields).status == 204)
  }

  private func portfolios(of victim: Caller, _ callers: [Caller], _ harness: GatewayHarness) async throws {
    let form = "{\"name\":\"secret\",\"currency\":\"USD\"}"
    let made = try await send(harness, "POST", "/v1/portfolios", form, fields: victim.fields)
    #expect(made.status == 201, "\(victim.name): \(made.text)")
    let id = try #require(made.json["id"] as? String)
    let buy = "{\"kind\":\"buy\",\"asset\":\"BTC\",\"quantity\":\"1\",\"price\":\"5\"}"
    let path = "/v1/portfolios/\(id)"
    #expect(try await send(harness, "POST", path + "/transactions", buy, fields: victim.fields).status == 201)
    for caller in callers {
      let mayRead = caller.owner == victim.owner
      let refused = caller.owner == nil ? 403 : 404
      let what = "\(caller.name) at the portfolio of \(victim.name)"
      let list = try await harness.get("/v1/portfolios", fields: caller.fields)
      #expect(list.text.contains("\"id\":\"\(id)\"") == mayRead, "\(what): \(list.text)")
      for part in ["", "/transactions", "/transactions/1", "/value", "/curve"] {
        let answer = try await harness.get(path + part, fields: caller.fields)
        #expect(answer.status == (mayRead ? 200 : refused), "\(what): GET \(part) \(answer.text)")
      }
      let probe = try await harness.probe(fields: caller.fields)
      probe.send(
        "{\"op\":\"subscribe\",\"id\":1,\"streams\":[{\"channel\":\"portfolio\",\"portfolio\":\"\(id)\"}]}")
      let reply = try await probe.first("a reply") { $0.type == "subscribed" }
      #expect((reply["ok"] as? [Any])?.isEmpty == !mayRead, "\(what): \(reply.text)")
      probe.disconnect()
      guard !mayRead else { continue }
      let writes = [
        ("PUT", "", form), ("PATCH", "", "{\"name\":\"mine\"}"), ("DELETE", "", ""), ("POST", "/transactions", buy),
        ("PUT", "/transactions/1", buy), ("DELETE", "/transactions/1", ""),
      ]
      for (method, part, body) in writes {
        let answer = try await send(harness, method, path + part, body, fields: caller.fields)
        #expect(answer.status == refused, "\(what): \(method) \(part) \(answer.text)")
      }
    }
    let untouched = try await harness.get(path, fields: victim.fields)
    #expect(untouched.json["revision"] as? Int == 2 && untouched.json["name"] as? String == "secret")
    #expect(try await send(harness, "DELETE", path, fields: victim.fields).status == 204)
  }

  @Test("a market that a reload ends is not live for rules, and one that it begins again has had a gap")
  func reload() async throws {
    let all = GatewayHarness.symbols["kraken"]!
    let symbol = "kraken:\(all[1])"
    let harness = try GatewayHarness(venues: ["kraken"], rate: 50)
    try await harness.waitUntilLive()
    let phone = try await harness.probe()
    phone.send("{\"op\":\"subscribe\",\"id\":1,\"streams\":[{\"channel\":\"alerts\"}]}")
    let stale = """
      {"name":"gone","rule":{"condition":{"type":"stale","part":"feed","symbol":"\(symbol)","for_s":1},\
      "frequency":{"every_s":1}}}
      """
    let made = try await send(harness, "POST", "/v1/alerts", stale)
    #expect(made.status == 201, "\(made.text)")
    for symbols in [[all[0]], all, [all[0]]] {
      let before = phone.count
      var next = harness.gateway.current
      next.feeds[0].symbols = symbols
      harness.gateway.reload { [next] () throws(ConfigurationProblems) in next }
      guard symbols.count == 1 else {
        try await harness.waitUntilLive()
        continue
      }
      // It rings each time that the market goes: the return in between was seen as well.
      _ = try await phone.first("a firing", from: before) {
        $0.type == "update" && !(($0.data["firings"] as? [Any]) ?? []).isEmpty
      }
      let id = try #require(made.json["id"] as? String)
      #expect(try await send(harness, "POST", "/v1/alerts/\(id)/ack").status == 200)
    }
    await harness.stop()
  }

  @Test("a client that becomes somebody else by another token loses the stream of who it was")
  func anotherToken() async throws {
    let policy = try KeyFile.parse(Array(NewKey.section(of: Self.keys).utf8), path: "keys.yaml") { _ in nil }
    let harness = try GatewayHarness(venues: ["kraken"], access: Authenticator(policy: policy))
    let probe = try await harness.probe(fields: Self.bearer(Self.keys[0].text))
    probe.send("{\"op\":\"subscribe\",\"id\":1,\"streams\":[{\"channel\":\"alerts\"}]}")
    let reply = try await probe.first("a reply") { $0.type == "subscribed" }
    let stream = try #require((reply["ok"] as? [[String: Any]])?.first?["stream"] as? Int)
    probe.send("{\"op\":\"hello\",\"id\":2,\"token\":\"\(Self.keys[1].text)\"}")
    let notice = try await probe.first("a notice") { $0.type == "notice" && $0["code"] as? String == "forbidden" }
    #expect(notice["streams"] as? [Int] == [stream])
    await harness.stop()
  }

  @Test("where nobody is asked for a token, a page of another site owns nothing, over HTTP and on the stream")
  func foreignPages() async throws {
    let harness = try GatewayHarness(venues: ["kraken"])
    try await harness.waitUntilLive()
    let body = Self.body("kraken:BTC-USD", "900000000")
    let own = harness.gateway.address.description
    let pages: [(String?, String, Int)] = [
      (nil, "http://\(own)", 201), (nil, "http://attacker.example", 403), (nil, "null", 403),
      // A name that points here (DNS rebinding).
      ("attacker.example", "http://attacker.example", 421),
    ]
    for (host, origin, status) in pages {
      let answer = try await send(
        harness, "POST", "/v1/alerts", body, fields: [HTTPField("Origin", origin)], host: host)
      #expect(answer.status == status, "\(host ?? own) \(origin): \(answer.text)")
    }
    let text = [HTTPField("Content-Type", "text/plain")]
    let form = try await HTTPProbe.send(
      "POST", "/v1/alerts", to: harness.gateway.address, fields: text, body: Array(body.utf8),
      loop: harness.clientLoop)
    #expect(form.status == 415)
    let probe = try await harness.probe(fields: [HTTPField("Origin", "http://attacker.example")])
    probe.send("{\"op\":\"alert\",\"id\":1,\"action\":\"create\",\"body\":\(body)}")
    let error = try await probe.first("an error") { $0.id == 1 }
    #expect(error["code"] as? String == "forbidden")
    probe.send(
      "{\"op\":\"subscribe\",\"id\":2,\"streams\":[{\"channel\":\"trades\",\"symbols\":[\"kraken:BTC-USD\"]}]}")
    let reply = try await probe.first("a reply") { $0.type == "subscribed" }
    #expect((reply["ok"] as? [Any])?.count == 1, "prices are for every page")
    await harness.stop()
  }

  @Test(
    "where nobody is asked for a token, owners' documents and the console are for addresses, localhost and named hosts")
  func foreignHosts() async throws {
    let harness = try GatewayHarness(venues: ["kraken"]) { $0.hosts = ["gateway.example"] }
    // A browser sends no `Origin` with a same-origin GET.
    func get(_ path: String, host: String, _ fields: [HTTPField] = []) async throws -> Answer {
      try await HTTPProbe.send(
        "GET", path, to: harness.gateway.address, host: host, fields: fields, loop: harness.clientLoop)
    }
    let page = [HTTPField("Accept", "text/html")]
    for path in ["/v1/alerts", "/v1/alerts/1", "/v1/portfolios", "/v1/portfolios/1/value", "/v1/webhooks", "/"] {
      for host in ["attacker.example", "localhost.attacker.example:8080", "127.0.0.1.attacker.example"] {
        let answer = try await get(path, host: host, page)
        #expect(answer.status == 421, "\(path) \(host): \(answer.text)")
        #expect(answer.json["code"] as? String == "foreign_host")
        #expect((answer.json["hint"] as? String ?? "").contains("hosts"))
      }
      for host in ["localhost:8080", "tidegate.localhost", "127.0.0.1", "[::1]:8080", "Gateway.Example:443"] {
        #expect(try await get(path, host: host, page).status != 421, "\(path) \(host)")
      }
    }
    #expect(try await get("/console/app.js", host: "attacker.example").status == 421)
    // Prices are for every page, and so is the library for web pages.
    for path in ["/v1/status", "/tidegate.js", "/openapi.json"] {
      #expect(try await get(path, host: "attacker.example").status == 200, "\(path)")
    }
    let events = EventProbe(
      harness.gateway.address, "/v1/events?streams=alerts", host: "attacker.example", loop: harness.clientLoop)
    let reply = try await events.first("a reply") { $0.type == "subscribed" }
    let refused = (reply.json["failed"] as? [[String: Any]])?.first?["error"] as? [String: Any]
    #expect(refused?["code"] as? String == "forbidden", "\(reply.text)")
    events.close()
    let body = [HTTPField("Content-Type", "application/json"), HTTPField("Expect", "100-continue")]
    let post = try await HTTPProbe.send(
      "POST", "/v1/topics/feed", to: harness.gateway.address, host: "attacker.example", fields: body, body: [],
      loop: harness.clientLoop)
    #expect(post.status == 421)
    await harness.stop()
  }

  @Test("a page that origins names may own under its own host")
  func namedOrigin() async throws {
    let harness = try GatewayHarness(venues: ["kraken"]) { $0.origins = ["https://app.example"] }
    for (host, status) in [("app.example", 200), ("other.example", 421)] {
      let answer = try await HTTPProbe.send(
        "GET", "/v1/alerts", to: harness.gateway.address, host: host, loop: harness.clientLoop)
      #expect(answer.status == status, "\(host): \(answer.text)")
    }
    await harness.stop()
  }

  @Test("topics come as snapshots and numbered updates, those that nobody has published to yet as well")
  func topics() async throws {
    let harness = try GatewayHarness(venues: ["kraken"])
    func publish(_ text: String) async throws {
      let answer = try await HTTPProbe.send(
        "POST", "/v1/topics/feed", to: harness.gateway.internalAddress, fields: [Self.json], body: Array(text.utf8),
        loop: harness.clientLoop)
      #expect(answer.status == 201)
    }
    let probe = try await harness.probe()
    probe.send(
      "{\"op\":\"subscribe\",\"id\":1,\"streams\":[{\"channel\":\"topic\",\"symbols\":[\"feed\",\"Bad*\"],\"last\":2}]}"
    )
    let reply = try await probe.first("a reply") { $0.type == "subscribed" }
    #expect((reply["ok"] as? [[String: Any]])?.first?["last"] as? Int == 2, "\(reply.text)")
    #expect((reply["failed"] as? [Any])?.count == 1)
    for number in 1...3 { try await publish("{\"n\":\(number)}") }
    _ = try await probe.first("the third") { $0.text.contains("{\"n\":3}") }
    let messages = probe.messages.filter { $0.channel == "topic" }
    #expect(messages.map(\.type) == ["snapshot", "update", "update"])
    #expect(messages.map { $0.data["number"] as? Int } == [1, 2, 3])
    let late = try await harness.probe()
    late.send("{\"op\":\"subscribe\",\"id\":1,\"streams\":[{\"channel\":\"topic\",\"symbols\":[\"feed\"],\"last\":2}]}")
    let snapshot = try await late.first("a snapshot") { $0.type == "snapshot" && $0.channel == "topic" }
    let documents = snapshot.data["documents"] as? [[String: Any]] ?? []
    #expect(documents.compactMap { $0["number"] as? Int } == [2, 3])
    let last = try #require(messages.first)
    let resumed = try await harness.probe()
    let epoch = (reply["ok"] as? [[String: Any]])?.first?["epoch"] as? String ?? ""
    resumed.send(
      "{\"op\":\"hello\",\"id\":1,\"resume\":{\"streams\":[{\"channel\":\"topic\",\"symbol\":\"feed\",\"last\":2,\"stream\":\(last.stream),\"epoch\":\"\(epoch)\",\"seq\":\(last.seq)}]}}"
    )
    let welcome = try await resumed.first("welcome") { $0.type == "welcome" && $0.id == 1 }
    #expect((welcome["ok"] as? [[String: Any]])?.first?["recovered"] as? Bool == true, "\(welcome.text)")
    _ = try await resumed.first("what was missed") { $0.type == "update" && $0.text.contains("{\"n\":3}") }
    await harness.stop()
  }
}
