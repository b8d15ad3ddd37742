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
    /// A request in another protocol, which has its answer already.
    case dialect
  }
  struct Failure: Equatable {
    /// The index of the item in the request.
    var item: Int
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
    /// Whether it continues where the client stopped; nil where it did not say.
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
  var resume = Resumption()

  /// What is particular to a `resume`.
  struct Resumption {
    /// The streams to join after the answer about the session, and whether the session existed.
    var positions: [ClientRequest.Item] = []
    var isGranted = false
    /// What of `held` is replayed; the bytes are those of event channels.
    var replayedFrames = 0
    var replayedBytes = 0
  }

  /// Whether its reply says what failed.
  var hasFailures: Bool {
    switch kind {
    case .subscribe, .resume: true
    case .configure, .degraded, .restored, .dialect: false
    }
  }

  /// The reason that the first snapshots of its streams give.
  var startReason: SnapshotReason {
    switch kind {
    case .subscribe, .configure, .dialect: .subscribe
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
