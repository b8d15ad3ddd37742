import MarketData
import Testing

@testable import Venues

@Suite("KuCoin's frames as recorded in 2026")
struct KuCoinFramesTests {
  private static func book(_ type: String, _ first: Int, _ last: Int, _ bids: String, _ asks: String) -> String {
    #"{"T":"obu.SPOT","dp":"increment@10ms","t":"\#(type)","P":1785552833078123456,"d":{"a":[\#(asks)],"b":[\#(bids)],"C":\#(last),"s":"BTC-USDT","M":1785552833070123456,"O":\#(first)}}"#
  }

  @Test("a price is set and removed in one change; O and C are its range, times are in nanoseconds")
  func setAndRemoved() throws {
    let feed = try EngineHarness.connected("kucoin", ["BTC-USDT"])
    feed.receive(
      #"{"sessionId":"a","data":"welcome","pingInterval":18000,"pingTimeout":10000}"#)
    feed.receive(Self.book("snapshot", 1, 100, #"["67135.0","2"]"#, #"["67136.0","3"]"#))
    #expect(feed.error == nil && feed.state(0) == .live, "\(feed.error?.detail ?? "")")
    feed.receive(Self.book("delta", 101, 140, #"["67135.5","1"],["67135.5","0"]"#, #"["67135.9","0"],["67135.9","4"]"#))
    #expect(feed.state(0) == .live && feed.resets.isEmpty)
    #expect(feed.books.first?.time == Timestamp(microseconds: 1_785_552_833_070_123))
    #expect(feed.shownBids == ["67135 2"] && feed.shownAsks == ["67135.9 4", "67136 3"])
    feed.receive(Self.book("delta", 141, 141, "", ""))
    #expect(feed.state(0) == .live && feed.engine.symbolCounts[0].sequenceOK == 2)
  }
}
