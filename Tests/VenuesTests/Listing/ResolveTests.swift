import Bytes
import MarketData
import Testing

@testable import Venues

@Suite("What is configured is found in the venue's list")
struct ResolveTests {
  private func engine(
    _ symbols: [String], listing: ListingDetail = .none, _ change: (inout DialectFacts) -> Void = { _ in }
  ) -> FeedEngine {
    // A venue of perpetuals and futures as well as spot.
    FeedEngine(
      ScriptedDialect(.streamed, .topic, change), venue: OKX.venue,
      configuration: FeedConfiguration(symbols: symbols, listing: listing))
  }

  /// The reasons of what was refused since this was asked for last.
  private func takeRefusals(_ engine: FeedEngine) -> [String: String] {
    var reasons: [String: String] = [:]
    for case .symbolFailed(let symbol, let reason) in engine.actions { reasons[symbol] = reason }
    engine.actions.removeAll()
    return reasons
  }

  private func carry(
    _ engine: FeedEngine, _ list: [ListedMarket], listing: (ListedMarket) -> Bool = { _ in true },
    into batch: inout EventBatch
  ) -> Set<Int> {
    defer { engine.makeLines() }
    return engine.resolve(list, listing: listing, into: &batch)
  }

  /// A whole book of the first market has come.
  private func goLive(_ engine: FeedEngine) {
    let event = BookEvent(
      instrument: InstrumentID(0), kind: .snapshot, bidRange: 0..<0, askRange: 0..<0, time: .distantPast)
    #expect(engine.books.lines[0].book.take(event, nil, EventBatch(), now: .distantPast) == .whole)
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
    let engine = engine(["B-C-PERP", "A-C"])
    var batch = EventBatch()
    let size = Decimal64(mantissa: 10, scale: 3)
    let list = [
      try market("AC", "A-C"), try market("A-C", "A-C"), try market("BC", "B-C-PERP", contractSize: size),
      try market("D", "D-C"),
    ]
    #expect(carry(engine, list, into: &batch) == [0, 1])
    #expect(engine.instruments.map(\.venueSymbol) == ["BC", "AC"] && takeRefusals(engine).isEmpty)
    let contract = engine.instruments[0]
    #expect(contract.contractSize == Decimal64(mantissa: 1, scale: 2) && contract.kind == .perpetual)
    #expect(contract.priceScale == 1 && contract.sizeScale == 4)
    #expect(contract.sizeIncrement == Decimal64(mantissa: 1, scale: 4))
    #expect(engine.listing.isEmpty)
  }

  @Test("refused in words: what is not there, cannot be exact, is not traded, or is no symbol")
  func refused() throws {
    let engine = engine(["A-D", "A-USD-PERP", "H-C", "nothing"]) { $0.carriesHalted = false }
    var batch = EventBatch()
    let list = [
      try market("A", "A-C"), try market("INVERSE", "A-USD-PERP", contractSize: nil),
      try market("LINEAR", "A-USDC-PERP"), try market("H", "H-C", state: .halted),
    ]
    #expect(carry(engine, list, into: &batch).isEmpty && engine.instruments.isEmpty)
    let reasons = takeRefusals(engine)
    #expect(reasons.count == 4)
    #expect(reasons["A-D"]?.hasPrefix("OKX has no market A-D (did you mean A-C") == true)
    #expect(reasons["A-USD-PERP"]?.hasPrefix("INVERSE is an inverse contract") == true)
    #expect(reasons["A-USD-PERP"]?.hasSuffix(": write A-USDC-PERP") == true)
    #expect(reasons["H-C"] == "H-C is listed at OKX but not traded")
    #expect(reasons["nothing"]?.hasPrefix("nothing is not a symbol") == true)
    // Once a connection.
    _ = carry(engine, list, into: &batch)
    #expect(takeRefusals(engine).isEmpty)
    engine.forgetConnection()
    _ = carry(engine, list, into: &batch)
    #expect(takeRefusals(engine) == reasons)
  }

  @Test("what is live goes on, whatever a later list says of it; the rest follows the list")
  func live() throws {
    let engine = engine(["A-C", "B-C"])
    var batch = EventBatch()
    let list = [try market("A", "A-C"), try market("B", "B-C")]
    #expect(carry(engine, list, into: &batch) == [0, 1])
    let before = engine.instruments
    goLive(engine)
    #expect(carry(engine, [], into: &batch) == [0])
    #expect(takeRefusals(engine).keys.sorted() == ["B-C"] && engine.instruments == before)
    let finer = ListedMarket(
      venueSymbol: "B", symbol: FeedSymbol(base: "B", quote: "C"), priceIncrement: Decimal64(mantissa: 1, scale: 3))
    #expect(carry(engine, [finer], into: &batch) == [0, 1])
    #expect(engine.instruments[1].priceScale == 3 && engine.instruments[0] == before[0])
  }

  @Test("a symbol that is configured twice is one instrument, though it is live")
  func twice() throws {
    let engine = engine(["A-C", "A-C"])
    var batch = EventBatch()
    #expect(carry(engine, [try market("A", "A-C")], into: &batch) == [0])
    goLive(engine)
    #expect(carry(engine, [try market("A", "A-C")], into: &batch) == [0])
    #expect(engine.instruments.count == 1)
  }

  @Test("a symbol stays with its market: another one of that symbol is not taken for it")
  func renamed() throws {
    let engine = engine(["A-C"])
    var batch = EventBatch()
    let (one, other) = (try market("A1", "A-C"), try market("A2", "A-C"))
    #expect(carry(engine, [one, other], into: &batch) == [0])
    #expect(carry(engine, [other, one], into: &batch) == [0] && takeRefusals(engine).isEmpty)
    #expect(carry(engine, [other], into: &batch).isEmpty)
    let reason = "A-C was A1 at OKX and is A2 now: restart the gateway to follow it"
    #expect(takeRefusals(engine) == ["A-C": reason])
    #expect(engine.instruments.map(\.venueSymbol) == ["A1"])
  }

  @Test("a selection is of what is listed, not of other names for it")
  func selected() throws {
    let engine = engine(["*-C"], listing: .markets)
    var batch = EventBatch()
    let list = [try market("A", "A-C"), try market("A", "A2-C"), try market("B", "B-C")]
    #expect(carry(engine, list, listing: { $0.symbol.base != "A2" }, into: &batch) == [0, 1])
    #expect(engine.lists.market.symbols == ["A-C", "B-C"] && engine.listing.map(\.venueSymbol) == ["A", "B"])
  }
}
