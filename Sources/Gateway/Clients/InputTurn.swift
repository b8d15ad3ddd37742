/// Selects the clients whose input a loop reads in one turn, and those that wait for the next turn: two queues, each in
/// the order of arrival.
///
/// Clients within their rates go first. Clients beyond their rates, within what a burst allows, share a quarter of the
/// turn. So hundreds of clients that use their bursts at the same moment delay only each other.
struct InputTurn<Session> {
  /// Work that the input of clients may cost in one turn, in the unit of `ClientAllowance`: 1 to 2 ms. Heartbeats,
  /// market data and probes are never further away than that and one request.
  static var workPerTurn: UInt64 { 512 << 10 }
  /// The part of that work after which clients that are ahead of their rates wait.
  static var workAhead: UInt64 { 128 << 10 }

  private var within: [Session] = []
  private var ahead: [Session] = []
  /// The work done for clients before this turn.
  private var workBefore: UInt64 = 0
  /// The most work of one turn. For tests.
  private(set) var mostWork: UInt64 = 0
  /// Whether the owner has scheduled the next turn.
  var isScheduled = false

  var isEmpty: Bool { within.isEmpty && ahead.isEmpty }

  /// Whether this turn has time for another session of the kind.
  /// - Parameter work: that has been done for all clients so far.
  func hasTime(isAhead: Bool, work: UInt64) -> Bool {
    work &- workBefore < (isAhead ? Self.workAhead : Self.workPerTurn)
  }

  /// Whether the input of a session that has not waited may be taken now, ahead of those that wait.
  /// - Parameter work: that has been done for all clients so far.
  func mayTake(isAhead: Bool, work: UInt64) -> Bool {
    hasTime(isAhead: isAhead, work: work) && within.isEmpty && (!isAhead || ahead.isEmpty)
  }

  /// Appends a session to those of its kind. The caller ensures that each waits only once.
  mutating func wait(_ session: Session, isAhead: Bool) {
    if isAhead { ahead.append(session) } else { within.append(session) }
  }

  /// Takes out all sessions of a kind that wait, in their order.
  mutating func takeWaiting(isAhead: Bool) -> [Session] {
    defer { if isAhead { ahead = [] } else { within = [] } }
    return isAhead ? ahead : within
  }

  /// Puts back sessions for which there was no time, ahead of those that arrived since.
  mutating func putBack(_ sessions: ArraySlice<Session>, isAhead: Bool) {
    if isAhead { ahead.insert(contentsOf: sessions, at: 0) } else { within.insert(contentsOf: sessions, at: 0) }
  }

  /// Ends a turn, at this total of work done for clients.
  mutating func end(at work: UInt64) {
    mostWork = max(mostWork, work &- workBefore)
    workBefore = work
  }
}
