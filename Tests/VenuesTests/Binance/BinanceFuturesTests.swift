import Bytes
import MarketData
import Testing

@testable import Venues

@Suite("Binance's USD-M futures feed")
struct BinanceFuturesTests {
  static let list =
    #"{"timezone":"UTC","rateLimits":[{"rateLimitType":"REQUEST_WEIGHT","interval":"MINUTE","intervalNum":1,"limit":2400}],"symbols":[{"symbol":"BTCUSDT","pair":"BTCUSDT","contractType":"PERPETUAL","deliveryDate":4133404800000,"status":"TRADING","baseAsset":"BTC","quoteAsset":"USDT","pricePrecision":2,"quantityPrecision":3,"filters":[{"filterType":"PRICE_FILTER","tickSize":"0.10"},{"filterType":"LOT_SIZE","stepSize":"0.001"}]},{"symbol":"BTCUSDT_261225","pair":"BTCUSDT","contractType":"CURRENT_QUARTER","baseAsset":"BTC","quoteAsset":"USDT","pricePrecision":1,"quantityPrecision":3,"filters":[]}]}"#

  private func connected(_ list: String = BinanceFuturesTests.list) -> EngineHarness {
    let feed = EngineHarness(Binance.usdm, ["BTC-USDT-PERP", "BTC-USDT-20261225"])
    feed.prepare()
    #expect(feed.gets.map(\.path) == ["/fapi/v1/exchangeInfo"], "futures cannot be asked for by name")
    feed.respond(feed.gets[0].request, 200, list)
    feed.connect()
    return feed
  }

  private func depth(_ first: Int, _ last: Int, _ previous: Int, bids: String = #"["83091.60","4.215"]"#) -> String {
    #"{"stream":"btcusdt@depth@100ms","data":{"e":"depthUpdate","E":1791382994616,"T":1791382994613,"s":"BTCUSDT","ps":"BTCUSDT","U":\#(first),"u":\#(last),"pu":\#(previous),"b":[\#(bids)],"a":[["83091.70","3.768"]],"st":1}}"#
  }

  private static func snapshot(_ id: Int) -> String {
    #"{"lastUpdateId":\#(id),"E":1618677448324,"T":1618677448305,"bids":[["83091.50","1.000"]],"asks":[["83091.80","2.500"]]}"#
  }

