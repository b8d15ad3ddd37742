import Feeds
import Recordings
import Synchronization

/// The recorders of a gateway, for its metrics.
final class RecordingList: Sendable {
  private let sinks = Mutex<[RecordingSink]>([])

  func append(_ sink: RecordingSink) { sinks.withLock { $0.append(sink) } }

  var figures: [RecordingFigures] { sinks.withLock { $0 }.map(\.figures) }
}
