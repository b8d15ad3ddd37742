import Decks
import Documents
import Foundation
import HTTP1
import History
import Settings
import TestSupport
import TestTraits
import Testing

@testable import Gateway

/// Every number that a client may send, at both ends of its range and beyond. The requests are made from what the
/// gateway's documents name: `TIDEGATE_EXTREMES=all` puts every extreme in every place. Else each place gets the ends
/// of `Int64`, and some places others that the seed picks.
@Suite("Any number in any request", .serialized, .realTime)
struct NumericExtremesTests {
  private static let isWhole = environment("TIDEGATE_EXTREMES") == "all"

  /// A request with a `MarkedText.mark` in its target, its body or its `If-Match`.
  private struct Request {
    var method: String
    var target: String
    var body = ""
    var match: String?
    /// The name of the marked number: `post /v1/alerts rule.condition.at of alarm`.
    var location = ""

    func with(_ number: String, inQuotes: Bool) -> Request {
      Request(
        method: method, target: target.replacing(MarkedText.mark, with: number),
        body: MarkedText(text: body, location: location).with(number, inQuotes: inQuotes),
        match: match?.replacing(MarkedText.mark, with: number))
    }
  }

  /// A condition of each type, each accepted as it stands.
  private static let conditions: [String] = [
    #"{"type":"price","symbol":"kraken:BTC-USD","is":"above","value":"70000","hysteresis":"50"}"#,
    #"{"type":"price","symbol":"kraken:BTC-USD","is":"crosses","value":"70000.5"}"#,
    #"{"type":"change","symbol":"kraken:BTC-USD","is":"below","percent":"-5","window_min":60,"hysteresis":"1"}"#,
    #"{"type":"spread","symbol":"kraken:BTC-USD","is":"above","value":"10","hysteresis":"1"}"#,
    #"{"type":"spread","symbol":"kraken:BTC-USD","is":"above","percent":"0.5"}"#,
    #"{"type":"depth","symbol":"kraken:BTC-USD","is":"below","side":"bids","within_percent":"0.25","value":"1"}"#,
    #"{"type":"stale","symbol":"kraken:BTC-USD","part":"book","for_s":30}"#,
    #"{"type":"funding","symbol":"bybit:BTC-USDT-PERP","is":"above","percent":"0.05"}"#,
    #"{"type":"open_interest","symbol":"bybit:BTC-USDT-PERP","is":"above","percent":"5","window_min":60}"#,
    #"{"type":"liquidations","symbol":"bybit:BTC-USDT-PERP","is":"above","value":"100000","window_min":5}"#,
    #"{"type":"alarm","at":4070908800000000}"#,
    #"{"type":"alarm","at":"07:30","days":["mon"]}"#,
    #"{"type":"countdown","for_s":600}"#,
    #"{"type":"all","of":[{"type":"price","symbol":"kraken:BTC-USD","is":"above","value":"7"},"#
      + #"{"type":"change","symbol":"kraken:BTC-USD","is":"above","percent":"5","window_min":5}]}"#,
    #"{"type":"any","of":[{"type":"stale","symbol":"kraken:BTC-USD","part":"feed","for_s":5},"#
      + #"{"type":"price","symbol":"kraken:BTC-USD","is":"below","value":"7"}]}"#,
  ]

  /// The guides' examples, by the route that they are sent to, and what they lack.
  private struct Samples {
    var rules: [String] = []
    var portfolios: [String] = []
    var transactions: [String] = []
    var actions: [String] = []
    var requests: [String] = []

