import Bytes
import MarketData
import Testing

@testable import Venues

/// What every handler does with its venue's list.
@Suite("What is configured is found in the venue's list")
struct CarryTests {
  /// A handler of nothing but lists.
  private final class ListHandler: SymbolHandler {
    var live: Set<Int> = []
    var takesHalted = true

    override func isLive(_ place: Int) -> Bool { live.contains(place) }
    override var carriesHalted: Bool { takesHalted }
    override func refusal(of market: ListedMarket, for symbol: String) -> String? {
      market.venueSymbol == "MINE" ? "\(symbol) is not for you" : nil
    }

    /// The reasons of what was refused since this was asked for last.
    func takeRefusals() -> [String: String] {
      var reasons: [String: String] = [:]
      for case .symbolFailed(let symbol, let reason) in actions { reasons[symbol] = reason }
      actions.removeAll()
      return reasons
    }
  }

  private func handler(_ symbols: [String], listing: ListingDetail = .none) -> ListHandler {
    // A venue of perpetuals and futures as well as spot.
    ListHandler(venue: OKX.venue, configuration: FeedConfiguration(symbols: symbols, listing: listing))
  }

  private func market(
    _ name: String, _ symbol: String, contractSize: Decimal64? = Decimal64(mantissa: 1, scale: 0),
    state: ListedMarket.State = .trading
  ) throws -> ListedMarket {
    ListedMarket(
      venueSymbol: name, symbol: try #require(FeedSymbol(symbol)), priceIncrement: Decimal64(mantissa: 5, scale: 1),
      sizeIncrement: Decimal64(mantissa: 1, scale: 2), contractSize: contractSize, state: state)
  }

  @Test("what is there is added, at the digits and steps of the list, brought to base units; the first of two is meant")
  func found() throws {
    let handler = handler(["B-C-PERP", "A-C"])
    var batch = EventBatch()
    let size = Decimal64(mantissa: 10, scale: 3)
    let list = [
      try market("AC", "A-C"), try market("A-C", "A-C"), try market("BC", "B-C-PERP", contractSize: size),
      try market("D", "D-C"),
    ]
    #expect(handler.carry(list, into: &batch) == [0, 1])
    #expect(handler.instruments.map(\.venueSymbol) == ["BC", "AC"] && handler.takeRefusals().isEmpty)
    let contract = handler.instruments[0]
    #expect(contract.contractSize == Decimal64(mantissa: 1, scale: 2) && contract.kind == .perpetual)
    #expect(contract.priceScale == 1 && contract.sizeScale == 4)
    #expect(contract.sizeIncrement == Decimal64(mantissa: 1, scale: 4))
    #expect(handler.listing.isEmpty)
  }

  @Test("refused in words: what is not there, cannot be exact, is not traded, or is no symbol")
  func refused() throws {
    let handler = handler(["A-D", "A-USD-PERP", "H-C", "M-C", "nothing"])
    handler.takesHalted = false
    var batch = EventBatch()
    let list = [
      try market("A", "A-C"), try market("INVERSE", "A-USD-PERP", contractSize: nil),
      try market("LINEAR", "A-USDC-PERP"), try market("H", "H-C", state: .halted), try market("MINE", "M-C"),
    ]
    #expect(handler.carry(list, into: &batch).isEmpty && handler.instruments.isEmpty)
    let reasons = handler.takeRefusals()
    #expect(reasons.count == 5)
    #expect(reasons["A-D"]?.hasPrefix("OKX has no market A-D (did you mean A-C") == true)
    #expect(reasons["A-USD-PERP"]?.hasPrefix("INVERSE is an inverse contract") == true)
    #expect(reasons["A-USD-PERP"]?.hasSuffix(": write A-USDC-PERP") == true)
    #expect(reasons["H-C"] == "H-C is listed at OKX but not traded")
    #expect(reasons["M-C"] == "M-C is not for you")
    #expect(reasons["nothing"]?.hasPrefix("nothing is not a symbol") == true)
    // Once a connection.
    _ = handler.carry(list, into: &batch)
    #expect(handler.takeRefusals().isEmpty)
    handler.forgetConnection()
    _ = handler.carry(list, into: &batch)
    #expect(handler.takeRefusals() == reasons)
  }

  @Test("what is live goes on, whatever a later list says of it; the rest follows the list")
  func live() throws {
    let handler = handler(["A-C", "B-C"])
    var batch = EventBatch()
    let list = [try market("A", "A-C"), try market("B", "B-C")]
    #expect(handler.carry(list, into: &batch) == [0, 1])
    let before = handler.instruments
    handler.live = [0]
    #expect(handler.carry([], into: &batch) == [0])
    #expect(handler.takeRefusals().keys.sorted() == ["B-C"] && handler.instruments == before)
    let finer = ListedMarket(
      venueSymbol: "B", symbol: FeedSymbol(base: "B", quote: "C"), priceIncrement: Decimal64(mantissa: 1, scale: 3))
    #expect(handler.carry([finer], into: &batch) == [0, 1])
    #expect(handler.instruments[1].priceScale == 3 && handler.instruments[0] == before[0])
  }

  @Test("a symbol that is configured twice is one instrument, though it is live")
  func twice() throws {
    let handler = handler(["A-C", "A-C"])
    handler.live = [0]
    var batch = EventBatch()
    #expect(handler.carry([try market("A", "A-C")], into: &batch) == [0])
    #expect(handler.instruments.count == 1)
  }

  @Test("a symbol stays with its market: another one of that symbol is not taken for it")
  func renamed() throws {
    let handler = handler(["A-C"])
    var batch = EventBatch()
    let (one, other) = (try market("A1", "A-C"), try market("A2", "A-C"))
    #expect(handler.carry([one, other], into: &batch) == [0])
    #expect(handler.carry([other, one], into: &batch) == [0] && handler.takeRefusals().isEmpty)
    #expect(handler.carry([other], into: &batch).isEmpty)
    let reason = "A-C was A1 at OKX and is A2 now: restart the gateway to follow it"
    #expect(handler.takeRefusals() == ["A-C": reason])
    #expect(handler.instruments.map(\.venueSymbol) == ["A1"])
  }

  @Test("a selection is of what is listed, not of other names for it")
  func selected() throws {
    let handler = handler(["*-C"], listing: .markets)
    var batch = EventBatch()
    let list = [try market("A", "A-C"), try market("A", "A2-C"), try market("B", "B-C")]
    #expect(handler.carry(list, listing: { $0.symbol.base != "A2" }, into: &batch) == [0, 1])
    #expect(handler.symbols == ["A-C", "B-C"] && handler.listing.map(\.venueSymbol) == ["A", "B"])
  }
}
