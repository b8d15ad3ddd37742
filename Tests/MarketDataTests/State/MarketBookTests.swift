import MarketData
import Testing

/// How the market decides whether a book is live.
@Suite struct MarketBookTests {
  @Test("a snapshot makes the book live, then deltas are published with their levels")
  func bookLife() {
    var scene = MarketScene()
    scene.book(.delta, bids: [(99, 1)], asks: [])
    scene.apply()
    #expect(scene.words.isEmpty)
    #expect(scene.market[.init(0)].ignoredDeltas == 1)
    scene.book(.snapshot, bids: [(100, 1)], asks: [(101, 1)])
    scene.book(.delta, bids: [(100, 0), (99, 5)], asks: [(102, 2)])
    scene.apply()
    #expect(scene.words == ["live", "snapshot 0", "delta 2/1"])
    #expect(scene.changes.bids == [PriceLevel(price: 100, size: 0), PriceLevel(price: 99, size: 5)])
    #expect(scene.market[.init(0)].book.bids.map(\.price) == [99])
    scene.book(.snapshot, bids: [(98, 1)], asks: [(101, 1)])
    scene.apply()
    #expect(scene.words == ["snapshot 0"])
    #expect(scene.market[.init(0)].book.asks.count == 1)
  }

  @Test("levels that the depth limit drops are published as removed")
  func depth() {
    var scene = MarketScene(depth: 1)
    scene.book(.snapshot, bids: [(100, 1)], asks: [(105, 1)])
    scene.book(.delta, bids: [(101, 1)], asks: [])
    scene.apply()
    #expect(scene.changes.bids == [PriceLevel(price: 101, size: 1), PriceLevel(price: 100, size: 0)])
  }

  @Test("a failed checksum clears the book and is published instead of the change")
  func checksum() {
    var scene = MarketScene(checksum: { book, _, _ in UInt32(book.bids.count) })
    scene.book(.snapshot, bids: [(100, 1)], asks: [(101, 1)], checksum: 1)
    scene.apply()
    #expect(scene.words == ["live", "snapshot 0"])
    scene.book(.delta, bids: [(99, 1)], asks: [(102, 1)], checksum: 7)
    scene.book(.delta, bids: [(98, 1)], asks: [])
    scene.apply()
    #expect(scene.words == ["syncing checksum mismatch"])
    #expect(scene.changes.bids.isEmpty)
    #expect(scene.changes.asks.isEmpty)
    #expect(scene.market[.init(0)].book.isEmpty)
    #expect(scene.market[.init(0)].ignoredDeltas == 1)
    scene.book(.snapshot, bids: [(100, 1)], asks: [(101, 1)], checksum: 9)
    scene.apply()
    #expect(scene.words == ["syncing checksum mismatch"], "a second failure asks for a snapshot again")
  }

  @Test("with patience it takes two checksums in a row that differ; one that says nothing does not count")
  func patientChecksum() {
    // Of a book with three bids the rule says nothing.
    var scene = MarketScene(
      checksum: { book, _, _ in book.bids.count == 3 ? nil : UInt32(book.bids.count) }, patience: 2)
    func live() -> Bool { scene.market[.init(0)].bookState == .live }
    scene.book(.snapshot, bids: [(100, 1)], asks: [(101, 1)])
    scene.book(.delta, bids: [], asks: [], checksum: 7)
    scene.book(.delta, bids: [], asks: [], checksum: 1)
    scene.book(.delta, bids: [], asks: [], checksum: 7)
    scene.apply()
    #expect(live() && scene.market[.init(0)].checksumsOK == 1)
    scene.book(.delta, bids: [(99, 1), (98, 1)], asks: [], checksum: 7)
    scene.apply()
    #expect(live())
    scene.book(.delta, bids: [(98, 0)], asks: [], checksum: 7)
    scene.apply()
    #expect(scene.words == ["syncing checksum mismatch"])
    // The count begins anew with the next snapshot.
    scene.book(.snapshot, bids: [(100, 1)], asks: [(101, 1)], checksum: 7)
    scene.apply()
    #expect(live())
  }

  @Test("a crossed book is not live for a moment, and is rebuilt if it stays crossed for the tolerance")
  func crossed() {
    var scene = MarketScene(quotesFromBook: true)
    scene.book(.snapshot, bids: [(100, 1)], asks: [(101, 1)])
    scene.book(.delta, bids: [(102, 1)], asks: [])
    scene.apply()
    #expect(scene.words == ["live", "snapshot 0", "quote 100/101", "syncing crossed book"])
    #expect(scene.market[.init(0)].isCrossedForNow && scene.market[.init(0)].quote == nil)
    #expect(scene.market.nextDeadline == scene.now + Microseconds.second)
    scene.advance(Microseconds.second - 1)
    #expect(scene.words.isEmpty)
    scene.advance(1)
    #expect(scene.words == ["syncing crossed book"], "told again: now it has to be rebuilt")
    #expect(scene.market[.init(0)].bookState == .syncing(.crossed) && !scene.market[.init(0)].isCrossedForNow)
    #expect(scene.market.nextDeadline == .distantFuture)
    scene.book(.delta, bids: [(102, 0)], asks: [])
    scene.apply()
    #expect(scene.words.isEmpty, "only a snapshot helps from here on")
  }

