import Bytes
import MarketData
import Testing

@testable import Venues

@Suite("KuCoin's feed")
struct KuCoinDialectTests {
  static let list =
    #"{"code":"200000","data":[{"symbol":"BTC-USDT","name":"BTC-USDT","baseCurrency":"BTC","quoteCurrency":"USDT","feeCurrency":"USDT","market":"USDS","baseMinSize":"0.00001","baseIncrement":"0.00000001","quoteIncrement":"0.000001","priceIncrement":"0.1","priceLimitRate":"0.1","minFunds":"0.1","isMarginEnabled":true,"enableTrading":true,"feeCategory":1,"st":false,"callauctionPriceFloor":null},{"symbol":"ETH-USDT","name":"ETH-USDT","baseCurrency":"ETH","quoteCurrency":"USDT","baseIncrement":"0.0000001","priceIncrement":"0.01","enableTrading":true},{"symbol":"OLD-USDT","name":"OLD-USDT","baseCurrency":"OLD","quoteCurrency":"USDT","baseIncrement":"1","priceIncrement":"1","enableTrading":false}]}"#
  static let welcome = #"{"sessionId":"e8e46556-ae1d-4871-be0b-4efeaa5f2f6a","message":"welcome","pingInterval":18000}"#

  static func connected(_ symbols: [String] = ["BTC-USDT", "ETH-USDT"]) -> EngineHarness {
    let feed = EngineHarness(KuCoin.venue, symbols)
    feed.prepare()
    feed.respond(feed.gets[0].request, 200, list)
    feed.connect()
    feed.receive(welcome)
    return feed
  }

  static func live(isAnswered: @escaping (String) -> Bool = { _ in true }) -> EngineHarness {
    let feed = connected()
    feed.isAnswered = isAnswered
    feed.wait(1)
    feed.receive(
      book("snapshot", 100, 100, bids: #"["80688.1","0.591532"],["80688","2"]"#, asks: #"["80691.5","0.2"]"#))
    return feed
  }

  static func book(
    _ type: String, _ first: Int, _ last: Int, bids: String = "", asks: String = "", depth: String = "increment@10ms"
  ) -> String {
    #"{"T":"obu.SPOT", "dp":"\#(depth)", "t":"\#(type)", "P":1768217874990007701, "d":{"a":[\#(asks)],"b":[\#(bids)],"C":\#(last),"s":"BTC-USDT","M":1768217874986000000,"O":\#(first)}}"#
  }

  // MARK: Instruments and subscriptions

  @Test("the list; then, after the welcome, a request for each topic, books first, two at a time")
  func subscribes() throws {
    let feed = EngineHarness(KuCoin.venue, ["BTC-USDT", "ETH-USDT", "BTC-USTD", "OLD-USDT", "BTC-USDT-PERP"])
    feed.prepare()
    #expect(feed.gets.map(\.path) == ["/api/v2/symbols"] && !feed.engine.isPrepared)
    feed.respond(feed.gets[0].request, 200, Self.list)
    #expect(feed.engine.isPrepared)
    #expect(feed.failures["BTC-USTD"] == "KuCoin has no market BTC-USTD (did you mean BTC-USDT?)")
    #expect(feed.failures["OLD-USDT"] == "OLD-USDT is listed at KuCoin but not traded")
    #expect(feed.failures["BTC-USDT-PERP"]?.contains("is a perpetual market") == true)
    let instrument = try #require(feed.market.instruments.first).instrument
    #expect(instrument.symbol == "kucoin:BTC-USDT" && instrument.venueSymbol == "BTC-USDT")
    #expect(instrument.priceScale == 1 && instrument.sizeScale == 8)
    #expect(instrument.sizeIncrement == Decimal64(mantissa: 1, scale: 8))
    feed.connect()
    feed.wait(1)
    #expect(feed.sent.isEmpty, "the welcome is waited for")
    feed.receive(Self.welcome)
    #expect(
      feed.sent == [
        #"{"id":"2","action":"subscribe","channel":"obu","tradeType":"SPOT","symbol":"BTC-USDT","depth":"increment@10ms"}"#,
        #"{"id":"3","action":"subscribe","channel":"obu","tradeType":"SPOT","symbol":"ETH-USDT","depth":"increment@10ms"}"#,
      ])
    feed.wait(0.25)
    #expect(
      feed.sent == [
        #"{"id":"4","action":"subscribe","channel":"trade","tradeType":"SPOT","symbol":"BTC-USDT"}"#,
        #"{"id":"5","action":"subscribe","channel":"trade","tradeType":"SPOT","symbol":"ETH-USDT"}"#,
      ])
  }

