import Bytes
import MarketData
import Testing

@testable import Venues

@Suite("KuCoin's feed of contracts")
struct KuCoinFuturesDialectTests {
  static let list =
    #"{"code":"200000","data":[{"symbol":"XBTUSDTM","rootSymbol":"USDT","type":"FFWCSX","expireDate":null,"baseCurrency":"XBT","quoteCurrency":"USDT","settleCurrency":"USDT","lotSize":1,"tickSize":0.1,"multiplier":0.001,"isInverse":false,"status":"Open","turnoverOf24h":862000000.5},{"symbol":"SHIBUSDTM","type":"FFWCSX","baseCurrency":"SHIB","quoteCurrency":"USDT","lotSize":1,"tickSize":1.0E-9,"multiplier":100000.0,"isInverse":false,"status":"Open"},{"symbol":"XBTUSDM","type":"FFWCSX","baseCurrency":"XBT","quoteCurrency":"USD","lotSize":1,"tickSize":0.1,"multiplier":-1.0,"isInverse":true,"status":"Open"},{"symbol":"XBTMZ26","type":"FFICSX","expireDate":1798185600000,"baseCurrency":"XBT","quoteCurrency":"USD","multiplier":-1.0,"isInverse":true,"status":"Open"},{"symbol":"CHRUSDTM","type":"FFWCSX","baseCurrency":"CHR","quoteCurrency":"USDT","lotSize":1,"tickSize":0.1,"multiplier":1.0,"isInverse":false,"status":"Open"},{"symbol":"OLDUSDTM","type":"FFWCSX","baseCurrency":"OLD","quoteCurrency":"USDT","lotSize":1,"tickSize":1,"multiplier":1,"isInverse":false,"status":"Paused"}]}"#

  static func live(_ symbols: [String] = ["BTC-USDT-PERP", "SHIB-USDT-PERP"]) -> EngineHarness {
    let feed = EngineHarness(KuCoin.futures, symbols)
    feed.prepare()
    feed.respond(feed.gets[0].request, 200, list)
    feed.connect()
    feed.receive(KuCoinDialectTests.welcome)
    feed.wait(1)
    feed.receive(book("snapshot", 100, 100, bids: #"["85973.3","96"],["85973","200"]"#, asks: #"["85974","5"]"#))
    return feed
  }

  static func book(_ type: String, _ first: Int, _ last: Int, bids: String = "", asks: String = "") -> String {
    #"{"T":"obu.FUTURES","dp":"increment@10ms","t":"\#(type)","P":1790114459840641662,"d":{"a":[\#(asks)],"b":[\#(bids)],"C":\#(last),"s":"XBTUSDTM","M":1790114459839000000,"O":\#(first)}}"#
  }

  static func trade(_ id: String, size: String) -> String {
    #"{"T":"trade.FUTURES","P":1790114460671676191,"d":{"E":\#(id),"M":1790114460670000000,"S":"sell","p":"85973.3","q":"\#(size)","s":"XBTUSDTM","ti":"\#(id)"}}"#
  }

  @Test("the venue has a connection for each kind of market, and names the contracts in the gateway's words")
  func parts() throws {
    let connections = KuCoin.venue.connections(for: FeedConfiguration(symbols: ["BTC-USDT", "BTC-USDT-PERP"]))
    #expect(connections.map(\.venue.label) == ["kucoin", "kucoin-futures"])
    #expect(connections.map(\.venue.endpoint) == ["wss://x-push-spot.kucoin.com/", "wss://x-push-futures.kucoin.com/"])
    let feed = EngineHarness(KuCoin.futures, ["BTC-USDT-PERP", "BTC-USD-PERP", "OLD-USDT-PERP", "BTC-USDT"])
    feed.prepare()
    #expect(feed.gets.map(\.path) == ["/api/v1/contracts/active"])
    feed.respond(feed.gets[0].request, 200, Self.list)
    #expect(Set(feed.failures.keys) == ["BTC-USD-PERP", "OLD-USDT-PERP", "BTC-USDT"])
    let instrument = try #require(feed.market.instruments.first).instrument
    #expect(instrument.symbol == "kucoin:BTC-USDT-PERP" && instrument.venueSymbol == "XBTUSDTM")
    #expect(instrument.contractSize == Decimal64(mantissa: 1, scale: 3) && instrument.sizeScale == 3)
    #expect(instrument.sizeIncrement == Decimal64(mantissa: 1, scale: 3))
    feed.connect()
    feed.receive(KuCoinDialectTests.welcome)
    #expect(
      feed.sent.first
        == #"{"id":"2","action":"subscribe","channel":"obu","tradeType":"FUTURES","symbol":"XBTUSDTM","depth":"increment@10ms"}"#
    )
  }

  @Test("the list has turnovers; inverse contracts have no size in base units, and those that end are left out")
  func listing() throws {
    let markets = try KuCoin.contracts.read(Array(Self.list.utf8).span.bytes).markets
    #expect(
      markets.map(\.symbol.text) == [
        "BTC-USDT-PERP", "SHIB-USDT-PERP", "BTC-USD-PERP", "CHR-USDT-PERP", "OLD-USDT-PERP",
      ])
    #expect(markets[0].quoteVolume?.trimmed == Decimal64(mantissa: 8_620_000_005, scale: 1))
    #expect(markets[1].contractSize?.trimmed == Decimal64(mantissa: 100_000, scale: 0) && markets[1].priceScale == 9)
    #expect(markets[2].contractSize == nil && markets[2].quoteVolume == nil)
  }

  @Test("sizes of books and trades are lots, and are published in base units")
  func sizes() throws {
    let feed = Self.live()
    #expect(feed.state(0) == .live && feed.market.instruments[0].quote?.bidSize == 96)
    feed.receive(Self.book("delta", 101, 101, bids: #"["85973.3","97"]"#))
    #expect(feed.bids.map(\.size) == [97] && feed.engine.symbolCounts[0].sequenceOK == 1)
    feed.receive(Self.trade("1790114460671", size: "3"))
    let trade = try #require(feed.trades.first)
    #expect(trade.size == 3 && trade.price == 859_733 && trade.side == .sell)
    feed.receive(Self.book("delta", 103, 103))
    #expect(feed.resets == [.gap])
  }

  @Test("what spot sends is nothing here, and the other way round")
  func others() {
    let feed = Self.live()
    feed.receive(KuCoinDialectTests.book("delta", 101, 101, bids: #"["80688.1","1"]"#))
    #expect(feed.error == nil && feed.books.isEmpty && feed.engine.counts.ignored == 1)
    let spot = KuCoinDialectTests.live()
    spot.receive(Self.book("delta", 101, 101))
    spot.receive(Self.trade("1", size: "1"))
    #expect(spot.error == nil && spot.books.isEmpty && spot.trades.isEmpty && spot.engine.counts.ignored == 2)
  }

  @Test("frames of September 2026, byte for byte")
  func recorded() {
    let feed = Self.live()
    feed.receive(
      #"{"T":"obu.FUTURES","dp":"increment@10ms","t":"delta","P":1790114459840641662,"d":{"a":[],"b":[["85973.3","16236"],["85887.1","98"]],"C":102,"s":"XBTUSDTM","M":1790114459839000000,"O":101}}"#
    )
    #expect(feed.error == nil && feed.state(0) == .live && feed.market.instruments[0].book.bestBid?.size == 16_236)
    feed.receive(#"{"T":"mark-price","P":1790113097443102278,"d":{"s":"XBTUSDTM","mp":"86201.79","ip":"86248.81"}}"#)
    #expect(feed.error == nil && feed.events.isEmpty)
  }
}
