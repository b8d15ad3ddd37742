import TestSupport
import Testing

@testable import Venues

@Suite("KuCoin's frames in other libraries' tests")
struct KuCoinRecordingTests {
  @Test(
    "every spot frame of the unified API is understood, and none of the classic one is taken",
    .enabled(if: recordingsFolder != nil, "no recordings on this machine: set TIDEGATE_RECORDINGS"))
  func frames() throws {
    let feed = EngineHarness(KuCoin.venue, ["ETH-USDT", "BTC-USDT"])
    feed.prepare()
    feed.respond(feed.gets[0].request, 200, KuCoinDialectTests.list)
    feed.connect()
    var understood = 0
    for record in try Recording("kucoin-mixed-20260807-frames-jkorf").texts {
      guard !record.name.isEmpty, !record.name.hasPrefix("Futures") else { continue }
      feed.receive(record.text)
      #expect(feed.error == nil, "\(record.name): \(feed.error?.detail ?? "")")
      understood += 1
    }
    #expect(understood >= 10)
    #expect(feed.engine.symbolCounts[0].trades == 1 && feed.engine.symbolCounts[0].snapshots == 1)
    #expect(feed.engine.counts.ignored == understood - 2)
    #expect(feed.engine.symbolCounts[1] == SymbolCounts())
  }
}
