import Bytes
import MarketData
import Testing

@testable import Venues

@Suite("Kraken Futures' feed")
struct KrakenFuturesDialectTests {
  static let list =
    #"{"result":"success","instruments":[{"symbol":"PI_XBTUSD","type":"futures_inverse","tickSize":0.5,"contractSize":1,"tradeable":true,"contractValueTradePrecision":0,"base":"BTC","quote":"USD"},{"symbol":"pf_xbtusd","type":"flexible_futures","tickSize":0.5,"contractSize":1,"tradeable":true,"contractValueTradePrecision":4},{"symbol":"PF_ETHUSD","type":"flexible_futures","tickSize":0.1,"contractSize":1,"tradeable":true,"contractValueTradePrecision":3,"base":"ETH","quote":"USD","pair":"ETH:USD"},{"symbol":"FF_XBTUSD_261225","type":"flexible_futures","tickSize":1,"contractSize":1,"tradeable":true,"contractValueTradePrecision":4,"base":"BTC","quote":"USD"},{"symbol":"PF_PEPEUSD","type":"flexible_futures","tickSize":1e-10,"contractSize":1,"tradeable":true,"contractValueTradePrecision":-3,"base":"PEPE","quote":"USD"},{"symbol":"PF_AAPLxUSD","type":"flexible_futures","tickSize":0.01,"contractSize":1,"tradeable":false,"contractValueTradePrecision":2,"base":"AAPLx","quote":"USD"},{"symbol":"in_xbtusd","type":"spot index","tradeable":false},{"symbol":"FF_XBTUSD_261399","type":"flexible_futures","tradeable":true}]}"#

