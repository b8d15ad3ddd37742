import MarketData
import Testing

@testable import Venues

@Suite("The books of a connection, and their snapshots")
struct BooksTests {
  private static let now = Timestamp(microseconds: 1_700_000_000_000_000)
  private let now = BooksTests.now

  private func facts(unnumbered: Bool = false) -> DialectFacts {
    let facts = ScriptedDialect(.bridged) { facts in
      facts.bridge?.snapshots = [(levels: 100, weight: 10), (levels: 10, weight: 1)]
      facts.bridge?.concurrency = 8
      guard unnumbered else { return }
      facts.bridge?.rule = SequenceRule(joins: { _, _ in true }, follows: { _, _ in true }, isNumbered: false)
      facts.bridge?.unnumbered = .init(firstRenewal: 100, renewal: 1_000, tradePatience: 50, otherMark: "trade")
    }.facts
    return facts
  }

  private func books(_ symbols: Int, unnumbered: Bool = false) -> Books {
    let facts = facts(unnumbered: unnumbered)
    var books = Books(facts.bridge, connections: 1)
    books.grow(to: symbols, Books.Line(book: BookKeeper(facts)))
    for index in books.indices { books.lines[index].acknowledged = now }
    return books
  }

  private func next(_ books: inout Books, _ now: Timestamp = now) -> [Int] {
    var indices: [Int] = []
    while let (index, _) = books.nextSnapshot(now: now) { indices.append(index) }
    return indices
  }

  private func makeLive(_ books: inout Books, _ index: Int) {
    books.pacer.want(index)
    _ = books.lines[index].book.bridge.bridge(7) { _, _, _, _ in }
    books.joined(index, now: now)
  }

  @Test("with more symbols the snapshots are less deep")
  func depth() {
    // Two minutes of the weight of 60 may be spent at the start.
    #expect(books(12).snapshotLevels == 100 && books(13).snapshotLevels == 10)
    #expect(books(1_000).snapshotLevels == 10, "less deep than the least is none")
    var books = books(20)
    books.setWeight(600, connections: 1)
    books.grow(to: 20, Books.Line(book: BookKeeper(facts())))
    #expect(books.snapshotLevels == 100)
    books.setWeight(6, connections: 2)
    #expect(books.pacer.weightPerMinute == 10, "one snapshot must fit in")
  }

  @Test("a snapshot is asked for of carried books alone that were acknowledged and are not live")
  func wanted() {
    var books = books(5)
    for index in books.indices { books.pacer.want(index) }
    books.lines[1].acknowledged = nil
    books.lines[2].isRefused = true
    makeLive(&books, 3)
    books.pacer.want(3)
    books.end(4)
    #expect(next(&books) == [0] && books.hasEnded)
  }

  @Test("a book that is lost wants another one; on a connection that is gone nothing is wanted")
  func lost() {
    var books = books(1)
    makeLive(&books, 0)
    #expect(next(&books) == [])
    let wasLive = books.lines[0].book.lose(now: now)
    #expect(wasLive)
    books.lost(0, now: now)
    #expect(next(&books) == [0])
    books.disconnected()
    books.lines[0].acknowledged = now
    #expect(next(&books, now + Microseconds.hour) == [])
  }

  @Test("what a symbol was is kept for the next connection as far as it holds for that")
  func disconnected() {
    var books = books(3)
    books.lines[0].isRefused = true
    books.end(1)
    books.lines[2].isAsked = true
    books.disconnected()
    #expect(
      books.lines.map(\.isSuspect) == [true, false, false] && books.lines.map(\.isEnded) == [false, true, false])
    #expect(books.lines.allSatisfy { !$0.isRefused && !$0.isAsked && $0.acknowledged == nil })
    books.retry(2)
    #expect(books.lines[2].isSuspect)
  }

  @Test("a live book without numbers is renewed, and a renewal that fails is no failure of the book")
  func renewal() {
    var books = books(1, unnumbered: true)
    makeLive(&books, 0)
    #expect(books.time(ofSnapshot: 7, now: now) == Timestamp(microseconds: 7) && !books.provesLinks)
    guard case .none = books.care(of: 0, now: now + 99), case .isDue = books.care(of: 0, now: now + 100) else {
      Issue.record("it is due after its first time")
      return
    }
    #expect(books.isRenewing(0) && next(&books, now + 100) == [0])
    for round in 1...10 {
      let now = now + Int64(round) * Microseconds.minute
      _ = books.care(of: 0, now: now)
      let isRenewing = books.isRenewing(0)
      books.snapshotFailed(0, .init(code: 200), now: now)
      #expect(isRenewing && !books.isRenewing(0), "in turn \(round)")
    }
    #expect(books.isLive(0) && books.failure(of: 0) == nil)
  }

  @Test("elsewhere a book wants no care, and a snapshot has the clock's time")
  func numbered() {
    var books = books(1)
    makeLive(&books, 0)
    guard case .none = books.care(of: 0, now: now + Microseconds.day) else {
      Issue.record("it is never due")
      return
    }
    #expect(books.time(ofSnapshot: 7, now: now) == now && books.provesLinks)
  }

  @Test("a message that was lost unread has its books begin anew; if whose it was is unknown, all are renewed")
  func unread() {
    var books = books(2, unnumbered: true)
    makeLive(&books, 0)
    makeLive(&books, 1)
    books.lostUnread([], now: now + 1)
    guard case .isDue = books.care(of: 0, now: now + 1) else {
      Issue.record("a live book is in doubt")
      return
    }
    books.lostUnread([1], now: now + 2)
    #expect(books.lines[1].acknowledged == now + 2 && books.lines[0].acknowledged == now)
  }
}
