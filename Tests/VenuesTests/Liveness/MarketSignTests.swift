import MarketData
import Testing

@testable import Venues

/// What proves a socket and no market: a connection on which only this comes is stale.
@Suite("Answers are no sign of a market")
struct MarketSignTests {
  struct Sample: Sendable, CustomTestStringConvertible {
    var name: String
    var live: @Sendable () -> HandlerHarness
    /// What only answers something that was asked.
    var answers: [String]
    var market: String
    var testDescription: String { name }
  }

  private static let samples = [
    Sample(
      name: "okx", live: { OKXHandlerTests.live() },
      answers: [
        "pong", #"{"id":"1","event":"subscribe","arg":{"channel":"trades","instId":"BTC-USDT"},"connId":"a"}"#,
      ],
      market: OKXHandlerTests.book("update", 132, 100)),
    Sample(
      name: "bitget", live: { BitgetHandlerTests.live() },
      answers: ["pong", BitgetHandlerTests.answer("subscribe", "trade", "BTCUSDT")],
      market: BitgetHandlerTests.book("update", 132, 100)),
    Sample(
      name: "bybit", live: { BybitHandlerTests.live() },
      answers: [
        #"{"success":true,"ret_msg":"pong","conn_id":"a","op":"ping"}"#,
        #"{"success":true,"ret_msg":"","conn_id":"a","req_id":"9","op":"subscribe"}"#,
      ],
      market: BybitHandlerTests.book("delta", 101, bids: #"["80688.1","0"]"#)),
    Sample(
      name: "gemini", live: { GeminiHandlerTests.live() }, answers: [#"{"id":99,"status":200}"#],
      market: #"{"E":1790000000000000000,"s":"btcusd","t":7,"p":"80688.1","q":"1","m":true}"#),
    Sample(
      name: "coinbase-advanced", live: { CoinbaseAdvancedHandlerTests.live() },
      answers: [CoinbaseAdvancedHandlerTests.subscriptions(8)],
      market: #"{"channel":"heartbeats","sequence_num":9,"events":[{"heartbeat_counter":3}]}"#),
    Sample(
      name: "deribit", live: { DeribitHandlerTests.live() }, answers: [#"{"jsonrpc":"2.0","id":99,"result":"ok"}"#],
      market: #"{"jsonrpc":"2.0","method":"heartbeat","params":{"type":"heartbeat"}}"#),
  ]

  @Test("what was only answered is not heard; what the venue says by itself is", arguments: samples)
  func heard(_ sample: Sample) {
    let feed = sample.live()
    for answer in sample.answers {
      feed.now = feed.now + 1_000_000
      feed.receive(answer)
      #expect(feed.handler.marketHeard < feed.now, "\(answer)")
    }
    feed.now = feed.now + 1_000_000
    feed.receive(sample.market)
    #expect(feed.handler.marketHeard == feed.now && feed.error == nil)
  }

  @Test("a canary is followed where none of its markets is, and what it brings is a sign of the market")
  func canaries() {
    let okx = OKXHandlerTests.connected(["ETH-USDT"])
    let bitget = BitgetHandlerTests.connected(["ETH-USDT"])
    for (feed, topic, message) in [
      (
        okx, #"{"channel":"tickers","instId":"BTC-USDT"}"#,
        #"{"arg":{"channel":"tickers","instId":"BTC-USDT"},"data":[]}"#
      ),
      (
        bitget, #"{"instType":"SPOT","channel":"ticker","instId":"BTCUSDT"}"#,
        BitgetHandlerTests.message("ticker", "snapshot", #"{"lastPr":"1"}"#)
      ),
    ] {
      feed.wait(2)
      #expect(feed.sent.contains { $0.contains(topic) }, "\(topic)")
      feed.receive(message)
      #expect(feed.handler.marketHeard == feed.now, "\(topic)")
    }
  }

  @Test(
    "where all that comes is the symbols', a connection without one expects nothing",
    arguments: ["bybit", "coinbase"])
  func withoutSymbols(_ name: String) throws {
    let venue = try #require(
      VenueRegistry.venue(named: name)?.connections(for: FeedConfiguration(symbols: ["A-USD"]))[0])
    let feed = HandlerHarness(venue.venue, [])
    feed.prepare()
    feed.connect()
    #expect(!feed.handler.expectsMarket)
    let other = HandlerHarness(OKX.venue, [])
    other.prepare()
    other.connect()
    #expect(other.handler.expectsMarket)
  }
}
