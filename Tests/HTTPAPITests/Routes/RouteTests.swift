import Foundation
import HTTP1
import PubSub
import TestSupport
import Testing

@testable import HTTPAPI

@Suite("Routes of the client port")
struct RouteTests {
  private static let table = RouteTable.clientPort
  private let table = RouteTable.clientPort

  @Test("a path leads where a look through all routes leads", arguments: testSeeds(6))
  func found(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let pieces =
      Set(table.routes.flatMap { $0.path.split(separator: "/").map(String.init) }).sorted()
      + ["kraken:BTC-USD", "", "3", "7.svg", "x.svg", ".svg", "%2F", "é"]
    for route in table.routes {
      #expect(table.find(route.path)?.index == table.findSlowly(route.path)?.index)
    }
    for _ in 0..<4_000 {
      let path = (0..<Int.random(in: 0...5, using: &random)).map { _ in
        "/" + (pieces.randomElement(using: &random) ?? "")
      }.joined()
      let (found, expected) = (table.find(path), table.findSlowly(path))
      #expect(found?.index == expected?.index && found?.names == expected?.names, "seed \(seed): \(path)")
    }
  }

  @Test("every route has all that is needed to serve and to describe it", arguments: table.routes.indices)
  func complete(index: Int) {
    let route = table.routes[index]
    #expect(route.path.hasPrefix("/") && !route.name.isEmpty && !route.summary.isEmpty)
    #expect(!route.methods.isEmpty && Set(route.methods).count == route.methods.count)
    #expect(route.allowedMethods == route.methods + ["OPTIONS"])
    for method in route.methods { #expect(route.handler(method) != nil && HTTPMethod.isKnown(method), "\(method)") }
    for method in ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "BREW"]
    where !route.methods.contains(method) {
      #expect(route.handler(method) == nil, "\(method)")
    }
    let names = route.parameters.map(\.name)
    #expect(Set(names).count == names.count && route.parameters.allSatisfy { !$0.allowed.isEmpty })
    #expect(route.freshness == nil || route.reading?.isTagged == true, "only a tagged answer can be fresh")
    #expect(route.channels.count < 2 || route.whole != nil, "the refusal says what the channels are parts of")
    #expect(route.access != .open || route.channels.isEmpty)
    for change in route.changes {
      #expect(!change.answers.isEmpty, "\(change.method)")
      #expect(!change.takesKey || change.method == "POST")
      #expect(route.isOwned(change.method))
    }
    if case .owner = route.access { #expect(!route.channels.isEmpty && route.isOwned("GET")) }
  }

  @Test("no two routes share a path or a name")
  func unique() {
    #expect(Set(table.paths).count == table.routes.count)
    #expect(Set(table.routes.map(\.name)).count == table.routes.count)
  }

  @Test("the lists of routes are the only place in the code that names a route's path as such")
  func onePlace() throws {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Sources")
    var found: [String: [String]] = [:]
    for target in ["HTTPAPI", "Operations", "Gateway"] {
      let files = try #require(
        FileManager.default.enumerator(at: root.appendingPathComponent(target), includingPropertiesForKeys: nil))
      for case let file as URL in files where file.pathExtension == "swift" {
        let text = try String(contentsOf: file, encoding: .utf8)
        for path in table.paths where path != "/" && text.contains("\"\(path)\"") {
          found[path, default: []].append(file.lastPathComponent)
        }
      }
    }
    let markets = Set(Route.markets.map(\.path))
    for path in table.paths where path != "/" {
      // Operators publish to the same path on their port.
      let others = path == "/v1/topics/{name}" ? ["InternalRoute.swift"] : []
      let list = markets.contains(path) ? "MarketRoutes.swift" : "DocumentRoutes.swift"
      #expect(found[path]?.sorted() == (others + [list]).sorted(), "\(path)")
    }
  }

  @Test("a table serves and describes its own routes and no other")
  func ownTable() {
    let own = RouteTable([Route.stream])
    #expect(own.find(Route.stream.path)?.route.name == "stream" && own.find(Route.events.path) == nil)
    let document = String(decoding: own.openAPI.bytes, as: UTF8.self)
    #expect(document.contains("\"\(Route.stream.path)\"") && !document.contains("\"\(Route.events.path)\""))
    #expect(own.openAPI.tag != table.openAPI.tag)
  }

  @Test("`/` names every route with what it needs, in one line each")
  func welcome() {
    let text = GatewayAnswer.welcomeText(table.routes, [])
    let lines = text.split(separator: "\n").filter { $0.hasPrefix("/") }
    #expect(lines.map { $0.prefix { $0 != " " && $0 != "?" } } == table.paths.map { $0[...] })
    for (line, route) in zip(lines, table.routes) { #expect(line.hasSuffix("  \(route.summary)"), "\(line)") }
    #expect(text.contains("\n/v1/rates?base={base}&quote={quote}  "))
    #expect(!text.contains("NOT REAL"))
  }
}
