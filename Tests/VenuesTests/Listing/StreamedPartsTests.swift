import MarketData
import Testing

@testable import Venues

@Suite("A list that comes in the stream")
struct StreamedPartsTests {
  private let start = Timestamp(microseconds: 1_700_000_000_000_000)
  private func market(_ name: String) -> ListedMarket {
    ListedMarket(venueSymbol: name, symbol: FeedSymbol(base: name, quote: "USD"))
  }

  @Test("it is whole when every part has come, in their order, and then it is handed over once")
  func whole() {
    var parts = StreamedParts(.init(parts: 2, within: 100))
    #expect(parts.begin(now: start) == [0, 1])
    #expect(parts.take([market("B")], part: 1) && parts.takeWhole() == nil && !parts.isThere)
    #expect(parts.take([market("A")], part: 0) && parts.takeWhole()?.map(\.venueSymbol) == ["A", "B"])
    #expect(parts.isThere && !parts.take([], part: 0), "nothing is awaited any more")
  }

  @Test("what has not come is asked for again, and counts as an attempt; the rest is kept")
  func overdue() {
    var parts = StreamedParts(.init(parts: 2, within: 100))
    _ = parts.begin(now: start)
    _ = parts.take([market("A")], part: 0)
    #expect(!parts.takeOverdue(now: start + 99) && parts.takeOverdue(now: start + 100) && parts.attempts == 1)
    #expect(parts.begin(now: start + 100) == [1])
    #expect(parts.take([], part: 1) && parts.takeWhole()?.count == 1 && parts.attempts == 0)
    let isOverdue = parts.takeOverdue(now: start + Microseconds.day)
    #expect(!isOverdue)
  }

  @Test("a list that is there is asked for anew as a whole, and is not there meanwhile")
  func anew() {
    var parts = StreamedParts(.init(parts: 1, within: 100))
    _ = parts.begin(now: start)
    _ = parts.take([market("A")], part: 0)
    _ = parts.takeWhole()
    #expect(parts.begin(now: start) == [0] && !parts.isThere)
    parts.disconnected()
    #expect(!parts.take([], part: 0) && !parts.takeOverdue(now: start + 1_000))
  }

  @Test("elsewhere nothing is asked for")
  func none() {
    var parts = StreamedParts(nil)
    #expect(parts.begin(now: start) == [] && !parts.takeOverdue(now: start + 1_000))
  }
}
