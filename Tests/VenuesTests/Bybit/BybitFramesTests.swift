import MarketData
import Testing

@testable import Venues

@Suite("Bybit's frames as recorded in 2026")
struct BybitFramesTests {
  @Test("a quote's snapshot comes again with its number, once with a newer seq, and with an older time")
  func repeatedQuote() throws {
    let feed = try EngineHarness.connected("bybit", ["BTCUSDT"])
    func quote(_ time: Int, _ number: Int, _ sequence: Int, _ bid: String) -> Int {
      feed.receive(
        #"{"topic":"orderbook.1.BTCUSDT","ts":\#(time),"type":"snapshot","data":{"s":"BTCUSDT","b":[["\#(bid)","0.5"]],"a":[["64005.1","0.25"]],"u":\#(number),"seq":\#(sequence)},"cts":\#(time - 2)}"#
      )
      #expect(feed.error == nil && feed.resets.isEmpty && feed.books.isEmpty, "\(feed.error?.detail ?? "")")
      return feed.changes.count { if case .quote(_) = $0 { true } else { false } }
    }
    #expect(quote(1_785_552_833_078, 40, 900, "64005") == 1)
    feed.wait(3)
    #expect(quote(1_785_552_836_078, 40, 900, "64005") == 0, "the same again is no news")
    #expect(quote(1_785_552_836_078, 40, 907, "64005") == 0)
    #expect(quote(1_785_552_836_070, 41, 910, "64004.9") == 1, "newer by its number, whatever its time")
    #expect(feed.market.instruments[0].quote?.bid == 640_049 && feed.engine.symbolCounts[0].gaps == 0)
  }
}
