import Bytes
import MarketData
import Testing

@testable import Venues

@Suite("Bybit's feed")
struct BybitDialectTests {
  static let spotList =
    #"{"retCode":0,"retMsg":"OK","result":{"category":"spot","list":[{"symbol":"BTCUSDT","baseCoin":"BTC","quoteCoin":"USDT","status":"Trading","lotSizeFilter":{"basePrecision":"0.000001","quotePrecision":"0.0000001","minOrderQty":"0.000011"},"priceFilter":{"tickSize":"0.1"}},{"symbol":"ETHUSDT","baseCoin":"ETH","quoteCoin":"USDT","lotSizeFilter":{"basePrecision":"0.00001"},"priceFilter":{"tickSize":"0.01"}}]},"retExtInfo":{},"time":1}"#
  static let linearPages = [
    #"{"retCode":0,"retMsg":"OK","result":{"category":"linear","nextPageCursor":"first%3D1","list":[{"symbol":"BTCUSDT","contractType":"LinearPerpetual","status":"Trading","baseCoin":"BTC","quoteCoin":"USDT","deliveryTime":"0","priceFilter":{"tickSize":"0.10"},"lotSizeFilter":{"qtyStep":"0.001"}},{"symbol":"BTCPERP","contractType":"LinearPerpetual","baseCoin":"BTC","quoteCoin":"USDC","deliveryTime":"0","priceFilter":{"tickSize":"0.10"},"lotSizeFilter":{"qtyStep":"0.001"}}]}}"#,
    #"{"retCode":0,"retMsg":"OK","result":{"category":"linear","nextPageCursor":"","list":[{"symbol":"BTCUSDT-25DEC26","contractType":"LinearFutures","baseCoin":"BTC","quoteCoin":"USDT","deliveryTime":"1798185600000","priceFilter":{"tickSize":"0.50"},"lotSizeFilter":{"qtyStep":"0.001"}},{"symbol":"XUSDZ26","contractType":"InverseFutures","baseCoin":"X","quoteCoin":"USD","deliveryTime":"1798185600000"}]}}"#,
  ]

  static func live(_ symbols: [String] = ["BTC-USDT", "ETH-USDT"]) -> EngineHarness {
    let feed = EngineHarness(Bybit.spot, symbols)
    feed.prepare()
    feed.respond(feed.gets[0].request, 200, spotList)
    feed.connect()
    feed.now = feed.now + 1_000_000
    feed.receive(book("snapshot", 100, bids: #"["80688.1","0.591532"],["80688.0","2"]"#, asks: #"["80691.5","0.2"]"#))
    return feed
  }

  static func book(
    _ type: String, _ u: Int, bids: String = "", asks: String = "", topic: String = "orderbook.200.BTCUSDT"
  ) -> String {
    let symbol = topic.split(separator: ".").last!
    return
      #"{"topic":"\#(topic)","ts":1790134712130,"type":"\#(type)","data":{"s":"\#(symbol)","b":[\#(bids)],"a":[\#(asks)],"u":\#(u),"seq":814547787693},"cts":1790134712126}"#
  }

  @Test("spot: one list, one request for each symbol, within ten topics")
  func subscribesSpot() {
    let feed = EngineHarness(Bybit.spot, ["BTC-USDT", "ETH-USDT", "BTC-USTD", "BTC-USDT-PERP"])
    feed.prepare()
    #expect(feed.gets.map(\.path) == ["/v5/market/instruments-info?category=spot"])
    feed.respond(feed.gets[0].request, 200, Self.spotList)
    #expect(feed.engine.isPrepared)
    #expect(feed.failures["BTC-USTD"] == "Bybit spot has no market BTC-USTD (did you mean BTC-USDT?)")
    #expect(feed.failures["BTC-USDT-PERP"]?.contains("is a perpetual market") == true)
    let instrument = feed.market.instruments[0].instrument
    #expect(instrument.symbol == "bybit:BTC-USDT" && instrument.priceScale == 1 && instrument.sizeScale == 6)
    feed.connect()
    #expect(
      feed.sent == [
        #"{"req_id":"2","op":"subscribe","args":["orderbook.200.BTCUSDT","orderbook.1.BTCUSDT","publicTrade.BTCUSDT","tickers.BTCUSDT"]}"#,
        #"{"req_id":"3","op":"subscribe","args":["orderbook.200.ETHUSDT","orderbook.1.ETHUSDT","publicTrade.ETHUSDT","tickers.ETHUSDT"]}"#,
      ])
  }

  @Test("linear: the list page by page; perpetuals and dated futures by the gateway's names")
  func linear() {
    let symbols = ["BTC-USDT-PERP", "BTC-USDC-PERP", "BTC-USDT-20261225", "BTC-USDT-20261226"]
    let feed = EngineHarness(Bybit.linear, symbols)
    feed.prepare()
    #expect(feed.gets.map(\.path) == ["/v5/market/instruments-info?category=linear&limit=1000"])
    feed.respond(feed.gets[0].request, 200, Self.linearPages[0])
    #expect(!feed.engine.isPrepared)
    #expect(feed.gets.map(\.path) == ["/v5/market/instruments-info?category=linear&limit=1000&cursor=first%253D1"])
    feed.respond(feed.gets[0].request, 200, Self.linearPages[1])
    #expect(feed.engine.isPrepared)
    let instruments = feed.market.instruments.map(\.instrument)
    #expect(instruments.map(\.symbol) == ["bybit:BTC-USDT-PERP", "bybit:BTC-USDC-PERP", "bybit:BTC-USDT-20261225"])
    #expect(instruments.map(\.venueSymbol) == ["BTCUSDT", "BTCPERP", "BTCUSDT-25DEC26"])
    #expect(
      instruments[0].priceScale == 2 && instruments[0].sizeScale == 3, "printed with two digits, in steps of 0.10")
    #expect(instruments[2].kind == .future(expiry: "20261225") && instruments[0].kind == .perpetual)
    #expect(feed.failures["BTC-USDT-20261226"]?.contains("did you mean BTC-USDT-20261225?") == true)
  }

