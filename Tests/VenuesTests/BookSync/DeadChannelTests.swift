import MarketData
import Testing

@testable import Venues

/// Channels that die while their connection goes on, on venues that send something on them whatever the market does.
@Suite("Channels that have died")
struct DeadChannelTests {
  private func quote(_ symbol: String) -> String {
    #"{"topic":"orderbook.1.\#(symbol)","ts":1790134712130,"type":"snapshot","data":{"s":"\#(symbol)","b":[["80688.1","1"]],"a":[["80691.5","1"]],"u":7,"seq":1}}"#
  }

  @Test("Bybit: a quote that is not sent again is subscribed again, ever more rarely; the other's goes on")
  func bybit() {
    let feed = BybitDialectTests.live()
    feed.receive(quote("BTCUSDT"))
    var sent: [(second: Int, text: String)] = []
    for second in 1...120 {
      feed.wait(1)
      sent += feed.sent.filter { $0.contains("orderbook.1.") }.map { (second, $0) }
      feed.receive(quote("ETHUSDT"))
    }
    #expect(sent.map(\.second) == [15, 15, 45, 45, 105, 105])
    #expect(sent.first?.text.contains(#""op":"unsubscribe","args":["orderbook.1.BTCUSDT"]"#) == true)
    #expect(sent.dropFirst().first?.text.contains(#""op":"subscribe","args":["orderbook.1.BTCUSDT"]"#) == true)
    #expect(feed.state(0) == .live)
  }

  @Test("Bybit: two quiet markets whose quotes are sent again every 3 s are never dead, for hours")
  func quietBybit() {
    let feed = BybitDialectTests.live()
    for _ in 0..<3_600 {
      feed.receive(quote("BTCUSDT"))
      feed.receive(quote("ETHUSDT"))
      feed.wait(3)
      #expect(!feed.sent.contains { $0.contains("orderbook.1.") })
    }
    #expect(feed.state(0) == .live)
  }

  @Test("OKX: a book that does not even say that nothing changed is rebuilt; one that does is not, for hours")
  func okx() {
    let feed = OKXDialectTests.live()
    // What goes on elsewhere: a pong would prove the socket only.
    let quote = #"{"arg":{"channel":"tickers","instId":"BTC-USDT"},"data":[]}"#
    for _ in 0..<300 {
      feed.receive(OKXDialectTests.book("update", 100, 100))
      for _ in 0..<3 {
        feed.wait(20)
        #expect(feed.resets.isEmpty)
        feed.receive(quote)
      }
    }
    #expect(feed.state(0) == .live)
    var resets: [(Int, ResyncReason)] = []
    for second in 1...400 {
      feed.wait(1)
      resets += feed.resets.map { (second, $0) }
      if second % 5 == 0 { feed.receive(quote) }
    }
    // The last update came a minute before.
    #expect(resets.map(\.0) == [240] && resets.map(\.1) == [.stale])
    #expect(feed.state(0) == .syncing(.stale))
  }

  private func heartbeat(_ product: String) -> String {
    #"{"type":"heartbeat","sequence":90,"last_trade_id":20,"product_id":"\#(product)","time":"2026-08-25T03:35:49.464459Z"}"#
  }

  @Test("Coinbase: a product without its heartbeat has lost its channels: its book is rebuilt, the other's is not")
  func coinbase() {
    let feed = EngineHarness(Coinbase.venue, ["BTC-USD", "ETH-USD"])
    feed.prepare()
    feed.respond(feed.gets[0].request, 200, CoinbaseDialectTests.products)
    feed.connect()
    for product in ["BTC-USD", "ETH-USD"] {
      feed.receive(
        #"{"type":"snapshot","product_id":"\#(product)","asks":[["80691.53","0.2"]],"bids":[["80688.08","0.5"]]}"#)
    }
    for _ in 0..<7_200 {
      feed.receive(heartbeat("BTC-USD"))
      feed.receive(heartbeat("ETH-USD"))
      feed.wait(1)
      #expect(feed.sent.isEmpty)
    }
    #expect(feed.state(0) == .live && feed.state(1) == .live)
    var sent: [String] = []
    var resets: [ResyncReason] = []
    for _ in 0..<16 {
      feed.receive(heartbeat("ETH-USD"))
      for _ in 0..<4 {
        feed.wait(0.25)
        sent += feed.sent
        resets += feed.resets
      }
    }
    #expect(resets == [.stale])
    #expect(feed.state(0) == .syncing(.stale) && feed.state(1) == .live)
    #expect(
      sent == [
        #"{"type":"unsubscribe","product_ids":["BTC-USD"],"channels":["level2_batch"]}"#,
        #"{"type":"subscribe","product_ids":["BTC-USD"],"channels":["level2_batch"]}"#,
        #"{"type":"unsubscribe","product_ids":["BTC-USD"],"channels":["matches","ticker","heartbeat"]}"#,
        #"{"type":"subscribe","product_ids":["BTC-USD"],"channels":["matches","ticker","heartbeat"]}"#,
      ])
  }
}
