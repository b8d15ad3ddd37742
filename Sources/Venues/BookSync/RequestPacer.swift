import Bytes
import MarketData

/// Keeps REST requests within a venue's weight limit in any minute (`MinuteBudget`), one in flight per subject, few
/// at a time, with longer waits after failures. Subjects are indices in the engine's instrument list.
///
/// After a failure that concerns all (no answer, a status), requests only wait longer. A book that is lost again and
/// again, or whose snapshots are unusable, has a circuit (`BookCircuit`) and waits for a while.
///
/// Bounded by the number of subjects: each is waiting at most once.
struct RequestPacer {
  /// What a single request costs.
  var requestWeight: Int
  /// Requests in flight at once.
  let concurrency: Int
  /// After this long without an answer a request counts as failed.
  static let answerTimeout = 30 * Microseconds.second

  private struct Subject {
    var isWaiting = false
    var notBefore = Timestamp.distantPast
    var backoff = Backoff(first: Microseconds.second, limit: Microseconds.minute)
    var circuit = BookCircuit()
    var request: Int?
    var sent = Timestamp.distantPast
  }

  private var subjects: [Subject] = []
  private var waiting: [Int] = []
  private var inFlight = 0
  private var budget: MinuteBudget
  private var pausedUntil = Timestamp.distantPast
  private var nextRequest = 1000
  /// The latest time that was told.
  private var clock = Timestamp.distantPast

  init(weightPerMinute: Int, requestWeight: Int, concurrency: Int) {
    self.requestWeight = requestWeight
    self.concurrency = concurrency
    budget = MinuteBudget(limit: weightPerMinute)
  }

  /// Weight that all requests together may have in any minute.
  var weightPerMinute: Int {
    get { budget.limit }
    set { budget.limit = newValue }
  }

  /// Wants an answer for `subject`, not before a time. Nothing changes if it waits or is in flight already.
  mutating func want(_ subject: Int, notBefore: Timestamp = .distantPast) {
    makeRoom(for: subject)
    guard !subjects[subject].isWaiting, subjects[subject].request == nil else { return }
    subjects[subject].isWaiting = true
    subjects[subject].notBefore = max(subjects[subject].notBefore, notBefore)
    waiting.append(subject)
  }

  /// The book of `subject` was live and has been lost: a snapshot is wanted as soon as its circuit allows, and not
  /// before `notBefore`.
  mutating func lost(_ subject: Int, notBefore: Timestamp = .distantPast, now: Timestamp) {
    clock = max(clock, now)
    makeRoom(for: subject)
    want(subject, notBefore: max(notBefore, subjects[subject].circuit.lost(now: now)))
  }

  /// Why the book of `subject` counts as failed; nil if it does not.
  func failure(of subject: Int) -> BookFailure? {
    subjects.indices.contains(subject) ? subjects[subject].circuit.failure : nil
  }

  /// The next request that may be sent now: its subject and number.
  mutating func next(now: Timestamp) -> (subject: Int, request: Int)? {
    clock = max(clock, now)
    guard !waiting.isEmpty else { return nil }
    // One that is heavier than a minute's weight goes alone.
    guard now >= pausedUntil, inFlight < concurrency, budget.left(now: now) >= min(requestWeight, budget.limit),
      let index = waiting.firstIndex(where: { now >= subjects[$0].notBefore })
    else { return nil }
    let subject = waiting.remove(at: index)
    budget.spend(requestWeight, now: now)
    inFlight += 1
    nextRequest += 1
    subjects[subject].isWaiting = false
    subjects[subject].request = nextRequest
    subjects[subject].sent = now
    return (subject, nextRequest)
  }

  /// The subject of an answer; nil if the request is not, or no longer, in flight.
  mutating func answered(_ request: Int) -> Int? {
    guard let subject = subjects.firstIndex(where: { $0.request == request }) else { return nil }
    subjects[subject].request = nil
    inFlight -= 1
    return subject
  }

  /// The answer was good: the book is live.
  mutating func succeeded(_ subject: Int) {
    makeRoom(for: subject)
    subjects[subject].backoff.reset()
    subjects[subject].circuit.isLive(now: clock)
    subjects[subject].notBefore = .distantPast
  }

  /// The answer was unusable: request again, later. With status 200 the snapshot was unusable, which counts for the
  /// circuit; other statuses say nothing of the book. 429 (too many requests) pauses everything for a minute, 418
  /// (banned) for five: Binance bans for 2 minutes at first, and asking on makes it longer. A venue that says how
  /// long (`retryAfter`, µs) is believed.
  mutating func failed(_ subject: Int, status: Int, retryAfter: Int64? = nil, now: Timestamp) {
    let wait = ListRequest.wait(status: status, retryAfter: retryAfter, 0)
    if retryAfter != nil && status != 200 || status == 429 || status == 418 { pause(until: now + wait) }
    clock = max(clock, now)
    makeRoom(for: subject)
    if status == 200 {
      want(subject, notBefore: subjects[subject].circuit.failed(now: now))
    } else {
      want(subject, notBefore: now + subjects[subject].backoff.next())
    }
  }

  /// Requests that no answer came to, each of which has been set down as failed.
  mutating func expire(now: Timestamp) {
    for subject in subjects.indices where subjects[subject].request != nil {
      guard now - subjects[subject].sent >= Self.answerTimeout else { continue }
      subjects[subject].request = nil
      inFlight -= 1
      failed(subject, status: 0, now: now)
    }
  }

  /// Forgets all wishes and requests; the budget, pauses, back-off and circuits stay, they belong to the address and
  /// the symbol and not to the connection.
  mutating func removeAll() {
    waiting.removeAll()
    inFlight = 0
    for subject in subjects.indices {
      subjects[subject].isWaiting = false
      subjects[subject].request = nil
      subjects[subject].circuit.disconnected()
    }
  }

  private mutating func makeRoom(for subject: Int) {
    while subjects.count <= subject { subjects.append(Subject()) }
  }

  private mutating func pause(until time: Timestamp) { pausedUntil = max(pausedUntil, time) }
}
