import Bytes
import MarketData
import TestSupport
import Testing

@testable import Venues

@Suite("Advanced Trade's frames from other libraries' tests")
struct CoinbaseAdvancedRecordingTests {
  @Test(
    "all are understood",
    .enabled(if: recordingsFolder != nil, "no recordings on this machine: set TIDEGATE_RECORDINGS"),
    arguments: ["coinbase-mixed-20260702-frames-nautilus", "coinbase-mixed-20260806-frames-jkorf"])
  func frames(_ name: String) throws {
    let recording = try Recording(name)
    let feed = EngineHarness(CoinbaseAdvanced.venue, ["BTC-USD", "ETH-USDT"])
    feed.prepare()
    feed.respond(
      feed.gets[0].request, 200,
      #"{"products":[{"product_id":"BTC-USD","product_type":"SPOT","price_increment":"0.01"},{"product_id":"ETH-USDT","product_type":"SPOT"}]}"#
    )
    feed.connect()
    var snapshots = 0
    var trades = 0
    var tickers = 0
    var isAlive = false
    for record in recording.texts {
      // Each is from a connection of its own, whatever its number.
      (feed.engine.dialect as? CoinbaseAdvanced)?.sequence = nil
      feed.receive(record.text)
      #expect(feed.error == nil, "\(record.name): \(feed.error?.detail ?? "")")
      snapshots += feed.books.count { $0.kind == .snapshot }
      trades += feed.trades.count
      tickers += feed.tickers.count
      isAlive = isAlive || feed.isHeartbeat
    }
    #expect(trades == 2 && tickers == 1 && isAlive)
    if name.hasSuffix("nautilus") {
      #expect(snapshots == 1 && feed.state(0) == .live)
      let book = feed.market.instruments[0].book
      #expect(book.bids.count == 3 && book.asks.count == 2)
      #expect(book.bestBid?.price == 6_890_000 && book.bestAsk?.price == 6_890_150)
    }
  }

  @Test(
    "product lists are read, futures left out",
    .enabled(if: recordingsFolder != nil, "no recordings on this machine: set TIDEGATE_RECORDINGS"))
  func products() throws {
    let records = try Recording("coinbase-mixed-20260702-frames-nautilus").records
    func list(_ name: String) throws -> [ListedMarket] {
      let record = try #require(records.first { $0.name == name })
      return try CoinbaseAdvanced.listing.read(Array(record.text.utf8).span.bytes).markets
    }
    let spot = try list("http_products.json")
    #expect(spot.map(\.symbol.text) == ["BTC-USD", "BTC-USDC"])
    #expect(spot.map(\.venueSymbol) == ["BTC-USD", "BTC-USD"])
    #expect(spot[0].priceScale == 2 && spot[0].sizeScale == 8 && spot[0].state == .trading)
    #expect(try list("http_products_future.json").isEmpty)
  }
}
