import MarketData

/// What a connection has still to send, and what it has sent and awaits an answer to: requests in their order, at
/// most `atOnce` in one go, and one go in `interval`, so that no span of `interval` has more than `atOnce`.
///
/// All of it is one connection's and is forgotten with it (`removeAll`). Nothing happens here by itself: who owns it
/// calls `take` a few times a second and whenever something was added.
///
/// Bounded: at most `limit` requests wait, and as many answers are awaited. What would be one too many to wait is
/// left out, which the engines' own bounds (a few requests for each symbol) never come to; of those that await an
/// answer the oldest is forgotten.
struct RequestOutbox<Request> {
  /// Requests in one go.
  let atOnce: Int
  /// From one go to the next, µs.
  let interval: Int64
  /// Requests that wait, and requests whose answers are awaited.
  let limit: Int

  private struct Waiting {
    var request: Request
    /// Of one piece with the one before it.
    var isJoined: Bool
  }

  private var waiting: [Waiting] = []
  private var later: [(due: Timestamp, request: Request)] = []
  private var awaited: [(id: Int, request: Request, due: Timestamp)] = []
  private var nextGo = Timestamp.distantPast
  private var pausedUntil = Timestamp.distantPast

  init(atOnce: Int, every interval: Int64, limit: Int) {
    precondition(atOnce > 0 && interval >= 0 && limit > 0)
    self.atOnce = atOnce
    self.interval = interval
    self.limit = limit
  }

  /// Whether nothing waits for its turn.
  var isEmpty: Bool { waiting.isEmpty && later.isEmpty }

  /// Adds requests behind all others.
  mutating func append(_ requests: Request...) {
    for request in requests where hasRoom(for: 1) { waiting.append(Waiting(request: request, isJoined: false)) }
  }

  /// Adds requests that go together or not at all: the end of a subscription and its beginning. More than `atOnce` go
  /// one behind the other.
  /// - Parameter isFirst: before all others instead of behind them.
  mutating func append(together requests: Request..., isFirst: Bool = false) {
    guard hasRoom(for: requests.count) else { return }
    let isOneGo = requests.count <= atOnce
    let group = requests.enumerated().map { Waiting(request: $1, isJoined: isOneGo && $0 > 0) }
    waiting.insert(contentsOf: group, at: isFirst ? 0 : waiting.count)
  }

  /// Puts requests that were refused, or the parts of one, before all others, in their order.
  mutating func putBack(_ requests: Request...) {
    guard hasRoom(for: requests.count) else { return }
    waiting.insert(contentsOf: requests.map { Waiting(request: $0, isJoined: false) }, at: 0)
  }

  /// Adds a request behind all others as soon as it is `due`.
  mutating func append(_ request: Request, due: Timestamp) {
    if hasRoom(for: 1) { later.append((due, request)) }
  }

  /// Nothing is sent before `time`.
  mutating func pause(until time: Timestamp) { pausedUntil = max(pausedUntil, time) }

  /// What a pause waited for has come.
  mutating func resume() { pausedUntil = .distantPast }

  /// Whether a go may begin now.
  func isOpen(at now: Timestamp) -> Bool { now >= nextGo && now >= pausedUntil }

  /// Whether nothing goes out for a while, whatever its turn.
  func isPaused(at now: Timestamp) -> Bool { now < pausedUntil }

  /// The requests to be sent now; none if there are none, or it is too early. No allocation if there are none.
  /// O(waiting).
  /// - Parameter room: how many there may be, where something else than this bounds them too.
  mutating func take(now: Timestamp, room: Int = .max) -> [Request] {
    if !later.isEmpty { ripen(now) }
    guard !waiting.isEmpty, room > 0, isOpen(at: now) else { return [] }
    var count = min(atOnce, room, waiting.count)
    while count > 0, count < waiting.count, waiting[count].isJoined { count -= 1 }
    guard count > 0 else { return [] }
    let taken = waiting.prefix(count).map(\.request)
    waiting.removeFirst(count)
    nextGo = now + interval
    return taken
  }

  /// Whether an answer is awaited.
  var isAwaiting: Bool { !awaited.isEmpty }

  /// A request was sent with this number, which its answer will have.
  /// - Parameter deadline: how long the answer may take, µs; the same for all of an outbox.
  mutating func sent(_ request: Request, as id: Int, within deadline: Int64 = RequestDeadline.answer, now: Timestamp) {
    if awaited.count == limit { awaited.removeFirst() }
    awaited.append((id, request, now + deadline))
  }

  /// The requests whose answers are overdue; they are not awaited any more. No allocation if there are none. O(1)
  /// then: the oldest is the first that is due.
  mutating func takeOverdue(now: Timestamp) -> [Request] {
    guard let first = awaited.first, now >= first.due else { return [] }
    let count = awaited.prefix { now >= $0.due }.count
    let overdue = awaited.prefix(count).map(\.request)
    awaited.removeFirst(count)
    return overdue
  }

  /// The requests whose answers are due after `time`. O(awaited).
  func awaited(dueAfter time: Timestamp) -> [Request] { awaited.filter { $0.due > time }.map(\.request) }

  /// The request that an answer is to; nil if none awaits it. O(awaited).
  mutating func answered(_ id: Int) -> Request? {
    awaited.firstIndex { $0.id == id }.map { awaited.remove(at: $0).request }
  }

  /// The oldest request that awaits an answer, where answers come in their order; nil if none does.
  mutating func answeredOldest() -> Request? { awaited.isEmpty ? nil : awaited.removeFirst().request }

  /// Takes a part of the first awaited request that `matches`; `part` cuts it off, and says whether that was all.
  mutating func takeAwaited(
    where matches: (_ id: Int, _ request: Request) -> Bool, part: (inout Request) -> (Request, isAll: Bool)
  ) -> Request? {
    guard let index = awaited.firstIndex(where: { matches($0.id, $0.request) }) else { return nil }
    let (taken, isAll) = part(&awaited[index].request)
    if isAll { awaited.remove(at: index) }
    return taken
  }

  /// Forgets everything: the connection is gone.
  mutating func removeAll() {
    waiting.removeAll()
    later.removeAll()
    awaited.removeAll()
    nextGo = .distantPast
    pausedUntil = .distantPast
  }

  private func hasRoom(for count: Int) -> Bool { waiting.count + later.count + count <= limit }

  private mutating func ripen(_ now: Timestamp) {
    for entry in later where now >= entry.due { waiting.append(Waiting(request: entry.request, isJoined: false)) }
    later.removeAll { now >= $0.due }
  }
}
