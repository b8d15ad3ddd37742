import Bytes
import MarketData
import Testing

@testable import Venues

@Suite("A venue's whole list")
struct MarketListTests {
  /// Five pairs of which one is halted, in the words of Binance.
  static let markets = list(["AUSD", "BUSD", "CUSD", "DUSD"]) { $0 == "DUSD" ? "BREAK" : "TRADING" }

  static func list(_ names: [String], status: (String) -> String = { _ in "TRADING" }) -> String {
    let symbols = names.map {
      #"{"symbol":"\#($0)","status":"\#(status($0))","baseAsset":"\#($0.prefix(1))","quoteAsset":"USD","filters":[{"filterType":"PRICE_FILTER","tickSize":"0.01000000"},{"filterType":"LOT_SIZE","stepSize":"0.00100000"}]}"#
    }
    return #"{"symbols":[\#(symbols.joined(separator: ","))]}"#
  }

  static func volumes(_ values: [(String, String)]) -> String {
    "[" + values.map { #"{"symbol":"\#($0)","volume":"1","quoteVolume":"\#($1)","count":3}"# }.joined(separator: ",")
      + "]"
  }

  private func symbols(_ feed: EngineHarness) -> [String] { feed.market.instruments.map(\.instrument.base) }

  @Test("nothing is kept and nothing more is asked for unless it is wanted")
  func unwanted() {
    let feed = EngineHarness(Binance.spot, ["A-USD"])
    feed.prepare()
    #expect(feed.gets.map(\.path) == ["/api/v3/exchangeInfo?symbols=%5B%22AUSD%22%5D"])
    feed.respond(feed.gets[0].request, 200, Self.markets)
    #expect(feed.engine.isPrepared && feed.engine.listing.isEmpty)
  }

  @Test("a listing is the whole list, with volumes where they are asked for")
  func listing() {
    let feed = EngineHarness(Binance.spot, [], listing: .volumes)
    feed.prepare()
    #expect(feed.gets.map(\.path) == ["/api/v3/ticker/24hr?type=MINI"])
    feed.respond(feed.gets[0].request, 200, Self.volumes([("AUSD", "12.50"), ("XUSD", "1")]))
    #expect(feed.gets.map(\.path) == ["/api/v3/exchangeInfo"] && !feed.engine.isPrepared)
    feed.respond(feed.gets[0].request, 200, Self.markets)
    #expect(feed.engine.isPrepared)
    #expect(feed.engine.listing.map(\.symbol.text) == ["A-USD", "B-USD", "C-USD", "D-USD"])
    #expect(feed.engine.listing.map(\.state) == [.trading, .trading, .trading, .halted])
    #expect(feed.engine.listing[0].quoteVolume == Decimal64(mantissa: 125, scale: 1))
    #expect(feed.engine.listing[1].quoteVolume == nil)
    #expect(feed.engine.listing[0].priceIncrement == Decimal64(mantissa: 1, scale: 2))
    #expect(feed.market.instruments.isEmpty)
  }

  @Test("a selection is resolved once volumes and list are there, behind the symbols that were named")
  func selection() {
    let feed = EngineHarness(Binance.spot, ["C-USD", "*-USD:top2"])
    feed.prepare()
    feed.respond(feed.gets[0].request, 200, Self.volumes([("AUSD", "1"), ("BUSD", "3"), ("CUSD", "2"), ("DUSD", "9")]))
    feed.respond(feed.gets[0].request, 200, Self.markets)
    // Of the two largest that are traded, C is there by name.
    #expect(symbols(feed) == ["C", "B"])
    #expect(feed.failures.isEmpty && feed.engine.listing.isEmpty)
  }

  @Test("it is resolved again for the next connection; what is carried stays, also when volumes cannot be had")
  func again() {
    let feed = EngineHarness(Binance.spot, ["*-USD:top1"])
    func prepare(_ volumes: String, _ list: String) {
      feed.prepare()
      feed.respond(feed.gets[0].request, 200, volumes)
      feed.respond(feed.gets[0].request, 200, list)
      #expect(feed.engine.isPrepared)
      feed.connect()
      feed.disconnect()
      feed.now = feed.now + 10 * Microseconds.minute
    }
    prepare(Self.volumes([("AUSD", "1")]), Self.markets)
    #expect(symbols(feed) == ["A"])
    prepare(Self.volumes([("AUSD", "1"), ("BUSD", "2")]), Self.markets)
    #expect(symbols(feed) == ["A", "B"])
    feed.prepare()
    feed.respond(feed.gets[0].request, 500, "")
    #expect(feed.gets.map(\.path) == ["/api/v3/exchangeInfo"])
    feed.respond(feed.gets[0].request, 200, Self.markets)
    #expect(feed.engine.isPrepared && symbols(feed) == ["A", "B"])
  }

  @Test("a rank waits for its volumes, ever longer; a listing does without them after three attempts")
  func failures() {
    let ranked = EngineHarness(Binance.spot, ["*-USD:top1"])
    ranked.prepare()
    ranked.respond(ranked.gets[0].request, 429, "")
    ranked.wait(59)
    #expect(ranked.gets.isEmpty)
    ranked.wait(2)
    #expect(ranked.gets.count == 1)
    for _ in 0..<6 {
      ranked.respond(ranked.gets[0].request, 200, "[{}")
      ranked.wait(31)
      #expect(ranked.gets.map(\.path) == ["/api/v3/ticker/24hr?type=MINI"])
    }
    let listing = EngineHarness(Binance.spot, [], listing: .volumes)
    listing.prepare()
    for _ in 0..<2 {
      listing.respond(listing.gets[0].request, 404, "")
      listing.wait(5)
      #expect(listing.gets.map(\.path) == ["/api/v3/ticker/24hr?type=MINI"])
    }
    listing.respond(listing.gets[0].request, 404, "")
    #expect(listing.gets.map(\.path) == ["/api/v3/exchangeInfo"])
  }

  @Test("an answer that never comes is asked for again; one that comes late is nothing")
  func late() {
    let feed = EngineHarness(Binance.spot, ["*-USD:top1"])
    feed.prepare()
    let first = feed.gets[0].request
    feed.wait(32)
    #expect(feed.gets.count == 1 && feed.gets[0].request != first)
    feed.respond(first, 200, Self.volumes([("AUSD", "1")]))
    #expect(feed.gets.isEmpty && !feed.engine.isPrepared)
  }

  @Test("more than a connection carries: the first of them, and what to write")
  func tooMany() {
    let names = (0..<300).map { "\(Character(UnicodeScalar(0x4E00 + UInt32($0))!))USD" }
    let feed = EngineHarness(Binance.spot, ["*-USD"])
    feed.prepare()
    feed.respond(feed.gets[0].request, 200, Self.list(names))
    #expect(feed.market.instruments.count == 255)
    #expect(
      feed.failures == [
        "*-USD":
          "*-USD selects 300 markets, and a connection to Binance holds 255: 45 are left out; write *-USD:top255"
      ])
  }

