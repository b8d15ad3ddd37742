import MarketData
import Testing

@testable import Venues

@Suite("The parts of a list, and the symbols that it does not have")
struct MarketListsTests {
  private func page(_ names: [String], cursor: String?) -> ListPage {
    ListPage(
      markets: names.map { ListedMarket(venueSymbol: $0, symbol: FeedSymbol(base: $0, quote: "USD")) },
      goesOn: cursor != nil, cursor: cursor, names: names)
  }

  @Test("parts are gathered; a cursor that stays where it is is told")
  func pages() {
    var pages = ListPages()
    let stays = [("A", "x"), ("B", "y"), ("C", "y")].map { pages.append(page([$0.0], cursor: $0.1)) }
    #expect(stays == [false, false, true])
    #expect(pages.markets.map(\.venueSymbol) == ["A", "B", "C"] && pages.names == ["A", "B", "C"] && pages.count == 3)
  }

  @Test("a list that is begun anew is asked for from its first part, in the way that was found")
  func restart() {
    var pages = ListPages()
    pages.isOtherWay = true
    _ = pages.append(page(["A"], cursor: "x"))
    pages.restart()
    #expect(pages.isOtherWay && pages.count == 0 && pages.cursor == nil && pages.markets.isEmpty)
  }

  @Test("a symbol's refusal is told once a connection, and once each time it is asked for again")
  func told() {
    var refused = RefusedSymbols()
    let first = ["A", "A", "B"].map { refused.note($0) }
    #expect(first == [true, false, true])
    refused.forget(["A"])
    #expect(refused.note("A") && !refused.note("B"))
    refused.disconnected()
    let isNews = refused.note("B")
    #expect(isNews)
  }

  @Test("what no list can change stays so, whatever was told and whatever connection there is")
  func hopeless() {
    var refused = RefusedSymbols()
    _ = refused.note("A")
    _ = refused.note("A", isForGood: true)
    refused.disconnected()
    #expect(refused.isHopeless("A") && !refused.isHopeless("B"))
  }
}
