import MarketData
import PubSub
import Synchronization

/// The stamps and texts of views from the markets' owners, by route and view. Other answers use them while they are
/// current. Confined to one loop.
final class KnownParts {
  struct Key: Hashable {
    let loop: Int
    let route: MarketRoute
    let view: MarketView
  }

  private struct Part {
    var stamp: PartStamp
    /// Nil before it was made.
    var text: [UInt8]?
  }

  /// Bytes of all texts.
  static let byteLimit = 8 << 20
  /// The number of views, with or without text. Clients choose which views are requested.
  static let countLimit = 8_192
  private var parts: [Key: Part] = [:]
  /// Keys in the order of their arrival.
  private var order: [Key] = []
  private var head = 0
  private(set) var bytes = 0
  var count: Int { parts.count }
  let memos = MemoCount()

  /// The stamp of a view, if it is current.
  func stamp(_ key: Key, now: Timestamp) -> PartStamp? {
    guard let stamp = parts[key]?.stamp, stamp.isCurrent(at: now) else { return nil }
    return stamp
  }

  /// The text of a view, if its content is the one that `tag` names.
  func text(_ key: Key, tag: UInt64?) -> [UInt8]? {
    guard let part = parts[key], part.stamp.tag == tag else { return nil }
    return part.text
  }

  /// Replaces the stamp of a view; a text of the same content stays. O(1) amortised.
  func keep(_ stamp: PartStamp, text: [UInt8]? = nil, as key: Key) {
    let old = parts[key]
    let kept = text ?? (old?.stamp.tag == stamp.tag ? old?.text : nil)
    parts[key] = Part(stamp: stamp, text: (kept?.count ?? 0) <= Self.byteLimit / 4 ? kept : nil)
    bytes += (parts[key]?.text?.count ?? 0) - (old?.text?.count ?? 0)
    if old == nil { order.append(key) }
    trim()
  }

  private func trim() {
    while bytes > Self.byteLimit || parts.count > Self.countLimit, head < order.count {
      if let part = parts.removeValue(forKey: order[head]) { bytes -= part.text?.count ?? 0 }
      head += 1
    }
    if head > 256, head * 2 > order.count {
      order.removeFirst(head)
      head = 0
    }
  }
}

/// The number of living memos of a loop.
final class MemoCount: Sendable {
  /// Each holds up to 3 KB with its request, and up to 8 KB with a hundred symbols.
  static let limit = 4_096

  private let count = Atomic<Int>(0)

  /// Counts one; false at the limit.
  fileprivate func enter() -> Bool {
    guard count.load(ordering: .relaxed) < Self.limit else { return false }
    count.add(1, ordering: .relaxed)
    return true
  }

  fileprivate func leave() { count.subtract(1, ordering: .relaxed) }
}

/// The content of an answer, for the same request when it is repeated. While the content has not changed, the answer is
/// the same, and no loop must be asked. Valid only on the loop that made it.
package final class AnswerMemo: Sendable {
  /// The entity tag of the plain body.
  let tag: String
  /// The venues of the answer, for its age.
  let venues: [String]
  /// The channels that a token must allow, in addition to all symbols.
  let channels: Set<ChannelName>
  private let stamps: [PartStamp]
  private let validUntil: Timestamp
  private let listing: ListingRevision
  private let count: MemoCount

  /// Nil if the limit of memos is reached.
  /// - Parameters:
  ///   - listing: the revision before anything of the answer was read.
  init?(
    tag: String, stamps: [PartStamp], venues: [String], channels: Set<ChannelName>, listing: ListingRevision,
    count: MemoCount
  ) {
    guard count.enter() else { return nil }
    self.tag = tag
    self.stamps = stamps
    self.venues = venues
    self.channels = channels
    self.listing = listing
    self.count = count
    validUntil = stamps.map(\.validUntil).min() ?? .distantFuture
  }

  deinit { count.leave() }

  /// Whether the answer would be the same. O(parts), some ns each.
  func isCurrent(_ listing: ListingRevision, now: Timestamp) -> Bool {
    now < validUntil && listing == self.listing && stamps.allSatisfy { $0.isCurrent(at: now) }
  }
}
