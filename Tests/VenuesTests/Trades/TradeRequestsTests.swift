import Bytes
import MarketData
import Testing

@testable import Venues

@Suite("The numbers of trades")
struct TradeRequestsTests {
  private static let start = Timestamp(microseconds: 1_790_000_000_000_000)
  private static let pages = TradePages(
    path: [], layout: .object([("id", .id), ("p", .price), ("q", .size), ("t", .time(.epoch))]), requestsPerMinute: 30
  ) { "\($0.instrument.venueSymbol) \($0.first)-\($0.last)" }

  private var desk = TradeRequests(TradeRequestsTests.pages, connections: 1)
  private var table: InstrumentTable

  init() {
    table = InstrumentTable()
    var batch = EventBatch()
    let market = ListedMarket(venueSymbol: "A", symbol: FeedSymbol(base: "A", quote: "USD"))
    _ = table.add(market, venue: "v", into: &batch)
  }

  private func trade(_ id: UInt64, at second: Int64) -> Trade {
    Trade(
      instrument: InstrumentID(0), id: TradeID(id), price: 5, size: 7, side: .buy,
      time: Self.start + second * Microseconds.second)
  }

  private mutating func take(_ id: UInt64, at second: Int64, fills: Int64 = 1) -> TradeRequests.Verdict {
    desk.take(trade(id, at: second), fills: fills, now: Self.start + second * Microseconds.second)
  }

  private func now(_ second: Int64) -> Timestamp { Self.start + second * Microseconds.second }

  @Test("each follows the one before, whatever it stands for")
  mutating func following() {
    #expect(take(10, at: 0) == .first)
    #expect(take(11, at: 1) == .next)
    #expect(take(14, at: 2, fills: 3) == .next)
    #expect(take(14, at: 2) == .old(isKnown: true))
    #expect(take(9, at: 0) == .old(isKnown: false))
    #expect(desk.isIdle)
  }