  @Test("a book that uncrosses in time is shown whole again, and being crossed again counts anew")
  func uncrossed() {
    var scene = MarketScene(quotesFromBook: true)
    scene.book(.snapshot, bids: [(100, 1)], asks: [(101, 1)])
    scene.book(.delta, bids: [(102, 1)], asks: [])
    scene.apply()
    scene.advance(Microseconds.second / 2)
    scene.book(.delta, bids: [(99, 5)], asks: [])
    scene.book(.delta, bids: [(102, 0)], asks: [])
    scene.book(.delta, bids: [(98, 1)], asks: [])
    scene.apply()
    #expect(scene.words == ["live", "snapshot 0", "quote 100/101", "delta 1/0"])
    #expect(scene.market[.init(0)].book.bids.map(\.price) == [98, 99, 100])
    scene.book(.delta, bids: [(103, 1)], asks: [])
    scene.apply()
    #expect(scene.words == ["syncing crossed book"])
    scene.advance(Microseconds.second / 2)
    #expect(scene.words.isEmpty)
    #expect(scene.market[.init(0)].isCrossedForNow)
    scene.advance(Microseconds.second / 2)
    #expect(scene.words == ["syncing crossed book"])
  }

  @Test("a snapshot that is crossed makes no book live; the delta that uncrosses it does")
  func crossedSnapshot() {
    var scene = MarketScene()
    scene.book(.snapshot, bids: [(100, 1), (102, 1)], asks: [(101, 1)])
    scene.apply()
    #expect(scene.words == ["syncing crossed book"])
    scene.book(.delta, bids: [(102, 0)], asks: [])
    scene.apply()
    #expect(scene.words == ["live", "snapshot 0"])
  }

  @Test("a connection that is lost while a book is crossed takes it out of sync for good")
  func disconnectedWhileCrossed() {
    var scene = MarketScene()
    scene.book(.snapshot, bids: [(100, 1)], asks: [(101, 1)])
    scene.book(.delta, bids: [(102, 1)], asks: [])
    scene.apply()
    scene.changes.removeAll()
    scene.market.disconnect(into: &scene.changes)
    #expect(scene.words == ["syncing connection lost"] && !scene.market[.init(0)].isKept)
  }

  @Test("a book with a price of zero or less is out of sync", arguments: [-1, 0])
  func impossibleLevel(_ price: Int64) {
    var scene = MarketScene()
    scene.book(.snapshot, bids: [(100, 1), (price, 1)], asks: [(101, 1)])
    scene.apply()
    #expect(scene.words == ["syncing unreadable message"])
    scene.book(.snapshot, bids: [(100, 1)], asks: [(101, 1)])
    scene.book(.delta, bids: [], asks: [(price, 1)])
    scene.apply()
    #expect(scene.words == ["live", "snapshot 0", "syncing unreadable message"])
    #expect(scene.market[.init(0)].book.isEmpty)
  }

  @Test("without tolerance a crossed book is out of sync at once")
  func crossedAtOnce() {
    var scene = MarketScene(crossedTolerance: 0)
    scene.book(.snapshot, bids: [(100, 1)], asks: [(101, 1)])
    scene.book(.delta, bids: [(101, 1)], asks: [])
    scene.apply()
    #expect(scene.words == ["live", "snapshot 0", "syncing crossed book"])
  }

  @Test("a lost connection takes every live book out of sync")
  func disconnect() {
    var scene = MarketScene(instruments: 3)
    scene.book(.snapshot, bids: [(100, 1)], asks: [], instrument: 0)
    scene.book(.snapshot, bids: [(100, 1)], asks: [], instrument: 2)
    scene.apply()
    scene.changes.removeAll()
    scene.market.disconnect(into: &scene.changes)
    #expect(scene.words == ["syncing connection lost", "syncing connection lost"])
    #expect(scene.market[.init(1)].bookState == .absent)
  }

  @Test("a book whose values do not fit at a wider scale is rebuilt")
  func widenedTooFar() {
    var scene = MarketScene()
    scene.book(.snapshot, bids: [(.max / 2, 1)], asks: [])
    scene.apply()
    scene.batch.append(instrument: MarketScene.instrument(0, priceScale: 4))
    scene.apply()
    #expect(scene.words == ["syncing unreadable message", "instrument 0"])
  }
}
