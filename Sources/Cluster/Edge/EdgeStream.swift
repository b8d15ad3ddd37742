import Bytes

/// A frame for the clients of an edge, with the bytes as the ingest made them. The bytes are valid during the call.
package struct EdgeFrame {
  package enum Kind: Sendable, Equatable {
    /// Follows the last frame of the same epoch.
    case update
    /// The whole state, with the reason that clients see.
    case snapshot(SnapshotReason)
    /// The first update of another epoch, whose events follow the last ones of the old epoch; without bytes if none
    /// were missed. Nothing is lost.
    case continued
  }

  package enum SnapshotReason: Sendable, Equatable { case subscribe, epoch, resync }

  package let kind: Kind
  /// What `EdgeVenue.want` returned.
  package let slot: Int
  package let run: UInt32
  package let stream: UInt32
  package let sequence: UInt64
  package let previous: UInt64
  package let bytes: UnsafeRawBufferPointer
}

/// One stream at an edge: its position, and the frames that wait until the position is known.
struct EdgeStream {
  enum State: Equatable {
    /// The position is that of the last frame that arrived.
    case live
    /// Frames are held until an answer says what is missing.
    case holding
    /// The ingest does not have the stream.
    case unknown
  }

  private struct Held {
    let head: ClusterFrameHead
    let bytes: [UInt8]
  }

  /// The most frames and bytes that are held; what arrives beyond them is dropped, and found missing afterwards.
  static let heldFrames = 512
  static let heldByteLimit = 2 << 20

  let key: ClusterKey
  let slot: Int
  var state = State.holding
  private(set) var run: UInt32 = 0
  private(set) var stream: UInt32 = 0
  private(set) var sequence: UInt64 = 0
  private(set) var mark: UInt64 = 0
  /// Frames may have been lost that nothing else shows: what arrives is passed on, and the position is to be checked.
  var isSuspect = false
  /// The ingest has opened the stream anew, with another number: no position of the old one means anything.
  private var isReopened = false
  /// The request that its answer will come with.
  var request: UInt64?
  /// Whether it waits for a request, and the time before which none is sent.
  var isQueued = false
  var notBefore: Int64 = .min
  private var held: [Held] = []
  private var heldBytes = 0

  init(key: ClusterKey, slot: Int) {
    self.key = key
    self.slot = slot
  }

  var position: SyncItem {
    isReopened ? SyncItem(key: key) : SyncItem(key: key, run: run, sequence: sequence, mark: mark)
  }

  /// Takes a frame of the followed epoch. Returns false if something is missing before it.
  @inline(__always)
  mutating func take(
    _ head: ClusterFrameHead, _ bytes: UnsafeRawBufferPointer, _ deliver: (EdgeFrame) -> Void
  ) -> Bool {
    guard state == .live, head.run == run, head.stream == stream else {
      hold(head, bytes)
      guard state == .live else { return true }
      // The ingest has opened the stream anew.
      state = .holding
      return false
    }
    guard head.sequence > sequence else { return true }
    guard head.isSnapshot || head.previous == sequence else {
      state = .holding
      hold(head, bytes)
      return false
    }
    pass(head.isSnapshot ? .snapshot(.resync) : .update, head, bytes, deliver)
    return true
  }

  private mutating func pass(
    _ kind: EdgeFrame.Kind, _ head: ClusterFrameHead, _ bytes: UnsafeRawBufferPointer, _ deliver: (EdgeFrame) -> Void
  ) {
    run = head.run
    stream = head.stream
    sequence = head.sequence
    isReopened = false
    if head.mark > 0 { mark = head.mark }
    deliver(
      EdgeFrame(
        kind: kind, slot: slot, run: head.run, stream: head.stream, sequence: head.sequence, previous: head.previous,
        bytes: bytes))
  }

  private mutating func hold(_ head: ClusterFrameHead, _ bytes: UnsafeRawBufferPointer) {
    guard held.count < Self.heldFrames, heldBytes + bytes.count <= Self.heldByteLimit else { return }
    held.append(Held(head: head, bytes: Array(bytes)))
    heldBytes += bytes.count
  }

  /// Another epoch is followed: what is held belongs to the old one.
  mutating func dropHeld() {
    held.removeAll()
    heldBytes = 0
  }

  /// Applies an answer of the followed epoch. Returns false if something is still missing.
  mutating func apply(_ answer: SyncAnswer, run answered: UInt32, _ deliver: (EdgeFrame) -> Void) -> Bool {
    let before = run
    switch answer.kind {
    case .later, .behind: return false
    case .unknown:
      state = .unknown
      dropHeld()
      return true
    case .pending:
      guard answered != run || answer.stream != stream else { break }
      (run, stream, sequence, isReopened) = (answered, answer.stream, answer.sequence, false)
    case .current: guard isSame(answer, answered) else { return false }
    case .frames:
      guard isSame(answer, answered) else { return false }
      for frame in answer.frames where frame.sequence > sequence {
        guard frame.previous == sequence else { return false }
        pass(.update, head(frame, answer, answered), frame, deliver)
      }
    case .snapshot:
      guard let frame = answer.frames.first,
        answered != run || answer.stream != stream || frame.sequence > sequence
      else {
        // The stream has moved on while the answer was under way.
        guard answered == run, state == .live else { return false }
        break
      }
      let reason: EdgeFrame.SnapshotReason = before == 0 ? .subscribe : before != answered ? .epoch : .resync
      pass(.snapshot(reason), head(frame, answer, answered), frame, deliver)
      mark = frame.mark
    case .continued:
      guard answered != run, run != 0 else { return false }
      let frame =
        answer.frames.first
        ?? SyncAnswer.Frame(sequence: answer.sequence, previous: answer.sequence, mark: answer.mark, bytes: [])
      pass(.continued, head(frame, answer, answered), frame, deliver)
    }
    state = .live
    isSuspect = false
    return drainHeld(deliver)
  }

  /// Whether an answer is of this stream. If it is of one that the ingest opened anew, the next request says so.
  private mutating func isSame(_ answer: SyncAnswer, _ answered: UInt32) -> Bool {
    isReopened = answered == run && answer.stream != stream
    return answered == run && !isReopened
  }

  private func head(_ frame: SyncAnswer.Frame, _ answer: SyncAnswer, _ run: UInt32) -> ClusterFrameHead {
    ClusterFrameHead(
      run: run, stream: answer.stream, sequence: frame.sequence, previous: frame.previous, mark: frame.mark)
  }

  private mutating func pass(
    _ kind: EdgeFrame.Kind, _ head: ClusterFrameHead, _ frame: SyncAnswer.Frame, _ deliver: (EdgeFrame) -> Void
  ) {
    frame.bytes.withUnsafeBytes { pass(kind, head, $0, deliver) }
  }

  /// The held frames that follow the position. Returns false at a gap, and holds the rest.
  private mutating func drainHeld(_ deliver: (EdgeFrame) -> Void) -> Bool {
    let waiting = held
    dropHeld()
    var isWhole = true
    for frame in waiting where frame.head.run == run && frame.head.stream == stream {
      isWhole = frame.bytes.withUnsafeBytes { take(frame.head, $0, deliver) } && isWhole
    }
    return isWhole && state == .live
  }
}
