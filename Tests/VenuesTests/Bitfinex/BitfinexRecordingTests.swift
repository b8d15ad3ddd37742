import MarketData
import TestSupport
import Testing

@testable import Venues

@Suite("Bitfinex as recorded")
struct BitfinexRecordingTests {
  @Test(
    "seven recorded books: every count, link and level",
    .enabled(if: recordingsFolder != nil, "no recordings on this machine: set TIDEGATE_RECORDINGS"))
  func books() throws {
    let recording = try Recording("bitfinex-spot-20210417-book7")
    let list = try #require(recording.records.first { $0.url.hasSuffix("pub:list:pair:exchange") }).text
    let symbols = recording.symbols.compactMap { BitfinexPair(pair: String($0.dropFirst()))?.symbol.text }
    #expect(symbols.contains("TESTBTC-TESTUSD") && symbols.count == 7)
    let feed = EngineHarness(Bitfinex.venue, symbols)
    #expect(recording.play(to: feed) { path, _ in path == Bitfinex.listPath ? list : nil } == 0)
    for (symbol, want) in try recording.expected() {
      let state = try #require(feed.market.instruments.first { $0.instrument.venueSymbol == symbol })
      let counts = feed.engine.symbolCounts[state.instrument.id.index]
      #expect(counts.deltas == want.deltas && counts.snapshots == want.snapshots, "\(symbol)")
      #expect(counts.sequenceOK == want.sequence_ok && counts.gaps == 0, "\(symbol)")
      #expect(counts.trades == want.trades && counts.backlogTrades == want.backlog_trades ?? 0, "\(symbol)")
      #expect(state.unknownDeletes == want.unknown_deletes ?? 0, "\(symbol)")
      try want.check(state, symbol)
    }
  }

  @Test(
    "frames of other libraries' tests are understood, or passed over",
    .enabled(if: recordingsFolder != nil, "no recordings on this machine: set TIDEGATE_RECORDINGS"))
  func frames() throws {
    let feed = EngineHarness(Bitfinex.venue, ["ETH-USDT"])
    feed.prepare()
    feed.respond(feed.gets[0].request, 200, #"[["ETHUST"],[["UST","USDt"]]]"#)
    feed.connect()
    var seen: Set<String> = []
    for record in try Recording("bitfinex-mixed-20260723-frames-jkorf").texts {
      feed.receive(record.text)
      #expect(feed.error == nil, "\(record.name): \(feed.error?.detail ?? "")")
      #expect(feed.books.isEmpty, "\(record.name): books of other precisions are none of ours")
      if !feed.tickers.isEmpty { seen.insert("ticker") }
      if !feed.trades.isEmpty { seen.insert("trades") }
    }
    #expect(seen == ["ticker", "trades"])
    feed.receive(BitfinexDialectTests.subscribed("trades", 18788, "tETHUST"))
    var trades = 0
    for record in try Recording("bitfinex-mixed-20260821-frames-gct").records {
      feed.receive(record.text)
      #expect(feed.error == nil, "\(record.name): \(feed.error?.detail ?? "")")
      trades += feed.trades.count
    }
    // Three from before, one of `te`; those of funding are not.
    #expect(trades == 4)
  }
}
