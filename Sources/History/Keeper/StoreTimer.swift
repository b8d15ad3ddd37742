import Dispatch
import Transport

/// Calls on a queue once a second, 250 ms after each second of the wall clock begins, until it is cancelled or dropped.
///
/// Loops hand over their items in the first 100 ms of a second (`LoopNode.everySecond`). So an item is written at most
/// 1.3 s after it arrived, and not after up to 2.1 s.
final class StoreTimer: @unchecked Sendable {
  // `@unchecked`: constant after `init`, and a dispatch source may be used from any thread (dispatch_source_create(3)).
  private static let offset: Int64 = 250_000
  private static let second: Int64 = 1_000_000
  private let source: any DispatchSourceTimer
  private let kernel: any Kernel

  init(queue: DispatchQueue, _ kernel: any Kernel) {
    self.kernel = kernel
    source = DispatchSource.makeTimerSource(queue: queue)
  }

  /// Call it once.
  func start(_ body: @escaping @Sendable () -> Void) {
    arm()
    source.setEventHandler { @Sendable [weak self] in
      body()
      self?.arm()
    }
    source.activate()
  }

  func cancel() { source.cancel() }

  deinit { source.cancel() }

  private func arm() {
    let wait = Self.wait(now: kernel.wallMicroseconds())
    source.schedule(deadline: .now() + .microseconds(Int(wait)), leeway: .milliseconds(20))
  }

  /// The time to the next call, µs: 0.5 s at least, so that a second with a late call has no second one.
  static func wait(now: Int64) -> Int64 {
    let since = (now &- offset) % second
    let wait = second - (since < 0 ? since + second : since)
    return wait < second / 2 ? wait + second : wait
  }
}
