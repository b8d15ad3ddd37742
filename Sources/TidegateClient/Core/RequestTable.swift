/// The requests of a connection that wait for their answers, and those that the gateway asked to repeat later.
struct RequestTable: Sendable {
  enum Request {
    case hello
    /// For each channel one set of parameters, so that an answer's channel and symbol identify the item.
    /// - Parameter grouped: those that were asked for as groups.
    case subscribe([StreamItem], grouped: Set<StreamItem> = [])
    /// The numbers of streams.
    case unsubscribe([Int64])
    /// A request whose caller waits for the answer.
    case ask(Int)
    /// A request whose reply only confirms it.
    case other
  }

  /// Items to subscribe to, and numbers to unsubscribe from.
  struct Retry {
    let due: UInt64
    let items: [StreamItem]
    fileprivate(set) var leaving: [Int64]
  }

  /// The time that the gateway has for an answer, ns.
  let timeout: UInt64
  private var pending: [Int64: (request: Request, deadline: UInt64)] = [:]
  private var nextID: Int64 = 1
  private var retries: [Retry] = []

  init(timeout: Duration) { self.timeout = timeout.nanoseconds }

  /// Whether no answer is outstanding.
  var isEmpty: Bool { pending.isEmpty }

  /// When an answer is late, or a request is to be repeated. O(requests).
  var nextDeadline: UInt64? { (pending.values.map(\.deadline) + retries.map(\.due)).min() }

  /// Whether an answer may name streams.
  var awaitsStreams: Bool { pending.values.contains { if case .subscribe = $0.request { true } else { false } } }

  /// Adds a request that is being sent; returns its id.
  mutating func add(_ request: Request, now: UInt64) -> Int64 {
    defer { nextID += 1 }
    pending[nextID] = (request, now + timeout)
    return nextID
  }

  /// The request with this id, which is answered now; nil: none waits under it.
  mutating func answered(_ id: Int64?) -> Request? { id.flatMap { pending.removeValue(forKey: $0)?.request } }

  /// Whether the gateway has been silent for too long. O(requests).
  func isLate(_ now: UInt64) -> Bool { pending.values.contains { $0.deadline <= now } }

  /// Subscribes to `items`, and unsubscribes from `numbers`, again after the time that the gateway named, limited to
  /// 100 ms…1 min.
  mutating func retry(_ items: [StreamItem], leaving numbers: [Int64] = [], afterMilliseconds: Int64, now: UInt64) {
    guard !items.isEmpty || !numbers.isEmpty else { return }
    let wait = UInt64(max(100, min(afterMilliseconds, 60_000)))
    retries.append(Retry(due: now + wait * 1_000_000, items: items, leaving: numbers))
  }

  /// What is to be repeated now. O(retries).
  mutating func takeRetries(_ now: UInt64) -> [Retry] {
    let due = retries.filter { $0.due <= now }
    retries.removeAll { $0.due <= now }
    return due
  }

  /// Does not leave a stream later; returns when it would have been left, or nil if it would not.
  mutating func keep(_ number: Int64) -> UInt64? {
    guard let index = retries.firstIndex(where: { $0.leaving.contains(number) }) else { return nil }
    retries[index].leaving.removeAll { $0 == number }
    return retries[index].due
  }

  /// Forgets the answers that are outstanding; ids are never used again.
  mutating func forgetAnswers() { pending.removeAll() }

  /// Forgets the connection.
  mutating func reset() {
    pending.removeAll()
    retries.removeAll()
  }
}
