import Bytes

/// What the owner of an edge must do.
package enum EdgeAction: Sendable, Equatable {
  /// Send it to the venue's sync subject, and pass the answer or the failure to `EdgeVenue.answered`.
  case request(id: UInt64, SyncRequest)
}

/// One venue at an edge: which ingest it follows, the streams that its clients want, and what is missing of them.
/// Sans-IO; `now` is a monotonic time in µs.
///
/// Subscribe to a stream's subject before the call of `want`, and pass its messages to `receive`. Frames are passed to
/// `deliver` in order, each once.
package struct EdgeVenue {
  /// Requests that wait for answers at a time, and their time-out, µs.
  package static let requestLimit = 4
  package static let requestTime: Int64 = 1_000_000
  /// Each stream is asked about so often, µs: it renews the interest, and finds what digests did not.
  package static let renewalInterval: Int64 = 8_000_000
  /// After a connection is back, requests are spread over this time, µs.
  package static let spread: UInt64 = 300_000
  /// Before a request that failed is repeated, µs.
  package static let retryTime: Int64 = 150_000

  package let venue: String
  package private(set) var follower = VenueFollower()
  /// Gaps that were found, and messages that were not readable.
  package private(set) var gaps = 0
  package private(set) var unreadable = 0

  private let edge: String
  private var streams: [EdgeStream?] = []
  private var free: [Int] = []
  private var slots: [ClusterKey: Int] = [:]
  /// The slots of the followed epoch's stream numbers.
  private var numbers: [UInt32: Int] = [:]
  private var queue: [Int] = []
  private var left: [ClusterKey] = []
  private var requests: [UInt64: (slots: [Int], deadline: Int64)] = [:]
  private var lastRequest: UInt64 = 0
  private var renewal: (slot: Int, time: Int64)
  private var random: UInt64

  /// The most streams.
  package static let streamLimit = 100_000

  package init(venue: String, edge: String, now: Int64, random: UInt64) {
    self.venue = venue
    self.edge = edge
    self.random = random | 1
    renewal = (0, now)
  }

  /// Whether the clients' view of a stream is whole, as far as the edge knows.
  package func isLive(_ slot: Int) -> Bool {
    guard let stream = streams[slot] else { return false }
    return stream.state == .live && !stream.isSuspect && stream.run == follower.run
  }

  // MARK: Interest

  /// The first client wants a stream. Returns its slot; nil if there are too many streams.
  package mutating func want(_ key: ClusterKey) -> Int? {
    if let known = slots[key] { return known }
    guard slots.count < Self.streamLimit else { return nil }
    let slot: Int
    if let reused = free.popLast() {
      slot = reused
    } else {
      slot = streams.count
      streams.append(nil)
    }
    streams[slot] = EdgeStream(key: key, slot: slot)
    slots[key] = slot
    left.removeAll { $0 == key }
    enqueue(slot, notBefore: .min)
    return slot
  }

  /// The last client has left a stream.
  package mutating func unwant(_ slot: Int) {
    guard let stream = streams[slot] else { return }
    streams[slot] = nil
    slots[stream.key] = nil
    if numbers[stream.stream] == slot { numbers[stream.stream] = nil }
    queue.removeAll { $0 == slot }
    free.append(slot)
    if left.count < SyncRequest.limit { left.append(stream.key) }
  }

  private mutating func enqueue(_ slot: Int, notBefore: Int64) {
    guard streams[slot] != nil else { return }
    streams[slot]!.notBefore = notBefore
    guard !streams[slot]!.isQueued else { return }
    streams[slot]!.isQueued = true
    queue.append(slot)
  }

  /// All positions are to be checked.
  private mutating func suspectAll(_ now: Int64, spread: Bool) {
    for slot in streams.indices where streams[slot] != nil {
      streams[slot]!.isSuspect = true
      // An answer that is under way may be older than the loss.
      streams[slot]!.request = nil
      enqueue(slot, notBefore: spread ? now + Int64(next() % Self.spread) : .min)
    }
  }

  /// xorshift64: spreads requests, nothing else.
  private mutating func next() -> UInt64 {
    random ^= random << 13
    random ^= random >> 7
    random ^= random << 17
    return random
  }

  // MARK: Messages

  /// A beacon of any of the venue's ingests.
  package mutating func heard(_ beacon: Beacon, now: Int64) {
    switch follower.heard(beacon, now: now) {
    case .nothing: break
    case .link: suspectAll(now, spread: false)
    case .run:
      numbers.removeAll()
      for slot in streams.indices where streams[slot] != nil {
        streams[slot]!.dropHeld()
        streams[slot]!.state = .holding
      }
      suspectAll(now, spread: false)
    }
  }

  /// The edge's connection is back: whatever was published meanwhile is lost.
  package mutating func linkRestored(now: Int64) {
    for id in requests.keys.sorted() { fail(id, now) }
    suspectAll(now, spread: true)
  }

  package mutating func heard(_ digest: Digest, now: Int64) {
    guard digest.run == follower.run else { return }
    if follower.heard(digest) { suspectAll(now, spread: false) }
    for item in digest.items {
      guard let slot = numbers[item.stream], isBehind(slot, item.sequence) else { continue }
      gaps += 1
      streams[slot]!.state = .holding
      enqueue(slot, notBefore: .min)
    }
  }

  /// Whether a live stream of the followed epoch has not reached a sequence.
  private func isBehind(_ slot: Int, _ sequence: UInt64) -> Bool {
    guard let stream = streams[slot] else { return false }
    return stream.state == .live && stream.run == follower.run && stream.sequence < sequence
  }

  /// A message with frames of a stream.
  package mutating func receive(
    _ message: UnsafeRawBufferPointer, slot: Int, deliver: (EdgeFrame) -> Void
  ) {
    guard streams.indices.contains(slot), streams[slot] != nil else { return }
    var frames = ClusterFrames(message)
    do throws(ClusterWireError) {
      while let (head, bytes) = try frames.next() {
        // Frames of an ingest that is not followed: of one that does not know yet that it was replaced.
        guard head.run == follower.run else { continue }
        if !streams[slot]!.take(head, bytes, deliver) {
          gaps += 1
          enqueue(slot, notBefore: .min)
        }
      }
    } catch {
      // The next frame shows that this one is missing.
      unreadable += 1
    }
  }

  /// The answer to a request arrived; nil: a time-out, no responders, or an unreadable answer.
  package mutating func answered(
    _ id: UInt64, _ reply: SyncReply?, now: Int64, deliver: (EdgeFrame) -> Void
  ) {
    guard let reply, reply.run == follower.run, let asked = requests.removeValue(forKey: id) else {
      return fail(id, now)
    }
    let answers = Dictionary(reply.answers.map { ($0.key, $0) }) { first, _ in first }
    for slot in asked.slots where streams[slot]?.request == id {
      streams[slot]!.request = nil
      guard let answer = answers[streams[slot]!.key] else {
        enqueue(slot, notBefore: now + Self.retryTime)
        continue
      }
      let before = streams[slot]!.stream
      let isWhole = streams[slot]!.apply(answer, run: reply.run, deliver)
      if streams[slot]!.stream != before, numbers[before] == slot { numbers[before] = nil }
      if streams[slot]!.run == reply.run { numbers[streams[slot]!.stream] = slot }
      if !isWhole {
        if streams[slot]!.state == .live { streams[slot]!.state = .holding }
        enqueue(slot, notBefore: answer.kind == .later ? .min : now + Self.retryTime / 8)
      }
    }
  }

  private mutating func fail(_ id: UInt64, _ now: Int64) {
    guard let asked = requests.removeValue(forKey: id) else { return }
    for slot in asked.slots where streams[slot]?.request == id {
      streams[slot]!.request = nil
      enqueue(slot, notBefore: now + Self.retryTime + Int64(next() % UInt64(Self.retryTime)))
    }
  }

  // MARK: Time

  /// Call it after messages and at least every 50 ms.
  package mutating func step(now: Int64) -> [EdgeAction] {
    for id in requests.keys.sorted() where requests[id].map({ $0.deadline <= now }) == true { fail(id, now) }
    renew(now)
    // Without an ingest, there is nobody to ask.
    guard follower.run != nil else { return [] }
    var actions: [EdgeAction] = []
    while requests.count < Self.requestLimit, let action = nextRequest(now) { actions.append(action) }
    return actions
  }

  /// Asks about a part of the streams, so that each has its turn once in `renewalInterval`.
  private mutating func renew(_ now: Int64) {
    guard !streams.isEmpty else {
      renewal.time = now
      return
    }
    let time = Self.renewalInterval / Int64(streams.count)
    var asked = 0
    while now - renewal.time >= time, asked < streams.count {
      renewal.time += max(1, time)
      renewal.slot = (renewal.slot + 1) % streams.count
      enqueue(renewal.slot, notBefore: .min)
      asked += 1
    }
    if now - renewal.time > Self.renewalInterval { renewal.time = now }
  }

  private mutating func nextRequest(_ now: Int64) -> EdgeAction? {
    guard !queue.isEmpty || !left.isEmpty else { return nil }
    var request = SyncRequest(edge: edge, items: [], left: left)
    var asked: [Int] = []
    var rest: [Int] = []
    for slot in queue {
      guard let stream = streams[slot] else { continue }
      guard stream.notBefore <= now, stream.request == nil, asked.count < SyncRequest.limit else {
        rest.append(slot)
        continue
      }
      asked.append(slot)
      request.items.append(stream.position)
    }
    queue = rest
    guard !asked.isEmpty || !left.isEmpty else { return nil }
    left.removeAll()
    lastRequest += 1
    for slot in asked {
      streams[slot]!.request = lastRequest
      streams[slot]!.isQueued = false
    }
    requests[lastRequest] = (asked, now + Self.requestTime)
    return .request(id: lastRequest, request)
  }
}
