import Bytes
import MarketData

/// Figures of a derivative by REST: the request, and the reader of its answer.
struct DerivativePoll: Sendable {
  typealias Read =
    @Sendable (
      inout FieldReader, _ instrument: Instrument, _ mark: Decimal64?, inout DerivativeReport
    ) throws(FeedError) -> Void

  /// Nil for a market that has no such answer: a dated future has no funding.
  var path: @Sendable (Instrument) -> String?
  /// The time between two requests for a market, µs; longer if the budget is too small for all that is wanted.
  var every: Int64
  /// The weight of a request in the budget.
  var weight = 1
  /// Bytes that an answer has at most.
  var bodyLimit = 64 << 10
  /// The data that a client must want of a market.
  var wish = MarketWishes.derivative
  /// Whether the answer says nothing without the mark: then it is requested once the mark is known.
  var needsMark = false
  /// Reads an answer about a market, whose mark is the last one that was polled. The report has the time of arrival.
  var read: Read
}

/// All of a venue's.
struct DerivativePolls: Sendable {
  var polls: [DerivativePoll] = []
  /// Weight a minute for all connections of an address: a small part of what the venue allows.
  var weightPerMinute = 1
}

/// The requests for derivatives that somebody wants. A value, by index; time is a parameter. A market that nobody wants
/// costs no request. Bounded by the symbols of a connection.
struct DerivativeRequests {
  /// The number of the first request: beyond those of all others, of which `FigureRequests.first` begins the highest.
  static let first = 1 << 42
  /// After this long another request may be sent though the one before was not answered, µs.
  static let timeout = 10 * Microseconds.second
  /// How many may be under way.
  static let concurrency = 4

  private struct Line {
    var index: Int
    var wishes: MarketWishes
    /// By poll: when the next request may be sent, and when the one was sent that is under way.
    var due: [Timestamp]
    var asked: [Timestamp?]
    /// The last one that an answer had.
    var mark: Decimal64?
  }

  private let polls: [DerivativePoll]
  private var lines: [Line] = []
  private var budget: MinuteBudget
  /// When the next request may be sent: the venue has asked to wait.
  private var pausedUntil = Timestamp.distantPast

  init(_ polls: DerivativePolls, connections: Int) {
    self.polls = polls.polls
    budget = MinuteBudget(limit: max(1, polls.weightPerMinute / connections))
  }

  /// All that somebody wants of an instrument.
  mutating func want(_ index: Int, _ wishes: MarketWishes) {
    guard polls.contains(where: { wishes.contains($0.wish) }) else { return lines.removeAll { $0.index == index } }
    if let line = lines.firstIndex(where: { $0.index == index }) {
      lines[line].wishes = wishes
    } else {
      let none = polls.map { _ in Timestamp.distantPast }
      lines.append(Line(index: index, wishes: wishes, due: none, asked: polls.map { _ in nil }))
    }
  }

  /// The next request that may be sent now: the one that is overdue most; nil if none is. O(wanted).
  /// - Parameter isFollowed: whether an instrument is followed on this connection.
  mutating func next(
    now: Timestamp, instruments: InstrumentTable, isFollowed: (Int) -> Bool
  ) -> (request: Int, path: String, bodyLimit: Int)? {
    guard !lines.isEmpty, now >= pausedUntil else { return nil }
    var best: (line: Int, poll: Int)?
    var underWay = 0
    for (index, line) in lines.enumerated() where isFollowed(line.index) {
      for poll in polls.indices {
        if let asked = line.asked[poll], now - asked < Self.timeout {
          underWay += 1
        } else if line.wishes.contains(polls[poll].wish), line.due[poll] <= now,
          line.mark != nil || !polls[poll].needsMark,
          best.map({ line.due[poll] < lines[$0.line].due[$0.poll] }) ?? true
        {
          best = (index, poll)
        }
      }
    }
    guard let (line, poll) = best, underWay < Self.concurrency, budget.left(now: now) >= polls[poll].weight else {
      return nil
    }
    let symbolIndex = lines[line].index
    guard let path = polls[poll].path(instruments[symbolIndex]) else {
      lines[line].due[poll] = .distantFuture
      return next(now: now, instruments: instruments, isFollowed: isFollowed)
    }
    budget.spend(polls[poll].weight, now: now)
    lines[line].asked[poll] = now
    lines[line].due[poll] = now + polls[poll].every
    return (Self.first + symbolIndex * polls.count + poll, path, polls[poll].bodyLimit)
  }

  /// Reads the answer to a request; nil if nothing awaits it.
  mutating func answered(
    _ request: Int, _ status: AnswerStatus, _ body: RawSpan, _ instruments: InstrumentTable, now: Timestamp
  ) throws(FeedError) -> DerivativeReport? {
    guard !polls.isEmpty else { return nil }
    let (index, poll) = (request - Self.first).quotientAndRemainder(dividingBy: polls.count)
    guard let line = lines.firstIndex(where: { $0.index == index }), lines[line].asked[poll] != nil else { return nil }
    lines[line].asked[poll] = nil
    if !status.isOK, status.code != 0 {
      pausedUntil = now + ListRequest.wait(status: status.code, retryAfter: status.retryAfter, 0)
    }
    try status.check()
    var report = DerivativeReport(instrument: InstrumentID(index), time: now, source: .polled)
    var reader = FieldReader(body)
    try polls[poll].read(&reader, instruments[index], lines[line].mark, &report)
    if let mark = report.mark.value { lines[line].mark = mark }
    return report.isEmpty ? nil : report
  }

  /// The connection is gone, and with it the answers.
  mutating func disconnected() {
    for index in lines.indices { lines[index].asked = polls.map { _ in nil } }
  }
}
