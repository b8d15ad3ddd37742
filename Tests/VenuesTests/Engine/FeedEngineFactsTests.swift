import Bytes
import MarketData
import Testing

@testable import Venues

/// What single facts and reports of a dialect make the engine do.
@Suite("Facts of a dialect")
struct FeedEngineFactsTests {
  /// An engine that is connected, and whose books A and B are live where they are streamed.
  private final class Feed {
    let engine: FeedEngine
    var now = Timestamp(microseconds: 1_700_000_000_000_000)
    var sent: [String] = []
    var actions: [FeedAction] = []
    var events: [MarketEvent] = []

    init(_ adjust: @escaping (inout DialectFacts) -> Void = { _ in }) {
      engine = ScriptedDialect.engine(.streamed, .topic) { facts in
        facts.pacing.atOnce = 20
        adjust(&facts)
      }
      call { engine.prepare(now: now, into: &$0) }
      for action in actions {
        guard case .get(let request, _, _) = action else { continue }
        call { engine.response(to: request, status: 200, body: [UInt8]("list".utf8).span.bytes, now: now, into: &$0) }
      }
      call { engine.connected(now: now, into: &$0) }
    }

    func call(_ body: (inout EventBatch) -> Void) {
      var batch = EventBatch()
      body(&batch)
      events = batch.events
      actions = engine.actions
      engine.actions.removeAll()
      sent = actions.compactMap { if case .send(let text) = $0 { text } else { nil } }
    }

    func receive(_ text: String) {
      let bytes = Array(text.utf8)
      call { try? engine.receive(bytes.span.bytes, now: now, into: &$0) }
    }

    /// What is sent in that time.
    func wait(_ seconds: Int) -> [String] {
      var all: [String] = []
      var done: [FeedAction] = []
      for _ in 0..<(seconds * 4) {
        now = now + 250_000
        call { engine.tick(now: now, into: &$0) }
        all += sent
        done += actions
      }
      actions = done
      return all
    }

    /// Acknowledges all that was asked for, with books of A and B.
    func begin() {
      for id in 1...7 { receive("ack \(id)") }
      receive("whole A 1")
      receive("whole B 1")
    }

    var live: [Bool] { engine.books.lines.map(\.book.isLive) }
    var reconnects: Int { actions.count { if case .reconnect = $0 { true } else { false } } }
    var resets: [Int] { events.compactMap { if case .bookReset(let id, _) = $0 { id.index } else { nil } } }
  }

  @Test("a greeting that must be answered and is not costs the connection, once; one that is does not")
  func greeting() {
    let deaf = Feed { $0.greeting = .required }
    #expect(deaf.sent.first == "hello")
    _ = deaf.wait(9)
    #expect(deaf.reconnects == 0)
    _ = deaf.wait(2)
    #expect(deaf.reconnects == 1 && deaf.engine.notices.count == 1)
    // Answers come in order: one to what was sent behind the greeting says that the greeting never arrived.
    let passedOver = Feed { $0.greeting = .required }
    passedOver.receive("ack 1")
    #expect(passedOver.reconnects == 1)
    passedOver.receive("ack 2")
    _ = passedOver.wait(15)
    #expect(passedOver.reconnects == 0 && passedOver.engine.notices.count == 1, "once")
    let polite = Feed { $0.greeting = .required }
    polite.receive("greeted")
    polite.begin()
    _ = polite.wait(15)
    #expect(polite.reconnects == 0)
  }

  @Test("what is missing before a message costs every book that is live, but not the one that begins with it")
  func lostBefore() {
    let feed = Feed()
    feed.begin()
    #expect(feed.live == [true, true, false])
    feed.receive("hole whole A 9")
    #expect(feed.resets == [0, 1] && feed.live == [true, false, false])
    guard case .book = feed.events.last else {
      Issue.record("the resets come before what the message says: \(feed.events)")
      return
    }
    #expect(feed.engine.symbolCounts.map(\.gaps) == [1, 1, 0])
    let books = feed.wait(1).filter { $0.hasSuffix(".0") }
    #expect(books.contains { $0.hasPrefix("sub") && $0.hasSuffix(" 1.0") }, "\(books)")
    #expect(!books.contains { $0.hasSuffix(" 0.0") }, "what is there is not asked for")
  }

