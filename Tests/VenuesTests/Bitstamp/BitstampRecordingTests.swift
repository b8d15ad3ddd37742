import Bytes
import MarketData
import TestSupport
import Testing

@testable import Venues

@Suite("Bitstamp as recorded")
struct BitstampRecordingTests {
  @Test(
    "ten recorded books, joined to their snapshots: every count and level",
    .enabled(if: recordingsFolder != nil, "no recordings on this machine: set TIDEGATE_RECORDINGS"),
    arguments: ["bitstamp-spot-20210417-book10", "bitstamp-spot-20220105-book10"])
  func books(_ name: String) throws {
    let recording = try Recording(name)
    let list = try #require(recording.records.first { $0.url.contains("trading-pairs-info") }).text
    let markets = try Bitstamp.readList(Array(list.utf8).span.bytes).markets
    let symbols = recording.symbols.compactMap { name in markets.first { $0.venueSymbol == name }?.symbol.text }
    #expect(symbols.count == 10)
    let feed = EngineHarness(Bitstamp.venue, symbols)
    let refused = recording.play(to: feed) { path, index in
      guard let symbol = path.firstRange(of: "/order_book/")?.upperBound else { return list }
      let wanted = path[symbol...].prefix { $0 != "/" }
      return recording.records[...index].last { $0.url.hasSuffix("/order_book/\(wanted)") }?.text
    }
    #expect(refused == 0)
    for (symbol, want) in try recording.expected() where !Self.isUnproven(name, symbol) {
      let state = try #require(feed.market.instruments.first { $0.instrument.venueSymbol == symbol })
      let counts = feed.engine.symbolCounts[state.instrument.id.index]
      #expect(counts.deltas == want.deltas && counts.snapshots == want.snapshots, "\(symbol)")
      #expect(counts.bridged == want.bridged ?? 0 && counts.dropped == want.dropped ?? 0, "\(symbol)")
      #expect(counts.gaps == 0 && counts.trades == want.trades, "\(symbol)")
      #expect(state.unknownDeletes == want.unknown_deletes ?? 0 && state.bookState == .live, "\(symbol)")
      #expect([state.book.bids.count, state.book.asks.count] == want.levels, "\(symbol)")
      for (side, levels) in [(state.book.bids, want.final_bids), (state.book.asks, want.final_asks)] {
        let got = side.suffix(5).reversed().map { level in
          [text(level.price, state.instrument.priceScale), text(level.size, state.instrument.sizeScale)]
        }
        #expect(got == levels, "\(symbol)")
      }
    }
  }

  /// The one book of which nothing proves that its only recorded snapshot joins: it is 1.7 s older than the first
  /// update that came, and the recorder read the venue's word on the subscription later still. A live feed asks again.
  private static func isUnproven(_ recording: String, _ symbol: String) -> Bool {
    recording == "bitstamp-spot-20210417-book10" && symbol == "gbpusd"
  }

  private func text(_ value: Int64, _ scale: UInt8) -> String {
    var buffer = ByteBuffer()
    buffer.append(decimal: value, scale: scale)
    return buffer.description
  }
}
