import Bytes
import MarketData
import Testing

@testable import Venues

@Suite("Crypto.com's feed")
struct CryptoComDialectTests {
  static let list =
    #"{"id":1,"method":"public/get-instruments","code":0,"result":{"data":[{"symbol":"BTCUSD-PERP","inst_type":"PERPETUAL_SWAP","display_name":"BTCUSD Perpetual","base_ccy":"BTC","quote_ccy":"USD","quote_decimals":2,"quantity_decimals":4,"price_tick_size":"0.5","qty_tick_size":"0.0001","max_leverage":"50","tradable":true,"expiry_timestamp_ms":0,"contract_size":"1","underlying_symbol":"BTCUSD-INDEX"},{"symbol":"ETH_BTC","inst_type":"CCY_PAIR","base_ccy":"ETH","quote_ccy":"BTC","price_tick_size":"0.00001","qty_tick_size":"0.0010","tradable":true},{"symbol":"BTCUSD-261225","inst_type":"FUTURE","base_ccy":"BTC","quote_ccy":"USD","price_tick_size":"0.5","qty_tick_size":"0.0001","tradable":true,"expiry_timestamp_ms":1798185600000},{"symbol":"OLD_USD","inst_type":"CCY_PAIR","base_ccy":"OLD","quote_ccy":"USD","price_tick_size":"0.1","qty_tick_size":"1","tradable":false},{"symbol":"BTCUSD-INDEX","inst_type":"INDEX","base_ccy":"BTC","quote_ccy":"USD"}]}}"#

  static func connected(_ symbols: [String] = ["BTC-USD-PERP", "ETH-BTC"]) -> EngineHarness {
    let feed = EngineHarness(CryptoCom.venue, symbols)
    feed.prepare()
    feed.respond(feed.gets[0].request, 200, list)
    feed.connect()
    feed.wait(1.25)
    return feed
  }

  static func live(isAnswered: @escaping (String) -> Bool = { _ in true }) -> EngineHarness {
    let feed = EngineHarness(CryptoCom.venue, ["BTC-USD-PERP", "ETH-BTC"])
    feed.isAnswered = isAnswered
    feed.prepare()
    feed.respond(feed.gets[0].request, 200, list)
    feed.connect()
    feed.wait(2)
    feed.receive(snapshot(375_554_806_244_928))
    return feed
  }

  static func message(_ channel: String, _ subscription: String, _ data: String, id: Int = -1) -> String {
    let name = subscription.split(separator: ".")[1]
    return
      #"{"id":\#(id),"method":"subscribe","code":0,"result":{"instrument_name":"\#(name)","subscription":"\#(subscription)","channel":"\#(channel)","data":[\#(data)]}}"#
  }

