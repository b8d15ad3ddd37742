import Bytes
import TestSupport
import Testing

@testable import MarketData

/// A book that stands still while quotes and trades do not, and markets that are merely quiet.
@Suite("Frozen books")
struct FrozenBookTests {
  private final class Scene {
    let market: Market
    var now = Timestamp(microseconds: 1_700_000_000_000_000)
    private(set) var resets = 0
    private let id = InstrumentID(0)

    init(quotesFromBook: Bool = false, quoteLead: Int64? = nil) {
      market = Market(
        configuration: .init(
          quotesFromBook: quotesFromBook, bookDepthLimit: nil, checksum: nil, quoteLead: quoteLead))
      var batch = EventBatch()
      batch.append(
        instrument: Instrument(
          id: id, venue: "test", venueSymbol: "I", base: "B", quote: "USD", priceScale: 2, sizeScale: 2))
      apply(batch)
      book(.snapshot, bid: 100, ask: 110)
    }

    private func apply(_ batch: borrowing EventBatch) {
      var changes = MarketChanges()
      market.apply(batch, now: now, into: &changes)
      note(changes)
    }

    private func note(_ changes: borrowing MarketChanges) {
      for case .bookState(_, .syncing(let reason)) in changes.items where reason != .disconnected { resets += 1 }
    }

    func reconnect() {
      var changes = MarketChanges()
      market.disconnect(into: &changes)
      note(changes)
    }

    /// Something comes that says nothing of the instrument.
    func hear() {
      var batch = EventBatch()
      batch.events.append(.heartbeat)
      apply(batch)
    }

    func book(_ kind: BookEvent.Kind, bid: Int64? = nil, ask: Int64? = nil) {
      var batch = EventBatch()
      if let bid { batch.bids.append(PriceLevel(price: bid, size: 5)) }
      if let ask { batch.asks.append(PriceLevel(price: ask, size: 5)) }
      batch.events.append(
        .book(
          BookEvent(
            instrument: id, kind: kind, bidRange: 0..<batch.bids.count, askRange: 0..<batch.asks.count, time: now)))
      apply(batch)
    }

    func quote(_ bid: Int64, _ ask: Int64, size: Int64 = 1) {
      var batch = EventBatch()
      batch.events.append(
        .quote(Quote(instrument: id, bid: bid, bidSize: size, ask: ask, askSize: size, time: now)))
      apply(batch)
    }

    func trade(_ price: Int64, age: Int64 = 0, backlog: Bool = false) {
      var batch = EventBatch()
      batch.events.append(
        .trade(
          Trade(
            instrument: id, id: TradeID(1), price: price, size: 1, side: .buy, time: now + -age, isBacklog: backlog)))
      apply(batch)
    }

    /// Lets time pass in steps of 100 ms.
    func wait(_ seconds: Double) {
      for _ in 0..<Int(seconds * 10) {
        now = now + 100_000
        guard market.nextDeadline <= now else { continue }
        var changes = MarketChanges()
        market.advance(to: now, into: &changes)
        note(changes)
      }
    }

    var isLive: Bool { market[id].bookState == .live }
  }

  @Test(
    "a quote that stands through the book for 5 s, and nothing else, is a frozen book",
    arguments: [(110, 111), (120, 130), (80, 100), (70, 90)])
  func quotes(_ bid: Int64, _ ask: Int64) {
    let scene = Scene()
    scene.wait(60)
    scene.quote(bid, ask)
    scene.wait(4.9)
    #expect(scene.isLive)
    scene.wait(0.2)
    #expect(!scene.isLive && scene.resets == 1)
    #expect(scene.market.instruments[0].bookState == .syncing(.frozen))
    scene.book(.snapshot, bid: bid, ask: ask + 1)
    scene.wait(3_600)
    #expect(scene.isLive && scene.resets == 1)
  }

  @Test("quotes that go on through the book do not put it off")
  func manyQuotes() {
    let scene = Scene()
    for step in 0..<60 {
      scene.now = scene.now + 100_000
      scene.quote(115 + Int64(step % 5), 121)
      scene.wait(0.1)
    }
    #expect(scene.resets == 1)
  }

  @Test("a book that comes late, or moves at all, is not frozen")
  func late() {
    let scene = Scene()
    for step in 0..<100 {
      let price = 110 + Int64(step) * 10
      scene.quote(price, price + 5)
      scene.wait(4.5)
      scene.book(.snapshot, bid: price, ask: price + 5)
    }
    #expect(scene.isLive && scene.resets == 0)
  }

