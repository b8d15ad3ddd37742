import Foundation
import Synchronization
import Testing

extension Trait where Self == RealTime {
  /// For tests of sockets, timers and gateways as a whole.
  package static var realTime: RealTime { RealTime() }
}

/// Lets few tests at a time run things that have threads and time-outs of their own.
///
/// All tests begin at once, and forty gateways with their venues and clients on two cores are overload: connections that nobody
/// means to time out do. Waiting for a turn counts towards a time limit of the test.
package struct RealTime: CaseTrait {
  package func run(_ body: @Sendable () async throws -> Void) async throws {
    await Turns.all.take()
    defer { Turns.all.giveBack() }
    try await body()
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