  static func connected(_ symbols: [String] = ["BTC-USD-PERP", "ETH-USD-PERP"]) -> EngineHarness {
    let feed = EngineHarness(KrakenFutures.venue, symbols)
    feed.prepare()
    feed.respond(feed.gets[0].request, 200, list)
    feed.connect()
    feed.receive(#"{"event":"info","version":1}"#)
    return feed
  }

  static func live() -> EngineHarness {
    let feed = connected()
    // One request follows the answer to the one before.
    feed.wait(5)
    feed.receive(snapshot(100))
    return feed
  }

  /// Live, while the request for the other market's book awaits its answer.
  static func waiting() -> EngineHarness {
    let feed = connected()
    feed.isAnswered = { !$0.contains("PF_ETHUSD") || !$0.contains(#""book""#) }
    var sent = feed.sent
    for _ in 0..<8 where !sent.contains(where: { $0.contains("PF_ETHUSD") && $0.contains(#""book""#) }) {
      feed.wait(0.25)
      sent = feed.sent
    }
    feed.receive(snapshot(100))
    return feed
  }

  static func snapshot(
    _ number: Int, bids: String = #"{"price":439.5,"qty":2.5},{"price":439.0,"qty":1.0}"#,
    asks: String = #"{"price":440.0,"qty":3.0}"#
  ) -> String {
    #"{"feed":"book_snapshot","product_id":"PF_XBTUSD","timestamp":1783587648112,"seq":\#(number),"tickSize":null,"bids":[\#(bids)],"asks":[\#(asks)]}"#
  }

  static func change(_ number: Int, _ side: String, _ price: String, _ size: String) -> String {
    #"{"feed":"book","product_id":"PF_XBTUSD","side":"\#(side)","seq":\#(number),"price":\#(price),"qty":\#(size),"timestamp":1783587649744}"#
  }

  static func trade(
    _ number: Int, _ more: String = #""side":"buy","type":"fill""#, time: Int = 1_783_587_649_946
  ) -> String {
    #"{"feed":"trade","product_id":"PF_XBTUSD","uid":"e2429e31-8b9d-4195-900e-\#(number)",\#(more),"seq":\#(number),"time":\#(time),"qty":0.32,"price":439.5}"#
  }

  // MARK: Instruments and subscriptions

  @Test("the list: linear contracts alone, with their steps; then a request for each topic, books first")
  func subscribes() throws {
    let feed = EngineHarness(
      KrakenFutures.venue,
      ["BTC-USD-PERP", "BTC-USD-20261225", "PEPE-USD-PERP", "AAPLx-USD-PERP", "ETH-USD", "XBT-USD-PERP"])
    feed.prepare()
    #expect(feed.gets.map(\.path) == ["/derivatives/api/v3/instruments"] && !feed.engine.isPrepared)
    feed.respond(feed.gets[0].request, 200, Self.list)
    #expect(feed.engine.isPrepared)
    #expect(feed.failures["AAPLx-USD-PERP"] == "AAPLx-USD-PERP is listed at Kraken Futures but not traded")
    #expect(feed.failures["ETH-USD"] != nil && feed.failures["XBT-USD-PERP"] != nil && feed.failures.count == 3)
    let instruments = feed.market.instruments.map(\.instrument)
    #expect(instruments.map(\.venueSymbol) == ["PF_XBTUSD", "FF_XBTUSD_261225", "PF_PEPEUSD"])
    #expect(instruments.map(\.priceScale) == [1, 0, 10] && instruments.map(\.sizeScale) == [4, 4, 0])
    #expect(instruments[2].sizeIncrement == Decimal64(mantissa: 1_000, scale: 0))
    #expect(instruments[0].priceIncrement == Decimal64(mantissa: 5, scale: 1))
    #expect(instruments[1].kind == .future(expiry: "20261225"))
    feed.isAnswered = { _ in false }
    feed.connect()
    var sent = feed.sent
    #expect(sent.count == 1, "one at a time")
    feed.wait(1)
    #expect(feed.sent.isEmpty, "nothing else before the answer")
    feed.receive(#"{"event":"subscribed","feed":"book","product_ids":["PF_XBTUSD"]}"#)
    sent += feed.sent
    feed.isAnswered = { _ in true }
    for _ in 0..<40 {
      feed.wait(0.25)
      sent += feed.sent
    }
    #expect(
      sent.prefix(4) == [
        #"{"event":"subscribe","feed":"book","product_ids":["PF_XBTUSD"]}"#,
        #"{"event":"subscribe","feed":"book","product_ids":["FF_XBTUSD_261225"]}"#,
        #"{"event":"subscribe","feed":"book","product_ids":["PF_PEPEUSD"]}"#,
        #"{"event":"subscribe","feed":"trade","product_ids":["PF_XBTUSD"]}"#,
      ])
  }

  @Test("a hundred symbols are subscribed within the venue's pace")
  func paced() {
    let bases = (0..<100).map { "C\($0)" }
    let rows = bases.map { #"{"symbol":"PF_\#($0)USD","type":"flexible_futures","tickSize":0.1}"# }
    let feed = EngineHarness(KrakenFutures.venue, bases.map { "\($0)-USD-PERP" })
    feed.prepare()
    feed.respond(
      feed.gets[0].request, 200, #"{"result":"success","instruments":[\#(rows.joined(separator: ","))]}"#)
    feed.connect()
    feed.isAnswered = { _ in true }
    var counts = [feed.sent.count]
    for _ in 0..<400 {
      feed.wait(0.25)
      counts.append(feed.sent.count)
    }
    #expect(counts.allSatisfy { $0 <= 10 } && counts.reduce(0, +) >= 300)
  }

  // MARK: The book

  @Test("a snapshot, then a level a message, numbered by one; quotes come from the book")
  func books() throws {
    let feed = Self.live()
    #expect(feed.state(0) == .live && feed.state(1) != .live)
    #expect(feed.market.instruments[0].quote?.bid == 4_395 && feed.market.instruments[0].quote?.bidSize == 25_000)
    feed.receive(Self.change(101, "sell", "439.9", "4.5e-1"))
    #expect(feed.books.map(\.kind) == [.delta] && feed.asks == [PriceLevel(price: 4_399, size: 4_500)])
    #expect(try #require(feed.books.first).time == Timestamp(milliseconds: 1_783_587_649_744))
    feed.receive(Self.change(102, "buy", "439.5", "0"))
    #expect(feed.market.instruments[0].book.bestBid?.price == 4_390)
    feed.receive(Self.change(103, "buy", "400.0", "0.0"))
    #expect(feed.state(0) == .live, "a level that was not there")
    feed.receive(Self.change(103, "buy", "400.0", "9.0"))
    #expect(feed.books.isEmpty && feed.state(0) == .live, "the same number again")
    #expect(feed.engine.symbolCounts[0].sequenceOK == 3)
    // The fields in another order.
    feed.receive(
      #"{"timestamp":1783587649745,"qty":1.5,"price":439.8,"seq":104,"side":"sell","product_id":"PF_XBTUSD","feed":"book"}"#
    )
    #expect(feed.market.instruments[0].book.bestAsk == PriceLevel(price: 4_398, size: 15_000))
  }

  @Test("a hole, or a number that goes back, costs the book one new subscription", arguments: [103, 99])
  func gap(number: Int) {
    let feed = Self.live()
    feed.receive(Self.change(101, "buy", "439.5", "1.0"))
    feed.receive(Self.change(number, "buy", "439.5", "1.0"))
    #expect(feed.resets == [.gap] && feed.state(0) == .syncing(.gap))
    #expect(
      feed.sent == [#"{"event":"unsubscribe","feed":"book","product_ids":["PF_XBTUSD"]}"#])
    feed.receive(Self.change(104, "buy", "439.5", "1.0"))
    #expect(feed.sent.isEmpty && feed.books.isEmpty)
    feed.receive(#"{"event":"unsubscribed","feed":"book","product_ids":["PF_XBTUSD"]}"#)
    var sent = feed.sent
    feed.wait(0.25)
    sent += feed.sent
    #expect(sent == [#"{"event":"subscribe","feed":"book","product_ids":["PF_XBTUSD"]}"#])
    feed.receive(#"{"event":"subscribed","feed":"book","product_ids":["PF_XBTUSD"]}"#)
    feed.receive(Self.snapshot(200))
    #expect(feed.state(0) == .live && feed.error == nil)
  }

  @Test("levels without orders in a snapshot are none; both sides may be empty, and neither may be missing")
  func snapshots() {
    let feed = Self.live()
    feed.receive(Self.snapshot(300, bids: #"{"price":439.5,"qty":0},{"price":439.0,"qty":1}"#))
    #expect(feed.market.instruments[0].book.bids == [PriceLevel(price: 4_390, size: 10_000)])
    feed.receive(Self.snapshot(301, bids: "", asks: ""))
    #expect(feed.state(0) == .live && feed.market.instruments[0].book.bids.isEmpty)
    feed.receive(
      #"{"feed":"book_snapshot","product_id":"PF_XBTUSD","timestamp":1,"seq":302,"bids":[]}"#)
    #expect(feed.error?.kind == .shape && feed.resets == [.malformed])
  }

  @Test(
    "a book message that cannot be read costs itself and its own book",
    arguments: [
      change(101, "buy", #""0.-1""#, "1"), change(101, "buy", "439.5", "-1"), change(101, "buy", "-1", "1"),
      change(101, "both", "439.5", "1"), change(101, "buy", "1e30", "1"), change(101, "buy", "439.5", "null"),
      #"{"feed":"book","product_id":"PF_XBTUSD","side":"buy","price":439.5,"qty":1}"#,
      #"{"feed":"book","product_id":"PF_XBTUSD","side":"buy","seq":101,"qty":1}"#,
      #"{"feed":"book","product_id":"PF_XBTUSD","side":"buy","seq":101,"price":439.5}"#,
      #"{"feed":"book","product_id":"PF_XBTUSD","side":"buy","seq":101,"pri"#,
    ])
  func malformed(_ text: String) {
    let feed = Self.live()
    feed.receive(text)
    #expect(feed.error != nil && feed.resets == [.malformed] && feed.state(0) == .syncing(.malformed))
    var sent = feed.sent
    feed.wait(1)
    sent += feed.sent
    #expect(sent.count == 2)
    feed.receive(Self.snapshot(200))
    #expect(feed.state(0) == .live)
  }

  @Test("an ask at a price beyond 64 bits is left out, and the book goes on")
  func farAsk() {
    let feed = Self.live()
    feed.receive(Self.change(101, "sell", "1e30", "1"))
    #expect(feed.error == nil && feed.state(0) == .live && feed.asks.isEmpty)
    #expect(feed.engine.counts.rejectedLevels == 1)
  }

  // MARK: Trades

  @Test("a trade: the taker's side, the venue's id; those made away from the book are none")
  func trades() throws {
    let feed = Self.live()
    feed.receive(Self.trade(5_956))
    let trade = try #require(feed.trades.first)
    #expect(trade.side == .buy && trade.price == 4_395 && trade.size == 3_200 && !trade.isBacklog)
    #expect(trade.id.text == "e2429e31-8b9d-4195-900e-5956" && trade.time == Timestamp(milliseconds: 1_783_587_649_946))
    feed.receive(Self.trade(5_957, #""side":"sell","type":"liquidation""#))
    #expect(feed.trades.map(\.side) == [.sell])
    for type in ["block", "assignment", "termination"] {
      feed.receive(Self.trade(5_958, #""side":"sell","type":"\#(type)""#))
      #expect(feed.trades.isEmpty && feed.error == nil, "\(type)")
    }
    #expect(feed.engine.counts.ignored == 3)
    for bad in [#""side":"both""#, #""side":null"#, #""type":"fill""#] {
      feed.receive(Self.trade(5_959, bad))
      #expect(feed.error != nil && feed.trades.isEmpty && feed.state(0) == .live)
    }
  }

  @Test("old trades come the newest first; of one moment their numbers tell the order")
  func oldTrades() {
    let feed = Self.live()
    let rows = [
      Self.trade(12, time: 1_783_587_640_002), Self.trade(11, time: 1_783_587_640_001),
      Self.trade(10, time: 1_783_587_640_001),
    ]
    feed.receive(
      #"{"feed":"trade_snapshot","product_id":"PF_XBTUSD","trades":[\#(rows.joined(separator: ","))]}"#)
    #expect(feed.trades.map(\.id.text).map { $0.suffix(2) } == ["10", "11", "12"])
    #expect(feed.trades.allSatisfy { $0.isBacklog })
    feed.receive(#"{"feed":"trade_snapshot","product_id":"PF_XBTUSD","trades":[]}"#)
    #expect(feed.error == nil && feed.trades.isEmpty)
    feed.receive(#"{"feed":"trade_snapshot","product_id":"PF_XBTUSD"}"#)
    #expect(feed.error != nil)
  }

  // MARK: Figures

  @Test("24 h figures; 0 is no price")
  func ticker() throws {
    let feed = Self.live()
    let text =
      #"{"time":1783587648112,"product_id":"PF_ETHUSD","funding_rate":0.032725177043125,"premium":-0.0,"feed":"ticker","bid":1751.6,"ask":0,"bid_size":1.459,"volume":57204.177,"last":1751.7,"change":0.97,"suspended":false,"markPrice":1751.97553924942,"volumeQuote":99424431.8132,"open":1734.8,"high":1765.4,"low":1708.8}"#
    feed.receive(text)
    let ticker = try #require(feed.tickers.first)
    #expect(ticker.instrument.index == 1 && ticker.time == Timestamp(milliseconds: 1_783_587_648_112))
    #expect(ticker.last == 17_517 && ticker.bid == 17_516 && ticker.ask == nil && ticker.open == 17_348)
    #expect(ticker.high == 17_654 && ticker.low == 17_088)
    #expect(ticker.volume == Decimal64(mantissa: 57_204_177, scale: 3))
    #expect(ticker.changePercent == Decimal64(mantissa: 97, scale: 2))
  }

  @Test("other feeds, alerts and the canary's ticker are nothing")
  func others() {
    let feed = Self.live()
    feed.receive(#"{"feed":"ticker_lite","product_id":"PF_XBTUSD","bid":439.3,"ask":439.6}"#)
    #expect(feed.error == nil && feed.events.isEmpty && feed.engine.counts.ignored == 1)
    feed.receive(#"{"feed":"heartbeat","time":1534262350627}"#)
    #expect(feed.isHeartbeat)
    feed.receive(#"{"event":"alert","message":"Bad request"}"#)
    #expect(feed.error?.kind == .refused && feed.failures.isEmpty)
    let other = Self.connected(["ETH-USD-PERP"])
    other.wait(1)
    #expect(other.engine.counts.rejected == 0)
    other.receive(#"{"feed":"ticker","time":1,"product_id":"PF_XBTUSD","last":1.0}"#)
    #expect(other.error == nil && other.tickers.isEmpty)
    other.receive(#"{"feed":"ticker","time":1,"product_id":"PF_SOLUSD","last":1.0}"#)
    #expect(other.error?.kind == .unknownSymbol)
  }

  // MARK: Refusals

  @Test("a refusal that names its product costs that alone; one that names nothing is the oldest request's")
  func refusals() {
    let named = Self.waiting()
    named.receive(
      #"{"event":"subscribed_failed","feed":"book","product_ids":["PF_ETHUSD"],"message":"Invalid product id"}"#)
    #expect(named.failures == ["ETH-USD-PERP": "Invalid product id"] && named.state(0) == .live)
    let unnamed = Self.waiting()
    unnamed.receive(#"{"event":"error","message":"Invalid product id"}"#)
    #expect(unnamed.failures == ["ETH-USD-PERP": "Invalid product id"] && unnamed.state(0) == .live)
    unnamed.wait(60)
    #expect(!unnamed.sent.contains { $0.contains("PF_ETHUSD") && $0.contains("subscribe\"") })
  }

  @Test("too many requests are no word about a symbol: the same again, later")
  func tooMany() {
    let feed = Self.waiting()
    feed.receive(#"{"event":"error","message":"Rate limit exceeded"}"#)
    #expect(feed.failures.isEmpty && feed.error?.kind == .refused)
    feed.isAnswered = { _ in true }
    feed.wait(8)
    #expect(feed.sent.count { $0.contains(#""subscribe","feed":"book","product_ids":["PF_ETHUSD"]"#) } == 1)
  }

  @Test("a symbol that is acknowledged and stays silent is told of, and the others go on")
  func silent() {
    let feed = Self.live()
    feed.wait(240)
    #expect(feed.failures["ETH-USD-PERP"] == "no book arrived within 180 s of the subscription")
    #expect(feed.state(0) == .live)
  }

  @Test("volumes are of linear contracts in the quote currency")
  func volumes() throws {
    var volumes = MarketVolumes()
    let body =
      #"{"result":"success","tickers":[{"symbol":"PF_ETHUSD","vol24h":500000.0,"volumeQuote":1600000.0},{"symbol":"pf_xbtusd","volumeQuote":7}]}"#
    try KrakenFutures.volumes.read(Array(body.utf8).span.bytes, &volumes)
    #expect(
      volumes.byName.mapValues(\.trimmed) == [
        "PF_ETHUSD": Decimal64(mantissa: 1_600_000, scale: 0), "PF_XBTUSD": Decimal64(mantissa: 7, scale: 0),
      ])
    #expect(throws: FeedError.self) {
      try KrakenFutures.volumes.read(Array(#"{"result":"error","error":"x"}"#.utf8).span.bytes, &volumes)
    }
  }
}
