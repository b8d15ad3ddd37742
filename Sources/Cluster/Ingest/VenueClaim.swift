/// Which of a venue's ingests publishes, without a store and without an election: by terms in beacons.
///
/// A warm ingest claims a higher term when it has heard no active one for a second, or at once if the active one
/// drains. An active ingest that hears a higher term stops. For a moment two may be active: edges follow the higher
/// term, and reading a venue twice harms nobody. `now` is a monotonic time in µs.
package struct VenueClaim: Sendable {
  package enum State: Sendable, Equatable {
    case warm
    case active(ClusterTerm)
  }

  /// Without an active beacon, before a claim, µs; each node waits up to `jitter` longer.
  package static let silence: Int64 = 1_000_000
  package static let jitter: Int64 = 200_000
  /// A longer time between two steps means that this process stood still, and has beacons to read, µs.
  package static let pause: Int64 = 400_000

  package private(set) var state = State.warm
  /// The highest term of any beacon.
  package private(set) var highest: ClusterTerm
  private let node: String
  private let wait: Int64
  /// The last time at which another node was active, or at which this one could not have heard of it.
  private var lastActive: Int64
  private var activeDrains = false
  private var lastStep: Int64

  /// - Parameter random: spreads the claims of several warm nodes.
  package init(node: String, now: Int64, random: UInt64) {
    precondition((1...Beacon.nodeLimit).contains(node.utf8.count))
    self.node = node
    highest = ClusterTerm(number: 0, node: node)
    wait = Self.silence + Int64(random % UInt64(Self.jitter))
    lastActive = now
    lastStep = now
  }

  package var isActive: Bool { state != .warm }

  /// A beacon of another node arrived. Returns true if this node is no longer active because of it.
  package mutating func heard(_ beacon: Beacon, now: Int64) -> Bool {
    if beacon.isActive, beacon.term >= highest {
      lastActive = now
      activeDrains = beacon.role == .draining
    }
    highest = max(highest, beacon.term)
    guard beacon.isActive, case .active(let mine) = state, beacon.term > mine else { return false }
    state = .warm
    return true
  }

  /// Call it at least every 100 ms. Returns true if this node has claimed.
  /// - Parameters:
  ///   - isReady: the feed is live, and the books are in sync.
  ///   - isLinked: messages arrive; a node that is cut off hears nobody, and must not conclude anything from it.
  package mutating func step(now: Int64, isReady: Bool, isLinked: Bool) -> Bool {
    let stoodStill = now - lastStep > Self.pause
    lastStep = now
    guard state == .warm else { return false }
    if stoodStill || !isLinked {
      lastActive = now
      activeDrains = false
    }
    guard isReady, isLinked, activeDrains || now - lastActive >= wait else { return false }
    highest = ClusterTerm(number: highest.number + 1, node: node)
    state = .active(highest)
    activeDrains = false
    return true
  }
}
