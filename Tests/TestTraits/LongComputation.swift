import Dispatch
import Testing

extension Trait where Self == LongComputation {
  /// For tests that compute for seconds without waiting.
  package static var longComputation: LongComputation { LongComputation() }
}

/// Runs a test's body on a thread of its own, one such body at a time.
///
/// Tests run on Swift's pool, which has a thread a core; a body that computes for seconds keeps one of them, and on two cores two
/// such bodies stop every test that waits for something: a client in it misses its time-outs for no fault of anybody.
package struct LongComputation: TestTrait, SuiteTrait, TestScoping {
  package var isRecursive: Bool { true }

  package func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    // Only around each case: a suite's scope is around waiting for its tests.
    guard testCase != nil else { return try await function() }
    try await withTaskExecutorPreference(Aside.executor) { try await function() }
  }

  private final class Aside: TaskExecutor {
    static let executor = Aside()
    private let queue = DispatchQueue(label: "tidegate.tests.long", qos: .utility)

    func enqueue(_ job: consuming ExecutorJob) {
      let job = UnownedJob(job)
      queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
  }
}
