import Bytes
import MarketData
import TestSupport
import Testing

@testable import Venues

@Suite("Kraken Futures' frames as recorded", .enabled(if: recordingsFolder != nil, "no recordings on this machine"))
struct KrakenFuturesFramesTests {
  /// A feed whose list has these names as linear contracts: the recorded ones are inverse, which are not followed. How
  /// their messages read is the same.
  private static func feed(_ names: [String]) -> EngineHarness {
    let markets = names.enumerated().map { index, name in
      #"{"symbol":"PF_A\#(index)USD","type":"flexible_futures","base":"A\#(index)","quote":"USD"}"#
    }
    let feed = EngineHarness(KrakenFutures.venue, names.indices.map { "A\($0)-USD-PERP" })
    feed.prepare()
    feed.respond(
      feed.gets[0].request, 200, #"{"result":"success","instruments":[\#(markets.joined(separator: ","))]}"#)
    return feed
  }

  /// A frame in which a recorded market has the name of the list.
  private static func text(_ text: String, _ names: [String]) -> String {
    names.enumerated().reduce(text) { $0.replacing("\"\($1.element)\"", with: "\"PF_A\($1.offset)USD\"") }
  }

  @Test("a recorded session of ten books: every link, every trade, and the books at its end")
  func session() throws {
    let recording = try Recording("kraken-futures-20210722-book10")
    let names = recording.symbols
    let feed = Self.feed(names)
    feed.now = recording.records[0].time
    feed.connect()
    var (trades, backlog) = ([Int: Int](), [Int: Int]())
    for record in recording.texts {
      feed.now = record.time
      feed.receive(Self.text(record.text, names))
      #expect(feed.error == nil, "\(record.text.prefix(200)): \(feed.error?.detail ?? "")")
      #expect(feed.resets.isEmpty)
      for trade in feed.trades {
        if trade.isBacklog {
          backlog[trade.instrument.index, default: 0] += 1
        } else {
          trades[trade.instrument.index, default: 0] += 1
        }
      }
    }
    for (name, expected) in try recording.expected() {
      let index = try #require(names.firstIndex(of: name))
      let counts = feed.engine.symbolCounts[index]
      #expect(counts.snapshots == expected.snapshots && counts.gaps == 0, "\(name)")
      #expect(counts.sequenceOK == expected.sequence_ok, "\(name)")
      #expect(trades[index, default: 0] == expected.trades && backlog[index, default: 0] == expected.backlog_trades)
      try expected.check(feed.market.instruments[index], name)
    }
  }

  @Test(
    "frames of 2026: a level that goes, levels without orders, figures, trades",
    arguments: ["kraken-mixed-20260702-frames-nautilus", "kraken-mixed-20260723-frames-jkorf"])
  func frames(_ name: String) throws {
    let recording = try Recording(name)
    let names = ["PI_XBTUSD", "PF_ETHUSD"]
    let feed = Self.feed(names)
    feed.connect()
    var read = 0
    for record in recording.texts where record.text.contains("product_id") && !record.text.contains("\"channel\"") {
      feed.receive(Self.text(record.text, names))
      #expect(feed.error == nil, "\(record.name): \(feed.error?.detail ?? "")")
      read += feed.books.count + feed.trades.count + feed.tickers.count
    }
    #expect(read == (name.hasSuffix("jkorf") ? 1 : 6))
  }

  @Test("the recorded lists: of what is there today linear contracts alone, and none of 2021")
  func lists() throws {
    var listed: [ListedMarket] = []
    for name in ["kraken-futures-20210722-book10", "kraken-mixed-20260702-frames-nautilus"] {
      for record in try Recording(name).answers
      where record.url.contains("/instruments") || record.name == "http_futures_instruments.json" {
        listed += try KrakenFutures.listing.read(Array(record.text.utf8).span.bytes).markets
      }
    }
    #expect(listed.map(\.symbol.text) == ["ETH-USD-PERP", "PEPE-USD-PERP", "AAPLx-USD-PERP"])
    #expect(
      listed.map(\.sizeIncrement) == [
        Decimal64(mantissa: 1, scale: 3), Decimal64(mantissa: 1_000, scale: 0), Decimal64(mantissa: 1, scale: 2),
      ])
  }
}
