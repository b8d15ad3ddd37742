import MarketData

/// One client's membership in a stream.
struct Subscription {
  enum Mark: UInt8 {
    /// The client gets what is published.
    case none
    /// Its reply is not out yet: frames are held until then.
    case holding
    /// Messages were dropped, or there was no room: nothing is queued until a snapshot, which is asked for when there
    /// is room.
    case marked
    /// That snapshot has been asked for.
    case awaiting
    /// Of an event channel: messages wait in the stream's backlog, for all clients that are behind together.
    case behind
  }
  /// The position of one that is not in the list.
  static let away = UInt32.max

  var stream: UInt32
  /// The index in the stream's list of subscribers, or `away`.
  var position: UInt32
  /// The rate class that the client asked for; it may be in a slower one.
  var wanted: UInt16
  var mark: Mark
  /// The reason that the awaited snapshot will give.
  var reason = SnapshotReason.slow
  /// Of one that is away: the last message before those that it misses, and, if it is behind, the events in the
  /// backlog's count up to that.
  var seq: UInt64 = 0
  var events: UInt64 = 0

  var isAway: Bool { position == Self.away }
}

/// The subscriptions of one client, by stream number, with counts of those that wait for something.
///
/// Not for copying: what it knows of subscriptions that wait is in an object.
struct Memberships {
  private(set) var subscriptions: [Subscription] = []
  /// Nil: none has a mark.
  private var arrears: Arrears?

  /// What is known of a client with subscriptions that wait for something.
  private final class Arrears {
    /// Subscriptions with a mark, those of them whose snapshot was requested, and those that are behind.
    var marks: UInt32 = 0
    var awaited: UInt32 = 0
    var behind: UInt32 = 0
    /// The stream that had the last turn among those that are behind, and the approximate time of their oldest message.
    var lastRefilled: UInt32 = 0
    var behindSince = Timestamp.distantPast
    /// The streams that were last asked for: the next has a higher number, so that each gets its turn.
    var lastAsked: UInt32 = 0
    var lastAskedLarge: UInt32 = 0
  }

  /// Subscriptions with a mark, those of them whose snapshot was requested, and those that are behind.
  var marks: UInt32 { arrears?.marks ?? 0 }
  var awaited: UInt32 { arrears?.awaited ?? 0 }
  var behind: UInt32 { arrears?.behind ?? 0 }
  /// The approximate time of the oldest message of those that are behind.
  var behindSince: Timestamp { arrears?.behindSince ?? .distantPast }

  var count: Int { subscriptions.count }
  var isEmpty: Bool { subscriptions.isEmpty }
  var indices: Range<Int> { subscriptions.indices }

  subscript(index: Int) -> Subscription { subscriptions[index] }

  /// The index of a stream's subscription; nil if there is none. O(log n).
  func index(of stream: UInt32) -> Int? {
    let index = insertionIndex(of: stream)
    return index < subscriptions.count && subscriptions[index].stream == stream ? index : nil
  }

  /// Where a stream's subscription stands or would have to. O(log n).
  func insertionIndex(of stream: UInt32) -> Int {
    var low = 0
    var high = subscriptions.count
    while low < high {
      let middle = (low + high) / 2
      if subscriptions[middle].stream < stream { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// Adds a subscription of a stream that has none yet. O(n).
  mutating func insert(_ subscription: Subscription) {
    subscriptions.insert(subscription, at: insertionIndex(of: subscription.stream))
    count(subscription.mark, by: 1)
  }

  /// O(n).
  mutating func remove(at index: Int) -> Subscription {
    let subscription = subscriptions.remove(at: index)
    count(subscription.mark, by: -1)
    return subscription
  }

  /// Removes all; returns them.
  mutating func removeAll() -> [Subscription] {
    let all = subscriptions
    self = Memberships()
    return all
  }

  /// Sets what a subscription waits for; returns it as it was.
  /// - Parameter reason: of the snapshot that a marked stream will get; nil leaves it as it is.
  mutating func setMark(_ mark: Subscription.Mark, at index: Int, reason: SnapshotReason? = nil) -> Subscription {
    let old = subscriptions[index]
    // In this order, so that what is known of the only one that waits is kept.
    count(mark, by: 1)
    count(old.mark, by: -1)
    subscriptions[index].mark = mark
    if let reason { subscriptions[index].reason = reason }
    return old
  }

  mutating func setWanted(_ interval: UInt16, at index: Int) { subscriptions[index].wanted = interval }
  mutating func setPosition(_ position: UInt32, at index: Int) { subscriptions[index].position = position }
  /// Notes how far a subscription that is away has got.
  mutating func setProgress(seq: UInt64, events: UInt64? = nil, at index: Int) {
    subscriptions[index].seq = seq
    if let events { subscriptions[index].events = events }
  }

  private mutating func count(_ mark: Subscription.Mark, by step: Int32) {
    guard mark != .none else { return }
    let arrears = arrears ?? Arrears()
    arrears.marks = UInt32(Int32(arrears.marks) + step)
    if mark == .awaiting { arrears.awaited = UInt32(Int32(arrears.awaited) + step) }
    if mark == .behind { arrears.behind = UInt32(Int32(arrears.behind) + step) }
    self.arrears = arrears.marks > 0 ? arrears : nil
  }

  /// Notes the time of the oldest message of those that are behind. Of one that has nothing behind it says nothing.
  func setBehindSince(_ time: Timestamp) { arrears?.behindSince = time }

  /// The subscription that is behind and whose turn it is; it is the last one's of the next call.
  func takeNextBehind() -> Int? {
    let start = insertionIndex(of: (arrears?.lastRefilled ?? 0) &+ 1)
    let next =
      subscriptions[start...].firstIndex { $0.mark == .behind }
      ?? subscriptions[..<start].firstIndex { $0.mark == .behind }
    if let next { arrears?.lastRefilled = subscriptions[next].stream }
    return next
  }

  /// Marked subscriptions whose snapshot to request, in turns: up to `small` for which `isLarge` is false, and up to
  /// `large` for which it is true. O(n).
  func nextMarked(small: Int, large: Int, isLarge: (UInt32) -> Bool) -> [Int] {
    guard let arrears else { return [] }
    let small = next(small, after: arrears.lastAsked) { !isLarge($0) }
    let large = next(large, after: arrears.lastAskedLarge, where: isLarge)
    if let last = small.last { arrears.lastAsked = subscriptions[last].stream }
    if let last = large.last { arrears.lastAskedLarge = subscriptions[last].stream }
    return small + large
  }

  private func next(_ limit: Int, after last: UInt32, where fits: (UInt32) -> Bool) -> [Int] {
    var found: [Int] = []
    var index = insertionIndex(of: last &+ 1)
    for _ in subscriptions where found.count < limit {
      if index >= subscriptions.count { index = 0 }
      if subscriptions[index].mark == .marked, fits(subscriptions[index].stream) { found.append(index) }
      index += 1
    }
    return found
  }
}
