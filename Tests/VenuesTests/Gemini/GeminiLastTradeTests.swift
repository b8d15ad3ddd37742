import MarketData
import Testing

@testable import Venues

/// Quotes of Gemini name the last trade, and so contradict a channel of trades that has died.
@Suite("The last trade in Gemini's quotes")
struct GeminiLastTradeTests {
  private static func quote(_ number: Int, last: String?, symbol: String = "btcusd") -> String {
    let trade = last.map { #","c":"\#($0)","C":"0.5""# } ?? ""
    return
      #"{"u":\#(number),"E":1783981140076872200,"s":"\#(symbol)","b":"80688.1","B":"1","a":"80691.5","A":"1"\#(trade)}"#
  }

  private static func shown(_ feed: EngineHarness) -> [InstrumentID] {
    feed.events.compactMap { if case .tradeShown(let id) = $0 { id } else { nil } }
  }

  @Test("another price or size shows a trade; the first of a connection, the same again and none show nothing")
  func changes() {
    let feed = GeminiDialectTests.live()
    var number = 100
    func trades(_ last: String?, symbol: String = "btcusd") -> [InstrumentID] {
      number += 1
      feed.receive(Self.quote(number, last: last, symbol: symbol))
      #expect(feed.error == nil && feed.quotes.count == 1)
      return Self.shown(feed)
    }
    #expect(trades("80690.0") == [])
    #expect(trades("80690.0") == [])
    #expect(trades("80690.5") == [InstrumentID(0)])
    #expect(trades(nil) == [])
    #expect(trades("80690.5") == [])
    #expect(trades("2500.1", symbol: "ethusd") == [], "each market has its own")
    #expect(trades("2500.2", symbol: "ethusd") == [InstrumentID(1)])
    #expect(trades("80690.5") == [])
    feed.receive(
      #"{"u":900,"E":1783981140076872200,"s":"btcusd","b":"80688.1","B":"1","a":"80691.5","A":"1","c":"80690.5","C":"2"}"#
    )
    #expect(Self.shown(feed) == [InstrumentID(0)])
    feed.disconnect()
    feed.connect()
    #expect(trades("1.5") == [])
    #expect(trades("80690.5") == [InstrumentID(0)])
  }

  @Test("a quote that cannot be read shows nothing, and the next one does")
  func unreadable() {
    let feed = GeminiDialectTests.live()
    feed.receive(Self.quote(1, last: "80690.0"))
    feed.receive(#"{"u":2,"s":"btcusd","b":"x","B":"1","a":"80691.5","A":"1","c":"80690.5","C":"0.5"}"#)
    #expect(feed.error != nil && Self.shown(feed).isEmpty)
    feed.receive(Self.quote(3, last: "80690.5"))
    #expect(Self.shown(feed) == [InstrumentID(0)])
  }
}
