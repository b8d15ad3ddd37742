/// Requests that wait for an answer, over one subscription: `prefix.*`. Each answer's subject ends with the number of
/// its request. `now` is a monotonic time in µs.
package struct NATSRequests<Context> {
  /// A request that has ended.
  package struct Ended {
    package let id: UInt64
    package let context: Context
  }

  /// The most requests that wait at a time.
  package let limit: Int
  package var count: Int { waiting.count }
  /// The subscription that answers arrive on.
  package let inbox: NATSSubjectPattern
  private let prefix: [UInt8]
  private var waiting: [UInt64: (deadline: Int64, context: Context)] = [:]
  private var lastID: UInt64 = 0
  /// No request ends before this.
  private var earliest: Int64 = .max

  /// - Parameter random: makes the inbox unguessable, and unlike that of any other client.
  package init(limit: Int = 4_096, random: (UInt64, UInt64)) {
    precondition(limit > 0)
    self.limit = limit
    let name = "_INBOX.\(String(random.0, radix: 36))\(String(random.1, radix: 36))."
    prefix = Array(name.utf8)
    do throws(NATSSubjectError) {
      inbox = try NATSSubjectPattern(name + "*")
    } catch { preconditionFailure("an inbox of digits and letters is a subject") }
  }

  /// Begins a request; nil if `limit` of them wait.
  /// - Parameter timeout: µs.
  package mutating func begin(_ context: Context, timeout: Int64, now: Int64) -> NATSSubject? {
    guard waiting.count < limit else { return nil }
    lastID += 1
    let deadline = now + timeout
    waiting[lastID] = (deadline, context)
    earliest = min(earliest, deadline)
    return try? NATSSubject(prefix + Array(String(lastID).utf8))
  }

  /// The request that a message to `subject` answers, which is no longer waiting then; nil for other subjects and for
  /// answers that come late or twice.
  package mutating func answered(_ subject: UnsafeRawBufferPointer) -> Ended? {
    guard subject.count > prefix.count, subject.prefix(prefix.count).elementsEqual(prefix),
      let id = NATSLineFields.number(UnsafeRawBufferPointer(rebasing: subject[prefix.count...])),
      let found = waiting.removeValue(forKey: id)
    else { return nil }
    return Ended(id: id, context: found.context)
  }

  /// When `expire` has something to do; `.max` if nothing waits.
  package var nextDeadline: Int64 { waiting.isEmpty ? .max : earliest }

  /// The requests whose time is over, oldest first. O(1) if there are none.
  package mutating func expire(now: Int64) -> [Ended] {
    guard now >= earliest else { return [] }
    let over = waiting.filter { $0.value.deadline <= now }.keys.sorted()
    let ended = over.compactMap { id in waiting.removeValue(forKey: id).map { Ended(id: id, context: $0.context) } }
    earliest = waiting.values.map(\.deadline).min() ?? .max
    return ended
  }

  /// All requests, oldest first, after the connection broke: their answers will not come.
  package mutating func failAll() -> [Ended] {
    let ended = waiting.keys.sorted().compactMap { id in waiting[id].map { Ended(id: id, context: $0.context) } }
    waiting.removeAll()
    earliest = .max
    return ended
  }
}
