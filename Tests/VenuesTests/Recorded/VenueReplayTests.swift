import MarketData
import Testing

@testable import Venues

@Suite("What a venue knows of its recordings")
struct VenueReplayTests {
  struct Sample: CustomTestStringConvertible {
    var venue: String
    var market: String
    /// As headers name them.
    var names: [String]
    var symbols: [String]
    var testDescription: String { "\(venue) \(market)" }

    init(_ venue: String, _ market: String, _ names: [String], _ symbols: [String]) {
      self.venue = venue
      self.market = market
      self.names = names
      self.symbols = symbols
    }
  }

  private static let samples: [Sample] = [
    Sample("binance", "spot", ["BTCUSDT", "ETHBTC"], ["BTC-USDT", "ETH-BTC"]),
    Sample("binance", "usdm", ["BTCUSDT", "BTCUSDT_261225"], ["BTC-USDT-PERP", "BTC-USDT-20261225"]),
    Sample("bitfinex", "spot", ["tBTCUST", "ETH:USD"], ["BTC-USDT", "ETH-USD"]),
    Sample("bitstamp", "spot", ["btcusd", "ETH/EUR"], ["BTC-USD", "ETH-EUR"]),
    Sample("bybit", "spot", ["BTCUSDT"], ["BTC-USDT"]),
    Sample(
      "bybit", "linear", ["BTCUSDT", "ETHPERP", "SOL-USDT-PERP"], ["BTC-USDT-PERP", "ETH-USDC-PERP", "SOL-USDT-PERP"]),
    Sample("coinbase", "spot", ["BTC-USD"], ["BTC-USD"]),
    Sample("coinbase-advanced", "spot", ["BTC-USD"], ["BTC-USD"]),
    Sample("deribit", "mixed", ["BTC_USDC-PERPETUAL", "ETH-USDC-PERP"], ["BTC-USDC-PERP", "ETH-USDC-PERP"]),
    Sample("gate", "spot", ["BTC_USDT"], ["BTC-USDT"]),
    Sample("gemini", "mixed", ["btcusd", "ETH-USD"], ["BTC-USD", "ETH-USD"]),
    Sample("hyperliquid", "mixed", ["BTC", "ETH-USDC-PERP"], ["BTC-USDC-PERP", "ETH-USDC-PERP"]),
    Sample("kraken", "spot", ["BTC/USD", "ETH-BTC"], ["BTC-USD", "ETH-BTC"]),
    Sample("kucoin", "spot", ["BTC-USDT"], ["BTC-USDT"]),
    Sample("okx", "mixed", ["BTC-USDT", "ETH-BTC"], ["BTC-USDT", "ETH-BTC"]),
  ]

  @Test("what is recorded of every venue can be replayed, and is among the samples")
  func complete() {
    #expect(Set(Self.samples.map(\.venue)) == Set(VenueRegistry.venues.map(\.name)))
    for venue in VenueRegistry.venues {
      for connection in venue.connections(for: FeedConfiguration(symbols: ["BTC-USDT", "BTC-USDT-PERP"])) {
        let market = connection.venue.marketName
        let found = VenueRegistry.replay(venue: venue.name, market: market)?.venue.name
        #expect(found == venue.name, "\(venue.name) \(market)")
      }
    }
    #expect(VenueRegistry.replay(venue: "bitmex", market: "perp") == nil)
    #expect(VenueRegistry.replay(venue: "binance", market: "coinm") == nil)
    #expect(VenueRegistry.replay(venue: "binanceus", market: "spot")?.venue.name == "binance")
    #expect(VenueRegistry.replayable.contains("Bybit v5 spot and linear"))
  }

