import MarketData
import Testing

@testable import Venues

@Suite("The newest trade of an earlier connection")
struct NewestTradeTests {
  private func trade(_ number: UInt64, _ time: Int64) -> Trade {
    Trade(
      instrument: InstrumentID(0), id: TradeID(number), price: 1, size: 1, side: .buy,
      time: Timestamp(microseconds: time))
  }

  @Test("a trade is a repetition only if neither its number nor its time is new")
  func repetition() {
    var newest = NewestTrade()
    #expect(newest.isOlder(than: trade(1, 1)))
    newest.note(trade(100, 50))
    newest.note(trade(99, 51))
    for (number, time, isNews): (UInt64, Int64, Bool) in [
      (99, 51, false), (100, 50, false), (98, 40, false), (101, 49, true), (1, 52, true), (0, 1, true),
    ] {
      #expect(newest.isOlder(than: trade(number, time)) == isNews, "\(number) at \(time)")
    }
  }
}
