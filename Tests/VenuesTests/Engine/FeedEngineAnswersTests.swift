import Bytes
import MarketData
import Testing

@testable import Venues

/// What becomes of answers that are about a part of their request.
@Suite("Answers to the feed engine")
struct FeedEngineAnswersTests {
  /// An engine with three symbols, A, B and C, connected.
  final class Talk {
    let engine: FeedEngine
    var now = Timestamp(microseconds: 1_700_000_000_000_000)
    var sent: [String] = []
    var failed: [String] = []

    init(_ grouping: DialectFacts.Grouping, _ change: (inout DialectFacts) -> Void = { _ in }) {
      engine = ScriptedDialect.engine(.streamed, grouping, change)
      call { engine.prepare(now: now, into: &$0) }
      call { engine.response(to: 1, status: 200, body: [UInt8]("list".utf8).span.bytes, now: now, into: &$0) }
      call { engine.connected(now: now, into: &$0) }
      wait(3)
    }

    private func call(_ body: (inout EventBatch) -> Void) {
      var batch = EventBatch()
      body(&batch)
      for action in engine.actions {
        switch action {
        case .send(let text): sent.append(text)
        case .symbolFailed(let symbol, _): failed.append(symbol)
        default: break
        }
      }
      engine.actions.removeAll()
    }

    func receive(_ text: String) {
      let bytes = Array(text.utf8)
      call { batch in
        do throws(FeedError) { try engine.receive(bytes.span.bytes, now: now, into: &batch) } catch {}
      }
    }

    func retry(_ symbol: String) {
      call { engine.retry([symbol], now: now, into: &$0) }
      let list = [UInt8]("list".utf8)
      call {
        engine.response(to: engine.requests.sending.lastID, status: 200, body: list.span.bytes, now: now, into: &$0)
      }
    }

    func wait(_ seconds: Int) {
      for _ in 0..<(seconds * 4) {
        now = now + 250_000
        call { engine.tick(now: now, into: &$0) }
      }
    }

    /// The topics of the requests that were sent since the last time, and the number of the last of them.
    func take() -> (topics: [String], id: Int) {
      defer { sent = [] }
      let words = sent.map { $0.split(separator: " ").map(String.init) }.filter { $0[0] == "sub" }
      return (words.flatMap { $0.dropFirst(2) }, words.last.flatMap { Int($0[1]) } ?? 0)
    }
  }

  @Test("a refusal that names one topic of a request: the others are asked for again at once, that one rests")
  func named() {
    let talk = Talk(.symbols(3))
    let id = talk.take().id
    talk.receive("refuse \(id) final A.1")
    talk.wait(1)
    let (again, number) = talk.take()
    #expect(again == ["0.0", "1.0", "1.1", "2.0", "2.1"] && talk.failed.isEmpty)
    talk.receive("ack \(number)")
    for (index, symbol) in ["A", "B", "C"].enumerated() {
      talk.receive("whole \(symbol) 1")
      #expect(talk.engine.books.lines[index].book.isLive)
    }
    talk.wait(55)
    #expect(talk.take().topics.isEmpty)
    talk.wait(10)
    #expect(talk.take().topics == ["0.1"])
  }

  @Test("a book that is named is its symbol's refusal, and nothing else of that symbol is asked for")
  func namedBook() {
    let talk = Talk(.symbols(3))
    talk.receive("refuse \(talk.take().id) final B.0")
    talk.wait(1)
    #expect(talk.take().topics == ["0.0", "0.1", "2.0", "2.1"] && talk.failed == ["B-USD"])
  }

  @Test("a book that comes behind the refusal of its symbol is not live: all of the symbol is asked for anew in time")
  func lateBook() {
    let talk = Talk(.symbols(3))
    talk.receive("refuse \(talk.take().id) final B.0")
    talk.receive("whole B 1")
    talk.receive("next B 2")
    #expect(!talk.engine.books.lines[1].book.isLive)
    talk.wait(60)
    _ = talk.take()
    talk.retry("B-USD")
    talk.wait(1)
    #expect(talk.take().topics == ["1.0", "1.1"])
    talk.receive("whole B 3")
    #expect(talk.engine.books.lines[1].book.isLive)
  }

