import MarketData

/// What one client may still ask for: so many requests a second, and so much work a second. Sans-IO.
///
/// Both are kept as the generic cell rate algorithm keeps them (ITU-T I.371): as the time at which all that was taken
/// so far is paid for. Requests over the rate are refused, once, and then the client has to wait. Work is known when it
/// has been done, so it is never refused: it is a debt, and the client's next bytes are taken when it is paid.
///
/// The unit of work is what reading one byte of JSON costs, 2 to 4 ns. 200 clients at the default bound of 240 KiB/s
/// each are a tenth to a fifth of a core.
///
/// Not for copying: what it knows of a client that was over its rate is in an object.
struct ClientAllowance {
  /// The cost of a request, in addition to its bytes and those of its reply: about 5 µs with the send.
  static let requestWork = 1 << 10
  /// The cost of a frame, in addition to its bytes, so that messages in fragments of one byte have their real cost.
  static let frameWork = 64
  /// What a new subscription costs, the stream's list and the publisher's answer included, about 4 µs; an ended one
  /// costs a quarter.
  static let joinWork = 1 << 10
  /// Bytes of a snapshot that is made for one client, for a unit of work: encoding is cheaper than reading.
  static let snapshotShare = 8
  /// What a token costs: a signature is checked.
  static let tokenWork = 32 << 10
  /// What a request about alerts costs: a rule is compiled and written to the store, about 100 µs.
  static let controlWork = 24 << 10

  /// Work a second for each request a second.
  static let workPerRequest = 12 << 10
  /// Work that may be done at once: the largest subscription of a client.
  static func workBurst(messageBytes: Int) -> Int { max(1 << 20, 2 * messageBytes) }
  /// A debt of work up to this long is that of a few requests at once, µs; in an address that is in debt, that of a
  /// ping.
  private static let aheadAfter = Microseconds.second / 20
  private static let aheadInDebtAfter = Microseconds.second / 100
  /// Gaps in being over the rate up to this long do not count, µs: a client that has to wait is not within it.
  private static let abuseGap = 2 * Microseconds.second

  /// Paid for by then.
  private var requestsPaid = Timestamp.distantPast
  private var workPaid = Timestamp.distantPast
  /// Nil: the client was not over its rate of late.
  private var excess: Excess?

  /// What is known of a client that was over its rate.
  private final class Excess {
    /// The next bytes are taken then.
    var heldUntil = Timestamp.distantPast
    /// Since when the client is over the rate, and when it last was.
    var since = Timestamp.distantPast
    var last = Timestamp.distantPast
  }

  /// Takes a request; 0 if it is within `perSecond`, 1 and above. Else it is not counted, the client has to wait, and
  /// the result is how long, µs.
  mutating func takeRequest(perSecond: Int, now: Timestamp) -> Int64 {
    let increment = Microseconds.second / Int64(max(1, perSecond))
    if requestsPaid < now { requestsPaid = now }
    let over = requestsPaid - now - (Microseconds.second - increment)
    guard over > 0 else {
      requestsPaid = requestsPaid + increment
      return 0
    }
    wait(until: now + over, now: now)
    return over
  }

  /// Takes a ping or a pong. One over the rate is counted, too, and the client has to wait until it is paid for.
  mutating func takeControlFrame(perSecond: Int, now: Timestamp) {
    let increment = Microseconds.second / Int64(max(1, perSecond))
    if requestsPaid < now { requestsPaid = now }
    requestsPaid = requestsPaid + increment
    let over = requestsPaid - now - Microseconds.second
    if over > 0 { wait(until: now + over, now: now) }
  }

  private mutating func wait(until moment: Timestamp, now: Timestamp) {
    let excess = excess ?? Excess()
    self.excess = excess
    excess.heldUntil = max(excess.heldUntil, moment)
    if now - excess.last > Self.abuseGap { excess.since = now }
    excess.last = now
  }

  /// Lets go of what says nothing any more. Call now and then.
  mutating func forget(at now: Timestamp) {
    if let excess, now - excess.last > Self.abuseGap, excess.heldUntil <= now { self.excess = nil }
  }

  /// Whether it has an object for a client that was over its rate.
  var remembersExcess: Bool { excess != nil }

  /// How long the client has been over the rate without a rest, µs; 0 if it is not.
  func overRate(at now: Timestamp) -> Int64 {
    if let excess, excess.last == now { now - excess.since } else { 0 }
  }

  /// Books work that was done for the client, at `perSecond`.
  mutating func charge(_ work: Int, perSecond: Int, now: Timestamp) {
    if workPaid < now { workPaid = now }
    workPaid = workPaid + Int64(work) * Microseconds.second / Int64(max(1, perSecond))
  }

  /// Whether more work has been done than is paid for at `now`, by more than a few requests' worth.
  /// - Parameter inDebt: whether the clients of its address have done more than theirs.
  func isAhead(at now: Timestamp, inDebt: Bool) -> Bool {
    workPaid - now > (inDebt ? Self.aheadInDebtAfter : Self.aheadAfter)
  }

  /// How long the client's next bytes have to wait at `now`, µs; 0 if they may be taken.
  /// - Parameter burst: work that may be done ahead, at `perSecond`.
  func delay(burst: Int, perSecond: Int, at now: Timestamp) -> Int64 {
    let ahead = Int64(burst) * Microseconds.second / Int64(max(1, perSecond))
    return max(0, excess.map { $0.heldUntil - now } ?? 0, workPaid - now - ahead)
  }
}
