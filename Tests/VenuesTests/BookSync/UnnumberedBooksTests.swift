import MarketData
import Testing

@testable import Venues

@Suite("Books whose updates have no numbers")
struct UnnumberedBooksTests {
  private static let limits = DialectFacts.Unnumbered(
    firstRenewal: 100, renewal: 1_000, tradePatience: 50, otherMark: "trade")
  private let start = Timestamp(microseconds: 1_700_000_000_000_000)
  private let bridge = SnapshotBridge(
    rule: SequenceRule(joins: { _, _ in true }, follows: { _, _ in true }, isNumbered: false))

  private func books() -> UnnumberedBooks {
    var books = UnnumberedBooks(Self.limits)
    books.grow(to: 2)
    return books
  }

  private func trade(_ index: Int, at time: Timestamp) -> Trade {
    Trade(
      instrument: InstrumentID(index), id: TradeID(1), price: 1, size: 1, side: .buy, time: time, isBacklog: false)
  }

  private func update(_ books: inout UnnumberedBooks, _ index: Int, at time: Timestamp, now: Timestamp) {
    let event = BookEvent(
      instrument: InstrumentID(index), kind: .delta, bidRange: 0..<0, askRange: 0..<0, time: time)
    let number = time.microseconds
    books.updated(event, UpdateNumbers(first: number, last: number), EventBatch(), now: now)
  }

  private func isContradicted(_ books: UnnumberedBooks, _ index: Int, now: Timestamp) -> Bool {
    if case .isContradicted = books.care(of: index, now: now) { true } else { false }
  }
  private func isDue(_ books: UnnumberedBooks, _ index: Int, now: Timestamp) -> Bool {
    if case .isDue = books.care(of: index, now: now) { true } else { false }
  }

  @Test("a trade that no update follows contradicts its book alone, after a while")
  func contradicted() {
    var books = books()
    books.traded(trade(0, at: start + 5), newest: start.microseconds, now: start + 10)
    #expect(!isContradicted(books, 0, now: start + 59) && isContradicted(books, 0, now: start + 60))
    #expect(!isContradicted(books, 1, now: start + 60))
    books.lost(0)
    #expect(!isContradicted(books, 0, now: start + 60))
  }

  @Test("an update that is as new as the trade ends the doubt, an older one does not")
  func followed() {
    var books = books()
    books.traded(trade(0, at: start + 5), newest: start.microseconds, now: start + 10)
    update(&books, 0, at: start + 4, now: start + 11)
    #expect(isContradicted(books, 0, now: start + 60))
    update(&books, 0, at: start + 5, now: start + 12)
    #expect(!isContradicted(books, 0, now: start + 60))
  }

  @Test("a trade that the book has seen, or that has the clock's time, says nothing")
  func unsuspicious() {
    var books = books()
    books.traded(trade(0, at: start), newest: start.microseconds, now: start + 10)
    books.traded(trade(0, at: start + 10), newest: start.microseconds, now: start + 10)
    #expect(!isContradicted(books, 0, now: start + 1_000))
  }

  @Test("a book is renewed a first time soon, then more rarely; one at a time")
  func renewals() throws {
    var books = books()
    books.joined(0, now: start)
    books.joined(1, now: start)
    #expect(!isDue(books, 0, now: start + 99) && isDue(books, 0, now: start + 100))
    books.begin(0, bridge)
    #expect(books.isRenewing(0) && !isDue(books, 1, now: start + 200))
    update(&books, 0, at: start + 150, now: start + 150)
    let taken = books.takeRenewal(now: start + 200)
    let renewal = try #require(taken)
    #expect(renewal.index == 0 && renewal.kept == 1 && renewal.bridge.updates.count == 1)
    #expect(!books.isRenewing(0) && isDue(books, 1, now: start + 200))
    #expect(!isDue(books, 0, now: start + 1_199) && isDue(books, 0, now: start + 1_200))
  }

  @Test("a renewal whose snapshot is of no use is given up until the next turn, and with a book that is lost")
  func givenUp() {
    var books = books()
    books.joined(0, now: start)
    books.begin(0, bridge)
    books.gaveUp(0, now: start + 100)
    #expect(!books.isRenewing(0) && !isDue(books, 0, now: start + 199) && isDue(books, 0, now: start + 200))
    books.begin(0, bridge)
    books.lost(1)
    #expect(books.isRenewing(0))
    books.lost(0)
    #expect(!books.isRenewing(0))
  }

  @Test("a message that could not be read may concern any book, unless it says that it is of none")
  func unread() {
    let books = books()
    for (text, may) in [("{\"trade\":1", false), ("{\"book\":1", true)] {
      let bytes = Array(text.utf8)
      #expect(books.mayConcernAny(bytes.span.bytes) == may)
    }
  }

  @Test("a doubt has the book renewed at once; after the connection nothing is due")
  func doubts() {
    var books = books()
    books.joined(0, now: start)
    books.doubt(0, now: start + 1)
    #expect(isDue(books, 0, now: start + 1))
    books.disconnected()
    #expect(!isDue(books, 0, now: start + Microseconds.day))
  }
}
