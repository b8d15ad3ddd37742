import MarketData
import Testing

@testable import Venues

@Suite("Book with its snapshot in the stream")
struct StreamedBookTests {
  private let start = Timestamp(microseconds: 1_700_000_000_000_000)

  @Test("a rebuild is at once; wishes during it change nothing")
  func rebuild() {
    var book = StreamedBook()
    book.subscribed(now: start)
    do {
      let answer = book.resync(now: start)
      #expect(!answer)
    }
    book.snapshotArrived(now: start)
    #expect(book.isLive)
    let isLost = book.resync(now: start)
    #expect(isLost && !book.isLive)
    #expect(book.isDue(now: start))
    do {
      let answer = book.resync(now: start)
      #expect(!answer)
    }
    book.subscribed(now: start)
    #expect(!book.isDue(now: start) && book.isDue(now: start + StreamedBook.snapshotTimeout))
  }

  @Test("a snapshot that never comes is asked for ever more rarely, and told as trouble until it comes")
  func silent() {
    var book = StreamedBook()
    var now = start
    var waits: [Int64] = []
    for attempt in 1...7 {
      book.subscribed(now: now)
      #expect((book.failure != nil) == (attempt >= StreamedBook.silentLimit))
      let asked = now
      while !book.isDue(now: now) { now = now + Microseconds.second }
      waits.append((now - asked) / Microseconds.second)
    }
    #expect(waits == [10, 20, 40, 60, 60, 60, 60])
    book.snapshotArrived(now: now)
    #expect(book.failure == nil && book.isLive)
  }

  @Test("a book that is lost every half minute is left alone after ten times, and comes back by itself")
  func circuit() {
    var book = StreamedBook()
    var now = start
    var subscriptions = 0
    func live() {
      while !book.isDue(now: now) { now = now + Microseconds.second }
      book.subscribed(now: now)
      subscriptions += 1
      book.snapshotArrived(now: now)
    }
    book.subscribed(now: now)
    book.snapshotArrived(now: now)
    for _ in 0..<10 {
      now = now + BookCircuit.settled
      do {
        let answer = book.resync(now: now)
        #expect(answer)
      }
      if book.failure == nil { live() }
    }
    #expect(book.failure?.failures == 10 && subscriptions == 9)
    let lost = now
    live()
    #expect(now - lost == BookCircuit.firstRest)
    #expect(book.isLive && book.failure == nil)
  }

  @Test("a subscription that waits for its turn is not due again; a snapshot that comes meanwhile is good")
  func queued() {
    var book = StreamedBook()
    book.queued(now: start)
    #expect(book.isQueued && !book.isDue(now: start + Microseconds.hour))
    book.subscribed(now: start)
    #expect(!book.isQueued && book.isDue(now: start + StreamedBook.snapshotTimeout))
    book.queued(now: start + StreamedBook.snapshotTimeout)
    book.snapshotArrived(now: start + StreamedBook.snapshotTimeout)
    #expect(book.isLive && !book.isQueued)
    book.queued(now: start)
    #expect(book.isLive, "what is live stays so")
    // What was silent too often goes on being told while it waits.
    var silent = StreamedBook()
    for _ in 0..<StreamedBook.silentLimit { silent.subscribed(now: start) }
    silent.queued(now: start)
    #expect(silent.failure?.failures == StreamedBook.silentLimit)
    silent.disconnected()
    #expect(silent.state == .unsubscribed && silent.failure == nil)
  }
}
