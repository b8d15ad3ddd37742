import Dispatch
import Logging
import Transport

/// Decides when to return memory that the allocator keeps for itself. A plain value without a clock, asked once a
/// `HeapTrimmer.period`.
///
/// glibc returns only the free memory at the top of an arena by itself. Ten thousand clients that never read leave 480
/// MB in small pieces below other live memory: the process then has 523 MB, of which 12 are in use.
struct TrimPolicy {
  /// Idle memory, beyond what cannot be given back, that is worth the locks, bytes.
  static let worth = 64 << 20

  /// What is resident and not in use when there is nothing to give back: code, stacks, bookkeeping, holes smaller than
  /// a page.
  private var floor: Int
  private var wasIdle = false

  /// - Parameters: bytes, at the start.
  init(resident: Int, inUse: Int) { floor = max(0, resident - inUse) }

  /// Whether `inUse`, which costs more to know than `resident`, matters at all.
  func isOfInterest(resident: Int) -> Bool { resident >= floor + Self.worth }

  /// Whether to give back now: at the second look in a row that finds much idle, since clients that come back at once
  /// will use it.
  mutating func isDue(resident: Int, inUse: Int) -> Bool {
    let isIdle = resident - inUse >= floor + Self.worth
    defer { wasIdle = isIdle }
    return isIdle && wasIdle
  }

  /// Notes what is left after giving back, so that what cannot be is not tried for again and again.
  mutating func trimmed(resident: Int, inUse: Int) {
    floor = max(0, resident - inUse)
    wasIdle = false
  }
}

/// Gives memory back to the system that the process had for a crowd that has gone, off the loops, at most once a
/// minute. For as long as it is held.
package final class HeapTrimmer: @unchecked Sendable {
  // `@unchecked`: constant after `init`, and a dispatch source may be cancelled from any thread
  // (dispatch_source_create(3)).

  /// Between two looks, s.
  static let period = 30

  private let timer: any DispatchSourceTimer

  package init(_ log: Logger) {
    let queue = DispatchQueue(label: "tidegate.memory")
    timer = DispatchSource.makeTimerSource(queue: queue)
    let watch = MemoryWatch(log)
    timer.setEventHandler { @Sendable in watch.look() }
    timer.schedule(deadline: .now() + .seconds(Self.period), repeating: .seconds(Self.period), leeway: .seconds(1))
    timer.activate()
  }

  deinit { timer.cancel() }
}

private final class MemoryWatch: @unchecked Sendable {
  // `@unchecked`: made before the timer, then touched on its queue only.
  private var policy: TrimPolicy?
  private let log: Logger

  init(_ log: Logger) {
    self.log = log
    policy = Heap.resident.map { TrimPolicy(resident: $0, inUse: Heap.inUse) }
  }

  func look() {
    guard policy != nil, let before = Heap.resident, policy!.isOfInterest(resident: before),
      policy!.isDue(resident: before, inUse: Heap.inUse)
    else { return }
    Heap.trim()
    let after = Heap.resident ?? before
    policy!.trimmed(resident: after, inUse: Heap.inUse)
    log.notice(
      "memory given back to the system", metadata: ["from_mb": "\(before >> 20)", "to_mb": "\(after >> 20)"])
  }
}
