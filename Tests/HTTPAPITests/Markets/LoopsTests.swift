import History
import MarketData
import PubSub
import Recordings
import TestSupport
import Testing
import Transport

@testable import HTTPAPI

@Suite("Answers that ask loops")
struct LoopsTests {
  /// The market of one loop, with one instrument.
  private final class Markets: LoopMarkets {
    let publisher: StreamPublisher
    let instrument: Instrument
    private let market = Market(configuration: .init(quotesFromBook: false, bookDepthLimit: nil, checksum: nil))
    private let time = Timestamp(microseconds: 1_790_000_000_000_000)
    private(set) var wanted: [MarketRoute] = []

    init(loop: Int, loops: Int, venue: String) {
      publisher = StreamPublisher(loop: loop, loops: loops, epoch: "k1")
      _ = publisher.add(market: market, venue: venue)
      instrument = Instrument(
        id: InstrumentID(0), venue: venue, venueSymbol: "BTC/USD", base: "BTC", quote: "USD", priceScale: 1,
        sizeScale: 8, priceIncrement: nil)
      apply { $0.append(instrument: instrument) }
      apply {
        $0.events.append(
          .trade(Trade(instrument: InstrumentID(0), id: TradeID(1), price: 10, size: 1, side: .buy, time: time)))
      }
    }

    private func apply(_ fill: (inout EventBatch) -> Void) {
      var batch = EventBatch()
      fill(&batch)
      var changes = MarketChanges()
      market.apply(batch, now: time, into: &changes)
      var out: [Delivery] = []
      publisher.publish(changes, market: 0, now: time, into: &out)
    }

    func now() -> Timestamp { time + 1 }
    func storedSymbol(of route: MarketRoute) -> String? { nil }
    func wantAllHistory(of route: MarketRoute) { wanted.append(route) }
    func want(_ wishes: MarketWishes, of route: MarketRoute) { wanted.append(route) }
  }

  /// Loops whose answers come when the test says so, in the order that it says.
  private final class ScriptedLoops: AnswerLoops, @unchecked Sendable {
    // `@unchecked`: used in one test, on its thread.

    let loop: EventLoop
    let hub: SubscriberHub
    let compressor: ResponseCompressor
    let run = "r1"
    let pastSeats: PastSeats? = nil
    let markets: [Markets]
    /// The loops that were asked, in order.
    private(set) var asked: [Int] = []
    private var answers: [() -> Void] = []

    init(venues: [String]) throws {
      loop = try EventLoop(index: 0, label: "test.loops")
      hub = SubscriberHub(
        loop: 0, loops: venues.count, identity: .init(node: "a", version: "1"), limits: ClientLimits(),
        heartbeatSeconds: 5)
      compressor = ResponseCompressor(loop: loop)
      markets = venues.enumerated().map { Markets(loop: $0.offset, loops: venues.count, venue: $0.element) }
    }

    var entries: [DirectoryEntry] {
      markets.enumerated().map { index, markets in
        DirectoryEntry(loop: index, market: 0, instrument: markets.instrument, bookState: .absent)
      }
    }

    func now() -> Timestamp { markets[0].now() }

    func askMarkets<Value: Sendable>(
      _ loop: Int, _ question: @escaping @Sendable (any LoopMarkets) -> Value, then: @escaping (Value) -> Void
    ) {
      asked.append(loop)
      let markets = markets[loop]
      answers.append { then(question(markets)) }
    }

    func readStore<Value: Sendable>(
      _ work: @escaping @Sendable (HistoryStore) throws -> Value?, then: @escaping @Sendable (Value?) -> Void
    ) -> Bool? { nil }

    func askPast(_ question: @escaping @Sendable (RecordedPast) -> Void) -> Bool? { nil }

    /// Gives the answers that are waiting, the last one first.
    func answer() {
      let waiting = answers
      answers = []
      for answer in waiting.reversed() { answer() }
    }
  }