  @Test("contracts by the gateway's names, on the route that has their books, with the digits that are printed")
  func subscribes() {
    let feed = connected()
    #expect(feed.engine.url == "wss://fstream.binance.com/public/stream")
    #expect(
      feed.sent == [
        #"{"method":"SUBSCRIBE","params":["btcusdt@depth@100ms","btcusdt@trade","btcusdt@bookTicker","btcusdt_261225@depth@100ms","btcusdt_261225@trade","btcusdt_261225@bookTicker"],"id":2}"#
      ])
    let instruments = feed.market.instruments.map(\.instrument)
    #expect(instruments.map(\.symbol) == ["binance:BTC-USDT-PERP", "binance:BTC-USDT-20261225"])
    #expect(instruments[0].priceScale == 2 && instruments[0].sizeScale == 3)
    #expect(instruments[0].priceIncrement == Decimal64(mantissa: 1, scale: 1))
  }

  @Test("spot and futures are one venue of two connections")
  func connections() {
    let symbols = ["BTC-USDT", "BTC-USDT-PERP"]
    let plain = Binance.venue.connections(for: FeedConfiguration(symbols: symbols))
    #expect(plain.map(\.venue.label) == ["binance", "binance-usdm"])
    #expect(plain.map(\.venue.restEndpoint) == ["https://api.binance.com", "https://fapi.binance.com"])
    func urls(_ endpoint: String) -> [String?] {
      Binance.venue.connections(for: FeedConfiguration(symbols: symbols, endpoint: endpoint))
        .map(\.configuration.endpoint)
    }
    #expect(urls("ws://localhost:9") == ["ws://localhost:9/stream", "ws://localhost:9/public/stream"])
    #expect(urls("ws://localhost:9/stream") == ["ws://localhost:9/stream", "ws://localhost:9/public/stream"])
    #expect(urls("ws://h/public/stream") == ["ws://h/stream", "ws://h/public/stream"])
    #expect(urls("wss://proxy/binance/stream") == ["wss://proxy/binance/stream", "wss://proxy/binance/public/stream"])
    #expect(urls("ws://localhost:9/ws") == ["ws://localhost:9/ws", "ws://localhost:9/public/stream"])
  }

  @Test(
    "the snapshot is joined by straddling it or by following it; numbers jump, the chain holds",
    arguments: [true, false])
  func bridge(straddles: Bool) {
    let feed = connected()
    feed.receive(depth(1000, 1200, 900))
    #expect(feed.gets.map(\.path) == ["/fapi/v1/depth?symbol=BTCUSDT&limit=1000"])
    feed.respond(feed.gets[0].request, 200, Self.snapshot(straddles ? 1100 : 1250))
    if !straddles { feed.receive(depth(1300, 1400, 1250)) }
    #expect(feed.state(0) == .live)
    let last = straddles ? 1200 : 1400
    feed.receive(depth(last + 77, last + 90, last))
    feed.receive(depth(last + 77, last + 90, last))
    #expect(feed.state(0) == .live, "the last one again is nothing")
    let counts = feed.engine.symbolCounts[0]
    #expect(counts.bridged == 1 && counts.gaps == 0 && counts.sequenceOK == 1)
    feed.receive(depth(last + 100, last + 110, last + 95))
    #expect(feed.resets == [.gap] && feed.state(0) == .syncing(.gap))
    #expect(feed.gets.count == 1)
  }

  @Test("an update without pu is none")
  func missingLink() {
    let feed = connected()
    feed.receive(#"{"e":"depthUpdate","E":1,"T":1,"s":"BTCUSDT","U":1,"u":2,"b":[],"a":[]}"#)
    #expect(feed.error?.detail.contains("pu") == true)
  }

  @Test("without a list's digits the snapshot shows them, zeros at the end included")
  func learns() {
    let feed = connected(
      #"{"symbols":[{"symbol":"BTCUSDT","contractType":"PERPETUAL","baseAsset":"BTC","quoteAsset":"USDT"}]}"#)
    feed.receive(depth(1000, 1200, 900, bids: #"["83091.6","4.2"]"#))
    feed.respond(feed.gets[0].request, 200, Self.snapshot(1100))
    let instrument = feed.market.instruments[0].instrument
    #expect(instrument.priceScale == 2 && instrument.sizeScale == 3)
    #expect(
      feed.market.instruments[0].book.bids == [
        PriceLevel(price: 8_309_150, size: 1_000), PriceLevel(price: 8_309_160, size: 4_200),
      ])
  }

  @Test("trades of the market only: what the insurance fund takes and what is closed by force are none")
  func trades() {
    let feed = connected()
    func trade(_ kind: String, _ id: Int) -> String {
      #"{"stream":"btcusdt@trade","data":{"e":"trade","E":1723161256322,"T":1723161256322,"s":"BTCUSDT","t":\#(id),"p":"61800.30","q":"0.006","X":"\#(kind)","m":false}}"#
    }
    feed.receive(trade("MARKET", 1))
    #expect(feed.trades.map(\.price) == [6_180_030] && feed.trades.map(\.side) == [.buy])
    for kind in ["INSURANCE_FUND", "ADL", "NA"] {
      feed.receive(trade(kind, 2))
      #expect(feed.trades.isEmpty && feed.error == nil)
    }
  }

  @Test("the quote has an event type and times here")
  func quotes() {
    let feed = connected()
    feed.receive(
      #"{"stream":"btcusdt@bookTicker","data":{"e":"bookTicker","u":11757092630476,"s":"BTCUSDT","ps":"BTCUSDT","b":"83091.60","B":"4.215","a":"83091.70","A":"3.763","T":1791382994657,"E":1791382994658,"st":1}}"#
    )
    #expect(feed.quotes.map { [$0.bid, $0.bidSize, $0.ask, $0.askSize] } == [[8_309_160, 4_215, 8_309_170, 3_763]])
  }
}