  @Test("nothing is missing between the old trades that a venue begins with; after a lost connection they are news")
  mutating func backlog() {
    func old(_ id: UInt64, at second: Int64) -> Trade {
      var trade = trade(id, at: second)
      trade.isBacklog = true
      return trade
    }
    for id: UInt64 in [10, 11, 14] { #expect(desk.take(old(id, at: 0), fills: 1, now: now(0)) == .first) }
    #expect(take(15, at: 1) == .next)
    desk.disconnected()
    #expect(desk.take(old(15, at: 1), fills: 1, now: now(5)) == .old(isKnown: true))
    #expect(desk.take(old(16, at: 2), fills: 1, now: now(5)) == .next)
    guard case .after(let hole) = desk.take(old(20, at: 3), fills: 1, now: now(5)) else {
      Issue.record("nothing is missing")
      return
    }
    #expect(hole.first == 17 && hole.last == 19 && hole.covers == TimeSpan(from: now(2), to: now(5)))
  }

  @Test("a hole has the numbers that did not come, and the times around it")
  mutating func hole() throws {
    _ = take(10, at: 0)
    guard case .after(let hole) = take(20, at: 3, fills: 2) else { throw Failure() }
    #expect(hole.first == 11 && hole.last == 18 && hole.count == 8 && hole.isSearched)
    #expect(hole.from == now(0) && hole.to == now(3))
    #expect(take(21, at: 4) == .next)
    // In the wrong order, on the stream.
    #expect(take(14, at: 2) == .late(whole: nil))
    #expect(take(14, at: 2) == .old(isKnown: true))
    #expect(desk.searches[0].missing == [11...13, 15...18])
  }

  @Test("what comes late on the stream makes a hole whole, and nothing is asked for")
  mutating func late() throws {
    _ = take(10, at: 0)
    _ = take(13, at: 1)
    #expect(take(11, at: 1) == .late(whole: nil))
    guard case .late(whole: let hole?) = take(12, at: 1) else { throw Failure() }
    #expect(hole.missing == 0 && hole.found == 2 && desk.isIdle)
    #expect(desk.next(now: now(9), table) == nil)
  }

  @Test("numbers that go back while time goes on begin another numbering; nothing is missing")
  mutating func renumbered() throws {
    _ = take(1_000, at: 0)
    _ = take(1_005, at: 1)
    #expect(take(1, at: 2) == .first)
    #expect(take(2, at: 3) == .next)
    // The search for the old ones has ended.
    let events = Array(desk.takeReady())
    guard events.count == 1, case .searched(_, let hole) = events[0] else { throw Failure() }
    #expect(hole.missing == 4 && desk.isIdle)
  }

  @Test("a time that is still to come does not hide another numbering")
  mutating func future() throws {
    _ = take(1_000, at: 0)
    #expect(desk.take(trade(1_001, at: 86_400), fills: 1, now: now(1)) == .next)
    #expect(take(7, at: 20) == .first)
    guard case .after(let hole) = take(9, at: 21) else { throw Failure() }
    #expect(hole.first == 8 && hole.last == 8)
  }

  @Test("a jump further than trades can be counted says nothing of how many are missing, and asks for nothing")
  mutating func jump() throws {
    for last: UInt64 in [2_000_000, UInt64(Int64.max), .max] {
      _ = take(10, at: 0, fills: 0)
      guard case .after(let hole) = take(last, at: 1) else {
        // No number at all.
        #expect(last == .max)
        continue
      }
      #expect(hole.count == nil && hole.missing == nil && !hole.isSearched)
      #expect(desk.isIdle)
    }
  }

  @Test("a hole of more trades than are asked for is told alone")
  mutating func large() throws {
    _ = take(10, at: 0)
    guard case .after(let hole) = take(UInt64(TradeRequests.holeLimit) + 12, at: 1) else { throw Failure() }
    #expect(hole.count == TradeRequests.holeLimit + 1 && !hole.isSearched && desk.isIdle)
  }

  @Test("at most so many holes are open")
  mutating func many() {
    var searched = 0
    for index in 0..<200 {
      guard case .after(let hole) = take(UInt64(10 + index * 3), at: Int64(index)) else { continue }
      searched += hole.isSearched ? 1 : 0
    }
    #expect(searched == TradeRequests.searchLimit && desk.searches.count == TradeRequests.searchLimit)
  }

  @Test("one request is under way at a time, a second after the hole, and the next when the answer had something")
  mutating func requests() throws {
    _ = take(10, at: 0)
    _ = take(20, at: 1)
    #expect(desk.next(now: now(1), table) == nil)
    let step1 = desk.next(now: now(2), table)
    let first = try #require(step1)
    #expect(first.path == "A 11-19" && desk.next(now: now(3), table) == nil)
    desk.answered(first.request, [trade(17, at: 1), trade(12, at: 1), trade(20, at: 1)], now: now(3))
    let step2 = desk.next(now: now(3), table)
    let second = try #require(step2)
    #expect(second.path == "A 11-19")
    desk.answered(second.request, (11...19).map { trade($0, at: 1) }, now: now(4))
    var found: [UInt64] = []
    for event in desk.takeReady() {
      switch event {
      case .trade(let trade):
        #expect(trade.isLate)
        found.append(trade.id.number!)
      case .searched(_, let hole): #expect(hole.missing == 0 && hole.found == 9)
      }
    }
    #expect(found == Array(11...19) && desk.isIdle)
  }

  @Test("an answer without any of them is asked for again, ever later, five times")
  mutating func nothing() throws {
    _ = take(10, at: 0)
    _ = take(12, at: 0)
    var times: [Int64] = []
    for second in 1...60 {
      guard let (_, request) = desk.next(now: now(Int64(second)), table) else { continue }
      times.append(Int64(second))
      desk.answered(request, [], now: now(Int64(second)))
    }
    #expect(times == [1, 2, 4, 8, 16])
    guard case .searched(_, let hole)? = desk.takeReady().first else { throw Failure() }
    #expect(hole.missing == 1 && desk.isIdle)
  }

  @Test("429 stops all requests as long as the venue says")
  mutating func limited() throws {
    _ = take(10, at: 0)
    _ = take(12, at: 0)
    let step3 = desk.next(now: now(1), table)
    let (_, request) = try #require(step3)
    desk.failed(request, status: 429, retryAfter: 20 * Microseconds.second, now: now(1))
    #expect(desk.next(now: now(20), table) == nil)
    #expect(desk.next(now: now(21), table) != nil)
  }

  @Test("an answer that never comes counts as none; a search ends after ten minutes whatever happens")
  mutating func deadlines() throws {
    _ = take(10, at: 0)
    _ = take(12, at: 0)
    let step4 = desk.next(now: now(1), table)
    let (_, request) = try #require(step4)
    desk.expire(now: now(40))
    #expect(desk.index(of: request) == nil && desk.searches.count == 1)
    desk.disconnected()
    desk.expire(now: now(601))
    #expect(desk.searches.isEmpty)
  }

  @Test("the budget holds, however many holes there are")
  mutating func budget() {
    for index in 0..<60 { _ = take(UInt64(10 + index * 2), at: 0) }
    var asked = 0
    for second in 1...50 {
      while let (_, request) = desk.next(now: now(Int64(second)), table) {
        asked += 1
        desk.answered(request, [], now: now(Int64(second)))
      }
    }
    #expect(asked == 30)
  }

  @Test("a trade that the venue knew of a beat ago, and that has not come, is missing")
  mutating func told() {
    _ = take(10, at: 0)
    #expect(desk.tell(0, 12, now: now(1)) == nil)
    let hole = desk.tell(0, 15, now: now(2))
    #expect(hole?.first == 11 && hole?.last == 12 && hole?.count == 2)
    #expect(take(13, at: 2) == .next)
    #expect(take(12, at: 1) == .late(whole: nil))
  }

  @Test("a trade that was left out on purpose is not missing")
  mutating func passed() {
    _ = take(10, at: 0)
    desk.pass(0, 11)
    #expect(take(12, at: 1) == .next)
  }

  @Test("after a change of connection the new desk goes on: what both missed is asked for, what one saw is not")
  mutating func handover() {
    _ = self.take(10, at: 0)
    _ = self.take(14, at: 1)
    var next = TradeRequests(Self.pages, connections: 1)
    func take(_ id: UInt64, _ second: Int64) {
      _ = next.take(trade(id, at: second), fills: 1, now: now(second))
    }
    take(12, 1)
    // Behind what the first one has seen.
    take(17, 2)
    take(20, 3)
    _ = self.take(18, at: 2)
    let untold = next.takeOver(desk, [(old: 0, new: 0)])
    #expect(untold.map { $0.hole.first } == [19] && untold.map { $0.hole.count } == [1])
    #expect(next.searches.map(\.missing) == [[19...19], [11...13], [15...17]])
    #expect(next.newest(0) == 20)
  }

  struct Failure: Error {}
}
