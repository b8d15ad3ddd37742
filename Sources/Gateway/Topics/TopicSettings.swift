import Logging
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

extension ConfigurationLoader {
  /// Reads the schemas, so that a configuration with one that cannot be used is refused as a whole.
  mutating func readSchemas() {
    guard let folder = configuration.topics.folder else { return }
    do throws(ConfigurationProblems) { configuration.topics.schemas = try files.schemas(folder) } catch {
      problems += error.problems
    }
  }
}

extension Gateway {
  /// Takes the schemas of `next`; where no configuration is read again, those that its folder has now. If they cannot
  /// be used, the old ones stay.
  func reloadSchemas(_ next: GatewayConfiguration?) -> (isThere: Bool, changed: [String], problems: [String]) {
    let folder = (next ?? current).topics.folder
    var schemas = (next ?? current).topics.schemas
    if next == nil, let folder {
      do throws(ConfigurationProblems) { schemas = try TopicSchemaFiles.load(folder) } catch {
        return (true, [], error.problems.map(\.description))
      }
    }
    let changed = settings.topics.setSchemas(schemas)
    if folder != nil {
      log.notice("schemas of topics read again", metadata: ["changes": "\(changed.joined(separator: "; "))"])
    }
    return (folder != nil, changed, [])
  }
}