  @Test("a subscription that the venue ends is asked for again: a book's at once, another in its time")
  func ended() {
    let feed = Feed { $0.answerWithin = 15 * Microseconds.second }
    feed.begin()
    feed.receive("ended A 1")
    #expect(feed.sent.isEmpty && feed.live[0])
    #expect(feed.wait(14).filter { $0.hasSuffix("0.1") }.isEmpty)
    #expect(feed.wait(3).filter { $0.hasSuffix("0.1") }.count == 1)
    feed.receive("ended A 0")
    #expect(feed.resets == [0] && !feed.live[0] && feed.sent.contains { $0.hasPrefix("sub") && $0.hasSuffix(" 0.0") })
    #expect(feed.live[1])
  }

  @Test("a list that fails or cannot be read is asked for again, ever more rarely; a limit and a ban wait their time")
  func lists() {
    let engine = ScriptedDialect.engine(.streamed)
    var now = Timestamp(microseconds: 1_700_000_000_000_000)
    var batch = EventBatch()
    /// The seconds until the list is asked for, and the number of that request.
    func next() -> (after: Int, request: Int)? {
      for second in 0..<400 {
        engine.prepare(now: now, into: &batch)
        let gets = engine.actions.compactMap { if case .get(let request, "/list", _) = $0 { request } else { nil } }
        engine.actions.removeAll()
        if let request = gets.first { return (second, request) }
        now = now + Microseconds.second
      }
      return nil
    }
    var waits: [Int] = []
    for (status, body) in [(500, ""), (200, "damaged"), (503, "list"), (429, ""), (418, ""), (200, "list")] {
      guard let (after, request) = next() else { return #expect(Bool(false), "never asked for again") }
      waits.append(after)
      #expect(!engine.isPrepared)
      let bytes = Array(body.utf8)
      _ = engine.response(to: request, status: status, body: bytes.span.bytes, now: now, into: &batch)
    }
    #expect(waits == [0, 1, 2, 4, 60, 300] && engine.isPrepared && engine.books.count == 3)
  }

  @Test("how long an answer may take is the venue's")
  func answerWithin() {
    for (limit, early) in [(10, 9), (15, 13)] {
      let feed = Feed { $0.answerWithin = Int64(limit) * Microseconds.second }
      // Books ask again by themselves, as long as none comes.
      #expect(feed.wait(early).filter { $0.hasSuffix(".1") }.isEmpty, "\(limit)")
      #expect(feed.wait(limit - early + 3).filter { $0.hasSuffix(".1") }.count == 3, "\(limit)")
    }
  }

  @Test("in maintenance nothing is asked for and no book vouched for; then all of it is begun anew")
  func maintenance() {
    let feed = Feed { $0.maintenance = .endsSubscriptions(limit: 5 * Microseconds.minute) }
    feed.begin()
    feed.receive("maintenance on")
    #expect(feed.resets == [0, 1] && feed.live == [false, false, false] && feed.sent.isEmpty)
    #expect(feed.wait(200).isEmpty)
    feed.receive("maintenance off")
    #expect(feed.sent.count { $0.hasPrefix("end") } == 6 && feed.sent.count { $0.hasPrefix("sub") } == 6)
    feed.receive("maintenance on")
    #expect(feed.wait(310).count { $0.hasPrefix("sub") } >= 6, "that it is over may not be said")
    let told = Feed()
    told.begin()
    told.receive("maintenance on")
    #expect(told.live == [true, true, false] && told.resets.isEmpty, "where it is only told of")
  }
}
