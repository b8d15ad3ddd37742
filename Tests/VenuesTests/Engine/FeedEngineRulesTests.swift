import Bytes
import MarketData
import TestSupport
import Testing

@testable import Venues

/// A scripted venue, and a model of it that knows nothing of the engine's states: it keeps what was asked, what was
/// answered and what came, and says what must follow from that.
private final class Trial {
  struct Sent {
    var id: Int
    var topics: [Topic]
    var at: Timestamp
  }

  let books: ScriptedDialect.Books
  let engine: FeedEngine
  var random: SeededGenerator
  let seed: UInt64
  var now = Timestamp(microseconds: 1_700_000_000_000_000)
  var isConnected = false
  /// Books that are right by what came.
  var live: Set<Int> = []
  var numbers: [Int64] = [0, 0, 0]
  /// Requests on this connection that have had no answer.
  var open: [Sent] = []
  /// Since when each topic has been asked for in vain, of which no request is open.
  var lastAsked: [Topic: Timestamp] = [:]
  /// Topics that the venue answers, or whose data came.
  var settled: Set<Topic> = []
  var refusedBooks: Set<Int> = []
  /// When each channel beside a book was refused.
  var resting: [Topic: Timestamp] = [:]
  var goes: [Timestamp] = []
  var gets: [(request: Int, index: Int)] = []
  var wantsAnother = false
  var failed: Set<String> = []
  var faults: [String] = []

  init(_ books: ScriptedDialect.Books, _ grouping: DialectFacts.Grouping, seed: UInt64) {
    self.books = books
    self.seed = seed
    random = SeededGenerator(seed: seed)
    engine = ScriptedDialect.engine(books, grouping)
  }

  func fail(_ text: String) {
    if faults.count < 3 { faults.append("seed \(seed): \(text)") }
  }

  // MARK: What the engine does

  func call(_ body: (inout EventBatch) -> Void) {
    let before = Set(engine.books.lines.indices.filter { engine.books.lines[$0].book.isLive })
    var batch = EventBatch()
    body(&batch)
    var resets: Set<Int> = []
    for event in batch.events {
      if case .bookReset(let instrument, _) = event { resets.insert(instrument.index) }
    }
    let after = Set(engine.books.lines.indices.filter { engine.books.lines[$0].book.isLive })
    // Rule 4.
    for index in before.subtracting(after) where isConnected && !resets.contains(index) {
      fail("book \(index) left live without a reset")
    }
    for action in engine.actions { take(action) }
    engine.actions.removeAll()
  }

  private func take(_ action: FeedAction) {
    switch action {
    case .send(let text):
      let words = text.split(separator: " ")
      let topics = words.dropFirst(2).map { word in
        let parts = word.split(separator: ".").compactMap { Int($0) }
        return Topic(index: parts[0], channel: parts[1])
      }
      if goes.last != now { goes.append(now) }
      guard words[0] == "sub" else { return }
      for topic in topics {
        // Rule 3: what was refused rests for a minute at least.
        if let since = resting[topic], now - since < Microseconds.minute { fail("\(topic) was not left to rest") }
        if refusedBooks.contains(topic.index) { fail("\(topic) was asked for after its symbol was refused") }
        lastAsked[topic] = now
        resting[topic] = nil
      }
      open.append(Sent(id: Int(words[1])!, topics: topics, at: now))
    case .get(let request, let path, _) where path.hasPrefix("/book/"):
      let index = ScriptedDialect.symbols.firstIndex(of: String(path.dropFirst(6)))!
      // Rule 1.
      if !settled.contains(Topic(index: index, channel: 0)) {
        fail("a snapshot of \(index) was asked for, whose subscription was not answered and of which nothing came")
      }
      gets.append((request, index))
    case .get(let request, _, _): answerList(request)
    case .reconnect, .renew: wantsAnother = true
    case .symbolFailed(let symbol, _): failed.insert(symbol)
    default: break
    }
  }

  private func answerList(_ request: Int) {
    pendingLists.append(request)
  }
  var pendingLists: [Int] = []