  @Test("names become symbols, and the list that is made of them is one that the handler reads", arguments: samples)
  func madeUp(_ sample: Sample) throws {
    let (venue, replay) = try #require(VenueRegistry.replay(venue: sample.venue, market: sample.market))
    var begin = RecordedStart(market: sample.market, names: sample.names)
    begin.url = venue.endpoint
    let start = try #require(try replay.start(begin))
    #expect(start.symbols == sample.symbols)
    let part = venue.parts.isEmpty ? venue : venue.connections(for: FeedConfiguration(symbols: start.symbols))[0].venue
    let feed = HandlerHarness(part, start.symbols)
    feed.prepare()
    #expect(
      replay.listPath(of: sample.market) == feed.gets.first?.path.split(separator: "?").first.map(String.init),
      "the list that a replay answers is not the one that the handler asks for")
    for get in feed.gets { feed.respond(get.request, 200, String(decoding: start.instruments, as: UTF8.self)) }
    var failures = feed.failures
    feed.connect()
    failures.merge(feed.failures) { first, _ in first }
    if !start.preamble.isEmpty {
      feed.receive(start.preamble)
      #expect(feed.error == nil, "\(feed.error?.detail ?? "")")
    }
    #expect(failures.isEmpty, "\(failures)")
    let carried = feed.market.instruments.map(\.instrument)
    #expect(carried.map { FeedSymbol(base: $0.base, quote: $0.quote, kind: $0.kind).text } == sample.symbols)
  }

  @Test("lists are told by how their path ends, without the query")
  func lists() throws {
    func isList(_ venue: String, _ path: String) -> Bool {
      VenueRegistry.venue(named: venue)?.replay?.isList(path) ?? false
    }
    #expect(isList("coinbase", "/products") && !isList("coinbase", "/products/stats"))
    #expect(
      isList("binance", "/fapi/v1/exchangeInfo") && isList("binance", "/api/v3/exchangeInfo?symbols=%5B%22A%22%5D"))
    #expect(isList("bitfinex", "/v2/conf/pub:list:pair:exchange") && isList("bitfinex", BitfinexHandler.listPath))
    #expect(isList("bitstamp", "/api/v2/markets/") && isList("bitstamp", "/api/v2/trading-pairs-info"))
    #expect(isList("gemini", "/v1/symbols") && !isList("gemini", "/v1/symbols/details/btcusd"))
    #expect(!isList("kraken", "/0/public/AssetPairs"))
  }

  @Test("requests for books name their market in the query or in the path")
  func books() {
    #expect(VenueRegistry.bookMarket("https://api.binance.com/api/v3/depth?symbol=BTCUSDT&limit=1000") == "BTCUSDT")
    #expect(VenueRegistry.bookMarket("/fapi/v1/depth?limit=5&symbol=BTCUSDT") == "BTCUSDT")
    #expect(VenueRegistry.bookMarket("/api/v4/spot/order_book?currency_pair=BTC_USDT&limit=100") == "BTC_USDT")
    #expect(VenueRegistry.bookMarket("https://www.bitstamp.net/api/v2/order_book/btcusd/?group=1") == "btcusd")
    for other in ["/api/v3/exchangeInfo", "/api/v3/depth?limit=5", "/api/v3/depthless?symbol=A", "/products", ""] {
      #expect(VenueRegistry.bookMarket(other) == nil, "\(other)")
    }
    #expect(VenueRegistry.bookParameters == ["symbol", "currency_pair"])
  }

  @Test("what a name does not tell is said")
  func refusals() throws {
    func refusal(_ venue: String, _ market: String, _ names: [String]) throws -> String? {
      let replay = try #require(VenueRegistry.replay(venue: venue, market: market)).replay
      do throws(RecordedNameError) {
        _ = try replay.start(RecordedStart(market: market, names: names))
        return nil
      } catch {
        return error.detail
      }
    }
    #expect(try refusal("binance", "spot", ["ABCXYZ"])?.hasPrefix("ABCXYZ cannot be taken apart") == true)
    #expect(try refusal("bitfinex", "spot", ["ODD"])?.hasPrefix("ODD cannot be taken apart") == true)
    #expect(try refusal("deribit", "mixed", ["BTC-PERPETUAL"])?.contains("is no linear perpetual") == true)
    #expect(try refusal("deribit", "mixed", ["BTC_USDC-25DEC26"])?.contains("is a dated future") == true)
    #expect(try refusal("okx", "mixed", ["BTC-USD-261225-60000-C"])?.contains("options are not carried") == true)
    #expect(try refusal("okx", "mixed", ["BTC-USDT-SWAP"])?.contains("what one is worth") == true)
    #expect(try refusal("hyperliquid", "mixed", ["PURR/USDC"])?.contains("is a spot market") == true)
    #expect(try refusal("gemini", "spot", ["abcdef"])?.contains("has no details of it") == true)
  }

  @Test("a protocol that is not read any more is told by its frames or its address")
  func retired() throws {
    let kraken = try #require(KrakenHandler.venue.replay)
    var begin = RecordedStart(market: "spot", names: ["XBT/USD"])
    #expect(try kraken.start(begin) == nil)
    begin.marks = Set(kraken.marks)
    #expect(try kraken.start(begin) != nil)
    begin.url = "wss://ws.kraken.com"
    #expect(try kraken.start(begin) == nil)
    let gemini = try #require(GeminiHandler.venue.replay)
    var archive = RecordedStart(market: "spot", names: ["BTCUSD"])
    #expect(try gemini.start(archive) != nil)
    archive.marks = Set(gemini.marks)
    #expect(try gemini.start(archive) == nil)
  }
}
