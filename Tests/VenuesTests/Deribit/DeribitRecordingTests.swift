import Bytes
import MarketData
import TestSupport
import Testing

@testable import Venues

/// Recorded traffic of Deribit. The sessions are of markets that are not carried (options, inverse contracts) and of a
/// channel that needs a key today (`raw`); their messages have the same form, and are read here as if the markets were
/// linear.
@Suite("Deribit's messages as they were recorded")
struct DeribitRecordingTests {
  /// A feed that has `names` for linear perpetuals C0-USDC-PERP, C1-USDC-PERP ….
  private static func feed(_ names: [String]) -> EngineHarness {
    let entries = names.enumerated().map {
      #"{"instrument_name":"\#($1)","kind":"future","instrument_type":"linear","base_currency":"C\#($0)","quote_currency":"USDC","settlement_period":"perpetual"}"#
    }
    let feed = EngineHarness(Deribit.venue, names.indices.map { "C\($0)-USDC-PERP" })
    feed.prepare()
    feed.respond(feed.gets[0].request, 200, #"{"result":[\#(entries.joined(separator: ","))]}"#)
    return feed
  }

  @Test(
    "ten recorded books: every link, count and level",
    .enabled(if: recordingsFolder != nil, "no recordings on this machine: set TIDEGATE_RECORDINGS"))
  func books() throws {
    let recording = try Recording("deribit-options-20210722-book10")
    let expected = try recording.expected()
    let names = expected.keys.sorted()
    #expect(names.count == 10)
    let feed = Self.feed(names)
    feed.connect()
    for record in recording.texts {
      feed.now = record.time
      feed.receive(record.text)
      #expect(feed.error == nil, "\(feed.error?.detail ?? "")")
      #expect(feed.resets.isEmpty && feed.failures.isEmpty)
    }
    for (index, name) in names.enumerated() {
      let want = try #require(expected[name])
      let counts = feed.engine.symbolCounts[index]
      #expect(counts.deltas == want.deltas && counts.snapshots == want.snapshots, "\(name)")
      #expect(counts.sequenceOK == want.sequence_ok && counts.gaps == want.gaps, "\(name)")
      #expect(counts.trades == want.trades, "\(name)")
      try want.check(feed.market.instruments[index], name)
    }
  }

  @Test(
    "frames from other libraries' tests are all understood",
    .enabled(if: recordingsFolder != nil, "no recordings on this machine: set TIDEGATE_RECORDINGS"),
    arguments: ["deribit-mixed-20260702-frames-nautilus", "deribit-mixed-20260821-frames-gct"])
  func frames(_ name: String) throws {
    let recording = try Recording(name)
    let feed = Self.feed(["BTC-PERPETUAL", "BTC-CS-19MAY26-70000_75000"])
    feed.connect()
    var understood = 0
    for record in recording.texts {
      let name = record.name
      feed.receive(record.text)
      if name == "ws_error.json" {
        // It answers no request of this feed.
        #expect(feed.error?.detail.contains("10028") == true)
      } else if name == "ws_book_delta.json" {
        // A change whose snapshot comes after it.
        #expect(feed.error == nil && feed.books.isEmpty)
      } else {
        #expect(feed.error == nil, "\(name): \(feed.error?.detail ?? "")")
      }
      understood += feed.books.count + feed.trades.count + feed.quotes.count + feed.tickers.count
    }
    #expect(understood >= 2)
    if name.hasSuffix("nautilus") { #expect(feed.engine.symbolCounts[0].trades == 2 && feed.state(0) == .live) }
  }

  @Test(
    "recorded instrument lists: linear contracts by what they say, all others are inverse or left out",
    .enabled(if: recordingsFolder != nil, "no recordings on this machine: set TIDEGATE_RECORDINGS"))
  func lists() throws {
    var listed: [ListedMarket] = []
    for name in ["deribit-options-20210722-book10", "deribit-mixed-20260702-frames-nautilus"] {
      for record in try Recording(name).answers {
        guard record.url.contains("get_instruments") || record.name.contains("get_instruments") else { continue }
        listed += try Deribit.listing.read(Array(record.text.utf8).span.bytes).markets
      }
    }
    let perpetual = listed.filter { $0.venueSymbol == "BTC_USDC-PERPETUAL" }
    #expect(perpetual.map(\.symbol.text) == ["BTC-USDC-PERP"] && perpetual.allSatisfy { $0.contractSize != nil })
    #expect(perpetual.first?.sizeIncrement == Decimal64(mantissa: 1, scale: 3))
    let inverse = listed.filter { $0.venueSymbol == "BTC-PERPETUAL" }
    #expect(inverse.count == 2 && inverse.allSatisfy { $0.contractSize == nil && $0.symbol.text == "BTC-USD-PERP" })
    let future = listed.first { $0.venueSymbol == "BTC-25MAR22" }
    #expect(future?.symbol.text == "BTC-USD-20220325" && future?.contractSize == nil)
    #expect(listed.allSatisfy { ($0.contractSize != nil) == ($0.symbol.quote == "USDC") })
  }
}