  @Test("what is there already goes on, and the rest of its request is asked for again")
  func already() {
    let talk = Talk(.symbols(1))
    let id = talk.take().id
    talk.receive("refuse \(id) already C.1")
    talk.wait(1)
    #expect(talk.take().topics == ["2.0"] && talk.failed.isEmpty)
    #expect(talk.engine.requests.desk.state(Topic(index: 2, channel: 1)) == .acknowledged)
  }

  @Test("a refusal that names what its request has not is of all of it")
  func namesAnother() {
    let talk = Talk(.symbols(1))
    talk.receive("refuse \(talk.take().id) final A.0")
    #expect(talk.failed == ["C-USD"])
  }

  @Test(
    "where each topic is answered by itself, what comes of a book says nothing of the trades", arguments: [true, false])
  func each(_ answersEachTopic: Bool) {
    let talk = Talk(.symbols(3)) { $0.answersEachTopic = answersEachTopic }
    _ = talk.take()
    for symbol in ["A", "B", "C"] { talk.receive("whole \(symbol) 1") }
    talk.wait(12)
    #expect(talk.take().topics == (answersEachTopic ? ["0.1", "1.1", "2.1"] : []))
  }

  @Test("the same message again, by all of its numbers, is nothing; the number again by another link is a gap")
  func again() {
    var facts = DialectFacts(
      channels: [.init("book", .book)], book: .streamed(OKX.rule),
      pacing: .init(grouping: .topic, atOnce: 1, every: 0, limit: 1),
      salvage: [])
    facts.book = .streamed(OKX.rule)
    var keeper = BookKeeper(facts)
    let batch = EventBatch()
    let now = Timestamp(microseconds: 1)
    func take(_ kind: BookEvent.Kind, _ last: Int64, _ previous: Int64) -> BookKeeper.Verdict {
      let event = BookEvent(instrument: InstrumentID(0), kind: kind, bidRange: 0..<0, askRange: 0..<0, time: now)
      let numbers = UpdateNumbers(first: last, last: last, previous: previous)
      return keeper.take(event, MessageOutcome.Numbers(numbers: numbers), batch, now: now)
    }
    #expect(take(.snapshot, 100, -1) == .whole)
    #expect(take(.delta, 100, -1) == .nothing)
    #expect(take(.delta, 110, 100) == .followed)
    #expect(take(.delta, 110, 110) == .followed, "nothing has changed")
    #expect(take(.delta, 110, 100) == .nothing, "the one before, again")
    #expect(take(.delta, 110, 90) == .gap)
  }

  @Test("an update that may be the whole book is it while one is awaited, and a gap afterwards")
  func whole() {
    let facts = DialectFacts(
      channels: [.init("book", .book)], book: .streamed(Gemini.rule),
      pacing: .init(grouping: .topic, atOnce: 1, every: 0, limit: 1), salvage: [])
    var keeper = BookKeeper(facts)
    let batch = EventBatch()
    let now = Timestamp(microseconds: 1)
    func take(_ first: Int64, _ last: Int64) -> BookKeeper.Verdict {
      let event = BookEvent(instrument: InstrumentID(0), kind: .delta, bidRange: 0..<0, askRange: 0..<0, time: now)
      return keeper.take(
        event, MessageOutcome.Numbers(numbers: UpdateNumbers(first: first, last: last)), batch, now: now)
    }
    #expect(take(5, 5) == .nothing, "nothing was subscribed")
    keeper.subscribed(now: now)
    #expect(take(4, 6) == .nothing)
    #expect(take(7, 7) == .whole)
    #expect(take(7, 9) == .followed)
    #expect(take(12, 12) == .gap)
  }

  @Test("while no symbol is subscribed, a venue that speaks of symbols only is not expected to")
  func silence() {
    let talk = Talk(.symbols(3)) { $0.isSilentWithoutSymbols = true }
    #expect(talk.engine.expectsMarket)
    let id = talk.take().id
    talk.receive("refuse \(id) final A.0")
    for symbol in ["B", "C"] {
      talk.wait(2)
      talk.receive("refuse \(talk.take().id) final \(symbol).0")
    }
    #expect(talk.failed.sorted() == ["A-USD", "B-USD", "C-USD"] && !talk.engine.expectsMarket)
  }
}
