import Bytes
import MarketData
import Testing

@testable import Venues

@Suite("Bitstamp's feed")
struct BitstampDialectTests {
  static let list =
    #"[{"name":"BTC/USD","market_symbol":"btcusd","base_currency":"BTC","base_decimals":8,"counter_currency":"USD","counter_decimals":2,"minimum_order_value":"10.00","trading":"Enabled","market_type":"SPOT"},{"name":"USDT/EUR","market_symbol":"usdteur","base_currency":"USDT","base_decimals":5,"counter_currency":"EUR","counter_decimals":5,"market_type":"SPOT"},{"name":"BTC/USD-PERP","market_symbol":"btcusd-perp","base_currency":"BTC","counter_currency":"USD","market_type":"PERPETUAL","contract_size":"1"}]"#
  /// The moment at which `live` gets its snapshot, µs of the venue.
  static let moment: Int64 = 1_700_000_003_000_000

  static func connected(_ symbols: [String] = ["BTC-USD", "USDT-EUR"]) -> EngineHarness {
    let feed = EngineHarness(Bitstamp.venue, symbols)
    feed.prepare()
    feed.respond(feed.gets[0].request, 200, list)
    feed.connect()
    return feed
  }

  /// An update `offset` µs after `moment`.
  static func update(
    _ offset: Int64, bids: String = "", asks: String = "", _ symbol: String = "btcusd"
  ) -> String {
    let time = moment + offset
    return
      #"{"data":{"timestamp":"\#(time / 1_000_000)","microtimestamp":"\#(time)","bids":[\#(bids)],"asks":[\#(asks)]},"channel":"diff_order_book_\#(symbol)","event":"data"}"#
  }

  static func snapshot(_ offset: Int64, bids: String, asks: String) -> String {
    let time = moment + offset
    return #"{"timestamp":"\#(time / 1_000_000)","microtimestamp":"\#(time)","bids":[\#(bids)],"asks":[\#(asks)]}"#
  }

  static func trade(
    _ offset: Int64, id: String = "164507734", symbol: String = "btcusd", price: String = "60553.64"
  ) -> String {
    #"{"channel": "live_trades_\#(symbol)", "data": {"amount": 0.032712, "amount_str": "0.03271200", "buy_order_id": 1351035778150400, "id": \#(id), "microtimestamp": "\#(moment + offset)", "price": \#(price), "price_str": "\#(price)", "sell_order_id": 1351035756818432, "timestamp": "1618677693", "type": 0}, "event": "trade"}"#
  }

