import Dispatch
import Foundation
import Synchronization
import Testing

extension Trait where Self == LongComputation {
  /// For tests that compute for seconds without waiting.
  package static var longComputation: LongComputation { LongComputation() }
}

/// Runs a test's body on threads aside, that stand back for all others.
///
/// Tests run on Swift's pool, which has a thread a core; a body that computes for seconds keeps one of them, and on two
/// cores two such bodies stop every test that waits for something: a client in it misses its time-outs for no fault of
/// anybody. A test that has a turn (`realTime`) cannot be one: it would keep its turn while it waits for a thread here,
/// which is minutes.
package struct LongComputation: CaseTrait {
  package func run(_ body: @Sendable () async throws -> Void) async throws {
    precondition(!RealTime.hasTurn, "a test is .realTime or a .longComputation, not both")
    try await withTaskExecutorPreference(Aside.executor) { try await body() }
  }

  private final class Aside: TaskExecutor {
    static let executor = Aside()
    private static let threads = ProcessInfo.processInfo.activeProcessorCount
    private let jobs = Mutex<[UnownedJob]>([])
    private let count = DispatchSemaphore(value: 0)

    init() {
      for _ in 0..<Self.threads { Thread.detachNewThread { self.run() } }
    }

    func enqueue(_ job: consuming ExecutorJob) {
      let job = UnownedJob(job)
      jobs.withLock { $0.append(job) }
      count.signal()
    }

    private func run() {
      #if canImport(Glibc)
        // On Linux of this thread alone: gateways and clients of other tests come first.
        setpriority(.init(PRIO_PROCESS.rawValue), 0, 10)
      #endif
      while true {
        count.wait()
        jobs.withLock { $0.removeFirst() }.runSynchronously(on: asUnownedTaskExecutor())
      }
    }
  }
}
