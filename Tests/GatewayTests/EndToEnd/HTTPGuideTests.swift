import Decks
import Foundation
import HTTP1
import MarketData
import PubSub
import Settings
import TestSupport
import TestTraits
import Testing
import Transport

@testable import Gateway
@testable import Operations
@testable import HTTPAPI

@Suite("The guide of the HTTP API", .serialized, .realTime)
struct HTTPGuideTests {
  /// Those of the examples: the venue that is followed says none.
  private static var names: AssetNames {
    var names = AssetNames()
    names.set(["ATOM": "Cosmos", "ZEC": "Zcash"], of: "coinbase")
    names.set(["ATOM": "Cosmos"], of: "kucoin")
    names.set(["ATOM": "Cosmos-Atom"], of: "bitfinex")
    return names
  }

  @Test("names every route and parameter that is served, and no other")
  func routes() throws {
    let guide = try HTTPGuide.load()
    func paths(_ isInternal: Bool) -> [String] {
      guide.sections.filter { !$0.path.isEmpty && $0.isInternal == isInternal }.map(\.path).sorted()
    }
    #expect(paths(false) == RouteTable.clientPort.paths.sorted())
    #expect(paths(true) == InternalRoute.all.map(\.path).sorted())
    for route in RouteTable.clientPort.routes {
      let section = try #require(guide.sections.first { $0.path == route.path })
      #expect(section.parameters == route.parameters.map(\.name), "\(route.path)")
    }
    for section in guide.sections {
      #expect(!section.examples.isEmpty, "\(section.path) has no example")
      #expect(!section.isInternal || section.parameters.isEmpty, "\(section.path)")
      for example in section.examples where !section.path.isEmpty {
        let path = HTTPRequestHead(method: "GET", target: example.target, fields: HTTPFields()).path
        let found =
          section.isInternal ? InternalRoute.find(path)?.route.path : RouteTable.clientPort.find(path)?.route.path
        #expect(found == section.path, "line \(example.line)")
      }
    }
  }

  @Test("shows what is sent: status and shape of every example are those of a running gateway's answer")
  func examples() async throws {
    let guide = try HTTPGuide.load()
    let harness = try GatewayHarness(venues: ["kraken"]) { $0.decks.loaded = [.demo] }
    // A venue with a perpetual, apart: lists of the other examples do not show it.
    let contracts = try GatewayHarness(venues: ["bybit"])
    try await harness.waitUntilLive()
    try await contracts.waitUntilLive()
    let names = Self.names
    for node in harness.gateway.nodes { node.loop.execute { node.hub.directory.names = names } }
    for section in guide.sections {
      for example in section.examples {
        let expected = try example.body.map { try HTTPGuide.shape(of: $0) }
        var patience = Patience()
        while true {
          let asked = example.target.contains("bybit:") ? contracts : harness
          let answer = try await asked.get(example.target, internal: section.isInternal)
          let shape = try? HTTPGuide.shape(of: answer.text)
          // A document too long to show is compared elsewhere.
          if answer.status == example.status, expected == nil || shape == expected { break }
          // Some parts come with the first trades.
          try await patience.wait(
            for: "line \(example.line): \(example.target) to be \(example.status) \(expected ?? "text"); it is "
              + "\(answer.status) \(shape ?? answer.text)")
        }
      }
    }
    await harness.stop()
    await contracts.stop()
  }
}
