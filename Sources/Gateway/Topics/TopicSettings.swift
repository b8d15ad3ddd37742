import Logging
import PubSub

/// What documents of topics must be, as read with the rest of the configuration.
package struct TopicSettings: Sendable, Equatable {
  /// A folder with files `NAME.json`, each the schema of the topic of that name; nil: topics have none.
  package var folder: String?
  /// What it held.
  package var schemas: [String: TopicSchema] = [:]

  package init() {}

  /// Reads the schemas, so that a configuration with one that cannot be used is refused as a whole.
  mutating func read(
    _ load: (String) throws(ConfigurationProblems) -> [String: TopicSchema], _ problems: inout [ConfigurationProblem]
  ) {
    guard let folder else { return }
    do throws(ConfigurationProblems) { schemas = try load(folder) } catch { problems += error.problems }
  }

  /// Has a gateway take the schemas of `next`; where no configuration is read again, those that its folder has now. If
  /// they cannot be used, the old ones stay.
  static func reload(
    _ gateway: Gateway, _ next: GatewayConfiguration?
  ) -> (isThere: Bool, changed: [String], problems: [String]) {
    var topics = (next ?? gateway.current).topics
    var problems: [ConfigurationProblem] = []
    if next == nil { topics.read(TopicSchemaFiles.load, &problems) }
    guard problems.isEmpty else { return (true, [], problems.map(\.description)) }
    let changed = gateway.settings.topics.setSchemas(topics.schemas)
    if topics.folder != nil {
      gateway.log.notice(
        "schemas of topics read again", metadata: ["changes": "\(changed.joined(separator: "; "))"])
    }
    return (topics.folder != nil, changed, [])
  }
}

/// Reads a folder of schemas: each `NAME.json` is that of the topic `NAME`.
enum TopicSchemaFiles {
  static func load(_ folder: String) throws(ConfigurationProblems) -> [String: TopicSchema] {
    let files = NamedFiles(
      setting: "topics.schemas", what: "a topic", count: TopicBoard.Limits().topics, bytes: TopicSchema.Limits.bytes,
      isName: TopicBoard.isName)
    return try files.load(folder) { (name, bytes) throws(NamedFiles.Mistakes) in
      do throws(TopicSchemaError) { return try TopicSchema(bytes) } catch {
        throw NamedFiles.Mistakes(mistakes: [.init(field: error.path, message: error.message)])
      }
    }
  }
}
