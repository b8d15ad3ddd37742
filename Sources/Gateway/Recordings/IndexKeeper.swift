import Dispatch
import Logging
import MarketData
import Recordings
import Settings
import Synchronization
import Transport

/// Indexes the gateway's complete recordings while it records, on a thread that serves nobody, with a fifth of a
/// processor at most.
final class IndexKeeper: Sendable {
  /// The length of a turn, s, and the rest after it.
  private static let turnSeconds = 0.02
  private static let rest = DispatchTimeInterval.milliseconds(80)
  /// How often it looks for complete files.
  private static let lookInterval = DispatchTimeInterval.seconds(30)

  private let queue = DispatchQueue(label: "tidegate.indexes")
  private let indexing: UncheckedTransfer<RecordingIndexing>
  private let kernel: any Kernel
  private let isStopped = Atomic(false)

  /// Nil if the gateway does not record into a folder, or is not to index it.
  init?(_ configuration: GatewayConfiguration, _ kernel: any Kernel, log: Logger) {
    guard let folder = configuration.record, folder.hasSuffix("/"), configuration.recording.indexes else { return nil }
    self.kernel = kernel
    indexing = UncheckedTransfer(
      value: RecordingIndexing([folder]) { event in
        switch event {
        case .indexed(let made):
          log.info("indexed a recording", metadata: ["file": "\(made.path)", "points": "\(made.points)"])
        case .failed(let error):
          log.warning("cannot index a recording", metadata: ["reason": "\(error.description)"])
        }
      })
  }

  /// Begins. Call it once.
  func start() { queue.asyncAfter(deadline: .now() + Self.lookInterval) { self.work() } }

  /// Ends after the present turn.
  func stop() { isStopped.store(true, ordering: .relaxed) }

  private func work() {
    guard !isStopped.load(ordering: .relaxed) else { return }
    let hasMore = indexing.value.turn(Self.turnSeconds, at: Timestamp(microseconds: kernel.wallMicroseconds()))
    queue.asyncAfter(deadline: .now() + (hasMore ? Self.rest : Self.lookInterval)) { self.work() }
  }
}