  @Test("quotes are gathered once every loop has answered, in any order")
  func quotes() throws {
    let loops = try ScriptedLoops(venues: ["kraken", "coinbase", "okx"])
    var gathered: [[String]] = []
    QuoteGathering(loops: loops, depth: 0, hasFigures: false).gather(loops.entries) { parts in
      gathered.append(parts.map(\.market.instrument.venue).sorted())
    }
    #expect(loops.asked == [0, 1, 2] && gathered.isEmpty)
    loops.answer()
    #expect(gathered == [["coinbase", "kraken", "okx"]])
  }

  @Test("requests that come while the markets are gathered share one table")
  func table() throws {
    let loops = try ScriptedLoops(venues: ["kraken", "okx"])
    for entry in loops.entries { loops.hub.directory.entries[entry.instrument.symbol] = entry }
    let book = RateBook(loops: loops)
    var answers = 0
    for _ in 0..<3 { book.table(now: loops.now()) { _, parts in answers += parts.count == 2 ? 1 : 0 } }
    #expect(loops.asked.sorted() == [0, 1] && answers == 0)
    loops.answer()
    #expect(answers == 3)
    book.table(now: loops.now()) { _, _ in answers += 1 }
    #expect(loops.asked.count == 2 && answers == 4, "the table is still valid")
  }

  @Test("an answer about a market that has not changed asks no loop and costs nothing, and who has it gets 304")
  func market() throws {
    let loops = try ScriptedLoops(venues: ["kraken"])
    let parts = KnownParts()
    var outcomes: [MarketAnswer.Outcome] = []
    var costs: [Int] = []
    func ask(known: [String] = []) {
      let route = MarketRoute(market: 0, instrument: InstrumentID(0))
      let item = MarketAnswer.Item(
        symbol: "kraken:BTC-USD",
        content: .market(loop: 0, route, DataState(venue: "kraken", state: .live, source: .live)))
      MarketAnswer(
        [item], .trades(limit: 5), isList: false, known: known, loops: loops, parts: parts,
        charge: { cost in
          costs.append(cost)
          return nil
        }
      ) { outcome, _ in outcomes.append(outcome) }.begin()
    }
    ask()
    #expect(loops.asked == [0] && costs.isEmpty, "first the stamp")
    loops.answer()
    #expect(loops.asked == [0, 0] && costs.count == 1 && costs[0] > 0, "then the text, which costs")
    loops.answer()
    guard case .body(let body, let tag) = outcomes.first else {
      Issue.record("no body: \(outcomes)")
      return
    }
    #expect(String(decoding: body, as: UTF8.self).contains("\"trades\":["))
    ask()
    #expect(loops.asked == [0, 0] && costs.count == 2 && costs[1] == 0)
    guard case .body(let again, tag) = outcomes.last else {
      Issue.record("no second body: \(outcomes)")
      return
    }
    #expect(again == body)
    ask(known: [tag])
    guard case .unchanged(tag) = outcomes.last else {
      Issue.record("not unchanged: \(outcomes)")
      return
    }
    #expect(loops.asked == [0, 0] && costs.count == 2)
  }

  @Test("a line of all times makes the market's loop request its whole history")
  func history() throws {
    let loops = try ScriptedLoops(venues: ["kraken"])
    let route = MarketRoute(market: 0, instrument: InstrumentID(0))
    for (range, count) in [(ChartRange.day, 0), (.all, 1)] {
      let item = MarketAnswer.Item(
        symbol: "kraken:BTC-USD",
        content: .market(loop: 0, route, DataState(venue: "kraken", state: .live, source: .live)))
      MarketAnswer(
        [item], .sparkline(range, points: 5), isList: false, known: [], loops: loops, parts: KnownParts(),
        charge: { _ in nil }
      ) { _, _ in }.begin()
      loops.answer()
      loops.answer()
      #expect(loops.markets[0].wanted.count == count)
    }
  }
}
