import Documents
import PubSub

/// Reads a folder of schemas: each file `NAME.json` is the schema of the topic `NAME`.
package enum TopicSchemaFiles {
  package static func load(_ folder: String) throws(ConfigurationProblems) -> [String: TopicSchema] {
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
