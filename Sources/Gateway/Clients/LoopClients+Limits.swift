import Access
import HTTPAPI
import Logging
import Operations
import PubSub
import Transport

/// What a loop remembers of the clients that it closes for being slow or having too many queued bytes.
struct ExcessState {
  /// Checks of HTTP clients that are due.
  fileprivate var looksDue = 0
  /// When this was last logged, monotonic µs, and how many clients were closed since.
  fileprivate var noticeAt = Int64.min / 2
  fileprivate var closed = 0
}

/// Closes clients that are too slow or have too many queued bytes, a few at a time. Ten thousand connections that
/// opened together become overdue together. Checking or closing all of them in one turn kept all other clients waiting
/// for 10 ms and more.
extension LoopClients {
  /// HTTP connections checked, and closed, in one turn, and the time to the next such turn. A check takes up to 1 µs,
  /// a close 40 µs.
  private static let looksPerTurn = 256
  private static let endsPerTurn = 16
  private static let looksInterval: Duration = .milliseconds(5)
  /// Clients closed in one turn to keep the budget of all; there are ten such turns a second.
  private static let shedPerTurn = 256

  /// Begins to check a tenth of the HTTP clients, to close those that are too slow; call ten times a second.
  func watchRequests() {
    let isUnderWay = excess.looksDue > 0
    excess.looksDue = min(excess.looksDue + httpSessions.slotCount / 10 + 1, httpSessions.slotCount)
    if !isUnderWay { lookOn() }
  }

  private func lookOn() {
    let moment = loop.moment
    var looks = 0
    var ends = 0
    while excess.looksDue > 0 {
      guard looks < Self.looksPerTurn, ends < Self.endsPerTurn else {
        loop.schedule(after: Self.looksInterval) { [weak self] in self?.lookOn() }
        return
      }
      excess.looksDue -= 1
      looks += 1
      if httpSessions.next()?.closeIfOverdue(at: moment) == true { ends += 1 }
    }
  }

  /// A younger TLS handshake is not ended to make room, ns: its client must answer several times.
  private static let handshakePatience: UInt64 = 1_000_000_000

  /// Remembers a new connection that is still silent. On the loop.
  func arrived(_ connection: Connection) {
    guard let permit = connection.permit as? AdmissionPermit, Self.isSilent(connection) else { return }
    newcomers.append(connection, at: permit.came, isOfInterest: Self.isSilent)
  }

  /// Closes the connection that has been silent longest, its TLS handshake included, in favour of one that arrived at
  /// `time`, ns, with this `room`: here or, if there is none, on the next of `hops` loops.
  func makeRoom(_ room: Int, hops: Int, until time: UInt64) {
    loop.assertOnLoop()
    let found = newcomers.popFirst(until: time) { connection, came in
      guard Self.isSilent(connection) else { return .forget }
      // Keep the connection that the room is for.
      if (connection.permit as? AdmissionPermit)?.room == room { return .keep }
      return connection.isHandshaking && time < came + Self.handshakePatience ? .keep : .take
    }
    if let found {
      node.metrics.endedForRoom += 1
      found.abort()
    } else if hops > 1 {
      let next = node.nodes[(loop.index + 1) % node.nodes.count]
      next.loop.execute { next.clients.makeRoom(room, hops: hops - 1, until: time) }
    }
  }

  private static func isSilent(_ connection: Connection) -> Bool {
    guard let permit = connection.permit as? AdmissionPermit, permit.isSilent else { return false }
    return connection.isOpen || connection.isHandshaking
  }

  /// Reports the bytes that wait for this loop's clients. If all clients together exceed the budget, closes those with
  /// the most.
  func keepWithinBudget() {
    let budget = node.settings.admission.budget
    let tooMuch = budget.book(hub.queuedBytes + httpSessions.queuedBytes, loop: loop.index)
    if tooMuch > 0 {
      let shed = hub.shed(bytes: tooMuch, clients: Self.shedPerTurn, limit: budget.limit, into: &node.work.actions)
      var freed = shed.bytes
      var closed = shed.clients
      if freed < tooMuch, closed < Self.shedPerTurn {
        for session in httpSessions.sessions.sorted(by: { $0.queuedBytes > $1.queuedBytes }) {
          guard freed < tooMuch, closed < Self.shedPerTurn, session.queuedBytes > 0 else { break }
          freed += session.queuedBytes
          closed += 1
          session.abort()
        }
        httpSessions.recount()
      }
      excess.closed += closed
      node.metrics.closedOverBudget += UInt64(closed)
      budget.rebook(hub.queuedBytes + httpSessions.queuedBytes, loop: loop.index)
    }
    let moment = loop.moment
    if excess.closed > 0, moment - excess.noticeAt >= 10_000_000 {
      node.settings.log.of(.clients).warning(
        "slow clients exceed the limit of queued bytes: those with the most are closed",
        metadata: ["closed": "\(excess.closed)", "limit_bytes": "\(budget.limit)"])
      excess.noticeAt = moment
      excess.closed = 0
    }
  }
}