  /// BTC-USD is live from a snapshot of `moment`, with 60000 × 1 against 60010 × 2; USDT-EUR is quiet and waits.
  static func live() -> EngineHarness {
    let feed = connected()
    feed.receive(#"{"event":"bts:subscription_succeeded","channel":"diff_order_book_btcusd","data":{}}"#)
    feed.receive(update(-1_000_000, bids: #"["59990.00","3.00000000"]"#))
    feed.wait(3)
    feed.respond(
      feed.gets[0].request, 200, snapshot(0, bids: #"["60000.00","1.00000000"]"#, asks: #"["60010.00","2.0"]"#))
    return feed
  }

  private func book(_ feed: EngineHarness) -> OrderBook { feed.market.instruments[0].book }

  // MARK: Books

  @Test("a snapshot is asked for 2 s after the first update, and joined to what was kept")
  func bridge() {
    let feed = Self.connected()
    feed.receive(#"{"event":"bts:subscription_succeeded","channel":"diff_order_book_btcusd","data":{}}"#)
    feed.receive(Self.update(-1_000_000, bids: #"["59990.00","3.00000000"]"#))
    #expect(feed.gets.isEmpty && feed.books.isEmpty)
    feed.wait(1.75)
    #expect(feed.gets.isEmpty)
    feed.wait(0.5)
    #expect(feed.gets.map(\.path) == ["/api/v2/order_book/btcusd/?group=1"])
    let request = feed.gets[0].request
    feed.receive(Self.update(500_000, bids: #"["60000.00","0.00000000"]"#, asks: #"["60009.00","1.0"]"#))
    feed.receive(Self.update(600_000, bids: #"["59995.00","4.0"]"#))
    feed.respond(
      request, 200, Self.snapshot(0, bids: #"["60000.00","1.0"],["59980.00","5.0"]"#, asks: #"["60010.00","2.0"]"#))
    #expect(feed.books.map(\.kind) == [.snapshot, .delta, .delta] && feed.state(0) == .live)
    #expect(
      book(feed).bids.map(\.price) == [5_998_000, 5_999_500] && book(feed).asks.map(\.price) == [6_001_000, 6_000_900])
    feed.receive(Self.update(700_000, bids: #"["59995.00","0"]"#))
    #expect(feed.books.map(\.time) == [Timestamp(microseconds: Self.moment + 700_000)])
    let counts = feed.engine.symbolCounts[0]
    #expect(counts.deltas == 4 && counts.dropped == 1 && counts.bridged == 1 && counts.snapshots == 1)
    #expect(counts.gaps == 0 && counts.sequenceOK == 0, "times are no numbers")
    #expect(feed.market.instruments[0].quote?.bid == 5_998_000, "quotes come from the book")
  }

  @Test("a book that does not change gets its snapshot too; one from before the subscription is put back, a few times")
  func quiet() {
    let feed = Self.connected(["USDT-EUR"])
    feed.now = Timestamp(microseconds: Self.moment)
    feed.receive(#"{"event":"bts:subscription_succeeded","channel":"diff_order_book_usdteur","data":{}}"#)
    feed.wait(4.5)
    #expect(feed.gets.isEmpty)
    var asked = 0
    for _ in 0..<40 where feed.state(0) != .live {
      feed.wait(1)
      guard let get = feed.gets.first else { continue }
      asked += 1
      feed.respond(get.request, 200, Self.snapshot(-5, bids: #"["0.88596","6731.50703"]"#, asks: ""))
    }
    #expect(asked == 4 && feed.state(0) == .live)
    feed.receive(Self.update(20_000_000, asks: #"["0.88657","9000.00000"]"#, "usdteur"))
    #expect(book(feed).bestAsk?.price == 88_657)
  }

  @Test("an update at the time of the last one is applied: twice is as once")
  func sameTime() {
    let feed = Self.live()
    feed.receive(Self.update(5, bids: #"["59999.00","1.0"]"#))
    feed.receive(Self.update(5, bids: #"["59999.00","1.0"]"#))
    feed.receive(Self.update(5, bids: #"["59998.00","1.0"]"#))
    #expect(book(feed).bids.count == 3 && feed.state(0) == .live && feed.engine.symbolCounts[0].gaps == 0)
  }

  @Test("a time that goes back is a late message: the book is rebuilt from a snapshot that has both in it")
  func late() {
    let feed = Self.live()
    feed.receive(Self.update(900_000, bids: #"["59999.00","1.0"]"#))
    feed.receive(Self.update(800_000, bids: #"["59998.00","1.0"]"#))
    #expect(feed.resets == [.gap] && feed.state(0) == .syncing(.gap) && feed.books.isEmpty)
    feed.wait(3)
    let asked = feed.gets.filter { $0.path.contains("btcusd") }
    #expect(asked.count == 1)
    feed.respond(asked[0].request, 200, Self.snapshot(850_000, bids: #"["1.00","1.0"]"#, asks: ""))
    #expect(feed.state(0) == .syncing(.gap), "older than what was seen")
    feed.wait(3)
    feed.respond(
      feed.gets.first { $0.path.contains("btcusd") }!.request, 200,
      Self.snapshot(900_000, bids: #"["59999.00","1.0"]"#, asks: #"["60010.00","2.0"]"#))
    #expect(feed.state(0) == .live)
  }

  @Test("a time from the far future does not shut a book out for ever")
  func future() {
    let feed = Self.live()
    feed.receive(Self.update(900_000_000_000_000, bids: #"["59999.00","1.0"]"#))
    feed.receive(Self.update(1_000_000, bids: #"["59998.00","1.0"]"#))
    #expect(feed.resets == [.gap])
    var asked = 0
    for second in 0..<120 where feed.state(0) != .live {
      feed.receive(Self.update(Int64(second + 2) * 1_000_000, bids: #"["59998.00","1.0"]"#))
      feed.wait(1)
      for get in feed.gets where get.path.contains("btcusd") {
        asked += 1
        let time = Int64(second + 3) * 1_000_000
        feed.respond(get.request, 200, Self.snapshot(time, bids: #"["59998.00","1.0"]"#, asks: ""))
      }
    }
    #expect(feed.state(0) == .live && asked == 7)
  }

  @Test("updates that came in the wrong order while the snapshot was awaited")
  func lateWhileBuffering() {
    let feed = Self.connected(["BTC-USD"])
    feed.receive(Self.update(0, bids: #"["59990.00","3.0"]"#))
    feed.receive(Self.update(300_000, bids: #"["59991.00","3.0"]"#))
    feed.receive(Self.update(200_000, bids: #"["59992.00","3.0"]"#))
    feed.wait(3)
    feed.respond(feed.gets[0].request, 200, Self.snapshot(100_000, bids: #"["59990.00","3.0"]"#, asks: ""))
    #expect(feed.resets == [.gap] && feed.state(0) == .syncing(.gap))
    feed.wait(4)
    feed.respond(feed.gets[0].request, 200, Self.snapshot(300_000, bids: #"["59990.00","3.0"]"#, asks: ""))
    #expect(feed.state(0) == .live && feed.engine.symbolCounts[0].gaps == 1)
  }

  @Test("a snapshot that fails is asked for ever more rarely; 429 waits a minute; 404 is no market")
  func snapshotFails() {
    let feed = Self.connected(["BTC-USD"])
    feed.receive(Self.update(0, bids: #"["59990.00","3.0"]"#))
    feed.wait(3)
    feed.respond(feed.gets[0].request, 500, "")
    var asked = 0
    for _ in 0..<60 {
      feed.wait(1)
      for get in feed.gets {
        asked += 1
        feed.respond(get.request, 200, asked % 2 == 0 ? "nonsense" : #"{"bids":[]}"#)
      }
    }
    #expect((3...8).contains(asked), "\(asked) times")
    func untilAsked() {
      for _ in 0..<400 where feed.gets.isEmpty { feed.wait(0.25) }
    }
    untilAsked()
    feed.respond(feed.gets[0].request, 429, "")
    feed.wait(55)
    #expect(feed.gets.isEmpty)
    untilAsked()
    feed.respond(feed.gets[0].request, 404, "")
    #expect(feed.failures["BTC-USD"] == "Bitstamp has no order book of it (404)")
    feed.wait(100)
    #expect(feed.gets.isEmpty)
  }

  // MARK: Bad input

  @Test(
    "a message that cannot be read costs itself and its own book",
    arguments: [
      #"{"data":{"microtimestamp":"1700000003000005","bids":[["59999.00","0.-10000"]],"asks":[]},"channel":"diff_order_book_btcusd","event":"data"}"#,
      #"{"data":{"microtimestamp":"1700000003000005","bids":[["59999.00","-1"]],"asks":[]},"channel":"diff_order_book_btcusd","event":"data"}"#,
      #"{"data":{"microtimestamp":"1700000003000005","bids":[["59999.00"]],"asks":[]},"channel":"diff_order_book_btcusd","event":"data"}"#,
      #"{"data":{"microtimestamp":"1700000003000005","bids":null,"asks":[]},"channel":"diff_order_book_btcusd","event":"data"}"#,
      #"{"data":{"microtimestamp":"1700000003000005","bids":[]},"channel":"diff_order_book_btcusd","event":"data"}"#,
      #"{"data":{"bids":[],"asks":[]},"channel":"diff_order_book_btcusd","event":"data"}"#,
      #"{"data":{"microtimestamp":"-62135596800000000","bids":[],"asks":[]},"channel":"diff_order_book_btcusd","event":"data"}"#,
      #"{"data":{"microtimestamp":"98765432109876543210","bids":[],"asks":[]},"channel":"diff_order_book_btcusd","event":"data"}"#,
      #"{"channel":"diff_order_book_btcusd","event":"data"}"#,
      #"{"channel":"diff_order_book_btcusd","event":"data","data":{"microtimestamp":"17"#,
    ])
  func malformed(_ text: String) {
    let feed = Self.live()
    feed.receive(text)
    #expect(feed.error != nil && feed.resets == [.malformed] && feed.state(0) == .syncing(.malformed))
    // A snapshot must now be from after an update that can be read, or from after the loss by the clock.
    feed.receive(Self.update(400_000, bids: #"["59999.00","1.0"]"#))
    feed.wait(3)
    let request = feed.gets.first { $0.path.contains("btcusd") }!.request
    feed.respond(request, 200, Self.snapshot(300_000, bids: #"["1.00","1.0"]"#, asks: ""))
    #expect(feed.state(0) == .syncing(.malformed))
  }

  @Test("an update of which not even the book can be told: every book is renewed")
  func untold() {
    let feed = Self.live()
    feed.receive(#"{"data":{"timestamp":"1700000003","microtimestamp":"1700000003000005","bids":[["59"#)
    #expect(feed.error != nil && feed.resets.isEmpty && feed.state(0) == .live)
    #expect(feed.gets.map(\.path) == ["/api/v2/order_book/btcusd/?group=1"])
    feed.receive([0x1F, 0x8B, 0x08, 0x00])
    #expect(feed.error != nil && feed.state(0) == .live)
  }

  @Test("unknown events and channels, and those that are not used, are counted and passed over")
  func unknown() {
    let feed = Self.live()
    feed.receive(#"{"data":{},"channel":"order_book_btcusd","event":"data"}"#)
    feed.receive(#"{"data":{},"channel":"live_orders_btcusd","event":"order_created","event_id":1,"pre_event_id":0}"#)
    feed.receive(
      #"{"data":{"market":"btcusd-perp"},"channel":"funding_rate_btcusd-perp","event":"funding_rate_saved"}"#)
    #expect(feed.error == nil && feed.engine.counts.ignored == 3)
    feed.receive(#"{"data":{},"channel":"diff_order_book_ethusd","event":"data"}"#)
    #expect(feed.error?.kind == .unknownSymbol)
    for bad in ["", "[]", "{}", "null", #"{"event":7}"#, #"{"event":"trade"}"#, #"{"event":"data","channel":7}"#] {
      feed.receive(bad)
      #expect(feed.error != nil || bad == #"{"event":"data","channel":7}"#, "\(bad)")
    }
    #expect(feed.state(0) == .live)
  }

  // MARK: Trades

  @Test("trades by their texts, with the taker's side and an id of any length")
  func trades() {
    let feed = Self.live()
    feed.receive(Self.trade(7))
    #expect(feed.error == nil && feed.trades.map(\.side) == [.buy])
    #expect(feed.trades.map(\.price) == [6_055_364] && feed.trades.map(\.size) == [3_271_200])
    #expect(feed.trades.map(\.time) == [Timestamp(microseconds: Self.moment + 7)])
    feed.receive(
      #"{"data":{"id":2001939623936278528,"id_str":"98765432109876543210","type":1,"amount_str":"0.00921","price_str":"77204","microtimestamp":"1789456400586000","timestamp":"1789456400586"},"channel":"live_trades_btcusd","event":"trade"}"#
    )
    #expect(feed.trades.map(\.id.text) == ["98765432109876543210"] && feed.trades.map(\.side) == [.sell])
    // Seconds, milliseconds, and no time at all.
    for (time, want) in [("1789456400", 1_789_456_400_000_000), ("1789456400586", 1_789_456_400_586_000)]
      as [(String, Int64)]
    {
      feed.receive(
        #"{"data":{"id":5,"type":0,"amount":0.5,"price":60000.5,"timestamp":"\#(time)"},"channel":"live_trades_btcusd","event":"trade"}"#
      )
      #expect(feed.trades.map(\.time.microseconds) == [want])
    }
    feed.receive(
      #"{"data":{"id":5,"type":0,"amount":0.5,"price":60000.5},"channel":"live_trades_btcusd","event":"trade"}"#)
    #expect(feed.trades.map(\.time) == [feed.now] && feed.trades.allSatisfy { !$0.isBacklog })
    #expect(feed.engine.symbolCounts[0].trades == 5)
    for bad in [
      #""type":0,"amount":0.5,"price":1"#, #""id":5,"amount":0.5,"price":1"#,
      #""id":5,"type":2,"amount":0.5,"price":1"#,
      #""id":5,"type":0,"price":1"#, #""id":5,"type":0,"amount":-1,"price":1"#,
    ] {
      feed.receive(#"{"data":{\#(bad)},"channel":"live_trades_btcusd","event":"trade"}"#)
      #expect(feed.error != nil && feed.state(0) == .live, "\(bad)")
    }
  }

  // MARK: Quiet and dead

  @Test("a trade that no update follows: the book's channel is dead, and subscribed anew; quiet alone is not dead")
  func deadBook() {
    let feed = Self.live()
    feed.wait(35)
    #expect(feed.state(0) == .live, "quiet is not dead")
    // One that an update has told of already, and one that the next tells of.
    feed.receive(Self.update(10_000_000, bids: #"["59999.00","1.0"]"#))
    feed.receive(Self.trade(9_999_000, price: "60005.00"))
    feed.receive(Self.trade(10_500_000, price: "60005.00"))
    feed.receive(Self.update(10_600_000, bids: #"["59999.00","2.0"]"#))
    feed.wait(15)
    #expect(feed.state(0) == .live)
    feed.receive(Self.trade(11_000_000, price: "60005.00"))
    feed.wait(29)
    feed.receive(Self.trade(40_000_000, price: "60005.00"))
    #expect(feed.state(0) == .live)
    feed.wait(1.5)
    #expect(feed.state(0) == .syncing(.stale))
    #expect(
      feed.sent.filter { !$0.contains("heartbeat") && $0.contains("btcusd") } == [
        #"{"event":"bts:unsubscribe","data":{"channel":"diff_order_book_btcusd"}}"#,
        #"{"event":"bts:subscribe","data":{"channel":"diff_order_book_btcusd"}}"#,
      ])
    // No snapshot says that the channel speaks again. The renewal that was under way is given up after 30 s.
    feed.wait(25)
    #expect(!feed.gets.contains { $0.path.contains("btcusd") })
    feed.receive(#"{"event":"bts:subscription_succeeded","channel":"diff_order_book_btcusd","data":{}}"#)
    feed.wait(6)
    #expect(feed.gets.contains { $0.path.contains("btcusd") })
  }

  @Test("a live book is renewed without leaving sync: after a minute, then each ten")
  func renewal() {
    let feed = Self.live()
    feed.receive(Self.update(1_000_000, bids: #"["59999.00","1.0"]"#))
    feed.wait(55)
    #expect(!feed.gets.contains { $0.path.contains("btcusd") })
    feed.wait(10)
    let request = feed.gets.first { $0.path.contains("btcusd") }!.request
    feed.receive(Self.update(60_000_000, bids: #"["59998.00","1.0"]"#))
    feed.receive(Self.update(62_000_000, bids: #"["59997.00","1.0"]"#))
    // What the gateway never heard of is in it, and what came after it stays.
    feed.respond(
      request, 200,
      Self.snapshot(
        61_000_000, bids: #"["60000.00","1.0"],["59998.00","1.0"],["59990.00","7.0"]"#, asks: #"["60010.00","2.0"]"#))
    #expect(feed.state(0) == .live && feed.resets.isEmpty)
    #expect(book(feed).bids.map(\.price) == [5_999_000, 5_999_700, 5_999_800, 6_000_000])
    let counts = feed.engine.symbolCounts[0]
    #expect(counts.snapshots == 2 && counts.bridged == 1 && counts.dropped == 1)
    feed.receive(Self.update(63_000_000, bids: #"["59997.00","0"]"#))
    #expect(book(feed).bids.count == 3 && feed.state(0) == .live)
    feed.wait(590)
    #expect(!feed.gets.contains { $0.path.contains("btcusd") })
    feed.wait(20)
    #expect(feed.gets.contains { $0.path.contains("btcusd") })
  }

  @Test("a renewal whose snapshot is old, or fails, changes nothing; one whose book is lost meanwhile mends it")
  func renewalFails() {
    let feed = Self.live()
    feed.receive(Self.update(1_000_000, bids: #"["59999.00","1.0"]"#))
    feed.wait(65)
    feed.respond(
      feed.gets.first { $0.path.contains("btcusd") }!.request, 200, Self.snapshot(999_999, bids: "", asks: ""))
    #expect(feed.books.isEmpty && book(feed).bids.count == 2)
    feed.wait(65)
    feed.respond(feed.gets.first { $0.path.contains("btcusd") }!.request, 503, "")
    #expect(feed.state(0) == .live && feed.books.isEmpty)
    feed.wait(65)
    let request = feed.gets.first { $0.path.contains("btcusd") }!.request
    feed.resync(0, .crossed)
    feed.respond(
      request, 200, Self.snapshot(1_000_000, bids: #"["59999.00","1.0"]"#, asks: #"["60010.00","2.0"]"#))
    #expect(feed.books.map(\.kind) == [.snapshot])
    feed.receive(Self.update(2_000_000, bids: #"["59998.00","1.0"]"#))
    #expect(book(feed).bids.map(\.price) == [5_999_800, 5_999_900])
  }

  @Test("a value with more digits than the list said widens what is kept, too")
  func widening() {
    let feed = Self.connected(["BTC-USD"])
    feed.receive(Self.update(0, bids: #"["59990.00","3.0"]"#))
    feed.receive(Self.update(1, bids: #"["59990.125","3.0"]"#))
    feed.wait(3)
    feed.respond(feed.gets[0].request, 200, Self.snapshot(0, bids: #"["59980.0625","3.000000001"]"#, asks: ""))
    #expect(feed.state(0) == .live)
    #expect(book(feed).bids.map(\.price) == [599_800_625, 599_901_250])
    #expect(book(feed).bids.map(\.size) == [3_000_000_001, 3_000_000_000])
  }
}