  @Test("a list that is refused is asked for again from its beginning; 403 waits ten minutes")
  func listFails() {
    let feed = EngineHarness(Bybit.linear, ["BTC-USDT-PERP"])
    feed.prepare()
    feed.respond(feed.gets[0].request, 200, Self.linearPages[0])
    feed.respond(feed.gets[0].request, 200, #"{"retCode":10006,"retMsg":"Too many visits","result":{}}"#)
    feed.wait(1.5)
    #expect(feed.gets.map(\.path) == ["/v5/market/instruments-info?category=linear&limit=1000"])
    feed.respond(feed.gets[0].request, 403, "access too frequent")
    feed.wait(599)
    #expect(feed.gets.isEmpty)
    feed.wait(2)
    #expect(feed.gets.count == 1)
  }

  @Test("the two connections of the venue, each with its symbols and its path at the endpoint that is given")
  func connections() {
    let venue = Bybit.venue
    let symbols = ["BTC-USDT", "BTC-USDT-PERP", "nonsense", "BTC-USDT-20261225"]
    let plain = venue.connections(for: FeedConfiguration(symbols: symbols))
    #expect(plain.map(\.venue.label) == ["bybit", "bybit-linear"])
    #expect(plain.map(\.configuration.symbols) == [["BTC-USDT", "nonsense"], ["BTC-USDT-PERP", "BTC-USDT-20261225"]])
    #expect(plain.allSatisfy { $0.configuration.endpoint == nil })
    for endpoint in [
      "ws://localhost:9", "ws://localhost:9/", "ws://localhost:9/v5/public/spot", "ws://localhost:9/v5/public/linear",
    ] {
      let moved = venue.connections(for: FeedConfiguration(symbols: symbols, endpoint: endpoint))
      #expect(
        moved.map(\.configuration.endpoint) == ["ws://localhost:9/v5/public/spot", "ws://localhost:9/v5/public/linear"])
    }
    #expect(
      venue.connections(for: FeedConfiguration(symbols: ["BTC-USDT-PERP"])).map(\.venue.label) == ["bybit-linear"])
    #expect(venue.kinds == [.spot, .perpetual, .future] && venue.label == "bybit")
    let kraken = Kraken.venue.connections(for: FeedConfiguration(symbols: [], endpoint: "ws://localhost:9"))
    #expect(kraken.map(\.configuration.endpoint) == ["ws://localhost:9/v2"])
  }

  @Test("a snapshot and what follows it by one; the last again is nothing")
  func books() throws {
    let feed = Self.live()
    #expect(feed.state(0) == .live)
    feed.receive(Self.book("delta", 101, bids: #"["80688.1","0"],["80687.9","1.5"]"#, asks: #"["80691.5","0.3"]"#))
    #expect(feed.books.map(\.kind) == [.delta] && feed.bids.map(\.price) == [806_881, 806_879])
    #expect(try #require(feed.books.first).time == Timestamp(milliseconds: 1_790_134_712_130))
    feed.receive(Self.book("delta", 101, bids: #"["80688.1","7"]"#))
    #expect(feed.books.isEmpty && feed.state(0) == .live)
    #expect(feed.market.instruments[0].book.bestBid == PriceLevel(price: 806_880, size: 2_000_000))
    #expect(feed.engine.symbolCounts[0].sequenceOK == 1)
  }

  @Test("u = 1 replaces the book, whatever it calls itself", arguments: ["snapshot", "delta"])
  func restart(_ type: String) {
    let feed = Self.live()
    feed.receive(Self.book(type, 1, bids: #"["80600.0","3"]"#, asks: #"["80601.0","0.2"]"#))
    #expect(feed.books.map(\.kind) == [.snapshot] && feed.market.instruments[0].book.bids.count == 1)
    feed.receive(Self.book("delta", 2, bids: #"["80600.1","3"]"#))
    #expect(feed.market.instruments[0].book.bids.count == 2 && feed.state(0) == .live)
  }

  @Test("orderbook.1 is the quote, and no book; the other books and the RPI book are told apart")
  func quotes() {
    let feed = Self.live()
    feed.receive(
      Self.book("snapshot", 9, bids: #"["80688.1","0.5"]"#, asks: #"["80691.5","0.2"]"#, topic: "orderbook.1.BTCUSDT"))
    #expect(feed.books.isEmpty)
    #expect(feed.quotes.map { [$0.bid, $0.bidSize, $0.ask, $0.askSize] } == [[806_881, 500_000, 806_915, 200_000]])
    feed.receive(Self.book("snapshot", 9, bids: #"["80688.1","0.5"]"#, topic: "orderbook.1.BTCUSDT"))
    #expect(feed.quotes.map { [$0.bid, $0.bidSize, $0.ask, $0.askSize] } == [[806_881, 500_000, 0, 0]])
    feed.receive(Self.book("delta", 10, asks: #"["80691.4","0.1"]"#, topic: "orderbook.1.BTCUSDT"))
    #expect(feed.quotes.map { [$0.bid, $0.bidSize, $0.ask, $0.askSize] } == [[806_881, 500_000, 806_914, 100_000]])
    feed.receive(Self.book("snapshot", 9, topic: "orderbook.rpi.BTCUSDT"))
    feed.receive(#"{"topic":"kline.1.BTCUSDT","data":[]}"#)
    #expect(feed.error == nil && feed.engine.counts.ignored == 2)
  }

  @Test("trades have the taker's side and the venue's id; block trades are none")
  func trades() {
    let feed = Self.live()
    feed.receive(
      #"{"topic":"publicTrade.BTCUSDT","type":"snapshot","ts":1672304486868,"data":[{"T":1672304486865,"s":"BTCUSDT","S":"Buy","v":"0.001","p":"16578.50","L":"PlusTick","i":"20f43950-d8dd-5b31-9112-a178eb6023af","BT":false,"seq":1783284617},{"T":1672304486866,"s":"BTCUSDT","S":"Sell","v":"0.002","p":"16578.40","i":"2290000000023","BT":false},{"T":1672304486866,"s":"BTCUSDT","S":"Sell","v":"9","p":"1.0","i":"b","BT":true}]}"#
    )
    #expect(feed.trades.map(\.side) == [.buy, .sell])
    #expect(feed.trades.map(\.price) == [165_785, 165_784] && feed.trades.map(\.size) == [1_000, 2_000])
    #expect(feed.trades.map(\.id.text) == ["20f43950-d8dd-5b31-9112-a178eb6023af", "2290000000023"])
    #expect(feed.trades.allSatisfy { !$0.isBacklog } && feed.engine.symbolCounts[0].trades == 2)
  }

  @Test("statistics: whole on spot; on linear what is missing is unchanged, and a change of nothing says nothing")
  func tickers() throws {
    let feed = Self.live()
    feed.receive(
      #"{"topic":"tickers.BTCUSDT","type":"delta","data":{"symbol":"BTCUSDT","lastPrice":"5"},"ts":1790134712383}"#)
    #expect(feed.tickers.isEmpty && feed.error == nil)
    feed.receive(
      #"{"topic":"tickers.BTCUSDT","ts":1673853746003,"type":"snapshot","cs":2588407389,"data":{"symbol":"BTCUSDT","lastPrice":"21109.7","highPrice24h":"21426.9","lowPrice24h":"20575","prevPrice24h":"20704.9","volume24h":"6780.866843","turnover24h":"141946527.22907118","price24hPcnt":"0.0196","usdIndexPrice":"21120.2400136"}}"#
    )
    let whole = try #require(feed.tickers.first)
    #expect(whole.last == 211_097 && whole.open == 207_049 && whole.high == 214_269 && whole.low == 205_750)
    #expect(whole.changePercent == Decimal64(mantissa: 196, scale: 2) && whole.volume?.mantissa == 6_780_866_843)
    feed.receive(
      #"{"topic":"tickers.BTCUSDT","type":"delta","data":{"symbol":"BTCUSDT","lastPrice":"21109.8","bid1Price":"21109.7"},"ts":1790134712383}"#
    )
    let changed = try #require(feed.tickers.first)
    #expect(changed.last == 211_098 && changed.open == 207_049 && changed.bid == 211_097)
    #expect(changed.time == Timestamp(milliseconds: 1_790_134_712_383))
  }

  @Test("a ticker that changes without ever having been whole is subscribed to again, every 10 s at most")
  func unfoundedTicker() {
    let feed = Self.live()
    let change =
      #"{"topic":"tickers.BTCUSDT","type":"delta","data":{"symbol":"BTCUSDT","lastPrice":"5"},"ts":1790134712383}"#
    feed.receive(#"{"success":true,"ret_msg":"subscribe","conn_id":"2324d924","req_id":"2","op":"subscribe"}"#)
    feed.receive(change)
    #expect(
      feed.sent == [
        #"{"req_id":"4","op":"unsubscribe","args":["tickers.BTCUSDT"]}"#,
        #"{"req_id":"5","op":"subscribe","args":["tickers.BTCUSDT"]}"#,
      ])
    feed.receive(#"{"success":true,"ret_msg":"","conn_id":"2324d924","req_id":"4","op":"unsubscribe"}"#)
    feed.receive(#"{"success":true,"ret_msg":"subscribe","conn_id":"2324d924","req_id":"5","op":"subscribe"}"#)
    feed.receive(change)
    #expect(feed.sent.isEmpty)
    feed.wait(10)
    feed.receive(change)
    #expect(feed.sent.contains { $0.contains(#""unsubscribe","args":["tickers.BTCUSDT"]"#) })
  }

  @Test("acknowledgements, pongs of both spellings, pings every 20 s")
  func keepAlive() {
    let feed = Self.live()
    feed.receive(#"{"success":true,"ret_msg":"subscribe","conn_id":"2324d924","req_id":"2","op":"subscribe"}"#)
    #expect(feed.events.isEmpty && feed.error == nil)
    feed.wait(20)
    #expect(feed.sent.contains { $0.hasSuffix(#","op":"ping"}"#) })
    feed.receive(#"{"success":true,"ret_msg":"pong","conn_id":"2324d924","op":"ping"}"#)
    #expect(feed.isHeartbeat)
    feed.receive(#"{"op":"pong","args":["1672916271846"]}"#)
    #expect(feed.isHeartbeat)
  }

  @Test("a refusal costs its symbol; what is there already costs nothing")
  func refusals() {
    let feed = Self.live()
    feed.receive(
      #"{"success":false,"ret_msg":"error:handler not found,topic:orderbook.200.ETHUSDT","conn_id":"1","req_id":"3","op":"subscribe"}"#
    )
    #expect(feed.failures == ["ETH-USDT": "error:handler not found,topic:orderbook.200.ETHUSDT"])
    #expect(feed.state(0) == .live)
    feed.wait(60)
    #expect(!feed.sent.contains { $0.contains("ETHUSDT") }, "a refused symbol is left alone")
    let again = Self.live()
    again.receive(
      #"{"success":false,"ret_msg":"error:already subscribed,topic:orderbook.200.BTCUSDT","req_id":"2","op":"subscribe"}"#
    )
    #expect(again.failures.isEmpty)
    #expect(
      again.sent.first
        == #"{"req_id":"4","op":"subscribe","args":["orderbook.1.BTCUSDT","publicTrade.BTCUSDT","tickers.BTCUSDT"]}"#)
    again.receive(#"{"success":false,"ret_msg":"error:invalid op","req_id":"77","op":"subscribe"}"#)
    #expect(again.error?.kind == .refused)
  }

  @Test("trades that are there already are not asked for again, those that are refused are")
  func alreadyThere() {
    for (words, isAsked) in [("already subscribed", false), ("handler not found", true)] {
      let feed = Self.live()
      feed.receive(
        #"{"success":false,"ret_msg":"error:\#(words),topic:publicTrade.BTCUSDT","req_id":"2","op":"subscribe"}"#)
      #expect(feed.state(0) == .live && feed.failures.isEmpty)
      feed.wait(900)
      #expect(feed.sent.contains { $0.contains("publicTrade.BTCUSDT") } == isAsked, "\(words)")
    }
  }

  @Test("a message that cannot be read costs itself and its own book")
  func malformed() {
    let feed = Self.live()
    feed.receive(Self.book("delta", 101, bids: #"["80688.1","0.-10000"]"#))
    #expect(feed.error?.kind == .decimal && feed.resets == [.malformed] && feed.state(0) == .syncing(.malformed))
    feed.receive(#"{"topic":"publicTrade.BTCUSDT","data":[{"s":"BTCUSDT","S":"Buy","v":"1","p":"x","i":"1"}]}"#)
    #expect(feed.error != nil && feed.resets.isEmpty)
  }
}
