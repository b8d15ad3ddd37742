import Foundation
import HTTP1
import PubSub
import TestSupport
import Testing

@testable import Gateway

@Suite("Routes of the client port")
struct RouteTests {
  @Test("a path leads where a look through all routes leads", arguments: testSeeds(6))
  func found(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let pieces =
      Set(Route.all.flatMap { $0.path.split(separator: "/").map(String.init) }).sorted()
      + ["kraken:BTC-USD", "", "3", "7.svg", "x.svg", ".svg", "%2F", "é"]
    for route in Route.all {
      #expect(Route.find(route.path)?.index == Route.findSlowly(route.path)?.index)
    }
    for _ in 0..<4_000 {
      let path = (0..<Int.random(in: 0...5, using: &random)).map { _ in
        "/" + (pieces.randomElement(using: &random) ?? "")
      }.joined()
      let (found, expected) = (Route.find(path), Route.findSlowly(path))
      #expect(found?.index == expected?.index && found?.names == expected?.names, "seed \(seed): \(path)")
    }
  }

  @Test("every route has all that is needed to serve and to describe it", arguments: Route.all.indices)
  func complete(index: Int) {
    let route = Route.all[index]
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
    #expect(Set(Route.all.map(\.path)).count == Route.all.count)
    #expect(Set(Route.all.map(\.name)).count == Route.all.count)
  }

  @Test("the table is the only place in the gateway's code that names a route's path as such")
  func onePlace() throws {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Sources/Gateway")
    var found: [String: [String]] = [:]
    let files = try #require(FileManager.default.enumerator(at: root, includingPropertiesForKeys: nil))
    for case let file as URL in files where file.pathExtension == "swift" {
      let text = try String(contentsOf: file, encoding: .utf8)
      for path in Route.all.map(\.path) where path != "/" && text.contains("\"\(path)\"") {
        found[path, default: []].append(file.lastPathComponent)
      }
    }
    for path in Route.all.map(\.path) where path != "/" {
      // Operators publish to the same path on their port.
      let others = InternalRoute.all.contains { $0.path == path } ? ["InternalRoute.swift"] : []
      #expect(found[path]?.sorted() == (others + ["RouteTable.swift"]).sorted(), "\(path)")
    }
  }

  @Test("every path that `/` names is a route")
  func welcome() {
    let text = GatewayAnswer.welcomeText([])
    let paths = text.split { $0 == " " || $0 == "\n" }.filter { $0.hasPrefix("/") }
    #expect(paths.count > 10)
    for path in paths { #expect(Route.find(String(path.prefix { $0 != "?" })) != nil, "\(path)") }
  }
}
