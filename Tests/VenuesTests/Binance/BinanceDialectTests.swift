import Bytes
import MarketData
import Testing

@testable import Venues

@Suite("Binance's spot feed")
struct BinanceDialectTests {
  static let list =
    #"{"timezone":"UTC","rateLimits":[{"rateLimitType":"REQUEST_WEIGHT","interval":"MINUTE","intervalNum":1,"limit":6000}],"symbols":[{"symbol":"BNBBTC","status":"TRADING","baseAsset":"BNB","quoteAsset":"BTC","filters":[{"filterType":"PRICE_FILTER","minPrice":"0.00000100","tickSize":"0.00000100"},{"filterType":"LOT_SIZE","stepSize":"0.00100000"},{"filterType":"MARKET_LOT_SIZE","stepSize":"0.00000000"}]},{"symbol":"ETHBTC","baseAsset":"ETH","quoteAsset":"BTC","filters":[]}]}"#

  private func connected(_ symbols: [String] = ["BNB-BTC"]) -> EngineHarness {
    let feed = EngineHarness(Binance.venue, symbols)
    feed.prepare()
    feed.respond(feed.gets[0].request, 200, Self.list)
    feed.connect()
    return feed
  }

  private func depth(
    _ first: Int, _ last: Int, wrapped: Bool = true, bids: String = #"["0.00240000","10.00000000"]"#
  )
    -> String
  {
    let event =
      #"{"e":"depthUpdate","E":1672515782136,"s":"BNBBTC","U":\#(first),"u":\#(last),"b":[\#(bids)],"a":[["0.00260000","100.00000000"]]}"#
    return wrapped ? #"{"stream":"bnbbtc@depth@100ms","data":\#(event)}"# : event
  }

  private static func snapshot(_ id: Int) -> String {
    #"{"lastUpdateId":\#(id),"bids":[["0.00230000","431.00000000"]],"asks":[["0.00270000","12.00000000"]]}"#
  }

  /// Live at update 160.
  private func live() -> EngineHarness {
    let feed = connected()
    feed.receive(depth(151, 155))
    feed.respond(feed.gets[0].request, 200, Self.snapshot(158))
    feed.receive(depth(156, 160))
    return feed
  }

  @Test("instruments first, then the streams in lower case")
  func subscribes() {
    let feed = EngineHarness(Binance.venue, ["BNB-BTC", "BNB-BCT"])
    feed.prepare()
    #expect(feed.gets.map(\.path) == ["/api/v3/exchangeInfo?symbols=%5B%22BNBBTC%22,%22BNBBCT%22%5D"])
    // One name too many refuses the short list; then the whole one is asked for.
    feed.respond(feed.gets[0].request, 400, #"{"code":-1121,"msg":"Invalid symbol."}"#)
    feed.wait(1.25)
    #expect(feed.gets.map(\.path) == ["/api/v3/exchangeInfo"])
    feed.respond(feed.gets[0].request, 200, Self.list)
    #expect(feed.failures["BNB-BCT"]?.contains("did you mean BNB-BTC") == true)
    feed.connect()
    #expect(
      feed.sent == [
        #"{"method":"SUBSCRIBE","params":["bnbbtc@depth@100ms","bnbbtc@trade","bnbbtc@bookTicker","bnbbtc@ticker"],"id":3}"#
      ])
    let instrument = feed.market.instruments[0].instrument
    #expect(instrument.symbol == "binance:BNB-BTC")
    #expect(instrument.priceScale == 8)
    #expect(instrument.priceIncrement?.scale == 6)
    #expect(instrument.sizeIncrement?.scale == 3)
  }

  @Test("half of the permitted weight is used, unless the list says one that no venue permits")
  func weight() throws {
    for (limit, minutes, weight) in [
      ("6000", "1", 3_000), ("6000", "3", 1_000), ("10000000", "1", 5_000_000), ("10000001", "1", nil),
      ("9223372036854775807", "1", nil), ("-9223372036854775807", "1", nil), ("6000", "9223372036854775807", nil),
      ("6000", "0", nil), ("1e30", "1", nil),
    ] as [(String, String, Int?)] {
      let list = Self.list.replacing(
        "\"intervalNum\":1,\"limit\":6000", with: "\"intervalNum\":\(minutes),\"limit\":\(limit)")
      let page = try BinanceMarket.spot.readList(Array(list.utf8).span.bytes)
      #expect(page.weightPerMinute == weight, "\(limit) in \(minutes)")
    }
  }

