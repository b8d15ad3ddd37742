import MarketData
import Testing

@testable import Venues

@Suite("Gemini's frames as recorded in 2026")
struct GeminiFramesTests {
  private static func book(_ first: Int, _ last: Int, _ bids: String, _ asks: String) -> String {
    #"{"e":"depthUpdate","E":1789456740173524809,"s":"btcusd","U":\#(first),"u":\#(last),"b":[\#(bids)],"a":[\#(asks)]}"#
  }

  @Test("an update begins with the number that the one before it ended with; levels are unsorted; zero has ten digits")
  func updates() throws {
    let feed = try EngineHarness.connected("gemini", ["btcusd"])
    feed.receive(
      Self.book(7, 7, #"["80688.10","0.5"],["80690.00","1"],["80689.00","2"]"#, #"["80695.00","0.2"],["80691.53","3"]"#)
    )
    #expect(feed.error == nil && feed.state(0) == .live)
    #expect(feed.books.first?.time == Timestamp(microseconds: 1_789_456_740_173_524))
    feed.receive(Self.book(7, 12, #"["80690.00","0.0000000000"]"#, #"["80692.00","1.5"]"#))
    feed.receive(Self.book(12, 13, #"["80690.50","4"],["80687.00","1"]"#, ""))
    #expect(feed.error == nil && feed.state(0) == .live && feed.engine.symbolCounts[0].sequenceOK == 2)
    #expect(feed.shownBids == ["80690.5 4", "80689 2", "80688.1 0.5", "80687 1"])
    #expect(feed.shownAsks == ["80691.53 3", "80692 1.5", "80695 0.2"])
    feed.receive(Self.book(14, 15, "", #"["80692.00","1"]"#))
    #expect(feed.state(0) != .live, "13 is missing before 14")
  }

  @Test("the first update of a symbol is its whole book, with asks of ten thousand millions and more")
  func farAsks() throws {
    let feed = try EngineHarness.connected("gemini", ["btcusd"])
    feed.receive(
      Self.book(
        7, 7, #"["0.01","1500"],["80690.00","1.0000000001"]"#,
        #"["80691.53","3"],["10000000000.00","0.01"],["99999999999.99","0.0000000001"]"#))
    #expect(feed.error == nil && feed.state(0) == .live)
    #expect(feed.shownAsks == ["80691.53 3", "10000000000 0.01", "99999999999.99 0.0000000001"])
    feed.receive(Self.book(7, 8, "", #"["10000000000.00","0.0000000000"]"#))
    #expect(feed.state(0) == .live && feed.engine.counts.rejectedLevels == 0)
  }

  @Test("quotes and trades have no name: their keys tell them apart")
  func nameless() throws {
    let feed = try EngineHarness.connected("gemini", ["btcusd"])
    feed.receive(
      #"{"u":12,"E":1789456740373524809,"s":"btcusd","b":"80688.10","B":"0.5","a":"80691.53","A":"0.2","c":"80690","C":"1"}"#
    )
    #expect(feed.error == nil && feed.quotes.count == 1 && feed.trades.isEmpty)
    feed.receive(#"{"E":1789456740373524809,"s":"btcusd","t":5,"p":"80691.53000","q":"0.2","m":false}"#)
    #expect(feed.error == nil && feed.trades.count == 1 && feed.quotes.isEmpty)
    #expect(feed.trades[0].side == .buy)
  }
}
