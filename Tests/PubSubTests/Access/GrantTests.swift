import Testing

@testable import PubSub

@Suite("Grants")
struct GrantTests {
  @Test(
    "symbols are allowed by name, by venue, by instrument, or all",
    arguments: [
      (
        ["kraken:BTC-USD"], ["kraken:BTC-USD"],
        ["kraken:BTC-USDT", "kraken:ETH-USD", "coinbase:BTC-USD", "kraken:BTC-USD-PERP"]
      ),
      (
        ["kraken:*"], ["kraken:BTC-USD", "kraken:ZEC-USD"],
        ["kraken2:BTC-USD", "krake:BTC-USD", "kraken", "KRAKEN:BTC-USD"]
      ),
      (["*:BTC-USD"], ["kraken:BTC-USD", "x:BTC-USD"], ["kraken:BTC-USDT", "BTC-USD", "kraken:WBTC-USD"]),
      (["*"], ["kraken:BTC-USD", "anything"], []), (["*:*"], ["kraken:BTC-USD"], []), ([], [], ["kraken:BTC-USD", ""]),
      (["kraken:*", "*:BTC-USD"], ["kraken:ETH-USD", "x:BTC-USD"], ["x:ETH-USD"]),
    ])
  func symbols(patterns: [String], allowed: [String], refused: [String]) throws {
    let rules = try #require(SymbolRules(patterns))
    for symbol in allowed { #expect(rules.allows(symbol), "\(symbol)") }
    for symbol in refused { #expect(!rules.allows(symbol), "\(symbol)") }
  }

  @Test(
    "what is no pattern is refused",
    arguments: ["kraken", "", ":", "kraken:", ":BTC-USD", "kraken:BTC*", "kr*:BTC-USD", "a:b:c", "**"])
  func patterns(text: String) {
    #expect(SymbolRules([text]) == nil)
  }

  @Test("of several rules all must allow")
  func all() throws {
    let grant = Grant(
      subject: "x", channels: [.book, .status],
      symbols: [try #require(SymbolRules(["kraken:*"])), try #require(SymbolRules(["*:BTC-USD"]))])
    #expect(grant.allows("kraken:BTC-USD") && !grant.allows("kraken:ETH-USD") && !grant.allows("coinbase:BTC-USD"))
    #expect(
      grant.allows(.book, "kraken:BTC-USD") && !grant.allows(.trades, "kraken:BTC-USD") && grant.allows(.status, ""))
    #expect(!grant.allowsAllSymbols && Grant.everything.allowsAllSymbols)
  }
}
