import MarketData
import Testing

@testable import Venues

/// What proves a socket and no market: a connection on which only this comes is stale.
@Suite("Answers are no sign of a market")
struct MarketSignTests {
  struct Sample: Sendable, CustomTestStringConvertible {
    var name: String
    var live: @Sendable () -> EngineHarness
    /// What only answers something that was asked.
    var answers: [String]
    var market: String
    var testDescription: String { name }
  }

  private static let samples = VenueRegistry.samples.compactMap { $0.marketSign }

  @Test("what was only answered is not heard; what the venue says by itself is", arguments: samples)
  func heard(_ sample: Sample) {
    let feed = sample.live()
    for answer in sample.answers {
      feed.now = feed.now + 1_000_000
      feed.receive(answer)
      #expect(feed.engine.marketHeard < feed.now, "\(answer)")
    }
    feed.now = feed.now + 1_000_000
    feed.receive(sample.market)
    #expect(feed.engine.marketHeard == feed.now && feed.error == nil)
  }

  @Test("a canary is followed where none of its markets is, and what it brings is a sign of the market")
  func canaries() {
    let okx = OKXDialectTests.connected(["ETH-USDT"])
    let bitget = BitgetDialectTests.connected(["ETH-USDT"])
    for (feed, topic, message) in [
      (
        okx, #"{"channel":"tickers","instId":"BTC-USDT"}"#,
        #"{"arg":{"channel":"tickers","instId":"BTC-USDT"},"data":[]}"#
      ),
      (
        bitget, #"{"instType":"SPOT","channel":"ticker","instId":"BTCUSDT"}"#,
        BitgetDialectTests.message("ticker", "snapshot", #"{"lastPr":"1"}"#)
      ),
    ] {
      feed.wait(2)
      #expect(feed.sent.contains { $0.contains(topic) }, "\(topic)")
      feed.receive(message)
      #expect(feed.engine.marketHeard == feed.now, "\(topic)")
    }
  }

  @Test(
    "where all that comes is the symbols', a connection without one expects nothing",
    arguments: ["bybit", "coinbase"])
  func withoutSymbols(_ name: String) throws {
    let venue = try #require(
      VenueRegistry.venue(named: name)?.connections(for: FeedConfiguration(symbols: ["A-USD"]))[0])
    let feed = EngineHarness(venue.venue, [])
    feed.prepare()
    feed.connect()
    #expect(!feed.engine.expectsMarket)
    let other = EngineHarness(OKX.venue, [])
    other.prepare()
    other.connect()
    #expect(other.engine.expectsMarket)
  }
}
