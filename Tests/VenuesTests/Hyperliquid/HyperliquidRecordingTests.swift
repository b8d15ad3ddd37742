import Bytes
import MarketData
import TestSupport
import Testing

@testable import Venues

/// Recorded traffic of Hyperliquid: a session of 2025 and single frames of today's protocol.
@Suite("Hyperliquid's messages as they were recorded")
struct HyperliquidRecordingTests {
  @Test(
    "a recorded session: every book, trade and level",
    .enabled(if: recordingsFolder != nil, "no recordings on this machine: set TIDEGATE_RECORDINGS"))
  func session() throws {
    let recording = try Recording("hyperliquid-perp-20250126-btc")
    let want = try #require(try recording.expected()["BTC"])
    let feed = EngineHarness(Hyperliquid.venue, ["BTC-USDC-PERP"])
    feed.now = try #require(recording.texts.first).time
    feed.connect()
    feed.receive(HyperliquidDialectTests.meta)
    var last: Int64?
    for record in recording.texts {
      feed.now = record.time
      feed.receive(record.text)
      #expect(feed.error == nil && feed.resets.isEmpty, "\(feed.error?.detail ?? "")")
      last = feed.trades.last?.price ?? last
    }
    let counts = feed.engine.symbolCounts[0]
    #expect(counts.snapshots == want.snapshots && counts.dropped == 0 && counts.gaps == 0)
    // The expectation does not tell what the first message repeats from what is new.
    #expect(counts.trades + counts.backlogTrades == want.trades && counts.backlogTrades > 20)
    let state = feed.market.instruments[0]
    try want.check(state, "BTC")
    let price = try #require(want.last_trade_price)
    #expect(last == (try DecimalText.parse(Array(price.utf8).span.bytes, scale: state.instrument.priceScale)))
  }

  @Test(
    "frames from other libraries' tests are all understood",
    .enabled(if: recordingsFolder != nil, "no recordings on this machine: set TIDEGATE_RECORDINGS"),
    arguments: ["hyperliquid-mixed-20260702-frames-nautilus", "hyperliquid-mixed-20260821-frames-jkorf"])
  func frames(_ name: String) throws {
    let recording = try Recording(name)
    let feed = EngineHarness(Hyperliquid.venue, ["HYPE-USDC-PERP"])
    feed.connect()
    feed.receive(
      #"{"channel":"post","data":{"id":1,"response":{"type":"info","payload":{"type":"meta","data":{"universe":[{"name":"HYPE","szDecimals":2}]}}}}}"#
    )
    var understood = 0
    for record in recording.texts {
      feed.receive(record.text)
      #expect(feed.error == nil, "\(record.name): \(feed.error?.detail ?? "")")
      understood += feed.books.count + feed.trades.count + feed.quotes.count
    }
    if name.hasSuffix("jkorf") {
      #expect(understood == 3 && feed.state(0) == .live)
      #expect(feed.engine.counts.ignored == 4, "candles and middle prices")
    } else {
      #expect(feed.engine.counts.ignored == 2)
    }
  }

  @Test(
    "recorded lists of markets",
    .enabled(if: recordingsFolder != nil, "no recordings on this machine: set TIDEGATE_RECORDINGS"))
  func lists() throws {
    let engine = Hyperliquid()
    for record in try Recording("hyperliquid-mixed-20260702-frames-nautilus").records {
      let bytes = Array(record.text.utf8)
      var reader = FieldReader(bytes.span.bytes)
      if record.name == "http_meta_perp_sample.json" {
        let list = try engine.readPerpetuals(&reader)
        #expect(list.map(\.market.symbol.text) == ["BTC-USDC-PERP", "ETH-USDC-PERP", "ATOM-USDC-PERP"])
        #expect(list.map(\.market.priceScale) == [1, 2, 4] && list.allSatisfy { $0.market.state == .trading })
      } else if record.name == "http_spot_meta_non_usdc_collateral.json" {
        #expect(try engine.readSpots(&reader).isEmpty)
      }
    }
  }
}
