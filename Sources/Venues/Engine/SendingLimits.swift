import Bytes
import MarketData

/// What a connection has sent, and what more it may: the numbers of requests, the venue's limits beside the pacing of
/// subscriptions, the answer to the greeting, and when another connection may be asked for. A value; time is a
/// parameter.
struct SendingLimits {
  /// The number of the last request, by REST or on the connection: those for snapshots and details have numbers of
  /// their own.
  private(set) var lastID = 0
  private(set) var lastSent = Timestamp.distantPast
  /// When the answer to the greeting is overdue; nil if none is awaited.
  var greetingDue: Timestamp?
  /// Whether the connection is to be left for another one already.
  private(set) var isLeaving = false
  /// Messages of a minute, where those are counted. It outlives the connection.
  private var budget: MinuteBudget?
  private let topicsPerHour: Int?
  /// Topics that were begun and ended since `hour`.
  private var topicsOfHour = 0
  private var hour = Timestamp.distantPast
  /// When another connection may be asked for next because of requests that nobody answers: one that never is does
  /// not cost one after the other.
  private var nextRenewal = Timestamp.distantPast
  private var renewals = Backoff(first: 5 * Microseconds.minute, limit: Microseconds.hour)

  init(_ pacing: DialectFacts.Pacing, connections: Int) {
    budget = pacing.perMinute.map { MinuteBudget(limit: max(1, $0 / connections)) }
    topicsPerHour = pacing.topicsPerHour
  }

  mutating func connected(now: Timestamp) {
    isLeaving = false
    topicsOfHour = 0
    hour = now
  }

  mutating func disconnected() { greetingDue = nil }

  /// The number of another request.
  mutating func number() -> Int {
    lastID += 1
    return lastID
  }

  /// The last number was not needed.
  mutating func returnNumber() { lastID -= 1 }

  /// A text was sent.
  mutating func sent(now: Timestamp) {
    lastSent = now
    budget?.spend(1, now: now)
  }

  /// How many messages may still be sent in this minute.
  mutating func room(now: Timestamp) -> Int { budget?.left(now: now) ?? .max }

  /// Until when no more topics may be begun, if the hour has no room for so many; nil if it has.
  mutating func hourEnd(for topics: Int, now: Timestamp) -> Timestamp? {
    guard let topicsPerHour else { return nil }
    if now - hour >= Microseconds.hour {
      hour = now
      topicsOfHour = 0
    }
    return topicsOfHour + topics > topicsPerHour ? hour + Microseconds.hour : nil
  }

  /// So many topics were begun or ended.
  mutating func began(_ topics: Int) { topicsOfHour += topics }

  /// The connection is to be left for another one; false if that has been said.
  mutating func leave() -> Bool {
    defer { isLeaving = true }
    return !isLeaving
  }

  /// Whether another connection may be asked for because of what nothing helps on this one; it counts as asked for.
  mutating func takeRenewal(now: Timestamp) -> Bool {
    guard now >= nextRenewal else { return false }
    nextRenewal = now + renewals.next()
    return true
  }
}
