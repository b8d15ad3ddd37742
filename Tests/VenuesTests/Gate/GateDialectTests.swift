import Bytes
import MarketData
import Testing

@testable import Venues

@Suite("Gate's feed")
struct GateDialectTests {
  static let list =
    #"[{"id":"BTC_USDT","base":"BTC","base_name":"Bitcoin","quote":"USDT","fee":"0.2","min_quote_amount":"3","amount_precision":6,"precision":1,"trade_status":"tradable","sell_start":0,"buy_start":0},{"id":"ETH_USDT","base":"ETH","quote":"USDT","amount_precision":4,"precision":2,"trade_status":"tradable"},{"id":"OLD_USDT","base":"OLD","quote":"USDT","amount_precision":4,"precision":2,"trade_status":"untradable"}]"#

  static func connected(
    _ symbols: [String] = ["BTC-USDT", "ETH-USDT"], books: Gate.Books = .streamed
  )
    -> EngineHarness
  {
    let feed = EngineHarness(Gate.venue(books), symbols)
    feed.prepare()
    feed.respond(feed.gets[0].request, 200, list)
    feed.connect()
    feed.now = feed.now + 1_000_000
    return feed
  }

  static func live() -> EngineHarness {
    let feed = connected()
    feed.receive(full(100, bids: #"["80688.1","0.591532"],["80688","2"]"#, asks: #"["80691.5","0.2"]"#))
    return feed
  }

  static func full(_ u: Int, bids: String = "", asks: String = "", stream: String = "ob.BTC_USDT.400") -> String {
    #"{"channel":"spot.obu","result":{"t":1747054612673,"full":true,"s":"\#(stream)","u":\#(u),"b":[\#(bids)],"a":[\#(asks)]},"time_ms":1747054612848,"event":"update"}"#
  }

  static func change(_ first: Int, _ last: Int, bids: String = "", asks: String = "") -> String {
    #"{"channel":"spot.obu","result":{"t":1747054612695,"s":"ob.BTC_USDT.400","U":\#(first),"u":\#(last),"b":[\#(bids)],"a":[\#(asks)]},"time_ms":1747054612925,"event":"update"}"#
  }

  static func update(_ first: Int, _ last: Int, bids: String = "", asks: String = "") -> String {
    #"{"time":1606294781,"time_ms":1606294781236,"channel":"spot.order_book_update","event":"update","result":{"t":1606294781123,"e":"depthUpdate","E":1606294781,"s":"BTC_USDT","U":\#(first),"u":\#(last),"b":[\#(bids)],"a":[\#(asks)]}}"#
  }

  // MARK: Instruments and subscriptions

  @Test("the list, then a request for each stream, books first")
  func subscribes() throws {
    let feed = EngineHarness(
      Gate.venue, ["BTC-USDT", "ETH-USDT", "BTC-USTD", "OLD-USDT", "BTC-USDT-PERP", "nonsense"])
    feed.prepare()
    #expect(feed.gets.map(\.path) == ["/api/v4/spot/currency_pairs"] && !feed.engine.isPrepared)
    feed.respond(feed.gets[0].request, 200, Self.list)
    #expect(feed.engine.isPrepared)
    #expect(feed.failures["BTC-USTD"] == "Gate has no market BTC-USTD (did you mean BTC-USDT?)")
    #expect(feed.failures["OLD-USDT"] == "OLD-USDT is listed at Gate but not traded")
    #expect(feed.failures["BTC-USDT-PERP"]?.contains("is a perpetual market") == true)
    #expect(feed.failures["nonsense"]?.contains("is not a symbol") == true)
    let instrument = try #require(feed.market.instruments.first).instrument
    #expect(instrument.symbol == "gate:BTC-USDT" && instrument.venueSymbol == "BTC_USDT")
    #expect(instrument.priceScale == 1 && instrument.sizeScale == 6)
    #expect(instrument.priceIncrement == Decimal64(mantissa: 1, scale: 1))
    #expect(instrument.sizeIncrement == Decimal64(mantissa: 1, scale: 6))
    feed.connect()
    #expect(
      feed.sent == [
        #"{"time":1700000000,"id":2,"channel":"spot.obu","event":"subscribe","payload":["ob.BTC_USDT.400"]}"#,
        #"{"time":1700000000,"id":3,"channel":"spot.obu","event":"subscribe","payload":["ob.ETH_USDT.400"]}"#,
        #"{"time":1700000000,"id":4,"channel":"spot.trades","event":"subscribe","payload":["BTC_USDT"]}"#,
        #"{"time":1700000000,"id":5,"channel":"spot.trades","event":"subscribe","payload":["ETH_USDT"]}"#,
        #"{"time":1700000000,"id":6,"channel":"spot.book_ticker","event":"subscribe","payload":["BTC_USDT"]}"#,
        #"{"time":1700000000,"id":7,"channel":"spot.book_ticker","event":"subscribe","payload":["ETH_USDT"]}"#,
        #"{"time":1700000000,"id":8,"channel":"spot.tickers","event":"subscribe","payload":["BTC_USDT"]}"#,
        #"{"time":1700000000,"id":9,"channel":"spot.tickers","event":"subscribe","payload":["ETH_USDT"]}"#,
      ])
  }

  @Test("fifty requests at once and no more, until all are out")
  func paced() {
    let bases = (0..<40).map { "C\($0)" }
    let list = bases.map { #"{"id":"\#($0)_USDT","base":"\#($0)","quote":"USDT","amount_precision":2,"precision":2}"# }
    let feed = EngineHarness(Gate.venue, bases.map { "\($0)-USDT" })
    feed.prepare()
    feed.respond(feed.gets[0].request, 200, "[" + list.joined(separator: ",") + "]")
    feed.connect()
    #expect(feed.sent.count == 50)
    feed.tick()
    #expect(feed.sent.isEmpty, "no time has passed")
    var total = 50
    for _ in 0..<3 {
      feed.wait(0.25)
      #expect(feed.sent.count <= 50)
      total += feed.sent.count
    }
    #expect(total == 160)
  }

  @Test("a rank: the volumes first, then the list; what is not traded is listed and not chosen")
  func selection() {
    let feed = EngineHarness(Gate.venue, ["*-USDT:top1"])
    feed.prepare()
    #expect(feed.gets.map(\.path) == ["/api/v4/spot/tickers"])
    feed.respond(
      feed.gets[0].request, 200,
      #"[{"currency_pair":"BTC_USDT","last":"1","quote_volume":"5"},{"currency_pair":"ETH_USDT","quote_volume":"7.5"},{"currency_pair":"OLD_USDT","quote_volume":"9"},{"currency_pair":"X_USDT","quote_volume":""}]"#
    )
    #expect(feed.gets.map(\.path) == ["/api/v4/spot/currency_pairs"])
    feed.respond(feed.gets[0].request, 200, Self.list)
    #expect(feed.market.instruments.map(\.instrument.symbol) == ["gate:ETH-USDT"])
  }

  // MARK: The streamed book

  @Test("a full message is the book; changes follow by one, with or without levels; the last again is nothing")
  func books() throws {
    let feed = Self.live()
    #expect(feed.state(0) == .live && feed.state(1) != .live)
    feed.receive(Self.change(101, 140, bids: #"["80688.1","0"],["80687.9","1.5"]"#, asks: #"["80691.5","0.3"]"#))
    #expect(feed.books.map(\.kind) == [.delta] && feed.bids.map(\.price) == [806_881, 806_879])
    #expect(try #require(feed.books.first).time == Timestamp(milliseconds: 1_747_054_612_695))
    feed.receive(Self.change(101, 140, bids: #"["80688.1","7"]"#))
    #expect(feed.books.isEmpty && feed.state(0) == .live)
    // Nothing of what is shown has changed: the number moves on.
    feed.receive(
      #"{"time":1789455580,"time_ms":1789455580301,"channel":"spot.obu","event":"update","result":{"t":1789455580300,"s":"ob.BTC_USDT.400","U":141,"u":150}}"#
    )
    feed.receive(
      #"{"channel":"spot.obu","result":{"t":1789455580300,"s":"ob.BTC_USDT.400","U":151,"u":151,"b":null,"a":[]},"event":"update"}"#
    )
    #expect(feed.error == nil && feed.state(0) == .live)
    feed.receive(Self.change(152, 152, asks: #"["80691.4","0.1"]"#))
    #expect(feed.market.instruments[0].book.bestBid == PriceLevel(price: 806_880, size: 2_000_000))
    #expect(feed.market.instruments[0].book.bestAsk == PriceLevel(price: 806_914, size: 100_000))
    #expect(feed.engine.symbolCounts[0].sequenceOK == 4)
  }

  @Test("the fields of a message may come in any order, and a full message may have U as well")
  func anyOrder() {
    let feed = Self.connected()
    feed.receive(
      #"{"event":"update","result":{"a":[["54742","95.2"]],"b":[["54672.1","58794.5"]],"U":7,"u":113,"s":"ob.BTC_USDT.400","full":true,"t":1615366381417},"channel":"spot.obu"}"#
    )
    #expect(feed.state(0) == .live && feed.books.map(\.kind) == [.snapshot])
    feed.receive(Self.change(114, 114, bids: #"["54672.2","1"]"#))
    #expect(feed.market.instruments[0].book.bestBid?.price == 546_722)
  }

  @Test("a full message replaces the book whenever it comes")
  func again() {
    let feed = Self.live()
    feed.receive(Self.full(90, bids: #"["80600","3"]"#, asks: #"["80601","0.2"]"#))
    #expect(feed.books.map(\.kind) == [.snapshot] && feed.market.instruments[0].book.bids.count == 1)
    feed.receive(Self.change(91, 91, bids: #"["80600.1","3"]"#))
    #expect(feed.market.instruments[0].book.bids.count == 2 && feed.state(0) == .live)
  }

  @Test("the market cuts the book to 400 levels, told or not what falls out")
  func cut() {
    let feed = Self.connected()
    let bids = (0..<400).map { #"["\#(80_000 - $0)","1"]"# }.joined(separator: ",")
    feed.receive(Self.full(1, bids: bids, asks: #"["90000","1"]"#))
    feed.receive(Self.change(2, 2, bids: #"["80001","1"]"#))
    #expect(feed.market.instruments[0].book.bids.count == 400)
    #expect(feed.market.instruments[0].book.bids.first?.price == 796_020)
    feed.receive(Self.change(3, 3, bids: #"["79601","0"],["80002","1"]"#))
    #expect(feed.market.instruments[0].book.bids.count == 400 && feed.state(0) == .live)
  }

  @Test("streams of another depth and unknown channels are nothing; a stream of a foreign market is told")
  func others() {
    let feed = Self.live()
    feed.receive(Self.full(5, bids: #"["1","1"]"#, stream: "ob.BTC_USDT.50"))
    feed.receive(
      #"{"time":1606292600,"time_ms":1606292600376,"channel":"spot.candlesticks","event":"update","result":{"n":"1h_BTC_USDT"}}"#
    )
    #expect(feed.error == nil && feed.engine.counts.ignored == 2 && feed.events.isEmpty)
    feed.receive(Self.full(5, stream: "ob.DOGE_USDT.400"))
    #expect(feed.error?.kind == .unknownSymbol && feed.state(0) == .live)
  }

  // MARK: The bridged book

  @Test("spot.order_book_update is joined to a REST snapshot by U <= id+1 <= u, then U == last+1")
  func bridged() throws {
    let feed = Self.connected(["BTC-USDT"], books: .bridged)
    feed.receive(Self.update(90, 100, bids: #"["80600","9"]"#))
    #expect(
      feed.gets.map(\.path) == ["/api/v4/spot/order_book?currency_pair=BTC_USDT&limit=1000&with_id=true"])
    let request = feed.gets[0].request
    feed.receive(Self.update(101, 110, bids: #"["80688.1","1"]"#))
    feed.receive(Self.update(111, 111, asks: #"["80691.5","0"]"#))
    feed.respond(
      request, 200,
      #"{"id":104,"current":1,"update":1,"asks":[["80691.5","0.2"],["80692","1"]],"bids":[["80688","2"]]}"#)
    #expect(feed.books.map(\.kind) == [.snapshot, .delta, .delta] && feed.state(0) == .live)
    #expect(feed.market.instruments[0].book.bestBid == PriceLevel(price: 806_881, size: 1_000_000))
    #expect(feed.market.instruments[0].book.bestAsk?.price == 806_920)
    feed.receive(Self.update(111, 111, asks: #"["80691.5","5"]"#))
    #expect(feed.books.isEmpty && feed.state(0) == .live, "the last one again")
    let counts = feed.engine.symbolCounts[0]
    #expect(counts.deltas == 4 && counts.dropped == 2 && counts.bridged == 1 && counts.sequenceOK == 1)
    feed.receive(Self.update(113, 113))
    #expect(feed.resets == [.gap] && feed.gets.count == 1)
  }

  @Test("where the deeper book is live, the other is nothing; a full update is a snapshot itself")
  func both() {
    let feed = Self.live()
    feed.receive(Self.update(101, 110, bids: #"["80688.1","1"]"#))
    #expect(feed.books.isEmpty && feed.gets.isEmpty && feed.engine.counts.ignored == 1)
    let other = Self.connected(["BTC-USDT"], books: .bridged)
    other.receive(
      #"{"time":1606294781,"channel":"spot.order_book_update","event":"update","result":{"t":1606294781123,"full":true,"l":"100","s":"BTC_USDT","U":48776301,"u":48776306,"b":[["19137.7","0.0001"]],"a":[["19137.9","0.6135"]]}}"#
    )
    #expect(other.state(0) == .live && other.books.map(\.kind) == [.snapshot])
    other.receive(Self.update(48_776_307, 48_776_309, bids: #"["19137.8","1"]"#))
    #expect(other.state(0) == .live && other.market.instruments[0].book.bids.count == 2)
  }

  // MARK: Trades, quotes, statistics

  @Test("a trade: the taker's side, the venue's id, the time to the microsecond")
  func trades() throws {
    let feed = Self.live()
    feed.receive(
      #"{"time":1606292218,"time_ms":1606292218231,"channel":"spot.trades","event":"update","result":{"id":309143071,"id_market":2390902,"create_time":1606292218,"create_time_ms":"1606292218213.4578","side":"sell","currency_pair":"BTC_USDT","amount":"16.4700000000","price":"80688.1000000000","range":"2390902-2390902","id_market":5736713}}"#
    )
    let trade = try #require(feed.trades.first)
    #expect(trade.side == .sell && trade.price == 806_881 && trade.size == 16_470_000 && trade.id.text == "309143071")
    #expect(trade.time == Timestamp(microseconds: 1_606_292_218_213_457) && !trade.isBacklog)
    #expect(feed.engine.symbolCounts[0].trades == 1)
    // Several at once, as futures have them; an id of 20 digits; no time, and the year 1.
    feed.receive(
      #"{"time_ms":1606292218231,"channel":"spot.trades","event":"update","result":[{"id":12345678901234567890,"side":"buy","currency_pair":"ETH_USDT","amount":"1e-3","price":"96.4","create_time":1606292217},{"id":"x-1","side":"buy","currency_pair":"ETH_USDT","amount":"2","price":"96.4","create_time_ms":"-62135596800000"}]}"#
    )
    #expect(feed.trades.map(\.id.text) == ["12345678901234567890", "x-1"])
    #expect(feed.trades.map(\.size) == [10, 20_000])
    #expect(
      feed.trades.map(\.time) == [
        Timestamp(milliseconds: 1_606_292_217_000), Timestamp(milliseconds: 1_606_292_218_231),
      ])
  }

  @Test("what is no trade is refused and costs nothing else")
  func badTrades() {
    let feed = Self.live()
    for result in [
      #"{"id":1,"side":"both","currency_pair":"BTC_USDT","amount":"1","price":"1"}"#,
      #"{"id":1,"side":"buy","currency_pair":"BTC_USDT","amount":"-1","price":"1"}"#,
      #"{"id":1,"side":"buy","currency_pair":"BTC_USDT","amount":"1","price":"0.-10000"}"#,
      #"{"side":"buy","currency_pair":"BTC_USDT","amount":"1","price":"1"}"#,
      #"{"id":1,"side":"buy","currency_pair":"XRP_USDT","amount":"1","price":"1"}"#,
    ] {
      feed.receive(#"{"channel":"spot.trades","event":"update","result":\#(result)}"#)
      #expect(feed.error != nil && feed.trades.isEmpty && feed.resets.isEmpty)
    }
    #expect(feed.state(0) == .live && feed.engine.counts.rejected == 5)
  }

  @Test("spot.book_ticker is the quote; a side may be empty in any spelling")
  func quotes() {
    let feed = Self.live()
    func receive(_ sides: String) {
      feed.receive(
        #"{"time":1606293275,"time_ms":1606293275723,"channel":"spot.book_ticker","event":"update","result":{"t":1606293275123,"u":48733182,"s":"BTC_USDT",\#(sides)}}"#
      )
    }
    receive(#""b":"19177.7","B":"0.000334","a":"19179.3","A":"0.09""#)
    #expect(feed.quotes.map { [$0.bid, $0.bidSize, $0.ask, $0.askSize] } == [[191_777, 334, 191_793, 90_000]])
    #expect(feed.quotes.first?.time == Timestamp(milliseconds: 1_606_293_275_123))
    for empty in [#""b":"","B":"","#, #""b":"0","B":"0","#, #""b":null,"B":null,"#, ""] {
      receive(empty + #""a":"19179.3","A":"0.09""#)
      #expect(feed.error == nil)
      #expect(feed.quotes.map { [$0.bid, $0.bidSize, $0.ask, $0.askSize] } == [[0, 0, 191_793, 90_000]], "\(empty)")
    }
    #expect(feed.books.isEmpty)
  }

  @Test("statistics; the change is in percent")
  func tickers() throws {
    let feed = Self.live()
    feed.receive(
      #"{"time":1669107766,"time_ms":1669107766406,"channel":"spot.tickers","event":"update","result":{"currency_pair":"BTC_USDT","last":"15743.4","lowest_ask":"15744.4","highest_bid":"15743.5","change_percentage":"-1.8254","base_volume":"9110.473081735","quote_volume":"145082083.2535","high_24h":"16280.9","low_24h":"15468.5"}}"#
    )
    let ticker = try #require(feed.tickers.first)
    #expect(ticker.last == 157_434 && ticker.ask == 157_444 && ticker.bid == 157_435)
    #expect(ticker.high == 162_809 && ticker.low == 154_685 && ticker.open == nil)
    #expect(ticker.changePercent == Decimal64(mantissa: -18_254, scale: 4))
    #expect(ticker.volume == Decimal64(mantissa: 9_110_473_081_735, scale: 9))
    #expect(ticker.time == Timestamp(milliseconds: 1_669_107_766_406))
  }

  // MARK: Replies and keep-alive

  @Test("acknowledgements are nothing; pings every 15 s are answered")
  func keepAlive() {
    let feed = Self.live()
    feed.receive(
      #"{"time":1747054611,"time_ms":1747054611614,"id":2,"conn_id":"d7de","trace_id":"e6fd","channel":"spot.obu","event":"subscribe","payload":["ob.BTC_USDT.400"],"result":{"status":"success"}}"#
    )
    feed.receive(#"{"time":1,"channel":"spot.trades","event":"subscribe","error":null,"result":{"status":"success"}}"#)
    #expect(feed.events.isEmpty && feed.error == nil && feed.failures.isEmpty)
    feed.wait(14.5)
    #expect(feed.sent.contains(#"{"time":1700000015,"channel":"spot.ping"}"#))
    feed.receive(
      #"{"time":1545404023,"time_ms":1545404023123,"channel":"spot.pong","event":"","error":null,"result":null}"#)
    #expect(feed.isHeartbeat && feed.error == nil)
  }

  @Test("a refusal costs its symbol, once; the others go on")
  func refusals() {
    let feed = Self.live()
    for id in [3, 5, 7, 9] {
      feed.receive(
        #"{"time":1,"time_ms":1,"id":\#(id),"channel":"spot.obu","event":"subscribe","payload":["ETH_USDT"],"error":{"code":2,"message":"unknown currency pair ETH_USDT"},"result":{"status":"fail"}}"#
      )
      if id == 3 { #expect(feed.failures == ["ETH-USDT": "unknown currency pair ETH_USDT"]) }
      if id != 3 { #expect(feed.failures.isEmpty) }
    }
    #expect(feed.state(0) == .live)
    feed.wait(120)
    #expect(!feed.sent.contains { $0.contains("ETH_USDT") }, "a refused symbol is left alone")
  }

  @Test("subscribed already, and ended twice: nothing; the server's own trouble: the same again, later")
  func otherErrors() {
    let feed = Self.live()
    feed.receive(
      #"{"id":2,"channel":"spot.obu","event":"subscribe","payload":["ob.BTC_USDT.400"],"error":{"code":2,"message":"Alert sub ob.BTC_USDT.400"},"result":{"status":"fail"}}"#
    )
    feed.receive(#"{"id":77,"channel":"spot.obu","event":"unsubscribe","error":{"code":2,"message":"x"}}"#)
    #expect(feed.error == nil && feed.failures.isEmpty && feed.state(0) == .live)
    feed.receive(
      #"{"id":4,"channel":"spot.trades","event":"subscribe","error":{"code":3,"message":"Server side error happened"},"result":{"status":"fail"}}"#
    )
    #expect(feed.error?.kind == .refused && feed.failures.isEmpty)
    feed.wait(6)
    #expect(
      feed.sent.count { $0.contains(#""channel":"spot.trades","event":"subscribe","payload":["BTC_USDT"]"#) } == 1)
    feed.receive(#"{"channel":"","event":"","error":{"code":1,"message":"request message need json scheme"}}"#)
    #expect(feed.error?.detail.contains("need json scheme") == true)
  }

  @Test("an announced upgrade: another connection is made before this one is left, once")
  func upgrade() {
    let feed = Self.live()
    feed.receive(
      #"{"time":1,"time_ms":1,"channel":"spot.system","event":"update","result":{"type":"upgrade","msg":"The connection will soon be closed. Please reconnect"}}"#
    )
    #expect(feed.renewals == ["the venue announced an upgrade"] && feed.state(0) == .live)
    feed.receive(
      #"{"time":2,"time_ms":1,"channel":"spot.system","event":"update","result":{"type":"upgrade","msg":"again"}}"#)
    #expect(feed.actions.isEmpty)
    feed.receive(#"{"channel":"spot.system","event":"update","result":{"type":"other"}}"#)
    #expect(feed.actions.isEmpty && feed.engine.counts.ignored == 1)
  }

  // MARK: Bad input

  @Test(
    "a book message that cannot be read costs itself and its own book",
    arguments: [
      #"{"channel":"spot.obu","result":{"s":"ob.BTC_USDT.400","U":101,"u":102,"b":[["80688.1","0.-10000"]]}}"#,
      #"{"channel":"spot.obu","result":{"s":"ob.BTC_USDT.400","U":101,"u":102,"b":[["80688.1","-1"]]}}"#,
      #"{"channel":"spot.obu","result":{"s":"ob.BTC_USDT.400","U":101,"u":102,"b":[["80688.1"]]}}"#,
      #"{"channel":"spot.obu","result":{"s":"ob.BTC_USDT.400","u":102,"b":[]}}"#,
      #"{"channel":"spot.obu","result":{"s":"ob.BTC_USDT.400","U":103,"u":102,"b":[]}}"#,
      #"{"channel":"spot.obu","result":{"t":1,"s":"ob.BTC_USDT.400","U":101,"u":102,"b":[["80688.1""#,
    ])
  func malformed(_ text: String) {
    let feed = Self.live()
    feed.receive(text)
    #expect(feed.error != nil && feed.resets == [.malformed] && feed.state(0) == .syncing(.malformed))
    #expect(feed.sent.count == 2)
    feed.receive(Self.full(200, bids: #"["80688.1","3"]"#))
    #expect(feed.state(0) == .live)
  }
}
