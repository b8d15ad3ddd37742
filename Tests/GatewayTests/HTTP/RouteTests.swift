import TestSupport
import Testing

@testable import Gateway

@Suite("Routes of the client port")
struct RouteTests {
  @Test("a path leads where a look through all routes leads", arguments: testSeeds(6))
  func found(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let pieces =
      Set(Route.allCases.flatMap { $0.path.split(separator: "/").map(String.init) }).sorted()
      + ["kraken:BTC-USD", "", "3", "7.svg", "x.svg", ".svg", "%2F", "é"]
    for route in Route.allCases {
      #expect(Route.find(route.path)?.route == Route.findSlowly(route.path)?.route)
    }
    for _ in 0..<4_000 {
      let path = (0..<Int.random(in: 0...5, using: &random)).map { _ in
        "/" + (pieces.randomElement(using: &random) ?? "")
      }.joined()
      let (found, expected) = (Route.find(path), Route.findSlowly(path))
      #expect(found?.route == expected?.route && found?.symbol == expected?.symbol, "seed \(seed): \(path)")
    }
  }
}
