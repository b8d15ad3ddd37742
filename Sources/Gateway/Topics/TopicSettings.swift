import Documents
import Logging
import PubSub

/// The schemas of topics, which are read with the rest of the configuration.
package struct TopicSettings: Sendable, Equatable {
  /// A folder with files `NAME.json`, each the schema of the topic of that name; nil: topics have none.
  package var folder: String?
  /// The schemas of that folder, by topic.
  package var schemas: [String: TopicSchema] = [:]

  package init() {}

  /// Reads the schemas. One that cannot be used is a problem of the configuration, which is then refused as a whole.
  mutating func read(
    _ load: (String) throws(ConfigurationProblems) -> [String: TopicSchema], _ problems: inout [ConfigurationProblem]
  ) {
    guard let folder else { return }
    do throws(ConfigurationProblems) { schemas = try load(folder) } catch { problems += error.problems }
  }

  /// Replaces the gateway's schemas by those of `next`. If no configuration was read again, it reads the folder anew.
  /// If a schema cannot be used, all old schemas stay.
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

/// Reads a folder of schemas: each file `NAME.json` is the schema of the topic `NAME`.
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
