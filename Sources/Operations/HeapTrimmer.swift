import Dispatch
import Logging
import Transport

/// Decides when to return memory that the allocator keeps for itself. A plain value without a clock, asked once a
/// `HeapTrimmer.period`.
///
/// glibc returns only the free memory at the top of an arena by itself. Ten thousand clients that never read leave 480
/// MB in small pieces below other live memory: the process then has 523 MB, of which 12 are in use.
struct TrimPolicy {
  /// The least idle memory, beyond what cannot be returned, that is worth the locks, bytes.
  static let worth = 64 << 20

  /// The resident but unused memory that cannot be returned: code, stacks, bookkeeping, holes smaller than a page.
  private var floor: Int
  private var wasIdle = false

  /// - Parameters: bytes, at the start.
  init(resident: Int, inUse: Int) { floor = max(0, resident - inUse) }

  /// Whether to measure `inUse`, which costs more than `resident`.
  func isOfInterest(resident: Int) -> Bool { resident >= floor + Self.worth }

  /// Whether to return memory now: at the second check in a row that finds much idle memory, since returning clients
  /// would use it.
  mutating func isDue(resident: Int, inUse: Int) -> Bool {
    let isIdle = resident - inUse >= floor + Self.worth
    defer { wasIdle = isIdle }
    return isIdle && wasIdle
  }

  /// Records what remains after a return, so that memory that cannot be returned is not tried again and again.
  mutating func trimmed(resident: Int, inUse: Int) {
    floor = max(0, resident - inUse)
    wasIdle = false
  }
}

/// Returns idle memory to the system after many clients have left, off the loops, at most once a minute. It works while
/// somebody holds it.
package final class HeapTrimmer: @unchecked Sendable {
  // `@unchecked`: constant after `init`, and a dispatch source may be cancelled from any thread
  // (dispatch_source_create(3)).

  /// The time between two checks, s.
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
