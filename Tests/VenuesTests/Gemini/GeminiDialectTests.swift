import Bytes
import MarketData
import Testing

@testable import Venues

@Suite("Gemini")
struct GeminiDialectTests {
  static let names = #"["btcusd","ethusd","btcgusdperp","BTCGUSD","ethbtcperp","oldusd","abcdusd"]"#

  static func details(
    _ base: String, _ quote: String, price: String = "0.01", size: String = "1E-8", status: String = "open",
    contract: String = "vanilla"
  ) -> String {
    #"{"symbol":"\#(base)\#(quote)","base_currency":"\#(base)","quote_currency":"\#(quote)","tick_size":\#(size),"quote_increment":\#(price),"min_order_size":"0.00001","status":"\#(status)","wrap_enabled":false,"contract_type":"\#(contract)"}"#
  }

  static func book(_ first: Int, _ last: Int, bids: String = "", asks: String = "", symbol: String = "btcusd") -> String
  {
    #"{"e":"depthUpdate","E":1789456740173524809,"s":"\#(symbol)","U":\#(first),"u":\#(last),"b":[\#(bids)],"a":[\#(asks)]}"#
  }

  static func listed(_ symbols: [String]) -> EngineHarness {
    let feed = EngineHarness(Gemini.venue, symbols)
    feed.prepare()
    feed.respond(feed.gets[0].request, 200, names)
    return feed
  }

