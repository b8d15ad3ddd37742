import MarketData
import Testing

@testable import Venues

@Suite("Gate's frames as recorded in 2026")
struct GateFramesTests {
  private static func frame(_ result: String) -> String {
    #"{"channel":"spot.obu","result":{"t":1785552833078,"s":"ob.BTC_USDT.400",\#(result)},"time_ms":1785552833090,"event":"update"}"#
  }

  @Test("many updates have no levels and move the number on")
  func empty() throws {
    let feed = try EngineHarness.connected("gate", ["BTC_USDT"])
    feed.receive(Self.frame(#""full":true,"u":100,"b":[["80688.1","0.5"]],"a":[["80691.5","0.2"]]"#))
    #expect(feed.error == nil && feed.state(0) == .live)
    for (first, last) in [(101, 104), (105, 105), (106, 140)] {
      feed.receive(Self.frame(#""U":\#(first),"u":\#(last)"#))
      #expect(feed.error == nil && feed.state(0) == .live && feed.resets.isEmpty)
    }
    feed.receive(Self.frame(#""U":141,"u":150,"b":[["80688.1","0"],["80688","1.5"]]"#))
    #expect(feed.state(0) == .live && feed.shownBids == ["80688 1.5"] && feed.shownAsks == ["80691.5 0.2"])
    #expect(feed.engine.symbolCounts[0].sequenceOK == 4)
    feed.receive(Self.frame(#""U":152,"u":153"#))
    #expect(feed.state(0) != .live, "one without levels has to follow, too")
  }
}
