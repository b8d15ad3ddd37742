import Bytes
import MarketData

/// What there is to know of a client beyond its slot.
///
/// A client that asks for nothing, takes what it is given and has the rights of all has 160 bytes here; what others
/// need beyond that stands in objects of their own, which go with the state that they belong to.
final class ClientState {
  private var rightsBox: Box<Rights>
  private var queueBox: Box<SubscriberQueue>?
  private var flowBox: Box<ClientFlow>?
  var memberships = Memberships()
  /// Messages merged away, and lost, since it connected: for heartbeats and the farewell.
  var merged = 0
  var lost = 0
  var heartbeat: ClientHeartbeat
  var requests = ClientRequests()
  /// Whether another connection has taken the session over.
  var isClaimed = false
  /// Whether it takes binary records, by its subprotocol.
  let isBinary: Bool
  /// That its session token begins with; see `SessionToken`.
  let secret: SessionSecret

  /// What a client may do.
  private struct Rights {
    /// Nil: nothing, until it has sent a token.
    var grant: Grant?
    /// When the grant must be looked at again, or the lack of one.
    var deadline: Timestamp

    /// What most clients have in common.
    var isEverything: Bool { grant == .everything && deadline == .distantFuture }
  }

  /// A value that most clients have not, or have in common: an idle client holds a reference and not the value.
  private final class Box<Value> {
    var value: Value
    init(_ value: Value) { self.value = value }
  }

  // Never changed: rights are replaced whole.
  nonisolated(unsafe) private static let everything = Box(Rights(grant: .everything, deadline: .distantFuture))

  init(
    secret: SessionSecret, grant: Grant?, deadline: Timestamp, heartbeat: ClientHeartbeat, isBinary: Bool = false
  ) {
    self.secret = secret
    self.isBinary = isBinary
    self.heartbeat = heartbeat
    rightsBox = Self.everything
    setGrant(grant, deadline: deadline)
  }

  // MARK: Rights

  /// The client's rights; nil: none, until it has sent a token.
  var grant: Grant? { rightsBox.value.grant }
  /// When the grant must be looked at again, or the lack of one.
  var deadline: Timestamp { rightsBox.value.deadline }
  /// The client's identity, if clients authenticate: a session is given to no other identity.
  var subject: String? { grant?.subject }

  func setGrant(_ grant: Grant?, deadline: Timestamp) {
    let rights = Rights(grant: grant, deadline: deadline)
    rightsBox = rights.isEverything ? Self.everything : Box(rights)
  }

  // MARK: What waits for it

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

  /// Whether nothing waits for it, beside what its connection has.
  var isDrained: Bool { queue.isEmpty && memberships.behind == 0 }

  // MARK: How well it takes that

  /// Of a client that always took everything at once it says nothing; changing it makes one that is kept.
  var flow: ClientFlow {
    _read {
      if let flowBox { yield flowBox.value } else { yield ClientFlow() }
    }
    _modify {
      let box = flowBox ?? Box(ClientFlow())
      flowBox = box
      yield &box.value
    }
  }

  var isWatched: Bool { flowBox?.value.isWatched ?? false }

  /// Notes that it has taken something; only of a client that is watched it is asked when.
  func noteProgress(at time: Timestamp) { if isWatched { flow.progress = time } }

  /// Whether it has more than what every client has. For tests.
  var hasExtras: Bool {
    queueBox != nil || flowBox != nil || memberships.marks > 0 || requests.isBusy || requests.allowance.remembersExcess
  }

  /// Lets go of the flow's memory, if it says nothing any more.
  func releaseFlow() { if let flowBox, flowBox.value.isEven { self.flowBox = nil } }
}

/// How well a client takes what it is given.
struct ClientFlow {
  /// Bytes that the connection has not passed on, and since when there are any.
  var unsent = 0
  var unsentSince = Timestamp.distantPast
  /// When bytes last moved.
  var progress = Timestamp.distantPast
  /// What the kernel held of it at the last look (`SubscriberHub.noteKernelQueue`).
  var kernelQueue = 0
  var steppedAt = Timestamp.distantPast
  var pressedAt = Timestamp.distantPast
  /// Its index in the `WatchList`; -1: it is not watched.
  var watchIndex = -1
  /// What is counted of it in `WatchList.bytes`.
  var countedBytes = 0
  /// Bytes of its queue that were replayed to it, which do not count against the bounds.
  var replayedBytes = 0
  /// The slowest rate class forced on it; 0: none.
  var degraded: UInt16 = 0
  /// The rate class that an operator holds it in, or in a slower one; 0: none.
  var held: UInt16 = 0

  var isWatched: Bool { watchIndex >= 0 }
  /// Whether it is that of a client that has taken everything, at the rate that it asked for.
  var isEven: Bool { !isWatched && unsent == 0 && replayedBytes == 0 && degraded == 0 && held == 0 }
}