  @Test("a welcome that stays away is not waited for for ever")
  func noWelcome() {
    let feed = EngineHarness(KuCoin.venue, ["BTC-USDT"])
    feed.prepare()
    feed.respond(feed.gets[0].request, 200, Self.list)
    feed.connect()
    feed.wait(2.75)
    #expect(feed.sent.isEmpty)
    feed.wait(0.5)
    #expect(feed.sent.count == 2)
  }

  @Test("a hundred symbols are subscribed within a hundred messages in any ten seconds")
  func paced() {
    let bases = (0..<100).map { "C\($0)" }
    let entries = bases.map {
      #"{"symbol":"\#($0)-USDT","baseCurrency":"\#($0)","quoteCurrency":"USDT","baseIncrement":"0.01","priceIncrement":"0.01"}"#
    }
    let feed = EngineHarness(KuCoin.venue, bases.map { "\($0)-USDT" })
    feed.prepare()
    feed.respond(feed.gets[0].request, 200, #"{"code":"200000","data":[\#(entries.joined(separator: ","))]}"#)
    feed.connect()
    feed.receive(Self.welcome)
    var counts = [feed.sent.count]
    var texts = feed.sent
    for _ in 0..<120 {
      feed.wait(0.25)
      counts.append(feed.sent.count)
      texts += feed.sent
    }
    for start in counts.indices.dropLast(40) {
      #expect(counts[start..<(start + 40)].reduce(0, +) <= 90)
    }
    let books = texts.filter { $0.contains("\"subscribe\"") && $0.contains("obu") }
    #expect(Set(books).count >= 100 && texts.count { $0.contains("\"trade\"") } == 100)
    #expect(!texts.prefix(100).contains { $0.contains("\"trade\"") }, "books first")
  }

  // MARK: The book

  @Test("a snapshot, and changes with O <= last + 1 and C > last; the last again is nothing; quotes come from the book")
  func books() throws {
    let feed = Self.live()
    #expect(feed.state(0) == .live && feed.state(1) != .live)
    #expect(feed.market.instruments[0].quote?.bid == 806_881)
    feed.receive(Self.book("delta", 101, 140, bids: #"["80688.1","0"],["80687.9","1.5"]"#, asks: #"["80691.5","0.3"]"#))
    #expect(feed.books.map(\.kind) == [.delta] && feed.bids.map(\.price) == [806_881, 806_879])
    #expect(try #require(feed.books.first).time == Timestamp(milliseconds: 1_768_217_874_986))
    #expect(feed.market.instruments[0].quote?.bid == 806_880)
    feed.receive(Self.book("delta", 101, 140, bids: #"["80688.1","7"]"#))
    #expect(feed.books.isEmpty && feed.state(0) == .live)
    // Numbers that were told before, and new ones: documented as right.
    feed.receive(Self.book("delta", 139, 150, asks: #"["80691.4","0.1"]"#))
    #expect(feed.state(0) == .live && feed.market.instruments[0].book.bestAsk?.price == 806_914)
    feed.receive(Self.book("delta", 151, 151))
    #expect(feed.state(0) == .live && feed.engine.symbolCounts[0].sequenceOK == 3)
  }

  @Test("what a snapshot has already may come after it, as long as nothing else has")
  func older() {
    let feed = Self.live()
    feed.receive(Self.book("delta", 90, 99, bids: #"["80688.1","9"]"#))
    feed.receive(Self.book("delta", 100, 100, bids: #"["80688.1","9"]"#))
    #expect(feed.books.isEmpty && feed.resets.isEmpty && feed.engine.symbolCounts[0].dropped == 2)
    feed.receive(Self.book("delta", 95, 103, bids: #"["80688.1","1"]"#))
    #expect(feed.market.instruments[0].book.bestBid?.size == 100_000_000)
    feed.receive(Self.book("delta", 95, 99))
    #expect(feed.resets == [.gap], "numbers that go back")
  }

  @Test(
    "a book that was live and gets no snapshot by subscribing again: another connection is made beside it, and only then"
  )
  func silentAgain() {
    let feed = Self.live()
    feed.receive(Self.book("delta", 105, 106))
    feed.wait(29)
    #expect(feed.sent.count { $0.contains(#""unsubscribe""#) && $0.contains("BTC") } == 1)
    #expect(feed.renewals.isEmpty)
    feed.wait(3)
    #expect(feed.renewals == ["BTC-USDT got no snapshot by subscribing again"])
    feed.disconnect()
    feed.respond(1, 200, Self.list)
  }

  @Test("a book that never comes is asked for ever more rarely, and told after a minute; nothing else is done about it")
  func silent() {
    let feed = Self.live()
    feed.wait(300)
    let asked = feed.sent.count { $0.contains(#""subscribe""#) && $0.contains("ETH-USDT") && $0.contains("obu") }
    #expect((3...8).contains(asked), "\(asked) times")
    #expect(feed.failures["ETH-USDT"] == "no book arrived within 60 s of the subscription")
    #expect(feed.failures["BTC-USDT"] == nil && feed.state(0) == .live)
    #expect(feed.renewals.isEmpty)
  }

  @Test("whole books of other depths, the retired increment, tickers and classic frames are nothing")
  func others() {
    let feed = Self.live()
    for depth in ["1", "5", "50", "increment"] {
      feed.receive(Self.book("snapshot", 500, 500, bids: #"["1","1"]"#, depth: depth))
    }
    feed.receive(
      #"{"T":"ticker.SPOT","P":1768206966101166007,"d":{"A":"0.97","B":"0.02","E":25958853459,"M":1768206966096000000,"S":"BUY","a":"90968.2","b":"90968.1","l":"90968.2","q":"0.001","s":"BTC-USDT"}}"#
    )
    feed.receive(
      #"{"type":"message","topic":"/market/level2:BTC-USDT","subject":"trade.l2update","data":{"sequenceEnd":1}}"#)
    #expect(feed.error == nil && feed.events.isEmpty && feed.engine.counts.ignored == 6 && feed.state(0) == .live)
  }

  // MARK: Trades

  @Test("a trade: the taker's side in small letters or capitals, the venue's id, the time from nanoseconds")
  func trades() throws {
    let feed = Self.live()
    feed.receive(
      #"{"T":"trade.SPOT", "P":1768802538491160904, "d":{"E":20631804219899904,"M":1768802538480123456,"S":"sell","p":"92525.6","q":"0.00008036","s":"BTC-USDT","ti":"20631804219899904"}}"#
    )
    let trade = try #require(feed.trades.first)
    #expect(trade.side == .sell && trade.price == 925_256 && trade.size == 8_036)
    #expect(trade.id.text == "20631804219899904" && trade.time == Timestamp(microseconds: 1_768_802_538_480_123))
    feed.receive(
      #"{"T":"trade.SPOT","d":{"M":0,"S":"BUY","p":"1e3","q":"2","s":"ETH-USDT","ti":12345678901234567890,"rpi":false}}"#
    )
    #expect(feed.trades.map(\.side) == [.buy] && feed.trades.map(\.id.text) == ["12345678901234567890"])
    #expect(feed.trades.map(\.time) == [feed.now] && feed.trades.map(\.price) == [100_000])
    // Times as texts, as they have been seen as well, and one that is none.
    feed.receive(
      #"{"T":"trade.SPOT","P":"1774618231150000000","d":{"E":"20745928670070784","M":"1774618231141000000","S":"buy","p":"1995.4","q":"1","s":"BTC-USDT","ti":"1"}}"#
    )
    #expect(feed.trades.map(\.time) == [Timestamp(milliseconds: 1_774_618_231_141)])
    feed.receive(
      #"{"T":"trade.SPOT","d":{"M":"0001-01-01","S":"buy","p":"1995.4","q":"1","s":"BTC-USDT","ti":"2"}}"#)
    #expect(feed.trades.map(\.time) == [feed.now])
    for data in [
      #"{"S":"both","p":"1","q":"1","s":"BTC-USDT","ti":"1"}"#,
      #"{"S":"buy","p":"0.-10000","q":"1","s":"BTC-USDT","ti":"1"}"#,
      #"{"S":"buy","p":"1","q":"-1","s":"BTC-USDT","ti":"1"}"#, #"{"S":"buy","p":"1","q":"1","s":"XRP-USDT","ti":"1"}"#,
      #"{"S":"buy","p":"1","q":"1","s":"BTC-USDT"}"#,
    ] {
      feed.receive(#"{"T":"trade.SPOT","d":\#(data)}"#)
      #expect(feed.error != nil && feed.trades.isEmpty && feed.state(0) == .live)
    }
    #expect(feed.engine.symbolCounts[0].trades == 3 && feed.engine.symbolCounts[1].trades == 1)
  }

  // MARK: Replies and keep-alive

  @Test(
    "acknowledgements in both spellings; pings every 15 s, sooner if the welcome says so, never more than one a second")
  func keepAlive() {
    let feed = Self.live()
    feed.receive(#"{"id":"2","result":true}"#)
    feed.receive(#"{"id":"3","result":"true"}"#)
    #expect(feed.events.isEmpty && feed.error == nil && feed.failures.isEmpty)
    feed.wait(15)
    #expect(feed.sent.contains { $0.hasPrefix(#"{"id":""#) && $0.hasSuffix(#"","type":"ping"}"#) })
    feed.receive(#"{"type":"pong","id":"6","ts":1790113111261396000}"#)
    #expect(feed.isHeartbeat && feed.error == nil)
    for (interval, longest) in [(6_000, 5.25), (5, 2.25), (0, 15.25), (-7, 15.25)] {
      let other = Self.connected()
      other.receive(#"{"sessionId":"1","message":"welcome","pingInterval":\#(interval)}"#)
      var last = other.now
      var gaps: [Double] = []
      for _ in 0..<160 {
        other.wait(0.25)
        if other.sent.contains(where: { $0.contains("ping") }) {
          gaps.append(Double(other.now - last) / 1e6)
          last = other.now
        }
      }
      #expect(gaps.count > 1 && gaps.allSatisfy { $0 <= longest && $0 >= 1 }, "\(interval): \(gaps)")
    }
  }

  @Test("a refusal costs its symbol, once; the others go on")
  func refusals() {
    let feed = Self.live { !$0.contains("ETH-USDT") || !$0.contains("obu") }
    feed.receive(#"{"id":"3","result":false,"message":"invalid request data"}"#)
    #expect(feed.failures == ["ETH-USDT": "invalid request data"])
    feed.receive(
      #"{"id":"5","result":false,"reason":"topic Obu type = \"public_spot\" not allowed in current environment"}"#)
    #expect(feed.failures.isEmpty && feed.state(0) == .live)
    feed.wait(120)
    #expect(!feed.sent.contains { $0.contains("ETH-USDT") }, "a refused symbol is left alone")
    feed.receive(#"{"id":"77","result":false,"reason":"who knows"}"#)
    #expect(feed.error?.kind == .refused)
    feed.receive(#"{"id":"p29","type":"error","code":404,"data":"topic does not exist"}"#)
    #expect(feed.error?.detail.contains("topic does not exist") == true)
  }

  @Test("one request too many is no word about the symbol: the same again, later")
  func tooMany() {
    let feed = Self.live { !$0.contains("ETH-USDT") || !$0.contains("obu") }
    feed.receive(#"{"id":"3","result":false,"reason":"exceed max topic count limitation of 200"}"#)
    #expect(feed.error?.kind == .refused && feed.failures.isEmpty)
    feed.wait(9)
    #expect(!feed.sent.contains { $0.contains("ETH-USDT") })
    feed.wait(2)
    #expect(feed.sent.count { $0.contains("ETH-USDT") && $0.contains(#""subscribe""#) } == 1)
  }

  // MARK: Bad input

  @Test(
    "a book message that cannot be read costs itself and its own book",
    arguments: [
      #"{"T":"obu.SPOT","dp":"increment@10ms","t":"delta","d":{"a":[],"b":[["80688.1","0.-10000"]],"C":101,"s":"BTC-USDT","O":101}}"#,
      #"{"T":"obu.SPOT","dp":"increment@10ms","t":"delta","d":{"a":[["80688.1","-1"]],"b":[],"C":101,"s":"BTC-USDT","O":101}}"#,
      #"{"T":"obu.SPOT","dp":"increment@10ms","t":"delta","d":{"a":[["80688.1"]],"b":[],"C":101,"s":"BTC-USDT","O":101}}"#,
      #"{"T":"obu.SPOT","dp":"increment@10ms","t":"delta","d":{"a":[],"b":[],"s":"BTC-USDT","O":101}}"#,
      #"{"T":"obu.SPOT","dp":"increment@10ms","t":"delta","d":{"a":[],"b":[],"C":100,"s":"BTC-USDT","O":101}}"#,
      #"{"T":"obu.SPOT","dp":"increment@10ms","t":"delta","d":{"a":[],"b":[],"C":101,"s":"BTC-USDT","M":17682178749"#,
    ])
  func malformed(_ text: String) {
    let feed = Self.live()
    feed.receive(text)
    #expect(feed.error != nil && feed.resets == [.malformed] && feed.state(0) == .syncing(.malformed))
    #expect(feed.sent.count == 2)
    feed.receive(Self.book("snapshot", 200, 200, bids: #"["80688.1","3"]"#))
    #expect(feed.state(0) == .live)
  }
}
