import Bytes
import MarketData
import Testing

@testable import Venues

@Suite("Coinbase's feed")
struct CoinbaseDialectTests {
  static let products =
    #"[{"id":"BTC-USD","base_currency":"BTC","quote_currency":"USD","quote_increment":"0.01","base_increment":"0.00000001","display_name":"BTC/USD","status":"online","trading_disabled":false},{"id":"ETH-USD","base_currency":"ETH","quote_currency":"USD","quote_increment":"0.01","base_increment":"0.001"}]"#

  private func connected(_ symbols: [String] = ["BTC-USD", "ETH-USD"]) -> EngineHarness {
    let feed = EngineHarness(Coinbase.venue, symbols)
    feed.prepare()
    #expect(feed.gets.map(\.path) == ["/products"])
    #expect(!feed.engine.isPrepared)
    feed.respond(feed.gets[0].request, 200, Self.products)
    return feed
  }

  private func live() -> EngineHarness {
    let feed = connected()
    feed.connect()
    feed.receive(
      #"{"type":"snapshot","product_id":"BTC-USD","asks":[["80691.53","0.20084671"]],"bids":[["80688.08","0.59153273"]]}"#
    )
    return feed
  }

  @Test("products first, then one subscription at once")
  func subscribes() {
    let feed = connected(["BTC-USD", "BTC-UDS"])
    #expect(feed.engine.isPrepared)
    #expect(feed.failures["BTC-UDS"]?.contains("did you mean BTC-USD") == true)
    feed.connect()
    #expect(
      feed.sent == [
        #"{"type":"subscribe","product_ids":["BTC-USD"],"channels":["level2_batch","matches","ticker","heartbeat"]}"#
      ])
    let instrument = feed.market.instruments[0].instrument
    #expect(instrument.priceScale == 2)
    #expect(instrument.sizeScale == 8)
  }

  @Test("an update whose time goes back came late: the book is rebuilt, and none of it is used")
  func lateUpdate() {
    let feed = live()
    func update(_ price: String, _ second: Int) {
      feed.receive(
        #"{"type":"l2update","product_id":"BTC-USD","changes":[["buy","\#(price)","1.0"]],"time":"2026-08-25T03:35:\#(second).300000Z"}"#
      )
    }
    update("80687.00", 50)
    update("80686.00", 50)
    #expect(feed.state(0) == .live && feed.resets.isEmpty)
    update("80685.00", 49)
    #expect(feed.resets == [.gap] && feed.state(0) == .syncing(.gap) && feed.books.isEmpty)
    #expect(feed.engine.symbolCounts[0].gaps == 1)
    #expect(
      feed.sent == [
        #"{"type":"unsubscribe","product_ids":["BTC-USD"],"channels":["level2_batch"]}"#,
        #"{"type":"subscribe","product_ids":["BTC-USD"],"channels":["level2_batch"]}"#,
      ])
    feed.receive(#"{"type":"snapshot","product_id":"BTC-USD","asks":[["80691.53","0.2"]],"bids":[["80688.08","0.5"]]}"#)
    update("80684.00", 49)
    #expect(feed.state(0) == .live, "a new snapshot begins the order anew")
  }

  @Test("snapshot and updates, every spelling of zero")
  func book() throws {
    let feed = live()
    #expect(feed.state(0) == .live)
    #expect(feed.bids == [PriceLevel(price: 8_068_808, size: 59_153_273)])
    feed.receive(
      #"{"type":"l2update","product_id":"BTC-USD","changes":[["buy","80688.08","0.00000000"],["buy","80688.07","0"],["buy","80688.06","0.0"],["sell","80745.16","0.20558981"],["buy","80680.00","1.5"]],"time":"2026-08-25T03:35:57.300000Z"}"#
    )
    #expect(feed.books.first?.time == Timestamp(microseconds: 1_787_628_957_300_000))
    #expect(feed.bids.map(\.size) == [0, 0, 0, 150_000_000])
    let state = feed.market.instruments[0]
    #expect(state.book.bestBid == PriceLevel(price: 8_068_000, size: 150_000_000))
    // The best ask is untouched, and quotes come from the book.
    #expect(state.quote?.ask == 8_069_153)
  }

  @Test("the maker's side is turned round; the last match is backlog; missed trades are counted")
  func matches() {
    let feed = live()
    func match(_ type: String, _ id: Int, _ side: String) {
      feed.receive(
        #"{"type":"\#(type)","trade_id":\#(id),"maker_order_id":"f07e510f","taker_order_id":"55c8b85c","side":"\#(side)","size":"0.00000001","price":"80691.53","product_id":"BTC-USD","sequence":134905859981,"time":"2026-08-25T03:35:57.096368Z"}"#
      )
    }
    match("last_match", 100, "sell")
    #expect(feed.trades.map(\.isBacklog) == [true])
    match("match", 101, "sell")
    #expect(feed.trades.map(\.side) == [.buy])
    #expect(feed.trades.map(\.price) == [8_069_153])
    #expect(feed.trades.map(\.size) == [1])
    match("match", 104, "buy")
    #expect(feed.trades.map(\.side) == [.sell])
    let counts = feed.engine.symbolCounts[0]
    #expect(counts.trades == 2)
    #expect(counts.backlogTrades == 1)
    #expect(counts.missedTrades == 2)
  }

  @Test("a heartbeat is life; a trade that two heartbeats knew of and nobody saw is missed")
  func heartbeats() {
    let feed = live()
    func beat(_ id: Int) {
      feed.receive(
        #"{"type":"heartbeat","sequence":90,"last_trade_id":\#(id),"product_id":"BTC-USD","time":"2014-11-07T08:19:28.464459Z"}"#
      )
    }
    feed.receive(
      #"{"type":"match","trade_id":20,"side":"buy","size":"1","price":"1.00","product_id":"BTC-USD","time":"2014-11-07T08:19:28.464459Z"}"#
    )
    beat(21)
    #expect(feed.isHeartbeat)
    #expect(feed.engine.symbolCounts[0].missedTrades == 0)
    beat(21)
    #expect(feed.engine.symbolCounts[0].missedTrades == 1)
  }

  @Test("24 h figures; the first may lack its time")
  func ticker() throws {
    let feed = live()
    feed.receive(
      #"{"type":"ticker","sequence":50978628538,"product_id":"BTC-USD","price":"17165.16","open_24h":"16437.94","volume_24h":"42492.05081975","low_24h":"16423.37","high_24h":"17259.37","volume_30d":"1093827.95195495","best_bid":"17165.15","best_bid_size":"0.61540890","best_ask":"17167.76","best_ask_size":"0.18528568","side":"sell","last_size":"0.05"}"#
    )
    let ticker = try #require(feed.tickers.first)
    #expect(ticker.last == 1_716_516)
    #expect(ticker.open == 1_643_794)
    #expect(ticker.volume?.mantissa == 4_249_205_081_975)
    #expect(ticker.bid == 1_716_515)
    #expect(ticker.time == feed.now)
  }

  @Test("a bad product refuses the whole subscription: the others are subscribed again without it")
  func refusedProduct() {
    let feed = connected()
    feed.connect()
    feed.receive(#"{"type":"error","message":"Failed to subscribe","reason":"ETH-USD is not a valid product"}"#)
    #expect(feed.failures == ["ETH-USD": "ETH-USD is not a valid product"])
    #expect(
      feed.sent == [
        #"{"type":"subscribe","product_ids":["BTC-USD"],"channels":["level2_batch","matches","ticker","heartbeat"]}"#
      ])
    feed.receive(#"{"type":"error","message":"ErrSlowConsume"}"#)
    #expect(feed.error?.kind == .refused)
    #expect(feed.sent.isEmpty)
  }

  @Test("the book has another name in the acknowledgement; a silent one is asked for by its other name")
  func silentChannel() {
    let feed = connected(["BTC-USD"])
    feed.connect()
    feed.receive(
      #"{"type":"subscriptions","channels":[{"name":"level2_50","product_ids":["BTC-USD"],"account_ids":null},{"name":"matches","product_ids":["BTC-USD"]},{"name":"ticker","product_ids":["BTC-USD"]},{"name":"heartbeat","product_ids":["BTC-USD"]}]}"#
    )
    #expect(feed.error == nil)
    feed.wait(10.25)
    #expect(
      feed.sent == [
        #"{"type":"unsubscribe","product_ids":["BTC-USD"],"channels":["level2_batch"]}"#,
        #"{"type":"subscribe","product_ids":["BTC-USD"],"channels":["level2_50"]}"#,
      ])
  }

  @Test("an unreadable update resets its book and subscribes it again")
  func malformed() {
    let feed = live()
    feed.receive(#"{"type":"l2update","product_id":"BTC-USD","changes":[["buy","80688.08"#)
    #expect(feed.error?.kind == .json)
    #expect(feed.resets == [.malformed])
    #expect(feed.state(0) == .syncing(.malformed))
    #expect(
      feed.sent == [
        #"{"type":"unsubscribe","product_ids":["BTC-USD"],"channels":["level2_batch"]}"#,
        #"{"type":"subscribe","product_ids":["BTC-USD"],"channels":["level2_batch"]}"#,
      ])
    feed.receive(#"{"type":"l2update","product_id":"BTC-USD","changes":[["buy","1.00","1"]],"time":"x"}"#)
    #expect(feed.books.isEmpty)
    feed.receive(#"{"type":"snapshot","product_id":"BTC-USD","asks":[],"bids":[["1.00","1"]]}"#)
    #expect(feed.state(0) == .live)
  }

  @Test(
    "an update of which not even the product can be told may have been any book's",
    arguments: [#"{"type":"l2update","produ"#, #"{"typ"#, "\u{1}\u{2}"])
  func untold(_ text: String) {
    let feed = live()
    feed.receive(text)
    #expect(feed.error?.kind == .json && feed.resets == [.malformed] && feed.state(0) == .syncing(.malformed))
    let other = live()
    other.receive(#"{"type":"match","trade_id":"#)
    #expect(other.error?.kind == .json && other.state(0) == .live)
  }

  @Test("types that are not used are counted, symbols that were not subscribed are refused")
  func others() {
    let feed = live()
    feed.receive(#"{"type":"status","products":[]}"#)
    #expect(feed.error == nil)
    #expect(feed.engine.counts.ignored == 1)
    feed.receive(#"{"type":"match","trade_id":1,"side":"buy","size":"1","price":"1","product_id":"SOL-USD"}"#)
    #expect(feed.error?.kind == .unknownSymbol)
    #expect(feed.error?.detail.contains("SOL-USD") == true)
  }
}