  func receive(_ text: String) {
    let bytes = Array(text.utf8)
    call { batch in
      do throws(FeedError) { try engine.receive(bytes.span.bytes, now: now, into: &batch) } catch {}
    }
  }

  func tick() {
    now = now + 250_000
    call { engine.tick(now: now, into: &$0) }
    for request in pendingLists {
      pendingLists.removeAll { $0 == request }
      call { engine.response(to: request, status: 200, body: [UInt8]("list".utf8).span.bytes, now: now, into: &$0) }
    }
    check()
  }

  func connect() {
    while !engine.isPrepared {
      call { engine.prepare(now: now, into: &$0) }
      tick()
    }
    isConnected = true
    forget()
    call { engine.connected(now: now, into: &$0) }
  }

  func disconnect() {
    isConnected = false
    call { engine.disconnected(now: now, into: &$0) }
    forget()
    engine.forgetConnection()
  }

  private func forget() {
    live = []
    open = []
    lastAsked = [:]
    settled = []
    refusedBooks = []
    resting = [:]
    goes = []
    gets = []
    wantsAnother = false
    failed = []
  }

  // MARK: What must hold

  private func check() {
    let isLive = Set(engine.books.lines.indices.filter { engine.books.lines[$0].book.isLive })
    if isLive != live { fail("books \(isLive.sorted()) are live, and \(live.sorted()) by what came") }
    // Rule 2: nothing stays unanswered without being asked for again, or another connection being asked for.
    for request in open {
      for topic in request.topics where !settled.contains(topic) && !refusedBooks.contains(topic.index) {
        guard let asked = lastAsked[topic], now - asked > 76 * Microseconds.second, !wantsAnother else { continue }
        fail("\(topic) has not been answered for \((now - asked) / Microseconds.second) s, and nobody minds")
      }
    }
    // Rule 5: two requests a second, and so two goes at the most.
    goes.removeAll { now - $0 >= Microseconds.second }
    if goes.count > 1 { fail("\(goes.count) goes within a second") }
    for symbol in failed where !refusedBooks.contains(where: { "\(ScriptedDialect.symbols[$0])-USD" == symbol }) {
      fail("\(symbol) failed, whose book was not refused")
    }
  }

  // MARK: What the venue does

