/// The requests of callers who wait for an answer of their own.
struct AskedRequests: Sendable {
  typealias Answer = Result<AlertAnswer, RequestFailure>

  /// Requests that may wait for a connection.
  static let unsentLimit = 1_000

  /// nil: no answer yet.
  private var answers: [Int: Answer?] = [:]
  /// The requests that wait for a connection.
  private var unsent: [(id: Int, fields: String, deadline: UInt64)] = []

  var isEmpty: Bool { answers.isEmpty }
  var isFull: Bool { unsent.count >= Self.unsentLimit }

  /// When a request has waited for a connection as long as a reply may take. O(requests).
  var nextDeadline: UInt64? { unsent.map(\.deadline).min() }

  func contains(_ id: Int) -> Bool { answers[id] != nil }

  func hasAnswer(_ id: Int) -> Bool { (answers[id] ?? nil) != nil }

  /// Adds a request that is sent as soon as there is a connection, until `deadline`.
  mutating func add(_ id: Int, _ fields: String, deadline: UInt64) {
    answers[id] = .some(nil)
    unsent.append((id, fields, deadline))
  }

  /// Adds a request that fails at once.
  mutating func add(_ id: Int, _ failure: RequestFailure) { answers[id] = .failure(failure) }

  /// The answer has arrived; false: nobody waits for it.
  mutating func resolve(_ id: Int, _ answer: Answer) -> Bool {
    guard answers[id] != nil else { return false }
    answers[id] = answer
    return true
  }

  /// Takes the answer of a request; nil: it has not arrived.
  mutating func take(_ id: Int) -> Answer? {
    guard let answer = answers[id] ?? nil else { return nil }
    answers[id] = nil
    return answer
  }

  /// Forgets a request whose caller no longer waits.
  mutating func forget(_ id: Int) { answers[id] = nil }

  /// The requests to be sent now, in the order of their callers.
  mutating func takeUnsent() -> [(id: Int, fields: String)] {
    defer { unsent.removeAll() }
    return unsent.filter { answers[$0.id] == .some(nil) }.map { ($0.id, $0.fields) }
  }

  /// Takes out those that have waited too long for a connection.
  mutating func takeLate(_ now: UInt64) -> [Int] {
    defer { unsent.removeAll { $0.deadline <= now } }
    return unsent.filter { $0.deadline <= now }.map(\.id)
  }

  /// Those that were sent and have no answer.
  var sent: [Int] {
    let waiting = Set(unsent.map(\.id))
    return answers.keys.sorted().filter { answers[$0] == .some(nil) && !waiting.contains($0) }
  }

  /// Those without an answer: there will be no connection.
  mutating func takeUnanswered() -> [Int] {
    unsent.removeAll()
    return sent
  }
}
