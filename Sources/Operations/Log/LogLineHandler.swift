import Feeds
import Logging

/// The first station of a line of the log: makes it of what code logs, as a line of one part, and passes it to the
/// sink.
struct LogLineHandler: LogHandler {
  static let componentKey = "component"
  /// The key for an event that is not named after its message.
  static let eventKey = FeedSession.eventKey
  /// The key of a line that already stands for many: it is always written, without this field.
  static let foldedKey = "folded"

  var metadata: Logger.Metadata = [:] {
    didSet {
      let name = metadata[Self.componentKey].map { $0.description } ?? ""
      component = LogComponent.allCases.firstIndex { $0.rawValue == name } ?? 0
    }
  }
  var metadataProvider: Logger.MetadataProvider?
  private let sink: LogSink
  /// The index in `LogComponent.allCases`.
  private var component = 0
  /// The logger's own level; nil: the sink's levels apply.
  private var ownLevel: Logger.Level?

  init(_ sink: LogSink) { self.sink = sink }

  var logLevel: Logger.Level {
    get { ownLevel ?? sink.level(at: component) }
    set { ownLevel = newValue }
  }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    var all = metadata
    if let provided = metadataProvider?.get() { all.merge(provided) { $1 } }
    if let own = event.metadata { all.merge(own) { $1 } }
    let name = all.removeValue(forKey: Self.eventKey)?.description
    let isFolded = all.removeValue(forKey: Self.foldedKey) != nil
    let fields = all.sorted { $0.key < $1.key }.map { (key: $0.key, value: $0.value.description) }
    // The access log has a rate of its own.
    sink.take(
      LogLine(level: event.level, event: name, message: event.message.description, fields: fields),
      folds: !isFolded && LogComponent.allCases[component] != .access)
  }
}