  @Test("a quote that comes back, one without a size, and one inside the spread are none")
  func harmless() {
    let scene = Scene()
    for _ in 0..<50 {
      scene.quote(110, 112)
      scene.wait(4)
      scene.quote(101, 109)
      scene.wait(60)
      scene.quote(0, 0, size: 0)
      scene.wait(60)
    }
    #expect(scene.isLive && scene.resets == 0)
  }

  @Test("trades beyond the best for 5 s are a frozen book", arguments: [111, 99])
  func trades(_ price: Int64) {
    let scene = Scene(quotesFromBook: true)
    scene.wait(60)
    scene.trade(price)
    scene.wait(4)
    scene.trade(price)
    #expect(scene.isLive)
    scene.wait(1)
    scene.trade(price)
    #expect(!scene.isLive && scene.resets == 1)
  }

  @Test("trades at the best, old ones, backlog, and odd ones an hour apart are none")
  func harmlessTrades() {
    let scene = Scene(quotesFromBook: true)
    scene.wait(10)
    for _ in 0..<100 {
      scene.trade(110)
      scene.trade(100)
      scene.trade(105)
      scene.trade(150, backlog: true)
      // From before the book's last message.
      scene.trade(150, age: 1_000 * Microseconds.second + (scene.now - scene.market.instruments[0].bookTime))
      scene.wait(3)
    }
    for _ in 0..<24 {
      scene.trade(200)
      scene.wait(3_600)
    }
    #expect(scene.isLive && scene.resets == 0)
  }

  @Test(
    "a quote that changes while the book does not, for the time that the venue's book may be late: by what is heard")
  func lead() {
    let scene = Scene(quoteLead: 15 * Microseconds.second)
    scene.quote(100, 110)
    scene.wait(60)
    scene.quote(100, 110)
    scene.wait(60)
    scene.hear()
    scene.wait(1)
    #expect(scene.isLive, "the same quote again is no change")
    scene.quote(101, 110)
    scene.wait(14)
    scene.hear()
    scene.wait(10)
    #expect(scene.isLive, "while nothing is heard, nothing shows that the book alone has died")
    scene.hear()
    scene.wait(0.5)
    #expect(!scene.isLive && scene.resets == 1)
    #expect(scene.market.instruments[0].bookState == .syncing(.stale))
  }

  @Test(
    "a quote whose book follows, that has another size, or is the first of its connection, and a venue without the rule"
  )
  func harmlessLeads() {
    let scene = Scene(quoteLead: 15 * Microseconds.second)
    for step in 0..<100 {
      scene.quote(100, 110, size: Int64(1 + step % 3))
      scene.wait(14)
      scene.hear()
      scene.book(.delta)
      scene.wait(60)
    }
    #expect(scene.isLive && scene.resets == 0)
    scene.reconnect()
    scene.book(.snapshot, bid: 90, ask: 91)
    scene.quote(90, 91)
    for _ in 0..<60 {
      scene.wait(1)
      scene.hear()
    }
    #expect(scene.isLive && scene.resets == 0, "the quote of the connection before says nothing")
    let other = Scene()
    other.quote(100, 110)
    other.quote(101, 110)
    for _ in 0..<60 {
      other.wait(1)
      other.hear()
    }
    #expect(other.isLive && other.resets == 0)
  }

  @Test("a market in which nothing happens for a day is quiet, and nothing else")
  func quiet() {
    let scene = Scene()
    scene.quote(100, 110)
    scene.trade(110)
    for _ in 0..<24 {
      scene.wait(3_600)
      // The same again, as some venues send it.
      scene.quote(100, 110)
      scene.book(.delta)
    }
    #expect(scene.isLive && scene.resets == 0)
  }

  @Test("a live market with books up to a second behind quotes and trades is never frozen", arguments: testSeeds(20))
  func market(_ seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let scene = Scene()
    var mid: Int64 = 1_000
    for _ in 0..<2_000 {
      mid = max(100, mid + Int64.random(in: -30...30, using: &random))
      scene.quote(mid - 1, mid + 1)
      scene.trade(mid + Int64.random(in: -1...1, using: &random))
      scene.wait(Double.random(in: 0...1, using: &random))
      scene.book(.snapshot, bid: mid - 1, ask: mid + 1)
      scene.wait(Double.random(in: 0...3, using: &random))
    }
    #expect(scene.resets == 0, "seed \(seed)")
  }
}