    init() throws {
      for object in try DocumentedObjects.all() {
        let keys = DocumentedObjects.keys(object)
        if keys.contains("op") { requests.append(object) }
        if keys.contains("rule"), keys.contains("name"), !keys.contains("id") { rules.append(object) }
        if keys.contains("condition") { rules.append("{\"name\":\"x\",\"rule\":\(object)}") }
        if keys.isSuperset(of: ["name", "currency"]) { portfolios.append(object) }
        if keys.isSuperset(of: ["kind", "asset"]) { transactions.append(object) }
        if keys == ["through"] || keys == ["for_s"] { actions.append(object) }
      }
      let frequencies = ["{\"every_s\":60}", "\"once\"", "\"daily\""]
      for (index, condition) in conditions.enumerated() {
        let frequency =
          condition.contains("alarm") || condition.contains("countdown") ? "\"once\"" : frequencies[index % 3]
        rules.append(
          "{\"name\":\"x\",\"rule\":{\"condition\":\(condition),\"frequency\":\(frequency),\"expires\":4070908800000000}}"
        )
      }
      transactions.append(#"{"kind":"buy","asset":"BTC","quantity":"1","price":"2","fee":"3","time":1795348800000000}"#)
      portfolios.append(
        #"{"name":"p","currency":"USD","positions":[{"symbol":"kraken:BTC-USD","side":"long","size":"1","#
          + #""leverage":"2","entry":"3"}]}"#)
    }

    func bodies(_ path: String) -> [String] {
      if path.hasSuffix("/{action}") { return actions }
      if path.contains("/transactions") { return transactions }
      if path.hasPrefix("/v1/portfolios") { return portfolios }
      return path.hasPrefix("/v1/alerts") ? rules : ["{}"]
    }
  }

  // MARK: Requests from the documents

  private static func parameter(_ name: String, _ ids: (alert: String, portfolio: String), _ path: String) -> String {
    switch name {
    case "symbol": "kraken:BTC-USD"
    case "id": path.hasPrefix("/v1/portfolios") ? ids.portfolio : ids.alert
    case "number": "1"
    case "action": "ack"
    case "name": "calm"
    default: "x"
    }
  }

  /// The requests that the OpenAPI document's paths come to, each with a mark in the place of one number.
  private static func requests(
    _ document: [String: Any], _ samples: Samples, ids: (alert: String, portfolio: String)
  ) throws -> [Request] {
    var requests: [Request] = []
    let paths = try #require(document["paths"] as? [String: [String: Any]])
    for (path, operations) in paths.sorted(by: { $0.key < $1.key }) where path != "/v1/stream" && path != "/v1/events" {
      for (method, operation) in operations.sorted(by: { $0.key < $1.key }) where method != "head" {
        guard let operation = operation as? [String: Any] else { continue }
        let parameters = operation["parameters"] as? [[String: Any]] ?? []
        func target(marking marked: String? = nil) -> String {
          parameters.filter { $0["in"] as? String == "path" }.compactMap { $0["name"] as? String }.reduce(path) {
            $0.replacing("{\($1)}", with: $1 == marked ? MarkedText.mark : Self.parameter($1, ids, path))
          }
        }
        let content = operation["requestBody"] as? [String: Any]
        let (body, label) = (content == nil ? "" : "{}", "\(method) \(path)")
        for parameter in parameters where parameter["in"] as? String != "header" {
          guard let name = parameter["name"] as? String else { continue }
          let isQuery = parameter["in"] as? String == "query"
          requests.append(
            Request(
              method: method.uppercased(),
              target: isQuery ? "\(target())?\(name)=\(MarkedText.mark)" : target(marking: name), body: body,
              location: "\(label) \(name)"))
        }
        guard content != nil || method == "delete" else { continue }
        requests.append(
          Request(
            method: method.uppercased(), target: target(), body: body, match: "\"\(MarkedText.mark)\"",
            location: "\(label) If-Match"))
        guard let content else { continue }
        let schema = ((content["content"] as? [String: Any])?["application/json"] as? [String: Any])?["schema"]
        for sample in samples.bodies(path) {
          for marked in try MarkedText.all(sample, try #require(schema, "\(label)"), in: document) {
            let location = "\(label) \(marked.location)"
            requests.append(
              Request(method: method.uppercased(), target: target(), body: marked.text, location: location))
          }
        }
      }
    }
    return requests
  }

  /// Which numbers are put where: all of them everywhere; or the ends of `Int64` in each place once, and others as the
  /// seed picks.
  private static func choices<Place>(
    _ locations: [Place], _ count: Int, seed: UInt64, name: (Place) -> String
  ) -> [(location: Place, number: String, inQuotes: Bool)] {
    if isWhole {
      return locations.flatMap { location in
        NumericExtremes.texts.flatMap { number in [false, true].map { (location, number, $0) } }
      }
    }
    var seen: Set<String> = []
    let ends = locations.filter { seen.insert(name($0)).inserted }.flatMap { location in
      [Int64.min, .max].map { (location, String($0), false) }
    }
    var random = SeededGenerator(seed: seed)
    return ends
      + (0..<count).map { _ in
        (
          locations.randomElement(using: &random)!, NumericExtremes.texts.randomElement(using: &random)!,
          .random(using: &random)
        )
      }
  }

  private func harness() throws -> GatewayHarness {
    try GatewayHarness(venues: ["kraken", "bybit"]) {
      $0.decks.loaded = [.demo]
      $0.portfolios.perOwner = 1_000
      $0.alerts.rulesOfOwner = 10_000
      $0.limits.requestsPerSecond = 10_000
      $0.limits.httpRequestsPerSecond = 100_000
    }
  }

  // MARK: Tests

  @Test("is answered over HTTP, in words if it is refused, and the gateway lives on", arguments: testSeeds(1))
  func http(seed: UInt64) async throws {
    let harness = try harness()
    try await harness.waitUntilLive()
    func send(_ request: Request) async throws -> Answer {
      let type = request.body.isEmpty ? [] : [HTTPField("Content-Type", "application/json")]
      return try await HTTPProbe.send(
        request.method, request.target, to: harness.gateway.address,
        fields: type + (request.match.map { [HTTPField("If-Match", $0)] } ?? []), body: Array(request.body.utf8),
        loop: harness.clientLoop)
    }
    let samples = try Samples()
    #expect(samples.rules.count > 1 && samples.transactions.count > 1 && samples.actions.count > 1)
    let rule = #"{"name":"x","rule":{"condition":{"type":"countdown","for_s":600}}}"#
    let alert = try await send(Request(method: "POST", target: "/v1/alerts", body: rule))
    let portfolio = try await send(
      Request(method: "POST", target: "/v1/portfolios", body: #"{"name":"p","currency":"USD"}"#))
    let ids = (alert: alert.json["id"] as? String ?? "", portfolio: portfolio.json["id"] as? String ?? "")
    let document = try await harness.get("/openapi.json").json
    let requests = try Self.requests(document, samples, ids: ids)
    try await requireAccepted(samples.rules, document, send)
    let named = Set(requests.map(\.location))
    #expect(named.count > 100)
    // Numbers of the guides, of the schemas alone, and within one another.
    for location in ["at of alarm", "for_s of countdown", "at of change", "of.[].value of price change all"] {
      #expect(named.contains("post /v1/alerts rule.condition.\(location)"), "\(named.sorted())")
    }
    for (location, number, inQuotes) in Self.choices(requests, 300, seed: seed, name: \.location) {
      let request = location.with(number, inQuotes: inQuotes)
      let answer = try await send(request)
      let location =
        "TIDEGATE_SEED=\(seed): \(request.method) \(request.target.prefix(200)) \(request.body.prefix(500))"
      #expect(answer.status < 500 || answer.status == 503, "\(location): \(answer.status)")
      guard answer.status >= 400 else { continue }
      #expect(!(answer.json["message"] as? String ?? "").isEmpty, "\(location): \(answer.text)")
    }
    // The clocks of what was taken have run.
    try await Task.sleep(for: .milliseconds(1_200))
    for path in ["/v1/alerts", "/v1/portfolios", "/v1/instruments"] {
      #expect(try await harness.get(path).status == 200, "\(path)")
    }
    await harness.stop()
  }

  /// A sample that is refused for another reason than the number in it shows nothing. Every type of the schema has one.
  private func requireAccepted(
    _ rules: [String], _ document: [String: Any], _ send: (Request) async throws -> Answer
  ) async throws {
    let schemas = (document["components"] as? [String: Any])?["schemas"] as? [String: [String: Any]]
    let properties = try #require(schemas?["AlertCondition"]?["properties"] as? [String: [String: Any]])
    let types = MarkedText.choices(properties["type"], in: document)
    #expect(types.count >= 9)
    for type in types {
      #expect(Self.conditions.contains { $0.contains("{\"type\":\"\(type)\"") }, "no sample of \(type)")
    }
    for rule in rules {
      let answer = try await send(Request(method: "POST", target: "/v1/alerts", body: rule))
      #expect(answer.status == 201, "\(rule): \(answer.text)")
    }
  }

  /// The requests that the AsyncAPI document's messages come to, each with a mark in the place of one number.
  private static func streamRequests(
    _ document: [String: Any], _ openAPI: [String: Any], _ samples: Samples
  ) throws -> [MarkedText] {
    var requests: [MarkedText] = []
    func add(_ marked: [MarkedText], _ location: String, _ wrap: (String) -> String = { $0 }) {
      requests += marked.map { MarkedText(text: wrap($0.text), location: location + $0.location) }
    }
    let components = try #require(document["components"] as? [String: [String: Any]])
    for (name, message) in try #require(components["messages"]).sorted(by: { $0.key < $1.key }) {
      guard name.hasPrefix("request."), let payload = (message as? [String: Any])?["payload"] else { continue }
      let operation = name.dropFirst("request.".count)
      add(try MarkedText.all("{\"op\":\"\(operation)\"}", payload, in: document), "\(operation) ")
    }
    let item = try #require(components["schemas"]?["Item"] as? [String: Any])
    let properties = try #require(item["properties"] as? [String: [String: Any]])
    let channels = MarkedText.choices(properties["channel"], in: document)
    #expect(channels.count > 5)
    for channel in channels {
      let names = ["status", "alerts", "portfolio"].contains(channel) ? "" : ",\"symbols\":[\"kraken:BTC-USD\"]"
      let marked = try MarkedText.all("{\"channel\":\"\(channel)\"\(names)}", item, in: document)
      add(marked, "subscribe \(channel) ") { "{\"op\":\"subscribe\",\"streams\":[\($0)]}" }
      add(marked, "resume \(channel) ") { #"{"op":"hello","resume":{"session":"s_1.0.0.1","streams":[\#($0)]}}"# }
    }
    let position = #"{"channel":"trades","symbol":"kraken:BTC-USD","epoch":"k7","seq":5,"stream":4}"#
    add(try MarkedText.all(position, in: document), "position ") {
      #"{"op":"hello","resume":{"session":"s_1.0.0.1","streams":[\#($0)]}}"#
    }
    let form = ["$ref": "#/components/schemas/AlertForm"]
    for rule in samples.rules {
      add(try MarkedText.all(rule, form, in: openAPI), "alert ") {
        #"{"op":"alert","action":"create","body":\#($0)}"#
      }
    }
    for request in samples.requests { add(try MarkedText.all(request, in: document), "guide \(request.prefix(60)) ") }
    // A wrong token ends a connection, and ids are the test's own.
    return requests.filter { !$0.text.contains("\"id\":") && !$0.text.contains("\"token\"") }
  }

  @Test("is answered on the stream, and the stream goes on", arguments: testSeeds(1))
  func stream(seed: UInt64) async throws {
    let harness = try harness()
    try await harness.waitUntilLive()
    let (asyncAPI, openAPI) = (
      try await harness.get("/asyncapi.json").json, try await harness.get("/openapi.json").json
    )
    let requests = try Self.streamRequests(asyncAPI, openAPI, try Samples())
    #expect(Set(requests.map(\.location)).isSuperset(of: ["alert rule.condition.at of alarm", "hello heartbeat_s"]))
    let all = Self.choices(requests, 300, seed: seed, name: \.location).map {
      $0.location.with($0.number, inQuotes: $0.inQuotes)
    }
    // A request too many that is no JSON closes a client: each batch has one of its own.
    for start in stride(from: 0, to: all.count, by: 20) {
      let probe = try await harness.probe()
      let batch = all[start..<min(start + 20, all.count)]
      for request in batch { probe.send("{\"id\":7,\(request.dropFirst())") }
      probe.send(#"{"op":"ping","id":8}"#)
      try await probe.first("the pong, TIDEGATE_SEED=\(seed), after \(batch)") { $0.type == "pong" && $0.id == 8 }
    }
    try await Task.sleep(for: .milliseconds(1_200))
    #expect(try await harness.get("/v1/alerts").status == 200)
    await harness.stop()
  }
}
