/// What a client did and saw, all its connections together.
package struct ClientFigures: Sendable {
  package var connects = 0
  package var streams = 0
  package var requests = 0
  package var bytes = 0
  package var messages = 0
  package var updates = 0
  package var snapshots = 0
  package var heartbeats = 0
  package var trades = 0
  package var lostMessages = 0
  package var resumes = 0
  package var recovered = 0
  package var drainNotices = 0
  package var slowNotices = 0
  package var deafTimes = 0
  package var vanished = 0
  package var left = 0
  package var cut = 0
  package var deadConnections = 0
  /// Close codes and refusals, and how often.
  package var told: [Int: Int] = [:]

  mutating func add(_ ledger: StreamLedger) {
    updates += ledger.updates
    snapshots += ledger.snapshots
    heartbeats += ledger.heartbeats
    trades += ledger.trades
    lostMessages += ledger.lostMessages
    recovered += ledger.recovered
    drainNotices += ledger.drainNotices
    slowNotices += ledger.slowNotices
  }

  package mutating func add(_ other: ClientFigures) {
    connects += other.connects
    streams += other.streams
    requests += other.requests
    bytes += other.bytes
    messages += other.messages
    updates += other.updates
    snapshots += other.snapshots
    heartbeats += other.heartbeats
    trades += other.trades
    lostMessages += other.lostMessages
    recovered += other.recovered
    drainNotices += other.drainNotices
    resumes += other.resumes
    slowNotices += other.slowNotices
    deafTimes += other.deafTimes
    vanished += other.vanished
    left += other.left
    cut += other.cut
    deadConnections += other.deadConnections
    told.merge(other.told, uniquingKeysWith: +)
  }
  package init() {}
}
