import Testing

@testable import Venues

@Suite("A feed over several connections")
struct VenueSplitTests {
  private static func names(_ count: Int, _ suffix: String = "") -> [String] {
    (0..<count).map { "A\($0)-USDT\(suffix)" }
  }

  @Test(
    "as few connections as carry it, evenly, in order, each with a name of its own",
    arguments: [1, 254, 255, 256, 500, 510, 511, 5_100])
  func even(count: Int) throws {
    let binance = try #require(VenueRegistry.venue(named: "binance"))
    let names = Self.names(count)
    let connections = binance.connections(
      for: FeedConfiguration(symbols: names, endpoint: "ws://localhost:1", restEndpoint: "http://localhost:1"))
    #expect(connections.count == (count + 254) / 255)
    #expect(connections.flatMap(\.configuration.symbols) == names)
    let sizes = connections.map(\.configuration.symbols.count)
    #expect(sizes.max()! - sizes.min()! <= 1 && sizes.max()! <= 255)
    #expect(
      connections.map(\.venue.label) == (1...connections.count).map { $0 == 1 ? "binance" : "binance-\($0)" })
    #expect(connections.allSatisfy { $0.configuration.connections == connections.count && $0.venue.name == "binance" })
    #expect(connections.allSatisfy { $0.configuration.restEndpoint == "http://localhost:1" })
    #expect(Set(connections.map(\.configuration.endpoint)).count == 1)
  }

  @Test("each kind of market is spread for itself")
  func parts() throws {
    let bybit = try #require(VenueRegistry.venue(named: "bybit"))
    let connections = bybit.connections(for: FeedConfiguration(symbols: Self.names(151) + Self.names(301, "-PERP")))
    #expect(
      connections.map(\.venue.label) == ["bybit", "bybit-2", "bybit-linear", "bybit-linear-2", "bybit-linear-3"])
    #expect(connections.map(\.configuration.connections) == [2, 2, 3, 3, 3])
    #expect(connections.map(\.venue.marketName) == ["spot", "spot", "linear", "linear", "linear"])
  }

  @Test("what no number of connections may carry is told with the numbers")
  func objection() throws {
    let okx = try #require(VenueRegistry.venue(named: "okx"))
    #expect(okx.objection(to: Self.names(okx.feedSymbolLimit)) == nil)
    #expect(okx.objection(to: Self.names(2_001)) == "2001 symbols need 24 connections of 85 to OKX")
    let bybit = try #require(VenueRegistry.venue(named: "bybit"))
    #expect(bybit.objection(to: Self.names(3_000) + Self.names(3_000, "-PERP")) == nil)
    let words = bybit.objection(to: Self.names(10) + Self.names(3_001, "-PERP"))
    #expect(words == "3001 symbols need 21 connections of 150 to Bybit linear")
  }

  @Test("where an address may have so many symbols only, no number of connections carries more")
  func address() throws {
    let hyperliquid = try #require(VenueRegistry.venue(named: "hyperliquid"))
    #expect(hyperliquid.feedSymbolLimit == 250)
    let connections = hyperliquid.connections(for: FeedConfiguration(symbols: Self.names(250)))
    #expect(connections.map(\.configuration.symbols.count) == [125, 125])
    #expect(hyperliquid.objection(to: Self.names(250)) == nil)
    #expect(
      hyperliquid.objection(to: Self.names(251))
        == "Hyperliquid lets an address have 250 symbols, over all of its connections, not 251")
  }

  @Test("selections stay on the first connection")
  func selections() throws {
    let kraken = try #require(VenueRegistry.venue(named: "kraken"))
    let connections = kraken.connections(for: FeedConfiguration(symbols: ["*-USD:top20"] + Self.names(300)))
    #expect(connections.count == 2 && connections[0].configuration.symbols.last == "*-USD:top20")
    #expect(connections.map(\.configuration.symbols.count) == [151, 150])
  }
}
