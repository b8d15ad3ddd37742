import MarketData
import Testing

@testable import Venues

@Suite("Markets that are followed for a sign of life")
struct CanaryTests {
  private func isMeant(_ canary: Canary, _ text: String, _ instruments: InstrumentTable = .init()) -> Bool {
    let bytes = Array(text.utf8)
    return canary.isMeant(by: bytes.span.bytes, instruments)
  }

  private func table(_ names: [String]) -> InstrumentTable {
    var table = InstrumentTable()
    var batch = EventBatch()
    for name in names {
      let market = ListedMarket(venueSymbol: name, symbol: FeedSymbol(base: name, quote: "USD"))
      _ = table.add(market, venue: "venue", into: &batch)
    }
    return table
  }

  @Test("subscribed once on each connection")
  func once() {
    var canary = Canary(.canary(markets: ["BTC"], prefix: "\""))
    let asked = (0..<2).map { _ in canary.takeMarkets(.init(), limit: 10) }
    #expect(asked == [["BTC"], []])
    canary.disconnected()
    #expect(canary.takeMarkets(.init(), limit: 10) == ["BTC"])
  }

  @Test("not where one of them is followed for its own sake, nor on a connection that is full")
  func left() {
    var canary = Canary(.canary(markets: ["BTC", "ETH"], prefix: "\""))
    #expect(canary.takeMarkets(table(["ETH"]), limit: 10) == [])
    canary.disconnected()
    #expect(canary.takeMarkets(table(["A", "B"]), limit: 2) == [])
    #expect(!isMeant(canary, #"{"s":"BTC"}"#, table(["ETH"])))
  }

  @Test(
    "where the streams of a connection are limited, its symbols leave room for one: they may be listed after it",
    arguments: [(KuCoin.venue, 200), (Binance.spot, 1_024), (Bitget.spot, 50), (Bitstamp.venue, 1_024)])
  func room(_ venue: Venue, streams: Int) {
    let facts = venue.makeEngine(FeedConfiguration(symbols: [])).facts
    let most = venue.symbolLimit * facts.channels.count + 1
    #expect(most <= streams, "\(venue.label) may subscribe \(most)")
  }

  @Test("its messages are known by a market's name and what stands before it")
  func marks() {
    let plain = Canary(.canary(markets: ["BTC"], prefix: "\""))
    #expect(
      isMeant(plain, #"{"s":"BTC"}"#) && !isMeant(plain, #"{"s":"book_BTC"}"#) && !isMeant(plain, #"{"s":"BTC2"}"#))
    #expect(isMeant(Canary(.canary(markets: ["BTC"], prefix: "_")), #"{"s":"book_BTC"}"#))
    #expect(!isMeant(Canary(.promised), #"{"s":"BTC"}"#))
  }
}
