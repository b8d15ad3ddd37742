import Bytes
import HTTPAPI
import History
import Logging
import Recordings
import Settings
import Transport

/// Reads the gateway's recordings for clients, one question after the other: live data has all other processors.
final class PastReader: Sendable {
  /// Questions that may wait, each of up to 2 s of a processor; turns of replays wait beside them.
  private static let waitingLimit = 8

  /// Clients that follow recorded time take turns with the questions.
  let seats = PastSeats()
  private let reader = BoundedReader(label: "tidegate.past", limit: PastReader.waitingLimit + PastSeats.limit)
  private let past: UncheckedTransfer<RecordedPast>
  // Used on the reader's queue only.

  /// Nil if the gateway neither records nor replays.
  init?(_ configuration: GatewayConfiguration, log: Logger) {
    let paths = configuration.replay.isEmpty ? [configuration.record].compactMap(\.self) : configuration.replay
    guard !paths.isEmpty else { return nil }
    past = UncheckedTransfer(
      value: RecordedPast(paths) { failure in
        log.warning("recording cannot be read for a client", metadata: ["reason": "\(failure)"])
      })
  }

  /// Calls `question` on the reader's queue; false, without a call, while too many wait.
  func ask(_ question: @escaping @Sendable (RecordedPast) -> Void) -> Bool {
    reader.read { [past] in question(past.value) }
  }
}
