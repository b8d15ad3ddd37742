import MarketData
import Testing

@testable import Venues

/// Venues whose answers do not say what they are to, and whose numbers are the connection's.
@Suite("Answers without numbers, and numbers of a connection")
struct FeedEngineSequenceTests {
  private typealias Talk = FeedEngineAnswersTests.Talk

  private func oneByOne(_ facts: inout DialectFacts) {
    facts.pacing.atOnce = 1
    facts.pacing.every = 0
    facts.pacing.oneByOne = 3 * Microseconds.second
    facts.greeting = .request
  }

  @Test("one request is under way at a time, the greeting first; the next goes when it was answered, or after a while")
  func oneByOne() {
    let talk = Talk(.channel(symbols: 3), oneByOne)
    talk.wait(2)
    #expect(talk.sent.map { $0.prefix(5) } == ["hello"], "a connection that stands still gets no more of them")
    talk.receive("noise")
    talk.wait(1)
    #expect(talk.sent.map { $0.prefix(5) } == ["hello", "sub 3"], "five seconds without an answer")
    let silent = Talk(.channel(symbols: 3), oneByOne)
    silent.wait(7)
    #expect(silent.sent.map { $0.prefix(5) } == ["hello", "sub 3"], "a silence of ten seconds has two of them")
    #expect(talk.take().topics == ["0.0", "1.0", "2.0"])
    talk.wait(1)
    #expect(talk.sent.isEmpty)
    talk.receive("ack")
    #expect(talk.take().topics == ["0.1", "1.1", "2.1"])
    talk.receive("ack")
    #expect(talk.sent == ["hello 5"], "what was not answered, again")
    #expect(talk.engine.requests.desk.states.allSatisfy { $0 == .acknowledged })
  }

  @Test("a refusal that may be the late answer to an earlier request costs nobody a symbol; the next one does")
  func lateRefusal() {
    let talk = Talk(.channel(symbols: 1), oneByOne)
    talk.receive("noise")
    talk.wait(4)
    // The greeting was not answered in time, and the first book awaits its answer.
    #expect(talk.take().topics == ["0.0"])
    talk.receive("blame")
    #expect(talk.failed.isEmpty)
    talk.wait(1)
    #expect(talk.take().topics == ["1.0"])
    // There are no more late answers than there were requests that were overdue.
    var refusals = 0
    while talk.failed.isEmpty, refusals < 10 {
      talk.receive("blame")
      talk.wait(1)
      refusals += 1
    }
    #expect(refusals < 4, "\(refusals)")
    var again: [[String]] = []
    for _ in 0..<10 {
      talk.wait(2)
      while !talk.sent.isEmpty { again.append(talk.take().topics) }
      talk.receive("ack")
    }
    #expect(again.contains(["0.0"]), "the first book is asked for again: \(again)")
  }

  @Test("a refusal that blames a symbol costs that one; the others of its request go again at once")
  func blames() {
    for isOneByOne in [true, false] {
      let talk = isOneByOne ? Talk(.symbols(3), oneByOne) : Talk(.symbols(3)) { $0.pacing.every = 0 }
      talk.receive("noise")
      talk.wait(1)
      _ = talk.take()
      talk.receive("blame B")
      #expect(talk.failed == ["B-USD"])
      #expect(talk.take().topics == ["0.0", "0.1", "2.0", "2.1"])
      // A text that names all says nothing: they are asked for in halves.
      talk.receive("blame A C")
      talk.wait(1)
      #expect(talk.failed == ["B-USD"])
      #expect(talk.take().topics == (isOneByOne ? ["0.0", "0.1"] : ["0.0", "0.1", "2.0", "2.1"]))
    }
  }

  @Test("of an answer that lists what was taken, the rest is refused: a book is its symbol's, another channel rests")
  func taken() {
    let talk = Talk(.symbols(3)) { $0.pacing.every = 0 }
    let id = talk.take().id
    talk.receive("took \(id) A.0 A.1 B.0 C.1")
    #expect(talk.failed == ["C-USD"])
    talk.receive("whole A 1")
    talk.receive("whole B 1")
    talk.wait(58)
    #expect(talk.take().topics.isEmpty)
    talk.wait(4)
    #expect(talk.take().topics == ["1.1"])
    #expect(talk.engine.books.lines.map(\.book.isLive) == [true, true, false])
  }

  @Test("a message of the connection that is missing costs all books, before what the next one says")
  func afterGap() {
    let talk = Talk(.symbols(3)) { $0.pacing.every = 0 }
    talk.receive("ack \(talk.take().id)")
    talk.receive("whole A 1")
    talk.receive("whole B 1")
    talk.receive("hole whole A 5")
    #expect(talk.engine.books.lines.map(\.book.isLive) == [true, false, false])
    #expect(talk.engine.symbolCounts.map(\.gaps) == [1, 1, 0])
    talk.receive("hole next A 6")
    #expect(talk.engine.books.lines.map(\.book.isLive) == [false, false, false])
  }

  @Test("a snapshot between the end of a subscription and the new one is of the one that has ended")
  func left() {
    let talk = Talk(.channel(symbols: 3), oneByOne)
    for _ in 0..<4 { talk.receive("ack") }
    for symbol in ["A", "B", "C"] { talk.receive("whole \(symbol) 1") }
    _ = talk.take()
    talk.receive("next A 9")
    talk.wait(1)
    #expect(talk.sent.map { $0.prefix(3) } == ["end"])
    talk.receive("whole A 10")
    #expect(!talk.engine.books.lines[0].book.isLive)
    talk.receive("ack")
    #expect(talk.take().topics == ["0.0"])
    talk.receive("whole A 11")
    #expect(talk.engine.books.lines[0].book.isLive)
  }

  @Test("a heartbeat that dies takes all channels of its symbol; a trade that two of them knew of is missing")
  func heartbeats() {
    let talk = Talk(.symbols(3)) {
      $0.pacing.every = 0
      $0.countsTrades = true
      $0.channels = [
        .init("book", .book), .init("beat", .heartbeat, silence: .atLeast(every: Microseconds.second), isOfAll: true),
      ]
    }
    talk.receive("ack \(talk.take().id)")
    for symbol in ["A", "B", "C"] { talk.receive("whole \(symbol) 1") }
    talk.receive("trade A")
    for _ in 0..<20 {
      talk.receive("beat A 3")
      talk.receive("beat B 1")
      talk.receive("beat C 1")
      talk.wait(1)
    }
    #expect(talk.engine.symbolCounts.map(\.missedTrades) == [2, 0, 0] && talk.sent.isEmpty)
    for _ in 0..<20 {
      talk.receive("beat B 1")
      talk.receive("beat C 1")
      talk.wait(1)
    }
    #expect(talk.engine.books.lines.map(\.book.isLive) == [false, true, true])
    #expect(talk.take().topics == ["0.0", "0.1"])
  }
}