  @Test("what another connection of the feed carries is not selected; it does not count against the limit either")
  func elsewhere() {
    let names = (0..<300).map { "S\($0)-USD" }
    let connections = Binance.spot.connections(for: FeedConfiguration(symbols: names + ["*-USD"]))
    #expect(connections.map(\.configuration.elsewhere) == [Array(names[150...]), []])
    #expect(connections[0].configuration.symbols == names[..<150] + ["*-USD"])
    var configuration = FeedConfiguration(symbols: ["A-USD", "*-USD"])
    configuration.elsewhere = ["B-USD"]
    let feed = EngineHarness(Binance.spot, configuration)
    feed.prepare()
    feed.respond(feed.gets[0].request, 200, Self.markets)
    #expect(symbols(feed) == ["A", "C"] && feed.failures.isEmpty)
  }

  @Test("a selection of nothing is told to be carried when the list has something for it")
  func later() {
    let feed = EngineHarness(Binance.spot, ["*-EUR"])
    func prepare(_ list: String) {
      feed.prepare()
      feed.respond(feed.gets[0].request, 200, list)
    }
    prepare(Self.markets)
    #expect(feed.failures.keys.sorted() == ["*-EUR"])
    feed.connect()
    feed.disconnect()
    prepare(Self.list(["AUSD"]).replacing("USD\",\"filters", with: "EUR\",\"filters"))
    #expect(symbols(feed) == ["A"])
    #expect(feed.actions.contains { if case .symbolAccepted("*-EUR") = $0 { true } else { false } })
  }

  @Test("what selects nothing, and what is no selection, is told once")
  func nothing() {
    let feed = EngineHarness(Binance.spot, ["*-EUR", "*-usd"])
    feed.prepare()
    feed.respond(feed.gets[0].request, 200, Self.markets)
    #expect(feed.failures["*-EUR"] == "Binance has no market for *-EUR")
    #expect(feed.failures["*-usd"]?.hasPrefix("*-usd is not a selection: write * for every market") == true)
  }

  @Test("a list has a bound; what is left out of it does not count")
  func bound() throws {
    func count(_ markets: Int, _ leftOut: Int) throws(FeedError) -> Int {
      let text =
        "[" + Array(repeating: #"{"a":1}"#, count: markets).joined(separator: ",")
        + String(repeating: #",{"a":0}"#, count: leftOut) + "]"
      let bytes = Array(text.utf8)
      let market = ListedMarket(venueSymbol: "AUSD", symbol: FeedSymbol(base: "A", quote: "USD"))
      return try ListFormat("list").markets(bytes.span.bytes) { $0.integer("a") == 1 ? market : nil }.markets.count
    }
    #expect(try count(MarketList.longest, 10) == 100_000)
    let refusal = #expect(throws: FeedError.self) { try count(MarketList.longest + 1, 0) }
    #expect(refusal?.detail == "list of more than 100000 markets")
  }
}