  func step() {
    let symbols = ScriptedDialect.symbols
    let index = Int.random(in: 0..<3, using: &random)
    switch Int.random(in: 0..<20, using: &random) {
    case 0..<8: tick()
    case 8..<12: answer()
    case 12, 13: if settled.contains(Topic(index: index, channel: 0)) || isBookOpen(index) { whole(index) }
    case 14, 15: next(index, by: 1)
    case 16: next(index, by: Int64.random(in: 1...3, using: &random))
    case 17:
      if settled.contains(Topic(index: index, channel: 1)) { receive("trade \(symbols[index])") }
    case 18:
      if Int.random(in: 0..<8, using: &random) == 0 {
        receive(#"broken "s":"\#(symbols[index])""#)
        live.remove(index)
      }
    default:
      guard Int.random(in: 0..<25, using: &random) == 0 else { return tick() }
      disconnect()
      connect()
    }
    snapshots()
  }

  private func isBookOpen(_ index: Int) -> Bool {
    open.contains { $0.topics.contains(Topic(index: index, channel: 0)) }
  }

  /// The whole book in the stream; a bridged one takes it from REST only.
  private func whole(_ index: Int) {
    guard books == .streamed, !refusedBooks.contains(index) else { return }
    numbers[index] += 1
    settled.insert(Topic(index: index, channel: 0))
    live.insert(index)
    receive("whole \(ScriptedDialect.symbols[index]) \(numbers[index])")
  }

  private func next(_ index: Int, by step: Int64) {
    guard settled.contains(Topic(index: index, channel: 0)) || books == .bridged && isBookOpen(index) else { return }
    guard !refusedBooks.contains(index) else { return }
    numbers[index] += step
    if books == .bridged { settled.insert(Topic(index: index, channel: 0)) }
    if step > 1 { live.remove(index) }
    receive("next \(ScriptedDialect.symbols[index]) \(numbers[index])")
  }

  private func snapshots() {
    guard !gets.isEmpty, Bool.random(using: &random) else { return }
    let (request, index) = gets.removeFirst()
    let isAnswered = Int.random(in: 0..<4, using: &random) > 0
    if isAnswered, !refusedBooks.contains(index) { live.insert(index) }
    let body = Array("\(numbers[index])".utf8)
    call { engine.response(to: request, status: isAnswered ? 200 : 500, body: body.span.bytes, now: now, into: &$0) }
  }

  private func answer() {
    guard !open.isEmpty else { return }
    let index = Int.random(in: 0..<open.count, using: &random)
    let topics = open[index].topics
    let id = open[index].id
    let live = engine.books.lines.map(\.book.isLive)
    switch Int.random(in: 0..<12, using: &random) {
    case 0..<6:
      open.remove(at: index)
      if now - (lastAsked[topics[0]] ?? now) < RequestDeadline.answer { settled.formUnion(topics) }
      receive("ack \(id)")
    case 6 where topics.count == 1:
      guard let asked = lastAsked[topics[0]], asked == open[index].at, now - asked < 9 * Microseconds.second else {
        return
      }
      open.remove(at: index)
      if topics[0].channel == 0 {
        if !self.live.contains(topics[0].index) { refusedBooks.insert(topics[0].index) }
      } else {
        resting[topics[0]] = now
      }
      receive("refuse \(id) final")
      // Rule 3: no other book is touched.
      for position in live.indices where live[position] && !engine.books.lines[position].book.isLive {
        fail("a refusal of \(topics) took book \(position)")
      }
    case 7:
      open.remove(at: index)
      receive("refuse \(id) \(["again", "pause"].randomElement(using: &random)!)")
    // Never answered.
    default: break
    }
  }
}

@Suite("Rules of the feed engine")
struct FeedEngineRulesTests {
  @Test("A scripted venue that answers, refuses and stays silent as it likes", arguments: testSeeds(60))
  func rules(seed: UInt64) {
    for books in [ScriptedDialect.Books.streamed, .bridged] {
      let trial = Trial(books, .topic, seed: seed)
      trial.connect()
      for _ in 0..<1_500 where trial.faults.isEmpty { trial.step() }
      #expect(trial.faults.isEmpty, "\(books): \(trial.faults)")
    }
  }

  @Test("A request that nobody answers is sent again, then told of, and then the connection is exchanged")
  func unanswered() {
    for books in [ScriptedDialect.Books.streamed, .bridged] {
      let trial = Trial(books, .symbols(3), seed: 1)
      trial.connect()
      for _ in 0..<200 { trial.tick() }
      #expect(trial.open.count >= 3, "sent again")
      #expect(trial.wantsAnother)
      #expect(!trial.engine.notices.isEmpty)
      #expect(trial.gets.isEmpty && trial.live.isEmpty, "nothing is live of which nothing came")
      #expect(trial.faults.isEmpty, "\(trial.faults)")
    }
  }

  @Test("Of several symbols in one request, the one that is refused is found by halves")
  func halves() {
    let trial = Trial(.streamed, .symbols(3), seed: 1)
    trial.connect()
    for _ in 0..<80 {
      trial.tick()
      for request in trial.open {
        trial.open.removeAll { $0.id == request.id }
        let isBad = request.topics.contains { $0.index == 1 }
        if isBad, Set(request.topics.map(\.index)).count == 1 { trial.refusedBooks.insert(1) }
        trial.receive("\(isBad ? "refuse" : "ack") \(request.id)\(isBad ? " final" : "")")
        if !isBad { trial.settled.formUnion(request.topics) }
      }
    }
    #expect(trial.failed == ["B-USD"])
    #expect(trial.settled.map(\.index).filter { $0 == 1 }.isEmpty && trial.settled.count == 4)
    #expect(trial.faults.isEmpty, "\(trial.faults)")
  }
}
