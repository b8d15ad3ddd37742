import Bytes
import MarketData

/// What there is to know of a client beyond its slot.
final class ClientState {
  /// Its token; see `SessionToken`.
  let session: String
  /// Whether another connection has taken the session over.
  var isClaimed = false
  private var grantBox: Box<Grant>?
  /// When its grant must be looked at again, or the lack of one.
  var deadline = Timestamp.distantFuture
  var requests = ClientRequests()
  var memberships = Memberships()
  private var queueBox: Box<SubscriberQueue>?
  var flow = ClientFlow()
  var heartbeat: ClientHeartbeat

  /// A value that most clients have not, or have in common: an idle client holds a reference and not the value.
  private final class Box<Value> {
    var value: Value
    init(_ value: Value) { self.value = value }
  }

  // Never changed: a grant is replaced whole.
  nonisolated(unsafe) private static let everything = Box(Grant.everything)

  /// The client's rights; nil: none, until it has sent a token.
  var grant: Grant? {
    get { grantBox?.value }
    set { grantBox = newValue.map { $0 == .everything ? Self.everything : Box($0) } }
  }

  /// What waits for it beyond the present turn.
  var queue: SubscriberQueue {
    _read {
      if let queueBox { yield queueBox.value } else { yield SubscriberQueue() }
    }
    _modify {
      let box = queueBox ?? Box(SubscriberQueue())
      queueBox = box
      yield &box.value
    }
  }

  /// Lets go of the queue's memory; its buffers have been given back.
  func releaseQueue() { if queue.isEmpty { queueBox = nil } }

  /// The client's identity, if clients authenticate: a session is given to no other identity.
  var subject: String? { grant?.subject }
  /// Whether nothing waits for it, beside what its connection has.
  var isDrained: Bool { queue.isEmpty && memberships.behind == 0 }

  init(session: String, heartbeat: ClientHeartbeat) {
    self.session = session
    self.heartbeat = heartbeat
  }
}

/// How well a client takes what it is given.
struct ClientFlow {
  /// Bytes that the connection has not passed on, and since when there are any.
  var unsent = 0
  var unsentSince = Timestamp.distantPast
  /// When bytes last moved.
  var progress = Timestamp.distantPast
  /// The slowest rate class forced on it; 0: none.
  var degraded: UInt16 = 0
  /// The rate class that an operator holds it in, or in a slower one; 0: none.
  var held: UInt16 = 0
  var steppedAt = Timestamp.distantPast
  var pressedAt = Timestamp.distantPast
  /// Its index in the `WatchList`; -1: it is not watched.
  var watchIndex = -1
  /// What is counted of it in `WatchList.bytes`.
  var countedBytes = 0
  /// Messages merged away, and lost, since it connected: for heartbeats and the farewell.
  var merged = 0
  var lost = 0
  /// Bytes of its queue that were replayed to it, which do not count against the bounds.
  var replayedBytes = 0

  var isWatched: Bool { watchIndex >= 0 }
}