  @Test("updates wait for the snapshot, those in it are dropped, the first must join, the rest must follow")
  func bridges() throws {
    let feed = connected()
    feed.receive(depth(151, 155))
    #expect(feed.gets.map(\.path) == ["/api/v3/depth?symbol=BNBBTC&limit=1000"])
    let request = feed.gets[0].request
    feed.receive(depth(156, 160))
    #expect(feed.gets.isEmpty)
    feed.receive(depth(161, 161, wrapped: false))
    feed.respond(request, 200, Self.snapshot(158))
    #expect(feed.books.map(\.kind) == [.snapshot, .delta, .delta])
    #expect(feed.state(0) == .live)
    feed.receive(depth(162, 170))
    #expect(feed.books.map(\.kind) == [.delta])
    #expect(feed.books[0].time == Timestamp(milliseconds: 1_672_515_782_136))
    #expect(feed.bids == [PriceLevel(price: 240_000, size: 1_000_000_000)])
    // Repeated: in the book already.
    feed.receive(depth(162, 170))
    #expect(feed.books.isEmpty)
    let counts = feed.engine.symbolCounts[0]
    #expect(counts.deltas == 5)
    #expect(counts.snapshots == 1)
    #expect(counts.dropped == 2)
    #expect(counts.bridged == 1)
    #expect(counts.sequenceOK == 2)
    #expect(counts.gaps == 0)
  }

