import Bytes
import Foundation
import MarketData
import TestSupport
import Testing
import Venues

@testable import Recordings

/// Sessions that were recorded by others: a book channel and nothing else.
@Suite("Recordings without an instrument list")
struct ReplayUnlistedTests {
  struct Expected: Decodable {
    struct Symbol: Decodable {
      var deltas: Int
      var snapshots: Int
      var checksums_ok: Int
      var depth: Int
      var final_bids: [[String]]
      var final_asks: [[String]]
    }
    var symbols: [String: Symbol]
  }

  @Test(
    "Kraken's books are cut to the depth that was acknowledged, and every checksum is reproduced",
    .enabled(if: recordingsFolder != nil, "no recordings on this machine: set TIDEGATE_RECORDINGS"),
    arguments: [("kraken-spot-20260801-btcusd-d10", 301), ("kraken-spot-20260802-ethusd", 1_129)])
  func kraken(_ name: String, _ checksums: Int) throws {
    let path = "\(try #require(recordingsFolder))/\(name)"
    let expected = try JSONDecoder().decode(
      Expected.self, from: Data(contentsOf: URL(fileURLWithPath: path + ".expected.json")))
    let (symbol, want) = try #require(expected.symbols.first)
    let result = try Replayer(path: path + ".ndjson.gz").run()
    #expect(result.failed.isEmpty)
    #expect(result.symbols.map { $0.name } == [symbol])
    let got = try #require(result.symbols.first)
    #expect(got.checksumsOK == want.checksums_ok && got.checksumsOK == checksums)
    #expect(got.counts.deltas == want.deltas && got.counts.snapshots == want.snapshots)
    #expect(got.bidLevels == want.depth && got.askLevels == want.depth)
    ReplayExpectationTests.expect(got.finalBids, Array(want.final_bids.prefix(5)), isShort: false, "bids")
    ReplayExpectationTests.expect(got.finalAsks, Array(want.final_asks.prefix(5)), isShort: false, "asks")
    #expect(got.isLiveAtEnd && !got.isCrossedAtEnd)
  }
}
