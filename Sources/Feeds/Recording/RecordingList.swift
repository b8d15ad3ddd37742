import Recordings
import Synchronization

/// The recorders of a gateway, for its metrics.
package final class RecordingList: Sendable {
  private let sinks = Mutex<[RecordingSink]>([])

  package init() {}

  package func append(_ sink: RecordingSink) { sinks.withLock { $0.append(sink) } }

  package var figures: [RecordingFigures] { sinks.withLock { $0 }.map(\.figures) }
}
