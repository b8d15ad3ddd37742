import Bytes
import MarketData

/// One client's membership in a stream.
struct Subscription {
  enum Mark: UInt8 {
    /// It gets what is published.
    case none
    /// Its reply is not out yet: what comes is held.
    case holding
    /// Messages were dropped, or there was no room: nothing is queued until a snapshot, which is asked for when there is room.
    case marked
    /// That snapshot has been asked for.
    case awaiting
    /// Of an event channel: what comes waits in the stream's backlog, for all that are behind together.
    case behind
  }
  /// The position of one that is not in the list.
  static let away = UInt32.max

  var stream: UInt32
  /// The place in the stream's list of subscribers, or `away`.
  var position: UInt32
  /// The rate class that the client asked for; it may be in a slower one.
  var wanted: UInt16
  var mark: Mark
  /// What that snapshot will say.
  var reason = SnapshotReason.slow
  /// Of one that is away: the last message before those that it misses, and, if it is behind, the events in the backlog's count up
  /// to that.
  var seq: UInt64 = 0
  var events: UInt64 = 0

  var isAway: Bool { position == Self.away }
}

/// What of a client is looked at for every frame: one cache line. All else is in `ClientState`.
struct ClientSlot {
  struct Flags: OptionSet {
    let rawValue: UInt8
    /// The connection did not take all: what comes is merged with what waits.
    static let blocked = Flags(rawValue: 1)
    static let paused = Flags(rawValue: 2)
    /// Some subscription has a mark.
    static let marked = Flags(rawValue: 4)
    /// Something waits in `ClientState.queue`, or in the backlog of a stream.
    static let queued = Flags(rawValue: 8)
    /// No client, or one that is being closed.
    static let closed = Flags(rawValue: 16)
    /// In the list of clients that are looked after: their progress is noted (`ClientState.isWatched`).
    static let watched = Flags(rawValue: 32)
  }
  /// A single frame that waits: the common case needs no queue.
  var first: StreamFrame?
  var firstTime = Timestamp.distantPast
  var state: ClientState?
  /// Data frames handed over.
  var sent: UInt64 = 0
  var generation: UInt32 = 0
  var flags = Flags.closed
  var isDirty = false
  var isHeartbeatDue = false
}

/// A request that is being answered, or a move between rate classes.
final class PendingRequest {
  enum Kind {
    case subscribe
    case configure(UInt16)
    /// The gateway moved the client to a slower class, or back.
    case degraded(UInt16)
    case restored
    /// A `hello` that resumes a session.
    case resume
  }
  struct Failure {
    var place: Int
    var channel: String?
    var symbol: String?
    var error: ProtocolError
  }
  struct Joined {
    var stream: UInt32
    var seq: UInt64
    var state: String
    /// The stream that it replaces; 0: none.
    var from: UInt32
    /// Whether it goes on where the client stopped; nil where it did not say.
    var isRecovered: Bool?
  }
  let kind: Kind
  let id: String?
  let number: UInt32
  /// By item: the results, in the order of the request.
  var joined: [Joined?] = []
  var wanted: [UInt16] = []
  var failures: [Failure] = []
  var outstanding = 0
  /// Frames of the new subscriptions, to go out after the reply.
  var held: [StreamFrame] = []
  /// Of a `resume`: what is to be joined once the session is answered for, whether it was, and what of `held` is replayed.
  var positions: [ClientRequest.Item] = []
  var isResumed = false
  /// Of event channels.
  var replayedBytes = 0
  var replayedFrames = 0

  /// Whether its reply says what failed.
  var hasFailures: Bool {
    switch kind {
    case .subscribe, .resume: true
    case .configure, .degraded, .restored: false
    }
  }

  /// What the first snapshots of its streams say.
  var startReason: SnapshotReason {
    switch kind {
    case .subscribe, .configure: .subscribe
    case .degraded, .restored: .slow
    case .resume: .resume
    }
  }

  init(kind: Kind, id: String?, number: UInt32) {
    self.kind = kind
    self.id = id
    self.number = number
  }
}

/// A message that waits until the request before it is answered.
enum WaitingRequest {
  case message([UInt8])
  case refused(ParsedRequest)
}

/// What there is to know of a client beyond its slot.
final class ClientState {
  /// Its token; see `SessionToken`.
  let session: String
  /// Who it is, where clients authenticate themselves: a session is handed to nobody else.
  var subject: String? { grant?.subject }
  /// Whether another connection has taken the session over.
  var isClaimed = false
  /// By stream number, rising.
  var subscriptions: [Subscription] = []
  var queue = SubscriberQueue()
  /// Subscriptions with a mark, those of them whose snapshot has been asked for, and those that are behind.
  var marks: UInt32 = 0
  var awaited: UInt32 = 0
  var behind: UInt32 = 0
  /// The stream that last had its turn of those that are behind, and about when what now waits of them came.
  var lastRefilled: UInt32 = 0
  var behindSince = Timestamp.distantPast
  /// The streams that were last asked for: the next has a higher number, so that each gets its turn.
  var lastAsked: UInt32 = 0
  var lastAskedLarge: UInt32 = 0
  var requests: UInt32 = 0
  var pending: PendingRequest?
  var waiting: [WaitingRequest] = []
  var waitingBytes = 0

  var allowance = ClientAllowance()
  var errorsInRow: UInt16 = 0
  /// What it may have; nil: nothing, until it has said who it is.
  var grant: Grant?
  /// A `hello` whose token is being looked at; what comes meanwhile waits.
  var greeting: (hello: ClientRequest.Hello, id: String?)?
  /// When its grant must be looked at again, or the lack of one.
  var deadline = Timestamp.distantFuture

  var heartbeatTicks: Int32
  /// The tick of its next heartbeat; entries of the wheel with another are stale.
  var heartbeatTick: Int64 = 0

  /// Bytes that the connection has not passed on.
  var unsent = 0
  var unsentSince = Timestamp.distantPast
  /// When bytes last moved.
  var progress = Timestamp.distantPast
  /// The slowest rate class forced on it; 0: none.
  var degraded: UInt16 = 0
  var steppedAt = Timestamp.distantPast
  var pressedAt = Timestamp.distantPast
  /// Its place among those that are looked after (`SubscriberHub.watched`); -1: it is not.
  var watchIndex = -1
  var isWatched: Bool { watchIndex >= 0 }
  /// What is counted of it in `SubscriberHub.watchedBytes`.
  var countedBytes = 0
  /// Messages merged away, and lost, since it connected: for heartbeats and the farewell.
  var merged = 0
  var lost = 0
  /// Bytes of its queue that were replayed to it, which do not count against the bounds.
  var replayedBytes = 0

  /// Whether nothing waits for it, beside what its connection has.
  var isDrained: Bool { queue.isEmpty && behind == 0 }

  init(session: String, heartbeatTicks: Int32) {
    self.session = session
    self.heartbeatTicks = heartbeatTicks
  }

  /// The index of a stream's subscription. O(log n).
  func index(of stream: UInt32) -> Int? {
    let index = place(of: stream)
    return index < subscriptions.count && subscriptions[index].stream == stream ? index : nil
  }

  /// Where a stream's subscription stands or would have to.
  func place(of stream: UInt32) -> Int {
    var low = 0
    var high = subscriptions.count
    while low < high {
      let middle = (low + high) / 2
      if subscriptions[middle].stream < stream { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
