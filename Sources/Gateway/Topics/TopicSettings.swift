import PubSub

/// What documents of topics must be, as read with the rest of the configuration.
package struct TopicSettings: Sendable, Equatable {
  /// A folder with files `NAME.json`, each the schema of the topic of that name; nil: topics have none.
  package var folder: String?
  /// What it held.
  package var schemas: [String: TopicSchema] = [:]

  package init() {}
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
