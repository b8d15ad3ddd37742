/// Selects the clients whose input a loop reads in one turn, and those that wait for the next turn: two queues, each in
/// the order of arrival.
///
/// Clients within their rates go first. Clients beyond their rates, within what a burst allows, share a quarter of the
/// turn. So hundreds of clients that use their bursts at the same moment delay only each other.
struct InputTurn<Session> {
  /// Work that the input of clients may cost in one turn, in the unit of `ClientAllowance`: 1 to 2 ms. Heartbeats,
  /// market data and probes are never further away than that and one request.
  static var workPerTurn: UInt64 { 512 << 10 }
  /// The part of it after which clients that are ahead of their rates wait.
  static var workAhead: UInt64 { 128 << 10 }

  private var within: [Session] = []
  private var ahead: [Session] = []
  /// The work that had been done for clients before this turn.
  private var workBefore: UInt64 = 0
  /// The most that was done in one turn. For tests.
  private(set) var mostWork: UInt64 = 0
  /// Whether the owner has been asked to take what waits.
  var isScheduled = false

  var isEmpty: Bool { within.isEmpty && ahead.isEmpty }

  /// Whether this turn has time for another session of the kind.
  /// - Parameter work: that has been done for all clients so far.
  func hasTime(isAhead: Bool, work: UInt64) -> Bool {
    work &- workBefore < (isAhead ? Self.workAhead : Self.workPerTurn)
  }

  /// Whether the input of a session that has not waited may be taken now, and not behind those that wait.
  /// - Parameter work: that has been done for all clients so far.
  func mayTake(isAhead: Bool, work: UInt64) -> Bool {
    hasTime(isAhead: isAhead, work: work) && within.isEmpty && (!isAhead || ahead.isEmpty)
  }

  /// Has a session wait behind those of its kind. Each waits once: the caller sees to that.
  mutating func wait(_ session: Session, isAhead: Bool) {
    if isAhead { ahead.append(session) } else { within.append(session) }
  }

  /// Takes out all sessions of a kind that wait, in their order.
  mutating func takeWaiting(isAhead: Bool) -> [Session] {
    defer { if isAhead { ahead = [] } else { within = [] } }
    return isAhead ? ahead : within
  }

  /// Puts sessions for which there was no time before those that have come since.
  mutating func putBack(_ sessions: ArraySlice<Session>, isAhead: Bool) {
    if isAhead { ahead.insert(contentsOf: sessions, at: 0) } else { within.insert(contentsOf: sessions, at: 0) }
  }

  /// A turn ends, by which so much had been done for clients.
  mutating func end(at work: UInt64) {
    mostWork = max(mostWork, work &- workBefore)
    workBefore = work
  }
}