  static func snapshot(
    _ number: Int, bids: String = #"["86235.5","0.0301","2"],["86235.0","1.0000","1"]"#,
    asks: String = #"["86236.0","0.2008","2"]"#
  ) -> String {
    message(
      "book", "book.BTCUSD-PERP.50",
      #"{"asks":[\#(asks)],"bids":[\#(bids)],"t":1790114273395,"tt":1790114273346,"u":\#(number),"cs":-1183713967}"#)
  }

  static func change(_ number: Int, _ previous: Int, bids: String = "", asks: String = "") -> String {
    message(
      "book.update", "book.BTCUSD-PERP.50",
      #"{"update":{"asks":[\#(asks)],"bids":[\#(bids)]},"t":1790114273659,"tt":1790114273655,"u":\#(number),"pu":\#(previous),"cs":1522984915}"#
    )
  }

  static func trade(_ id: String, price: String = "86235.5", time: Int = 1_790_114_274_000) -> String {
    #"{"d":"\#(id)","t":\#(time),"p":"\#(price)","q":"0.0050","s":"SELL","i":"BTCUSD-PERP"}"#
  }

  // MARK: Instruments and subscriptions

  @Test("the list; a second after the connection one request for all channels of several symbols")
  func subscribes() throws {
    let feed = EngineHarness(
      CryptoCom.venue, ["BTC-USD-PERP", "ETH-BTC", "BTC-USD-20261225", "OLD-USD", "BTC-USD"])
    feed.prepare()
    #expect(feed.gets.map(\.path) == ["/exchange/v1/public/get-instruments"])
    feed.respond(feed.gets[0].request, 200, Self.list)
    #expect(feed.failures["OLD-USD"] == "OLD-USD is listed at Crypto.com but not traded")
    #expect(feed.failures["BTC-USD"] != nil && feed.failures.count == 2)
    let instruments = feed.market.instruments.map(\.instrument)
    #expect(instruments.map(\.venueSymbol) == ["BTCUSD-PERP", "ETH_BTC", "BTCUSD-261225"])
    #expect(instruments.map(\.priceScale) == [1, 5, 1] && instruments.map(\.sizeScale) == [4, 4, 4])
    #expect(instruments[1].sizeIncrement == Decimal64(mantissa: 1, scale: 3))
    feed.connect()
    feed.wait(0.75)
    #expect(feed.sent.isEmpty)
    feed.wait(0.5)
    #expect(
      feed.sent.map { $0.prefix { $0 != "}" } } == [
        #"{"id":2,"method":"subscribe","params":{"channels":["book.BTCUSD-PERP.50","trade.BTCUSD-PERP","ticker.BTCUSD-PERP","book.ETH_BTC.50","trade.ETH_BTC","ticker.ETH_BTC","book.BTCUSD-261225.50","trade.BTCUSD-261225","ticker.BTCUSD-261225"],"book_subscription_type":"SNAPSHOT_AND_UPDATE","book_update_frequency":10"#
      ])
  }

