import MarketData

/// The steps for a slow client.
struct SlowClientPolicy {
  /// Age of the oldest unsent message beyond which a client is slowed down, µs.
  static let ageLimit = Microseconds.second
  /// Between two steps down, µs: one needs time to show.
  static let stepInterval = Microseconds.second
  /// Without pressure for this long a client gets its rate back, µs.
  static let calmTime = 30 * Microseconds.second

  /// What waits for a client.
  struct Load {
    /// Bytes that wait in the hub, and of those the ones that were replayed, which do not count against the bounds.
    var waitingBytes: Int
    var replayedBytes: Int
    /// When the oldest message of them came; `distantFuture` if there is none.
    var oldest: Timestamp
    /// Whether messages wait for it in a backlog.
    var isBehind: Bool
    /// Whether a request of it is being answered: then it is not moved between rate classes.
    var isBusy: Bool
  }

  enum Verdict: Equatable {
    /// It needs no more looking after.
    case caughtUp
    case keepWatching
    /// Move it to the next slower class.
    case stepDown
    /// Give it its requested classes back, unless an operator holds it.
    case restore
    /// Move it to the class that an operator holds it in.
    case hold
    case disconnect(why: String)
  }

  let hardQueuedBytes: Int
  let softQueuedBytes: Int
  let stallSeconds: Int

  init(_ limits: ClientLimits) {
    hardQueuedBytes = limits.hardQueuedBytes
    softQueuedBytes = limits.softQueuedBytes
    stallSeconds = limits.stallSeconds
  }

  /// Looks at a client. `now` is steady.
  func look(at flow: inout ClientFlow, _ load: Load, now: Timestamp) -> Verdict {
    let queued = load.waitingBytes + flow.unsent
    let isWaiting = queued > 0 || load.isBehind
    guard isWaiting || flow.degraded != flow.held else { return .caughtUp }
    if flow.degraded < flow.held, !load.isBusy { return .hold }
    if isWaiting {
      // Without what the connection has: a single message may be larger than any limit, and a client that reads it is
      // not slow.
      if load.waitingBytes - load.replayedBytes > hardQueuedBytes {
        return .disconnect(why: "over \(hardQueuedBytes) bytes")
      }
      if now - flow.progress >= Int64(stallSeconds) * Microseconds.second {
        return .disconnect(why: "no progress for \(stallSeconds) s")
      }
      let oldest = min(now, load.oldest, flow.unsent > 0 ? flow.unsentSince : now)
      if queued > softQueuedBytes || now - oldest > Self.ageLimit {
        flow.pressedAt = now
        if now - flow.steppedAt >= Self.stepInterval, !load.isBusy { return .stepDown }
      }
    } else {
      // Nothing to send is no stall: a later one counts from here.
      flow.progress = now
    }
    let isCalm = now - max(flow.pressedAt, flow.steppedAt) >= Self.calmTime
    if flow.degraded > flow.held, isCalm, !load.isBusy { return .restore }
    return .keepWatching
  }

  /// Records the connection's bytes that the kernel has not taken. `now` is steady.
  func noteUnsent(_ bytes: Int, _ flow: inout ClientFlow, now: Timestamp) {
    if bytes > 0, flow.unsent == 0 { flow.unsentSince = now }
    if bytes < flow.unsent || (bytes > 0 && flow.unsent == 0) {
      flow.progress = now
      flow.unsentSince = now
    }
    flow.unsent = bytes
  }
}

/// The clients that are looked after: something of theirs is unsent, or they are degraded. Each is looked at in its
/// turn.
struct WatchList {
  /// Clients looked at in one advance, or a tenth of them where that is more: ten thousand at once kept the others
  /// waiting for 10 ms.
  private static let looksPerAdvance = 256

  private(set) var slots: [UInt32] = []
  private var cursor = 0
  /// Bytes that wait for them, of each as it was when it was last looked at.
  private(set) var bytes = 0

  /// Adds a client that is not in it.
  mutating func insert(_ slot: UInt32, _ flow: inout ClientFlow, bytes: Int) {
    flow.watchIndex = slots.count
    slots.append(slot)
    recount(&flow, bytes: bytes)
  }

  /// Removes a client that is in it.
  /// - Returns: the client that took its index, for `ClientFlow.watchIndex`; nil if none did.
  mutating func remove(_ flow: inout ClientFlow) -> (slot: UInt32, index: Int)? {
    let (index, last) = (flow.watchIndex, slots.removeLast())
    recount(&flow, bytes: 0)
    flow.watchIndex = -1
    guard index < slots.count else { return nil }
    slots[index] = last
    return (last, index)
  }

  /// Books what waits for a client now.
  mutating func recount(_ flow: inout ClientFlow, bytes: Int) {
    self.bytes += bytes - flow.countedBytes
    flow.countedBytes = bytes
  }

  /// How many clients are looked at in this advance: all within ten of them.
  var looksDue: Int { min(slots.count, max(Self.looksPerAdvance, slots.count / 10 + 1)) }

  /// The client whose turn it is, round and round; nil if there is none. Call `keepLast` if it stays in the list.
  mutating func next() -> UInt32? {
    if cursor >= slots.count { cursor = 0 }
    return cursor < slots.count ? slots[cursor] : nil
  }

  /// The client of the last `next` stays.
  mutating func keepLast() { cursor += 1 }
}
