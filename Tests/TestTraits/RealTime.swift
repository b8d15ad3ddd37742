import Foundation
import Synchronization
import Testing

extension Trait where Self == RealTime {
  /// For tests of sockets, timers and gateways as a whole.
  package static var realTime: RealTime { RealTime() }
}

/// Lets few tests at a time run things that have threads and time-outs of their own.
///
/// All tests begin at once, and forty gateways with their venues and clients on two cores are overload: connections
/// that nobody means to time out do. Each has a time limit of its own, which begins with its turn: the library's
/// `timeLimit` counts the wait, too, which is minutes on a machine that is busy with something else.
package struct RealTime: CaseTrait {
  private static let limit = Duration.seconds(600)
  /// In a test that has a turn.
  @TaskLocal static var hasTurn = false

  package func run(_ body: @Sendable () async throws -> Void) async throws {
    await Turns.all.take()
    defer { Turns.all.giveBack() }
    try await withoutActuallyEscaping(body) { body in
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await Self.$hasTurn.withValue(true) { try await body() } }
        group.addTask {
          try await Task.sleep(for: Self.limit)
          Issue.record("it did not end within \(Self.limit) of its turn")
        }
        try await group.next()
        group.cancelAll()
      }
    }
  }

  private final class Turns: Sendable {
    static let all = Turns()
    /// One more than there are cores: a test that waits for the other side uses none.
    private static let limit = ProcessInfo.processInfo.activeProcessorCount + 1
    private let state = Mutex((taken: 0, waiting: [CheckedContinuation<Void, Never>]()))

    func take() async {
      await withCheckedContinuation { continuation in
        let isFree = state.withLock { state in
          guard state.taken < Self.limit else {
            state.waiting.append(continuation)
            return false
          }
          state.taken += 1
          return true
        }
        if isFree { continuation.resume() }
      }
    }

    func giveBack() {
      let next = state.withLock { state in
        // The turn goes on to the one that has waited longest.
        guard state.waiting.isEmpty else { return Optional(state.waiting.removeFirst()) }
        state.taken -= 1
        return nil
      }
      next?.resume()
    }
  }
}