  @Test("a request has at most a hundred channels, and four go out in a second")
  func paced() {
    let bases = (0..<120).map { "C\($0)" }
    let rows = bases.map { #"{"symbol":"\#($0)_USD","base_ccy":"\#($0)","quote_ccy":"USD"}"# }
    let feed = EngineHarness(CryptoCom.venue, bases.map { "\($0)-USD" })
    feed.prepare()
    feed.respond(
      feed.gets[0].request, 200, #"{"code":0,"result":{"data":[\#(rows.joined(separator: ","))]}}"#)
    feed.connect()
    var texts: [String] = []
    for _ in 0..<16 {
      feed.wait(0.25)
      #expect(feed.sent.count <= 1)
      texts += feed.sent
    }
    let counts = texts.map { $0.split(separator: ",").count { $0.contains("C") } }
    #expect(counts.allSatisfy { $0 <= 100 } && counts.reduce(0, +) == 360)
  }

  // MARK: The book

  @Test("a snapshot, then changes that name the number before theirs; quotes come from the book")
  func books() throws {
    let feed = Self.live()
    #expect(feed.state(0) == .live && feed.state(1) != .live)
    #expect(feed.market.instruments[0].quote?.bid == 862_355 && feed.market.instruments[0].quote?.bidSize == 301)
    feed.receive(
      Self.change(
        375_554_807_336_512, 375_554_806_244_928, bids: #"["86235.5","0","0"],["86234.5","5.4582","1"]"#,
        asks: #"["86236.0","0.0001","1"]"#))
    #expect(feed.books.map(\.kind) == [.delta] && feed.bids.map(\.size) == [0, 54_582])
    #expect(try #require(feed.books.first).time == Timestamp(milliseconds: 1_790_114_273_659))
    #expect(feed.market.instruments[0].book.bestBid?.price == 862_350)
    #expect(feed.engine.symbolCounts[0].sequenceOK == 1)
  }

  @Test("empty changes of a quiet book name the last number twice, again and again")
  func idle() {
    let feed = Self.live()
    let number = 375_554_806_244_928
    for _ in 0..<5 {
      feed.receive(Self.change(number, number))
      #expect(feed.error == nil && feed.state(0) == .live && feed.resets.isEmpty)
      feed.wait(5)
    }
    feed.receive(Self.change(number + 8_192, number, bids: #"["86234.5","1","1"]"#))
    #expect(feed.state(0) == .live && feed.books.count == 1)
    #expect(feed.sent.isEmpty)
  }

  @Test("a hole, or a number that goes back, costs the book one new subscription", arguments: [8, 6])
  func gap(previous: Int) {
    let feed = Self.live()
    feed.receive(Self.snapshot(5))
    feed.receive(Self.change(7, 5))
    feed.receive(Self.change(9, previous))
    #expect(feed.resets == [.gap] && feed.state(0) == .syncing(.gap))
    #expect(feed.sent.count == 1 && feed.sent[0].contains(#""method":"unsubscribe""#))
    feed.wait(0.5)
    #expect(
      feed.sent.count == 1 && feed.sent[0].contains(#""subscribe","params":{"channels":["book.BTCUSD-PERP.50"],"#))
    feed.receive(Self.snapshot(20))
    #expect(feed.state(0) == .live)
  }

  @Test("the channel may stand behind the data, and other channels are nothing")
  func shapes() {
    let feed = Self.live()
    feed.receive(
      #"{"code":0,"result":{"data":[{"cs":1,"u":7,"asks":[["86237.0","1","1"]],"bids":[],"t":1}],"depth":50,"channel":"book","instrument_name":"BTCUSD-PERP"},"method":"subscribe","id":-1}"#
    )
    #expect(feed.error == nil && feed.books.map(\.kind) == [.snapshot])
    #expect(feed.market.instruments[0].book.bestAsk?.price == 862_370)
    feed.receive(Self.message("mark", "mark.BTCUSD-PERP", #"{"v":"86176.3","t":1790114562000}"#))
    #expect(feed.error == nil && feed.events.isEmpty && feed.engine.counts.ignored == 1)
  }

  @Test(
    "a book message that cannot be read costs itself and its own book",
    arguments: [
      change(2, 1, bids: #"["86235.5","0.-1","1"]"#), change(2, 1, bids: #"["86235.5","-1","1"]"#),
      change(2, 1, bids: #"["-1","1","1"]"#), change(2, 1, bids: #"["86235.5"]"#),
      message("book.update", "book.BTCUSD-PERP.50", #"{"update":{"asks":[],"bids":[]},"t":1,"u":2}"#),
      message("book.update", "book.BTCUSD-PERP.50", #"{"update":{"asks":[],"bids":[]},"t":1,"pu":2}"#),
      #"{"id":-1,"method":"subscribe","code":0,"result":{"instrument_name":"BTCUSD-PERP","subscription":"book.BTCUSD-PERP.50","channel":"book.upd"#,
    ])
  func malformed(_ text: String) {
    let feed = Self.live()
    feed.receive(text)
    #expect(feed.error != nil && feed.resets == [.malformed] && feed.state(0) == .syncing(.malformed))
  }

  // MARK: Trades and figures

  @Test("trades come the newest first; trades of one match may have the same number")
  func trades() throws {
    let feed = Self.live()
    feed.receive(
      Self.message(
        "trade", "trade.BTCUSD-PERP",
        [
          Self.trade("4611686018471467094", price: "86236.0", time: 1_790_114_274_001),
          Self.trade("4611686018471467093", price: "86235.5"), Self.trade("4611686018471467093", price: "86235.0"),
        ].joined(separator: ",")))
    #expect(feed.trades.map(\.price) == [862_350, 862_355, 862_360])
    let first = try #require(feed.trades.first)
    #expect(first.side == .sell && first.size == 50 && first.id.text == "4611686018471467093")
    #expect(first.time == Timestamp(milliseconds: 1_790_114_274_000))
    feed.receive(
      Self.message("trade", "trade.BTCUSD-PERP", #"{"d":"1","t":1,"p":"1","q":"1","s":"BOTH"}"#))
    #expect(feed.error != nil && feed.trades.isEmpty && feed.state(0) == .live)
  }

  @Test("24 h figures: the change is a fraction, the turnover in US dollars whatever the quote is; null is none")
  func ticker() throws {
    let feed = Self.live()
    feed.receive(
      Self.message(
        "ticker", "ticker.BTCUSD-PERP",
        #"{"h":"87000.5","l":"85000.0","a":"86235.5","c":"-0.0144","b":"86235.5","bs":"25","k":null,"ks":null,"i":"BTCUSD-PERP","v":"123899","vv":"580747.59","oi":"55851","t":1667320303754}"#
      ))
    let ticker = try #require(feed.tickers.first)
    #expect(ticker.last == 862_355 && ticker.high == 870_005 && ticker.bid == 862_355 && ticker.ask == nil)
    #expect(ticker.changePercent?.trimmed == Decimal64(mantissa: -144, scale: 2))
    #expect(ticker.quoteVolume == Decimal64(mantissa: 58_074_759, scale: 2))
    #expect(ticker.time == Timestamp(milliseconds: 1_667_320_303_754))
    feed.receive(Self.message("ticker", "ticker.ETH_BTC", #"{"a":"0.03","v":"100","vv":"258000","i":"ETH_BTC","t":1}"#))
    #expect(
      feed.tickers.map(\.quoteVolume) == [nil] && feed.tickers.map(\.volume) == [Decimal64(mantissa: 100, scale: 0)])
  }

  @Test("volumes are made of those in base units")
  func volumes() throws {
    var volumes = MarketVolumes()
    let body =
      #"{"code":0,"result":{"data":[{"i":"ETH_BTC","a":"0.03","v":"100","vv":"258000"},{"i":"X_USD","a":null,"v":"1"}]}}"#
    try CryptoCom.volumes.read(Array(body.utf8).span.bytes, &volumes)
    #expect(volumes.byName.mapValues(\.trimmed) == ["ETH_BTC": Decimal64(mantissa: 3, scale: 0)])
    #expect(throws: FeedError.self) {
      try CryptoCom.volumes.read(Array(#"{"code":40004,"message":"x"}"#.utf8).span.bytes, &volumes)
    }
  }

  // MARK: Answers

  @Test("a heartbeat is answered at once with its number")
  func heartbeats() {
    let feed = Self.live()
    feed.receive(#"{"id":1790114291578,"method":"public/heartbeat","code":0}"#)
    #expect(feed.isHeartbeat && feed.sent == [#"{"id":1790114291578,"method":"public/respond-heartbeat"}"#])
    feed.receive(#"{"method":"public/heartbeat","code":0}"#)
    #expect(feed.error != nil && feed.sent.isEmpty)
  }

  @Test("a ticker with the number of its request stands for its trades, too; then nothing is asked for again")
  func acknowledgements() {
    let feed = Self.live { _ in false }
    for name in ["BTCUSD-PERP", "ETH_BTC"] {
      feed.receive(#"{"id":2,"method":"subscribe","code":0,"channel":"book.\#(name).50"}"#)
      feed.receive(Self.message("ticker", "ticker.\(name)", #"{"a":"1","t":1}"#, id: 2))
    }
    feed.wait(8)
    #expect(!feed.sent.contains { $0.contains("trade") || $0.contains("ticker") })
    let other = Self.live { _ in false }
    other.receive(#"{"id":2,"method":"subscribe","code":0}"#)
    other.wait(8)
    #expect(!other.sent.contains { $0.contains("trade") }, "one answer for all of the request")
    let unheard = Self.live { _ in false }
    unheard.wait(30)
    #expect(unheard.sent.contains { $0.contains("trade") })
  }

  @Test("a refusal costs its channel; too many of them are no word about the symbol")
  func refusals() {
    let feed = Self.live { _ in false }
    feed.receive(
      #"{"id":2,"method":"subscribe","code":40003,"channel":"book.ETH_BTC.50","message":"Unknown symbol"}"#)
    #expect(feed.failures == ["ETH-BTC": "Unknown symbol"] && feed.state(0) == .live)
    let many = Self.live { _ in false }
    many.receive(#"{"id":2,"method":"subscribe","code":40107,"message":"Maximum subscriptions exceeded"}"#)
    #expect(many.failures.isEmpty && many.error?.kind == .refused)
    many.wait(9)
    #expect(many.sent.isEmpty)
    many.wait(2)
    #expect(many.sent.count == 1)
    let fast = Self.live { _ in false }
    fast.receive(#"{"id":2,"method":"subscribe","code":42901,"message":"TOO_MANY_REQUESTS"}"#)
    #expect(fast.failures.isEmpty && fast.error?.kind == .refused)
    fast.receive(#"{"id":9,"method":"unsubscribe","code":0}"#)
    #expect(fast.error == nil)
  }
}
