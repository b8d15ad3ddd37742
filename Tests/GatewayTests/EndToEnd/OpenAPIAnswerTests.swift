import Foundation
import HTTP1
import TestSupport
import TestTraits
import Testing

@testable import Gateway
@testable import HTTPAPI

@Suite("Answers as the OpenAPI document describes them", .serialized, .realTime)
struct OpenAPIAnswerTests {
  private struct Step {
    var method = "GET"
    var path: String
    var body: String?
    var status = 200
  }

  private static let steps: [Step] = [
    Step(path: "/v1/instruments"), Step(path: "/v1/assets"), Step(path: "/v1/status"),
    Step(path: "/v1/snapshot?symbols=kraken:BTC-USD,coinbase:ETH-USD,binance:ZEC-USDT,kraken:NO-USD&points=5"),
    Step(path: "/v1/tickers/kraken:BTC-USD"), Step(path: "/v1/tickers/binance:BTC-USDT"),
    Step(path: "/v1/trades/coinbase:BTC-USD?limit=5"), Step(path: "/v1/sparklines/kraken:BTC-USD?points=5"),
    Step(path: "/v1/candles/kraken:BTC-USD?limit=5"), Step(path: "/v1/books/kraken:BTC-USD?depth=3"),
    Step(path: "/v1/quotes/kraken:BTC-USD?depth=2"), Step(path: "/v1/quotes/composite:BTC-USD?depth=2"),
    Step(path: "/v1/books/composite:BTC-USD?depth=2"), Step(path: "/v1/sparklines/composite:BTC-USD?points=5"),
    Step(path: "/v1/candles/composite:BTC-USD?limit=5"),
    Step(path: "/v1/rates?base=BTC&quote=USD"), Step(path: "/v1/rates?base=ZEC&quote=BTC"),
    Step(path: "/v1/derivatives/bybit:BTC-USDT-PERP"), Step(path: "/v1/snapshot?symbols=bybit:BTC-USDT-PERP&points=5"),
    Step(path: "/v1/funding/bybit:BTC-USDT-PERP?limit=5"),
    Step(path: "/v1/derivatives/kraken:BTC-USD", status: 404), Step(path: "/v1/decks"), Step(path: "/v1/topics"),
    Step(
      method: "POST", path: "/v1/alerts",
      body: #"{"name":"a","rule":{"condition":{"type":"price","symbol":"kraken:BTC-USD","is":"above","value":"1"}}}"#,
      status: 201),
    Step(
      method: "POST", path: "/v1/alerts",
      body: #"{"name":"b","rule":{"condition":{"type":"alarm","at":"06:30","days":["mon"]},"time_zone":"UTC"}}"#,
      status: 201),
    Step(
      method: "POST", path: "/v1/alerts",
      body: #"{"name":"c","rule":{"condition":{"type":"change","symbol":"kraken:BTC-USD","is":"above","percent":"5","#
        + #""window_min":60}}}"#, status: 201),
    Step(path: "/v1/alerts"), Step(path: "/v1/alerts/{alert}"),
    Step(method: "PATCH", path: "/v1/alerts/{alert}", body: #"{"name":"c"}"#),
    Step(method: "POST", path: "/v1/alerts/{alert}/snooze", body: #"{"for_s":60}"#),
    Step(path: "/v1/alerts/{alert}/firings"), Step(method: "DELETE", path: "/v1/alerts/{alert}", status: 204),
    Step(method: "POST", path: "/v1/webhooks", body: #"{"url":"https://push.example.com/x"}"#, status: 201),
    Step(path: "/v1/webhooks"), Step(path: "/v1/webhooks/1"),
    Step(
      method: "POST", path: "/v1/portfolios",
      body: #"{"name":"p","currency":"USD","positions":[{"symbol":"kraken:BTC-USD","side":"long","size":"1","#
        + #""entry":"9000","leverage":"2"}]}"#, status: 201),
    Step(
      method: "POST", path: "/v1/portfolios/1/transactions",
      body: #"{"kind":"buy","asset":"BTC","quantity":"0.5","price":"40000","fee":"10"}"#, status: 201),
    Step(method: "PATCH", path: "/v1/portfolios/1", body: #"{"name":"q"}"#),
    Step(path: "/v1/portfolios"), Step(path: "/v1/portfolios/1"), Step(path: "/v1/portfolios/1/transactions"),
    Step(path: "/v1/portfolios/1/transactions/1"), Step(path: "/v1/portfolios/1/value"),
    Step(path: "/v1/portfolios/1/curve?range=1h"),
    Step(path: "/v1/nowhere", status: 404), Step(path: "/v1/books/kraken:NO-USD", status: 404),
  ]

  @Test("every member of every answer and of every body has the type that the document says")
  func types() async throws {
    let harness = try GatewayHarness(venues: ["kraken", "coinbase", "binance", "bybit"])
    try await harness.waitUntilLive()
    let document = try await harness.get("/openapi.json").json
    let paths = try #require(document["paths"] as? [String: [String: [String: Any]]])
    let check = SchemaCheck(document)
    for path in [
      "/v1/tickers/binance:BTC-USDT", "/v1/rates?base=ZEC&quote=BTC", "/v1/quotes/composite:BTC-USD",
      "/v1/derivatives/bybit:BTC-USDT-PERP", "/v1/funding/bybit:BTC-USDT-PERP?limit=5",
    ] {
      var patience = Patience()
      while try await harness.get(path).status != 200 { try await patience.wait(for: path) }
    }
    var alert = ""
    for step in Self.steps {
      let path = step.path.replacing("{alert}", with: alert)
      let fields = step.body == nil ? [] : [HTTPField("Content-Type", "application/json")]
      let answer = try await HTTPProbe.send(
        step.method, path, to: harness.gateway.address, fields: fields, body: Array((step.body ?? "").utf8),
        loop: harness.clientLoop)
      #expect(answer.status == step.status, "\(step.method) \(path): \(answer.text)")
      if alert.isEmpty, step.path == "/v1/alerts" { alert = answer.json["id"] as? String ?? "" }
      guard let route = RouteTable.clientPort.find(String(path.prefix { $0 != "?" }))?.route else { continue }
      let operation = try #require(paths[route.path]?[step.method.lowercased()])
      let response = (operation["responses"] as? [String: [String: Any]])?["\(step.status)"]
      #expect(response != nil, "\(step.method) \(path) has no \(step.status)")
      if let schema = Self.schema(response) {
        #expect(check.problems(of: answer.json, schema) == [], "\(step.method) \(path): \(answer.text)")
      } else {
        #expect(answer.text.isEmpty, "\(path)")
      }
      if let body = step.body {
        let schema = try #require(Self.schema(operation["requestBody"] as? [String: Any]), "\(path)")
        let value = try JSONSerialization.jsonObject(with: Data(body.utf8))
        #expect(check.problems(of: value, schema) == [], "the body of \(path)")
      }
    }
    await harness.stop()
  }

  @Test("the check sees a member without a type, a wrong type and a missing member")
  func broken() throws {
    let document = try #require(
      JSONSerialization.jsonObject(with: Data(RouteTable.clientPort.openAPI.bytes)) as? [String: Any])
    let check = SchemaCheck(document)
    let trade = ["$ref": "#/components/schemas/Trade"]
    let good: [String: Any] = ["id": "1", "price": "2.5", "size": "1", "side": "buy", "time": 5]
    #expect(check.problems(of: good, trade) == [])
    let changes: [(String, Any?)] = [
      ("price", 2.5), ("price", "2,5"), ("side", "both"), ("time", "5"), ("time", -1), ("id", nil), ("more", 1),
    ]
    for (name, value) in changes {
      var bad = good
      bad[name] = value
      #expect(check.problems(of: bad, trade).count == 1, "\(name) \(String(describing: value))")
    }
  }

  private static func schema(_ part: [String: Any]?) -> [String: Any]? {
    let content = part?["content"] as? [String: [String: [String: Any]]]
    return content?["application/json"]?["schema"]
  }
}