  /// The first market with its details, connected and live at 100.
  static func live(_ symbols: [String] = ["BTC-USD", "ETH-USD"]) -> EngineHarness {
    let feed = listed(symbols)
    for get in feed.gets {
      feed.respond(get.request, 200, details(get.path.hasSuffix("btcusd") ? "BTC" : "ETH", "USD"))
    }
    feed.connect()
    feed.receive(
      book(
        100, 100, bids: #"["80688.10","0.59100000"],["80688.00","1.5"]"#, asks: #"["80691.50","0.20000000"]"#))
    return feed
  }

  @Test("the names first, details behind them, and a request for each market")
  func subscribes() {
    let feed = EngineHarness(Gemini.venue, ["BTC-USD", "ETH-USD", "BTC-UDS"])
    feed.prepare()
    #expect(feed.gets.map(\.path) == ["/v1/symbols"] && !feed.engine.isPrepared)
    feed.respond(feed.gets[0].request, 200, Self.names)
    #expect(feed.engine.isPrepared, "spot markets need not wait for their increments")
    #expect(feed.failures["BTC-UDS"]?.contains("did you mean btcusd") == true)
    #expect(feed.gets.map(\.path) == ["/v1/symbols/details/btcusd", "/v1/symbols/details/ethusd"])
    let gets = feed.gets
    feed.connect()
    #expect(
      feed.sent == [
        #"{"id":2,"method":"subscribe","params":["btcusd@depth@100ms","btcusd@trade","btcusd@bookTicker"]}"#,
        #"{"id":3,"method":"subscribe","params":["ethusd@depth@100ms","ethusd@trade","ethusd@bookTicker"]}"#,
      ])
    feed.respond(gets[0].request, 200, Self.details("BTC", "USD"))
    let instrument = feed.market.instruments[0].instrument
    #expect(instrument.symbol == "gemini:BTC-USD" && instrument.venueSymbol == "btcusd")
    #expect(instrument.priceIncrement == Decimal64(mantissa: 1, scale: 2) && instrument.priceScale == 2)
    #expect(instrument.sizeIncrement == Decimal64(mantissa: 1, scale: 8) && instrument.sizeScale == 8)
    feed.respond(gets[1].request, 503, "busy")
    feed.wait(0.75)
    #expect(feed.gets.isEmpty)
    feed.wait(0.5)
    #expect(feed.gets.map(\.path).first == "/v1/symbols/details/ethusd")
  }

  @Test("names are taken apart by the longest quote currency, for listings and selections; a rank is refused")
  func takesNamesApart() {
    #expect(GeminiName.symbol("btcgusdperp") == FeedSymbol(base: "BTC", quote: "GUSD", kind: .perpetual))
    #expect(GeminiName.symbol("BTCRLUSD")?.text == "BTC-RLUSD" && GeminiName.symbol("zecltc")?.text == "ZEC-LTC")
    #expect(GeminiName.symbol("abcdusd", quote: "dusd")?.text == "ABC-DUSD")
    #expect(GeminiName.symbol("usd") == nil && GeminiName.symbol("btcxyz") == nil)
    let engine = Gemini.venue.makeEngine(
      FeedConfiguration(symbols: ["ET*-USD", "*-USD:top5"], listing: .markets))
    var batch = EventBatch()
    let now = Timestamp(microseconds: 1_700_000_000_000_000)
    engine.prepare(now: now, into: &batch)
    guard case .get(let request, _, _)? = engine.actions.first else {
      Issue.record("nothing was asked for")
      return
    }
    engine.response(to: request, status: 200, body: Array(Self.names.utf8).span.bytes, now: now, into: &batch)
    #expect(batch.instruments.map(\.symbol) == ["gemini:ETH-USD"])
    #expect(engine.listing.map(\.symbol.text).prefix(3) == ["BTC-USD", "ETH-USD", "BTC-GUSD-PERP"])
    let refusals = engine.actions.compactMap {
      if case .symbolFailed(let text, let why) = $0 { (text, why) } else { nil }
    }
    #expect(refusals.map(\.0) == ["*-USD:top5"] && refusals.first?.1.contains("leave :top out") == true)
  }

  /// The two markets that show that the venue speaks, where none of them is followed for its own sake.
  private static func isCanary(_ text: String) -> Bool {
    text.contains(#"["btcusd@bookTicker"]"#) || text.contains(#"["ethusd@bookTicker"]"#)
  }

  @Test("a perpetual waits for its details, and is subscribed when they are there; inverse ones are refused")
  func perpetuals() {
    let feed = Self.listed(["BTC-GUSD-PERP", "ETH-BTC-PERP"])
    let gets = feed.gets
    #expect(gets.map(\.path) == ["/v1/symbols/details/btcgusdperp", "/v1/symbols/details/ethbtcperp"])
    feed.connect()
    #expect(feed.sent.allSatisfy { Self.isCanary($0) } && feed.market.instruments.isEmpty)
    feed.now = feed.now + 500_000
    feed.respond(gets[0].request, 200, Self.details("BTC", "GUSD", contract: "linear"))
    #expect(feed.market.instruments.map(\.instrument.symbol) == ["gemini:BTC-GUSD-PERP"])
    #expect(feed.sent.count == 1 && feed.sent[0].contains("btcgusdperp@depth@100ms"))
    feed.respond(gets[1].request, 200, Self.details("ETH", "BTC", contract: "inverse"))
    #expect(feed.failures["ETH-BTC-PERP"]?.contains("inverse") == true && feed.sent.isEmpty)
  }

  @Test("what the details contradict is taken back and refused for good; what was closed may open")
  func contradictions() {
    let feed = Self.listed(["ABC-DUSD", "OLD-USD", "ABCD-USD"])
    #expect(feed.failures["ABCD-USD"]?.contains("followed as ABC-DUSD") == true)
    let gets = feed.gets
    feed.connect()
    feed.receive(Self.book(5, 5, bids: #"["1.00","1"]"#, symbol: "abcdusd"))
    #expect(feed.state(0) == .live)
    feed.now = feed.now + 250_000
    feed.respond(gets[0].request, 200, Self.details("ABCD", "USD"))
    #expect(feed.failures["ABC-DUSD"] == "Gemini's abcdusd is ABCD-USD, not ABC-DUSD")
    #expect(feed.state(0) == .syncing(.venueReset))
    feed.receive(#"{"E":1783981140085684200,"s":"abcdusd","t":1,"p":"1","q":"1","m":false}"#)
    feed.receive(#"{"u":7,"E":1783981140076872200,"s":"abcdusd","b":"1","B":"1","a":"2","A":"1"}"#)
    #expect(feed.events.isEmpty && feed.error == nil)
    feed.respond(gets[1].request, 200, Self.details("OLD", "USD", status: "closed"))
    #expect(feed.failures["OLD-USD"]?.contains("closed") == true)
    feed.wait(0.25)
    #expect(feed.sent.count { $0.contains("unsubscribe") } == 2)
    feed.disconnect()
    feed.now = feed.now + 6 * Microseconds.hour
    feed.prepare()
    feed.respond(feed.gets[0].request, 200, Self.names)
    #expect(feed.gets.map(\.path) == ["/v1/symbols/details/abcdusd", "/v1/symbols/details/oldusd"])
    let again = feed.gets
    feed.connect()
    #expect(feed.sent.allSatisfy { Self.isCanary($0) })
    feed.now = feed.now + 250_000
    feed.respond(again[1].request, 200, Self.details("OLD", "USD"))
    let sent = feed.sent
    feed.wait(0.25)
    #expect((sent + feed.sent).count == 1 && sent.first?.contains("oldusd@depth@100ms") == true)
  }

  @Test("an endpoint that does not ask for whole books is refused in plain words")
  func endpointWithoutSnapshots() {
    let engine = Gemini.venue.makeEngine(
      FeedConfiguration(symbols: ["BTC-USD"], endpoint: "wss://ws.gemini.com/other"))
    var batch = EventBatch()
    let now = Timestamp(microseconds: 1_700_000_000_000_000)
    engine.prepare(now: now, into: &batch)
    guard case .get(let request, _, _)? = engine.actions.first else {
      Issue.record("nothing was asked for")
      return
    }
    engine.actions.removeAll()
    engine.response(to: request, status: 200, body: Array(Self.names.utf8).span.bytes, now: now, into: &batch)
    engine.actions.removeAll()
    engine.connected(now: now, into: &batch)
    guard case .symbolFailed(let symbol, let reason)? = engine.actions.first else {
      Issue.record("nothing was refused")
      return
    }
    #expect(symbol == "BTC-USD" && reason.contains("wss://ws.gemini.com/?snapshot=-1") && engine.actions.count == 1)
    // One without a path gets the venue's own.
    let connection = Gemini.venue.connections(
      for: FeedConfiguration(symbols: ["BTC-USD"], endpoint: "wss://localhost:9443"))[0]
    #expect(connection.configuration.endpoint == "wss://localhost:9443/?snapshot=-1")
  }

  @Test("350 markets: subscriptions 25 at a time, REST within a request a second")
  func many() {
    let bases = (0..<350).map { "C\($0)" }
    let feed = EngineHarness(Gemini.venue, bases.map { "\($0)-USD" })
    #expect(feed.engine.venue.symbolLimit == 350)
    feed.prepare()
    feed.respond(
      feed.gets[0].request, 200, "[" + bases.map { "\"\($0.lowercased())usd\"" }.joined(separator: ",") + "]")
    #expect(feed.gets.count == 2, "two at a time")
    var waiting = feed.gets
    feed.connect()
    #expect(feed.sent.count == 25)
    var sent = feed.sent.count
    var asked = 1 + waiting.count
    var firstMinute = 0
    for tick in 0..<480 {
      feed.wait(0.25)
      sent += feed.sent.count
      #expect(feed.sent.count { !$0.contains("ping") } <= 25)
      waiting += feed.gets
      asked += feed.gets.count
      for get in waiting {
        let base = String(get.path.split(separator: "/").last!.dropLast(3)).uppercased()
        feed.respond(get.request, 200, Self.details(base, "USD"))
        asked += feed.gets.count
        waiting = feed.gets
      }
      if tick == 239 { firstMinute = asked }
    }
    #expect(sent >= 350)
    #expect(firstMinute <= 60 && asked - firstMinute <= 60 && asked >= 110)
  }

  @Test("the first message, with U = u, is the book; each further one overlaps the one before by one")
  func book() throws {
    let feed = Self.live()
    #expect(feed.state(0) == .live && feed.books.map(\.kind) == [.snapshot])
    #expect(feed.books[0].time == Timestamp(microseconds: 1_789_456_740_173_524))
    feed.receive(
      Self.book(
        100, 117, bids: #"["80688.10","0.000"],["80687.00","2"]"#, asks: #"["80691.40","0.3"],["80691.40","0.4"]"#))
    let state = feed.market.instruments[0]
    #expect(state.book.bestBid == PriceLevel(price: 8_068_800, size: 150_000_000))
    #expect(state.book.bestAsk == PriceLevel(price: 8_069_140, size: 40_000_000))
    feed.receive(Self.book(117, 150, bids: #"["1.00","0"]"#))
    #expect(feed.state(0) == .live && state.book.unknownDeletes == 1)
    // Binance's rule would begin one later; so many numbers may be one message's that it begins before.
    feed.receive(Self.book(149, 151, asks: #"["80691.40","0"]"#))
    #expect(feed.state(0) == .live)
    let counts = feed.engine.symbolCounts[0]
    #expect(counts.snapshots == 1 && counts.deltas == 3 && counts.sequenceOK == 3 && counts.gaps == 0)
    feed.receive(Self.book(149, 151, asks: #"["80691.40","0"]"#))
    #expect(feed.books.isEmpty && feed.resets.isEmpty, "the last one again")
    feed.receive(Self.book(200, 200, symbol: "ethusd"))
    #expect(feed.state(1) == .live && feed.market.instruments[1].book.isEmpty, "a book may be empty")
  }

  @Test("a hole takes the book out of sync once; what is still on its way is not taken for the new snapshot")
  func gap() {
    let feed = Self.live()
    feed.wait(1)
    feed.receive(Self.book(101, 120, bids: #"["80680.00","1"]"#))
    #expect(feed.resets == [.gap] && feed.books.isEmpty && feed.state(0) == .syncing(.gap))
    #expect(
      feed.sent == [
        #"{"id":4,"method":"unsubscribe","params":["btcusd@depth@100ms"]}"#,
        #"{"id":5,"method":"subscribe","params":["btcusd@depth@100ms"]}"#,
      ])
    feed.receive(Self.book(120, 130, bids: #"["80680.00","2"]"#))
    feed.receive(#"{"id":4,"status":200}"#)
    #expect(feed.books.isEmpty && feed.sent.isEmpty && feed.error == nil)
    feed.receive(Self.book(140, 140, bids: #"["80680.00","3"]"#))
    #expect(feed.state(0) == .live && feed.market.instruments[0].book.bids.count == 1)
    // One that goes back is no old news: the numbering may have begun anew.
    feed.receive(Self.book(90, 95, bids: #"["80680.00","9"]"#))
    #expect(feed.resets == [.gap] && feed.sent.isEmpty, "the second time it waits")
    feed.wait(1.25)
    #expect(feed.sent.count == 2)
    #expect(feed.engine.symbolCounts[0].gaps == 2)
  }

  @Test("quotes: a side without orders is an empty text; a message with neither is passed over")
  func quotes() {
    let feed = Self.live()
    feed.receive(
      #"{"u":1764549594389752,"E":1783981140076872200,"s":"btcusd","b":"80688.10000","B":"958.69148000","a":"80691.50000","A":"38.39060000","c":"80690.00000","C":"4.71027100"}"#
    )
    #expect(
      feed.quotes == [
        Quote(
          instrument: InstrumentID(0), bid: 8_068_810, bidSize: 95_869_148_000, ask: 8_069_150, askSize: 3_839_060_000,
          time: Timestamp(microseconds: 1_783_981_140_076_872))
      ])
    feed.receive(#"{"u":1764549594389753,"E":1783981140076872200,"s":"btcusd","b":"80688.1","B":"1","a":"","A":""}"#)
    #expect(feed.quotes.map(\.bid) == [8_068_810] && feed.quotes.map(\.askSize) == [0])
    feed.receive(#"{"u":1764549594389752,"E":1784870400000000000,"s":"btcusd"}"#)
    #expect(feed.error == nil && feed.events.isEmpty && feed.engine.counts.ignored == 1)
  }

  @Test("trades: the buyer was there first, so the taker sold; ids of any length")
  func trades() {
    let feed = Self.live()
    feed.receive(
      #"{"E":1783981140085684200,"s":"btcusd","t":2840141014190422,"p":"62145.38000","q":"0.0162522230","m":true}"#)
    #expect(feed.trades.map(\.side) == [.sell] && feed.trades.map(\.id.text) == ["2840141014190422"])
    #expect(feed.trades[0].price == 6_214_538 && feed.trades[0].time == Timestamp(microseconds: 1_783_981_140_085_684))
    #expect(feed.trades[0].size == 16_252_223, "a digit more than the increment has")
    #expect(feed.market.instruments[0].instrument.sizeScale == 9)
    feed.receive(#"{"E":1783981140085684200,"s":"btcusd","t":28401410141904221234,"p":"1","q":"1","m":false}"#)
    #expect(feed.trades.map(\.side) == [.buy] && feed.trades.map(\.id.text) == ["28401410141904221234"])
    feed.receive(#"{"E":1783981140085684200,"s":"btcusd","t":1,"p":"1","q":"1"}"#)
    #expect(feed.error?.detail == "trade without field m")
    #expect(feed.engine.symbolCounts[0].trades == 2)
  }

  @Test("24 h figures by REST, in turn, from two requests")
  func tickers() throws {
    let feed = Self.live(["BTC-USD"])
    feed.wait(1.25)
    #expect(feed.gets.map(\.path) == ["/v2/ticker/btcusd"])
    feed.respond(
      feed.gets[0].request, 200,
      #"{"symbol":"BTCUSD","open":"9121.76","high":"9440.66","low":"9106.51","close":"9347.66","changes":["9365.1","9386.16"],"bid":"9345.70","ask":"9347.67"}"#
    )
    var ticker = try #require(feed.tickers.first)
    #expect(ticker.open == 912_176 && ticker.high == 944_066 && ticker.low == 910_651 && ticker.last == 934_766)
    #expect(ticker.bid == 934_570 && ticker.volume == nil)
    feed.wait(15)
    #expect(feed.gets.map(\.path) == ["/v1/pubticker/btcusd"])
    feed.respond(
      feed.gets[0].request, 200,
      #"{"ask":"977.59","bid":"977.35","last":"977.65","volume":{"BTC":"2210.505328803","USD":"2135477.463379586263","timestamp":1483018200000}}"#
    )
    ticker = try #require(feed.tickers.first)
    #expect(ticker.volume == Decimal64(mantissa: 2_210_505_328_803, scale: 9))
    #expect(ticker.quoteVolume == Decimal64(mantissa: 2_135_477_463_379_586_263, scale: 12))
    #expect(ticker.last == 97_765 && ticker.open == 912_176)
    feed.wait(15)
    #expect(feed.gets.map(\.path) == ["/v2/ticker/btcusd"])
    // Too often: everything pauses for a minute.
    feed.respond(feed.gets[0].request, 429, "slow down")
    feed.wait(59)
    #expect(feed.gets.isEmpty)
    feed.wait(1.5)
    #expect(feed.gets.count == 2)
  }

  @Test("a refusal costs its market; of a quote's or trade's stream only that")
  func refusals() {
    let feed = Self.listed(["BTC-USD", "ETH-USD"])
    feed.connect()
    feed.receive(#"{"id":2,"status":400,"error":{"code":-1013,"msg":"Invalid stream name: btcusd@depth@100ms"}}"#)
    #expect(feed.failures == ["BTC-USD": "Invalid stream name: btcusd@depth@100ms"] && feed.sent.isEmpty)
    feed.now = feed.now + 250_000
    feed.receive(#"{"id":3,"status":400,"error":{"code":-1013,"msg":"Invalid stream name: ethusd@bookTicker"}}"#)
    #expect(feed.failures.isEmpty && feed.error?.kind == .refused)
    #expect(feed.sent == [#"{"id":4,"method":"subscribe","params":["ethusd@depth@100ms","ethusd@trade"]}"#])
    feed.receive(Self.book(7, 7, symbol: "ethusd"))
    feed.receive(#"{"id":4,"status":200}"#)
    #expect(feed.state(1) == .live)
    feed.wait(11)
    #expect(!feed.sent.contains { $0.contains("btcusd") }, "what is refused is not asked for again")
    feed.receive(#"{"id":12,"status":400,"error":{"code":-1020,"msg":"Unsupported operation"}}"#)
    #expect(feed.error?.detail == "request: Unsupported operation" && feed.state(1) == .live)
  }

  @Test("too many requests: the same again after a pause")
  func rateLimit() {
    let feed = Self.listed(["BTC-USD"])
    feed.connect()
    feed.receive(#"{"id":2,"status":429,"error":{"code":-1003,"msg":"Too many requests"}}"#)
    #expect(feed.error?.kind == .refused && feed.failures.isEmpty)
    feed.wait(9.5)
    #expect(feed.sent.isEmpty)
    feed.wait(0.75)
    #expect(
      feed.sent.first
        == #"{"id":3,"method":"subscribe","params":["btcusd@depth@100ms","btcusd@trade","btcusd@bookTicker"]}"#)
  }

  @Test("after silence a ping, whose answer is life")
  func pings() {
    let feed = Self.live(["BTC-USD"])
    feed.wait(14.5)
    #expect(!feed.sent.contains { $0.contains("ping") })
    feed.wait(0.75)
    #expect(feed.sent == [#"{"id":3,"method":"ping"}"#])
    feed.receive(#"{"id":3,"status":200}"#)
    #expect(feed.isHeartbeat)
    feed.wait(14)
    #expect(feed.sent.isEmpty)
  }

  @Test("an unreadable update resets its book; other kinds are counted, other symbols refused")
  func others() {
    let feed = Self.live()
    feed.receive(
      #"{"e":"contractStatus","E":1784870400000,"s":"gemi-btc15m2607241200-hi100000","k":"btc15m2607241200","c":"HI100000","i":134794,"o":"Awaiting Approval","n":"Approved"}"#
    )
    feed.receive(#"{"lastUpdateId":5,"symbol":"btcusd","bids":[["1","1"]],"asks":[]}"#)
    #expect(feed.error == nil && feed.engine.counts.ignored == 2)
    feed.receive(Self.book(1, 1, symbol: "solusd"))
    #expect(feed.error?.kind == .unknownSymbol && feed.resets.isEmpty)
    feed.receive(String(Self.book(100, 101, bids: #"["80688.10","1"]"#).dropLast(9)))
    #expect(feed.error?.kind == .json && feed.resets == [.malformed] && feed.state(0) == .syncing(.malformed))
    feed.receive(#"{"e":"depthUpdate","E":1,"s":"ethusd","U":1,"b":[],"a":[]}"#)
    #expect(feed.error?.detail == "depthUpdate without field u")
    feed.receive("7")
    #expect(feed.error != nil)
  }
}
