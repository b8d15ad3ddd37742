import Alerts
import MarketData
import Testing

@testable import Gateway

@Suite("A loop's values for alerts")
struct LoopAlertsTests {
  @Test("the size near the best price counts levels within the bound, and no further")
  func depth() {
    var book = OrderBook()
    let level = { (price: Int64, size: Int64) in PriceLevel(price: price, size: size) }
    book.replace(
      bids: [level(10_000, 1), level(9_990, 2), level(9_989, 4)], asks: [level(10_010, 8), level(10_020, 16)])
    #expect(book.size(.bids, within: 10) == 3)
    #expect(book.size(.bids, within: 11) == 7)
    #expect(book.size(.asks, within: 9) == 8)
    #expect(book.size(.asks, within: 10) == 24)
  }
}
