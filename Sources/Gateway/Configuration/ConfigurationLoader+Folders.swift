/// Folders of files that belong to the configuration.
extension ConfigurationLoader {
  /// Reads the decks, so that a configuration with one that cannot be used is refused as a whole.
  mutating func readDecks() {
    guard let folder = configuration.decks.directory else { return }
    do throws(ConfigurationProblems) { configuration.decks.loaded = try files.decks(folder) } catch {
      problems += error.problems
    }
  }

  /// Reads the schemas, so that a configuration with one that cannot be used is refused as a whole.
  mutating func readSchemas() {
    guard let folder = configuration.topics.folder else { return }
    do throws(ConfigurationProblems) { configuration.topics.schemas = try files.schemas(folder) } catch {
      problems += error.problems
    }
  }
}
