import Foundation
import HTTP1
import MarketData
import TestSupport
import Testing

@testable import HTTPAPI

@Suite("The OpenAPI document")
struct OpenAPIDocumentTests {
  private static func document() throws -> [String: Any] {
    try #require(JSONSerialization.jsonObject(with: Data(RouteTable.clientPort.openAPI.bytes)) as? [String: Any])
  }

  @Test("names every route, each with its methods and parameters and no other")
  func routes() throws {
    let document = try Self.document()
    #expect(document["openapi"] as? String == "3.1.0")
    let paths = try #require(document["paths"] as? [String: [String: [String: Any]]])
    #expect(paths.keys.sorted() == RouteTable.clientPort.paths.sorted())
    for route in RouteTable.clientPort.routes {
      #expect(Set(paths[route.path]?.keys.map { $0 } ?? []) == Set(route.methods.map { $0.lowercased() }))
      for method in ["get", "head"] where route.methods.contains("GET") {
        let operation = try #require(paths[route.path]?[method], "\(method) \(route.path)")
        let parameters = try #require(operation["parameters"] as? [[String: Any]])
        let query = parameters.filter { $0["in"] as? String == "query" }
        #expect(query.map { $0["name"] as? String } == route.parameters.map(\.name), "\(route.path)")
        #expect(query.map { $0["required"] as? Bool } == route.parameters.map(\.isNeeded), "\(route.path)")
        let inPath = parameters.filter { $0["in"] as? String == "path" }.compactMap { $0["name"] as? String }
        #expect(inPath.allSatisfy { route.path.contains("{\($0)}") })
        #expect(Set(inPath).count == route.path.count { $0 == "{" } && inPath.count == Set(inPath).count)
      }
    }
    // What may be asked for is said in a way that programs read.
    let named = (document["components"] as? [String: Any])?["schemas"] as? [String: [String: Any]]
    func schema(_ path: String, _ name: String) -> [String: Any]? {
      let parameters = paths[path]?["get"]?["parameters"] as? [[String: Any]]
      let schema = parameters?.first { $0["name"] as? String == name }?["schema"] as? [String: Any]
      guard let reference = schema?["$ref"] as? String else { return schema }
      return named?[String(reference.split(separator: "/").last ?? "")]
    }
    #expect(schema("/v1/candles/{symbol}", "interval")?["enum"] as? [String] == CandleInterval.allCases.map(\.name))
    #expect(schema("/v1/trades/{symbol}", "limit")?["maximum"] as? Int == 1000)
    #expect((schema("/v1/books/{symbol}", "depth")?["anyOf"] as? [[String: Any]])?.count == 2)
    let pattern = try #require(schema("/v1/books/{symbol}", "symbol")?["pattern"] as? String)
    let allowed = try Regex(pattern)
    #expect("kraken:BTC-USD".firstMatch(of: allowed) != nil && "a\u{1}".firstMatch(of: allowed) == nil)
    let creation = paths["/v1/alerts"]?["post"]?["requestBody"] as? [String: Any]
    #expect(creation?["required"] as? Bool == true && paths["/v1/alerts"]?["get"]?["requestBody"] == nil)
    let refusals = paths["/v1/webhooks"]?["post"]?["responses"] as? [String: Any]
    #expect(refusals?["422"] != nil, "a body that cannot be used")
    let operations = paths.values.flatMap(\.values).compactMap { $0["operationId"] as? String }
    #expect(Set(operations).count == operations.count && operations.count == paths.values.map(\.count).reduce(0, +))
  }

  @Test("every schema that is named exists, and every one that exists is named")
  func references() throws {
    let text = String(decoding: RouteTable.clientPort.openAPI.bytes, as: UTF8.self)
    let named = Set(text.matches(of: /#\/components\/schemas\/(\w+)/).map { String($0.output.1) })
    let document = try Self.document()
    let schemas = (document["components"] as? [String: Any])?["schemas"] as? [String: Any] ?? [:]
    #expect(named == Set(schemas.keys))
  }

  @Test("describes the guide's examples: their status, and every member of their answers")
  func examples() throws {
    let document = try Self.document()
    let paths = try #require(document["paths"] as? [String: [String: [String: Any]]])
    var seen = 0
    for section in try HTTPGuide.load().sections where !section.isInternal && !section.path.isEmpty {
      // A route without GET has the refusal of one as its example.
      let responses = paths[section.path]?["get"]?["responses"] as? [String: [String: Any]]
      #expect(responses != nil || section.examples.allSatisfy { $0.status == 405 }, "\(section.path)")
      guard let responses else { continue }
      for example in section.examples where example.method == "GET" {
        let response = try #require(responses["\(example.status)"], "line \(example.line)")
        guard let text = example.body, example.status == 200 else { continue }
        let body = try JSONSerialization.jsonObject(with: Data(text.utf8))
        let content = response["content"] as? [String: [String: [String: Any]]]
        let schema = try #require(content?["application/json"]?["schema"])
        #expect(SchemaCheck(document).problems(of: body, schema) == [], "line \(example.line)")
        seen += 1
      }
    }
    #expect(seen > 8)
  }
}