  @Test("snapshots that fail are asked for again; 429 and 418 pause everything")
  func failures() {
    let feed = connected()
    feed.receive(depth(151, 155))
    feed.respond(feed.gets[0].request, 500, "")
    feed.wait(1.25)
    #expect(feed.gets.count == 1)
    feed.respond(feed.gets[0].request, 429, "")
    feed.wait(55)
    #expect(feed.gets.isEmpty)
    feed.wait(6)
    #expect(feed.gets.count == 1)
    feed.respond(feed.gets[0].request, 418, "")
    feed.wait(290)
    #expect(feed.gets.isEmpty)
    feed.wait(12)
    #expect(feed.gets.count == 1)
    feed.respond(feed.gets[0].request, 200, #"{"lastUpdateId":155,"bids":[["x","1"]],"asks":[]}"#)
    #expect(feed.engine.counts.rejected == 1)
    #expect(feed.books.isEmpty)
  }

  @Test("a new market with id -1 and an empty book is joined by any update")
  func newMarket() {
    let feed = connected()
    feed.receive(depth(5, 9))
    feed.respond(feed.gets[0].request, 200, #"{"lastUpdateId":-1,"bids":[],"asks":[]}"#)
    #expect(feed.books.map(\.kind) == [.snapshot, .delta])
    #expect(feed.state(0) == .live)
  }

  @Test("the taker sold if the buyer was the maker; ms and µs times")
  func trades() throws {
    let feed = live()
    feed.receive(
      #"{"stream":"bnbbtc@trade","data":{"e":"trade","E":1672515782136,"s":"BNBBTC","t":12345,"p":"0.001","q":"100","T":1672515782136,"m":true,"M":true}}"#
    )
    let trade = try #require(feed.trades.first)
    #expect(trade.side == .sell)
    #expect(trade.price == 100_000)
    #expect(trade.size == 10_000_000_000)
    #expect(trade.id.text == "12345")
    #expect(trade.time == Timestamp(milliseconds: 1_672_515_782_136))
    feed.receive(
      #"{"e":"trade","E":1672515782136000,"s":"BNBBTC","t":12348,"p":"0.00100000","q":"1.00000000","b":88,"a":50,"T":1672515782136123,"m":false,"M":true}"#
    )
    #expect(feed.trades.first?.side == .buy)
    #expect(feed.trades.first?.time == Timestamp(microseconds: 1_672_515_782_136_123))
    #expect(feed.engine.symbolCounts[0].missedTrades == 2)
    // Aggregates say nothing new where trades come.
    feed.receive(
      #"{"e":"aggTrade","E":1,"s":"BNBBTC","a":9,"p":"0.001","q":"100","f":100,"l":105,"T":1672515782136,"m":true,"M":true}"#
    )
    #expect(feed.trades.isEmpty)
    #expect(feed.engine.symbolCounts[0].trades == 2)
  }

  @Test("aggregates are the trades where a recording has only them")
  func aggregates() {
    let feed = live()
    feed.receive(
      #"{"e":"aggTrade","E":1672515782136,"s":"BNBBTC","a":9,"p":"0.001","q":"100","f":100,"l":105,"T":1672515782136,"m":false,"M":true}"#
    )
    #expect(feed.trades.map(\.side) == [.buy])
    #expect(feed.trades.map(\.id.text) == ["9"])
  }

  @Test(
    "best bid and ask, which have neither type nor time, wrapped and bare, as printed and otherwise",
    arguments: [
      #"{"stream":"bnbbtc@bookTicker","data":{"u":400900217,"s":"BNBBTC","b":"25.35190000","B":"31.21000000","a":"25.36520000","A":"40.66000000"}}"#,
      #"{"u":400900217,"s":"BNBBTC","b":"25.35190000","B":"31.21000000","a":"25.36520000","A":"40.66000000"}"#,
      #"{"u":400900217,"s":"BNBBTC","b":"25.3519","B":"31.21","a":"25.3652","A":"40.66"}"#,
      #"{"A":"40.66000000", "a":"25.36520000","B":"31.21000000","b":"25.35190000","s":"BNBBTC","u":400900217}"#,
    ])
  func bookTicker(_ text: String) throws {
    let feed = live()
    feed.receive(text)
    #expect(feed.error == nil)
    #expect(
      feed.quotes == [
        Quote(
          instrument: InstrumentID(0), bid: 2_535_190_000, bidSize: 3_121_000_000, ask: 2_536_520_000,
          askSize: 4_066_000_000,
          time: feed.now)
      ])
  }

  @Test("24 h figures")
  func ticker() throws {
    let feed = live()
    feed.receive(
      #"{"e":"24hrTicker","E":1672515782136,"s":"BNBBTC","p":"0.0015","P":"250.00","w":"0.0018","x":"0.0009","c":"0.0025","Q":"10","b":"0.0024","B":"10","a":"0.0026","A":"100","o":"0.0010","h":"0.0025","l":"0.0010","v":"10000","q":"18","O":0,"C":86400000,"F":0,"L":18150,"n":18151}"#
    )
    let ticker = try #require(feed.tickers.first)
    #expect(ticker.last == 250_000)
    #expect(ticker.open == 100_000)
    #expect(ticker.quoteVolume?.mantissa == 18)
    #expect(ticker.changePercent?.mantissa == 250)
    #expect(ticker.trades == 18_151)
  }

  @Test("replies: success, both shapes of error, a planned shutdown, and streams that are not used")
  func replies() {
    let feed = live()
    feed.receive(#"{"result":null,"id":1}"#)
    #expect(feed.error == nil)
    feed.receive(#"{"code":2,"msg":"Invalid request: x","id":1}"#)
    #expect(feed.error?.kind == .refused)
    feed.receive(#"{"error":{"code":2,"msg":"Invalid request: y"},"id":null}"#)
    #expect(feed.error?.detail.contains("Invalid request: y") == true)
    feed.receive(#"{"e":"kline","E":1,"s":"BNBBTC","k":{"t":1}}"#)
    #expect(feed.error == nil)
    feed.receive(#"{"lastUpdateId":160,"bids":[["0.0024","10"]],"asks":[["0.0026","100"]]}"#)
    #expect(feed.error == nil)
    feed.receive(#"{"stream":"!miniTicker@arr","data":[]}"#)
    #expect(feed.error == nil)
    #expect(feed.engine.counts.ignored == 3)
    feed.receive(#"{"stream":"!serverShutdown","data":{"e":"serverShutdown","E":1770123456789}}"#)
    #expect(feed.actions.count == 1)
    guard case .renew(_, within: 600_000_000)? = feed.actions.first else {
      Issue.record("no other connection is asked for")
      return
    }
    feed.receive(#"{"e":"serverShutdown","E":1770123456789}"#)
    #expect(feed.actions.isEmpty)
  }

  @Test("an unreadable update resets its book", arguments: ["\"u\":16x", "\"b\":[[\"0.0024\"]],", "\"b\":7,"])
  func malformed(_ broken: String) {
    let feed = live()
    let good = depth(161, 162)
    let part = broken.hasPrefix("\"u\"") ? "\"u\":162" : #""b":[["0.00240000","10.00000000"]],"#
    feed.receive(good.replacing(part, with: broken))
    #expect(feed.error != nil)
    #expect(feed.resets == [.malformed])
    #expect(feed.state(0) == .syncing(.malformed))
    #expect(feed.gets.count == 1)
  }

  @Test("the fast reading and the tolerant one give the same events")
  func twoReadings() {
    let fast = live()
    let tolerant = live()
    let text = depth(161, 162, bids: #"["1234567.12345678","0.00000001"],["0.00000001","9999999999.99999999"]"#)
    fast.receive(text)
    tolerant.receive(text.replacing(#""b":"#, with: #" "b":"#))
    #expect(fast.bids == tolerant.bids)
    #expect(fast.asks == tolerant.asks)
    #expect(fast.books.count == 1)
    #expect(tolerant.books.count == 1)
    #expect(fast.bids[0] == PriceLevel(price: 123_456_712_345_678, size: 1))
  }

  @Test("a symbol of which nothing comes is told after a minute; a quiet book gets its snapshot all the same")
  func silence() {
    let feed = connected(["BNB-BTC", "ETH-BTC"])
    acknowledge(feed)
    feed.receive(depth(151, 155))
    feed.wait(6)
    #expect(feed.gets.map(\.path) == ["/api/v3/depth?symbol=ETHBTC&limit=1000"])
    #expect(feed.failures.isEmpty)
    feed.wait(55)
    #expect(feed.failures.keys.sorted() == ["ETH-BTC"])
  }

  private func acknowledge(_ feed: EngineHarness) {
    let number = feed.sent.last.flatMap { $0.split(separator: "\"id\":").last?.prefix(while: \.isNumber) } ?? "0"
    feed.receive(#"{"result":null,"id":\#(number)}"#)
  }

  @Test("a subscription that is refused fails its symbols, one by one, and no snapshot of them is asked for")
  func refusedSubscription() {
    let feed = connected(["BNB-BTC", "ETH-BTC"])
    var failures: [String: String] = [:]
    var sent = feed.sent
    for _ in 0..<20 {
      for text in sent {
        let number = text.split(separator: "\"id\":").last?.prefix(while: \.isNumber) ?? "0"
        feed.receive(
          text.contains("ethbtc")
            ? #"{"error":{"code":2,"msg":"Invalid request: ethbtc"},"id":\#(number)}"#
            : #"{"result":null,"id":\#(number)}"#)
        failures.merge(feed.failures) { $1 }
      }
      feed.wait(1)
      sent = feed.sent
      #expect(!feed.gets.contains { $0.path.contains("ETHBTC") })
    }
    #expect(failures.keys.sorted() == ["ETH-BTC"])
    #expect(feed.market.instruments.map(\.bookState) == [.absent, .absent])
  }

  @Test("many streams go out in parts, a pause between them")
  func pacing() {
    let symbols = (0..<120).map { "A\($0)-BTC" }
    let feed = EngineHarness(Binance.venue, symbols)
    feed.prepare()
    #expect(feed.gets[0].path == "/api/v3/exchangeInfo")
    let entries = (0..<120).map { #"{"symbol":"A\#($0)BTC","baseAsset":"A\#($0)","quoteAsset":"BTC"}"# }
    feed.respond(feed.gets[0].request, 200, #"{"symbols":[\#(entries.joined(separator: ","))]}"#)
    feed.connect()
    #expect(feed.sent.count == 1)
    feed.tick()
    #expect(feed.sent.isEmpty)
    feed.wait(2)
    #expect(feed.sent.filter { $0.contains("SUBSCRIBE") && !$0.contains("btcusdt") }.count == 2)
  }
}
