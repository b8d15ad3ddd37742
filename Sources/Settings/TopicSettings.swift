import Documents
import PubSub

/// The schemas of topics, which are read with the rest of the configuration.
package struct TopicSettings: Sendable, Equatable {
  /// A folder with files `NAME.json`, each the schema of the topic of that name; nil: topics have none.
  package var folder: String?
  /// The schemas of that folder, by topic.
  package var schemas: [String: TopicSchema] = [:]

  package init() {}

  /// Reads the schemas. One that cannot be used is a problem of the configuration, which is then refused as a whole.
  package mutating func read(
    _ load: (String) throws(ConfigurationProblems) -> [String: TopicSchema], _ problems: inout [ConfigurationProblem]
  ) {
    guard let folder else { return }
    do throws(ConfigurationProblems) { schemas = try load(folder) } catch { problems += error.problems }
  }
}
