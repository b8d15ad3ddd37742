import Decks
import Foundation
import HTTP1
import History
import TestSupport
import TestTraits
import Testing

@testable import Gateway

/// Every number that a client may send, at both ends of its range and beyond. The requests are made from what the
/// gateway's documents name: `TIDEGATE_EXTREMES=all` sends all of them, else a part that the seed picks.
@Suite("Any number in any request", .serialized, .realTime)
struct NumericExtremesTests {
  private static let isWhole = environment("TIDEGATE_EXTREMES") == "all"

  private struct Request {
    var method: String
    var target: String
    var body = ""
    var fields: [HTTPField] = []
  }

  /// The guides' examples, by the route that they are sent to.
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
        if keys.contains("type"), !keys.contains("channel") {
          rules.append("{\"name\":\"x\",\"rule\":{\"condition\":\(object)}}")
        }
        if keys.isSuperset(of: ["name", "currency"]) { portfolios.append(object) }
        if keys.isSuperset(of: ["kind", "asset"]) { transactions.append(object) }
        if keys == ["through"] || keys == ["for_s"] { actions.append(object) }
      }
      // Times, that the guides leave out of their examples because they pass.
      rules.append(
        #"{"name":"x","rule":{"condition":{"type":"alarm","at":1795348800000000},"expires":4070908800000000}}"#)
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

  /// The requests that the OpenAPI document's paths come to, each with one number that is any.
  private static func requests(
    _ document: [String: Any], _ samples: Samples, ids: (alert: String, portfolio: String)
  ) throws -> [Request] {
    var requests: [Request] = []
    let paths = try #require(document["paths"] as? [String: [String: Any]])
    for (path, operations) in paths.sorted(by: { $0.key < $1.key }) where path != "/v1/stream" && path != "/v1/events" {
      for (method, operation) in operations.sorted(by: { $0.key < $1.key }) where method != "head" {
        guard let operation = operation as? [String: Any] else { continue }
        let parameters = operation["parameters"] as? [[String: Any]] ?? []
        func target(_ replaced: String? = nil, by number: String = "") -> String {
          var target = path
          for parameter in parameters where parameter["in"] as? String == "path" {
            guard let name = parameter["name"] as? String else { continue }
            target = target.replacing(
              "{\(name)}", with: name == replaced ? number : Self.parameter(name, ids, path))
          }
          return target
        }
        for extreme in NumericExtremes.texts {
          for parameter in parameters {
            guard let name = parameter["name"] as? String else { continue }
            let isQuery = parameter["in"] as? String == "query"
            requests.append(
              Request(
                method: method.uppercased(),
                target: isQuery ? "\(target())?\(name)=\(extreme)" : target(name, by: extreme),
                body: operation["requestBody"] == nil ? "" : "{}"))
          }
          guard operation["requestBody"] != nil || method == "delete" else { continue }
          requests.append(
            Request(
              method: method.uppercased(), target: target(), body: method == "delete" ? "" : "{}",
              fields: [HTTPField("If-Match", "\"\(extreme)\"")]))
        }
        guard let content = operation["requestBody"] as? [String: Any] else { continue }
        for body in samples.bodies(path) {
          for number in Self.bodies(body) + Self.bodies(body, named: Self.properties(content, document)) {
            requests.append(Request(method: method.uppercased(), target: target(), body: number))
          }
        }
      }
    }
    return requests
  }

  /// A body with each of its numbers replaced.
  private static func bodies(_ body: String) -> [String] {
    let bytes = Array(body.utf8)
    return NumericExtremes.numbers(in: bytes).flatMap { number in
      NumericExtremes.texts.map {
        String(decoding: NumericExtremes.replacing(number, of: bytes, by: $0), as: UTF8.self)
      }
    }
  }

  /// A body with a field of each of these names.
  private static func bodies(_ body: String, named names: [String]) -> [String] {
    guard body.hasPrefix("{"), body != "{}" else { return [] }
    return names.filter { !DocumentedObjects.keys(body).contains($0) }.flatMap { name in
      NumericExtremes.texts.flatMap { number in
        [number, "\"\(number)\""].map { "{\"\(name)\":\($0),\(body.dropFirst())" }
      }
    }
  }

  /// The names of the fields that a schema in the document has, with those of schemas that it refers to.
  private static func properties(_ value: Any, _ document: [String: Any], depth: Int = 0) -> [String] {
    guard depth < 12 else { return [] }
    if let list = value as? [Any] { return list.flatMap { properties($0, document, depth: depth + 1) } }
    guard let object = value as? [String: Any] else { return [] }
    var names = (object["properties"] as? [String: Any])?.keys.sorted() ?? []
    if let reference = object["$ref"] as? String {
      var place: Any? = document
      for step in reference.dropFirst(2).split(separator: "/") { place = (place as? [String: Any])?[String(step)] }
      names += place.map { properties($0, document, depth: depth + 1) } ?? []
    }
    for (name, part) in object where name != "$ref" { names += properties(part, document, depth: depth + 1) }
    return Set(names).sorted()
  }

  /// The whole list, or a part of it.
  private static func chosen<Element>(_ all: [Element], _ count: Int, seed: UInt64) -> [Element] {
    if isWhole { return all }
    var random = SeededGenerator(seed: seed)
    return Array(all.shuffled(using: &random).prefix(count))
  }

  private func harness() throws -> GatewayHarness {
    try GatewayHarness(venues: ["kraken"]) {
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
        request.method, request.target, to: harness.gateway.address, fields: request.fields + type,
        body: Array(request.body.utf8), loop: harness.clientLoop)
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
    #expect(requests.count > 2_000)
    // The numbers that once ended the process are always among them.
    let certain = [Int64.min, -1, .max].map { number in
      Request(
        method: "POST", target: "/v1/alerts",
        body: #"{"name":"x","rule":{"condition":{"type":"alarm","at":\#(number)}}}"#)
    }
    for request in certain + Self.chosen(requests, 500, seed: seed) {
      let answer = try await send(request)
      let place = "TIDEGATE_SEED=\(seed): \(request.method) \(request.target.prefix(200)) \(request.body.prefix(500))"
      #expect(answer.status < 500 || answer.status == 503, "\(place): \(answer.status)")
      guard answer.status >= 400 else { continue }
      #expect(!(answer.json["message"] as? String ?? "").isEmpty, "\(place): \(answer.text)")
    }
    // The clocks of what was taken have run.
    try await Task.sleep(for: .milliseconds(1_200))
    for path in ["/v1/alerts", "/v1/portfolios", "/v1/instruments"] {
      #expect(try await harness.get(path).status == 200, "\(path)")
    }
    await harness.stop()
  }

  /// The requests that the AsyncAPI document's messages come to.
  private static func streamRequests(_ document: [String: Any], _ samples: Samples) throws -> [String] {
    let components = try #require(document["components"] as? [String: [String: Any]])
    var requests: [String] = []
    for (name, message) in try #require(components["messages"]).sorted(by: { $0.key < $1.key }) {
      guard name.hasPrefix("request."), let message = message as? [String: Any],
        let payload = message["payload"] as? [String: Any]
      else { continue }
      let body = "{\"op\":\"\(name.dropFirst("request.".count))\"}"
      requests += bodies(body, named: (payload["properties"] as? [String: Any])?.keys.sorted() ?? [])
    }
    let item = try #require((components["schemas"]?["Item"] as? [String: Any])?["properties"] as? [String: Any])
    let channels = try #require((item["channel"] as? [String: Any])?["enum"] as? [String])
    for channel in channels {
      let names = ["status", "alerts", "portfolio"].contains(channel) ? "" : ",\"symbols\":[\"kraken:BTC-USD\"]"
      for body in bodies("{\"channel\":\"\(channel)\"\(names)}", named: item.keys.sorted()) {
        requests.append("{\"op\":\"subscribe\",\"streams\":[\(body)]}")
        requests.append("{\"op\":\"hello\",\"resume\":{\"session\":\"s_1.0.0.1\",\"streams\":[\(body)]}}")
      }
    }
    let position = #"{"channel":"trades","symbol":"kraken:BTC-USD","epoch":"k7","seq":5,"stream":4}"#
    requests += bodies("{\"op\":\"hello\",\"resume\":{\"session\":\"s_1.0.0.1\",\"streams\":[\(position)]}}")
    for rule in samples.rules {
      requests += bodies(rule).map { "{\"op\":\"alert\",\"action\":\"create\",\"body\":\($0)}" }
    }
    requests += samples.requests.flatMap { bodies($0) }
    // A wrong token ends a connection, and ids are the test's own.
    return requests.filter { !$0.contains("\"id\":") && !$0.contains("\"token\"") }
  }

  @Test("is answered on the stream, and the stream goes on", arguments: testSeeds(1))
  func stream(seed: UInt64) async throws {
    let harness = try harness()
    try await harness.waitUntilLive()
    let requests = try Self.streamRequests(try await harness.get("/asyncapi.json").json, try Samples())
    #expect(requests.count > 2_000)
    let certain = [Int64.min, .max].map {
      #"{"op":"alert","action":"create","body":{"name":"x","rule":{"condition":{"type":"alarm","at":\#($0)}}}}"#
    }
    let all = certain + Self.chosen(requests, 400, seed: seed)
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

  @Test("and no setting that is accepted makes a later sum overflow")
  func settings() throws {
    var (accepted, refused) = (0, 0)
    for setting in Setting.all {
      for extreme in NumericExtremes.texts {
        do throws(ConfigurationProblems) {
          let loaded = try ConfigurationLoader.load(
            file: nil, environment: [setting.variable: extreme], needsData: false, isReadable: { _ in true })
          accepted += 1
          let configuration = loaded.configuration
          _ = (configuration.tls, configuration.limits.ofClients, configuration.limits.admission)
          let retention = configuration.data.retention
          #expect([retention.minute, retention.quarter, retention.hour, retention.day].allSatisfy { $0 ?? 1 > 0 })
          #expect(!loaded.description.isEmpty)
        } catch {
          refused += 1
          #expect(error.problems.allSatisfy { !$0.message.isEmpty }, "\(setting.key)=\(extreme)")
        }
      }
    }
    #expect(accepted > 100 && refused > 1_000)
  }
}
