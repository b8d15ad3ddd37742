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

  private static let samples = VenueRegistry.samples.flatMap { $0.replaySamples }

  @Test("what is recorded of every venue can be replayed, and is among the samples")
  func complete() {
    #expect(Set(Self.samples.map(\.venue)) == Set(VenueRegistry.venues.map(\.name)))
    for venue in VenueRegistry.venues {
      for connection in venue.connections(for: FeedConfiguration(symbols: ["BTC-USDT", "BTC-USDT-PERP"])) {
        let market = connection.venue.marketName
        let found = VenueRegistry.replays(venue: venue.name, market: market).map(\.venue.name)
        #expect(found.first == venue.name, "\(venue.name) \(market)")
      }
    }
    #expect(VenueRegistry.replays(venue: "bitmex", market: "perp").isEmpty)
    #expect(VenueRegistry.replays(venue: "binance", market: "coinm").isEmpty)
    #expect(VenueRegistry.replays(venue: "binanceus", market: "spot").map(\.venue.name) == ["binance"])
    #expect(VenueRegistry.notReplayed(venue: "bitmex", market: "perp").contains("Bybit v5 spot and linear"))
    let coin = VenueRegistry.notReplayed(venue: "binance", market: "coinm")
    #expect(coin == "binance coinm cannot be replayed; of that venue, the gateway replays \(Binance.replay.title)")
  }

  @Test("names become symbols, and the list that is made of them is one that the engine reads", arguments: samples)
  func madeUp(_ sample: Sample) throws {
    let (venue, replay) = try #require(
      VenueRegistry.replays(venue: sample.venue, market: sample.market).first { $0.venue.name == sample.venue })
    var begin = RecordedStart(market: sample.market, names: sample.names)
    begin.url = venue.endpoint
    let start = try #require(replay.start(begin))
    #expect(start.symbols == sample.symbols)
    let part = venue.parts.isEmpty ? venue : venue.connections(for: FeedConfiguration(symbols: start.symbols))[0].venue
    let feed = EngineHarness(part, start.symbols)
    feed.prepare()
    #expect(
      replay.listPath(of: sample.market) == feed.gets.first?.path.split(separator: "?").first.map(String.init),
      "the list that a replay answers is not the one that the engine asks for")
    for get in feed.gets { feed.respond(get.request, 200, String(decoding: start.instruments, as: UTF8.self)) }
    var failures = feed.failures
    feed.connect()
    failures.merge(feed.failures) { first, _ in first }
    if !start.preamble.isEmpty {
      feed.receive(start.preamble)
      #expect(feed.error == nil, "\(feed.error?.detail ?? "")")
    }
    #expect(failures.isEmpty, "\(failures)")
    let followed = feed.market.instruments.map(\.instrument)
    #expect(followed.map { FeedSymbol(base: $0.base, quote: $0.quote, kind: $0.kind).text } == sample.symbols)
  }

  @Test("lists are told by how their path ends, without the query")
  func lists() throws {
    func isList(_ venue: String, _ path: String) -> Bool {
      VenueRegistry.venue(named: venue)?.replay?.isList(path) ?? false
    }
    #expect(isList("coinbase", "/products") && !isList("coinbase", "/products/stats"))
    #expect(
      isList("binance", "/fapi/v1/exchangeInfo") && isList("binance", "/api/v3/exchangeInfo?symbols=%5B%22A%22%5D"))
    #expect(isList("bitfinex", "/v2/conf/pub:list:pair:exchange") && isList("bitfinex", Bitfinex.listPath))
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
      let replay = try #require(VenueRegistry.replays(venue: venue, market: market).first).replay
      // What can be replayed is not held up by what cannot.
      var begin = RecordedStart(market: market, names: names)
      begin.marks = venue == "kraken" ? Set(replay.marks.prefix(1)) : []
      let start = try #require(replay.start(begin))
      #expect(start.symbols.isEmpty && start.skipped.count == 1)
      return start.skipped[names[0]]
    }
    #expect(try refusal("bybit", "linear", ["BTC-USDT"])?.hasPrefix("BTC-USDT does not show its base") == true)
    #expect(try refusal("binance", "spot", ["ABCXYZ"])?.hasPrefix("ABCXYZ does not show its base") == true)
    #expect(try refusal("bitfinex", "spot", ["ODD"])?.hasPrefix("ODD does not show its base") == true)
    #expect(try refusal("deribit", "mixed", ["BTC-PERPETUAL"])?.contains("is no linear perpetual") == true)
    #expect(try refusal("deribit", "mixed", ["BTC_USDC-25DEC26"])?.contains("is a dated future") == true)
    #expect(try refusal("okx", "mixed", ["BTC-USD-261225-60000-C"])?.contains("options are not supported") == true)
    #expect(try refusal("okx", "mixed", ["BTC-USDT-SWAP"])?.contains("what one is worth") == true)
    #expect(try refusal("hyperliquid", "mixed", ["PURR/USDC"])?.contains("is a spot market") == true)
    #expect(try refusal("gemini", "spot", ["abcdef"])?.contains("has no details of it") == true)
    #expect(try refusal("kraken", "spot", ["XBTUSD"])?.contains("it has no /") == true)
  }

  @Test("names that are of no use are left out, the others replayed")
  func skips() throws {
    let replay = try #require(Binance.venue.replay)
    let start = try #require(
      replay.start(RecordedStart(market: "spot", names: ["BTCUSDT", "ABCXYZ", "XRPPAX", "BTCUSDT"])))
    #expect(start.symbols == ["BTC-USDT", "XRP-PAX"] && Array(start.skipped.keys) == ["ABCXYZ"])
    #expect(!String(decoding: start.instruments, as: UTF8.self).contains("ABCXYZ"))
  }

  @Test("frames say which markets they are of, each once, and not without bound")
  func frameNames() {
    func names(_ venue: Venue, _ frames: [String]) -> [String] {
      var names = FrameNames()
      for frame in frames {
        Array(frame.utf8).withUnsafeBytes { names.note($0, venue.replay?.marketFields ?? []) }
      }
      return names.names
    }
    #expect(
      names(
        Kraken.venue,
        [#"{"channel":"book","data":[{"symbol":"BTC/USD"},{"symbol" : "ETH/USD"},{"symbol":"BTC/USD"}]}"#, ""])
        == ["BTC/USD", "ETH/USD"])
    #expect(
      names(Bybit.venue, [#"{"topic":"orderbook.50.BTCUSDT"}"#, #"{"topic":"plain"}"#]) == ["BTCUSDT"])
    #expect(
      names(Bitstamp.venue, [#"{"channel":"diff_order_book_btcusd"}"#, #"{"channel":""}"#]) == ["btcusd"])
    let odd = [
      #"{"symbol":7}"#, #"{"symbol":"58794.5"}"#, #"{"symbol":""}"#, #"{"symbol""#, #"{"symbol":"#, #"{"symbol":""#,
      #"{"symbol":"a b"}"#,
      #"{"symbol":"\u0041"}"#, #"{"symbol":"\#(String(repeating: "A", count: 41))"}"#,
    ]
    #expect(names(Kraken.venue, odd) == [])
    #expect(
      names(Kraken.venue, (0..<1_000).map { #"{"symbol":"A\#($0)/USD"}"# }).count == FrameNames.limit)
  }

  @Test("a protocol that is not read any more is told by its frames or its address")
  func retired() throws {
    let kraken = try #require(Kraken.venue.replay)
    var begin = RecordedStart(market: "spot", names: ["XBT/USD"])
    #expect(kraken.start(begin) == nil)
    begin.marks = Set(kraken.marks)
    #expect(kraken.start(begin) != nil)
    begin.url = "wss://ws.kraken.com"
    #expect(kraken.start(begin) == nil)
    let gemini = try #require(Gemini.venue.replay)
    var archive = RecordedStart(market: "spot", names: ["BTCUSD"])
    #expect(gemini.start(archive) != nil)
    archive.marks = Set(gemini.marks)
    #expect(gemini.start(archive) == nil)
  }
}
