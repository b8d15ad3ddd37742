import Decks

/// Reads a folder of decks: each `NAME.json` is one.
package enum DeckFiles {
  /// All decks of a folder, by name. Blocks on the disk.
  /// - Throws: every problem of every file, each with its file, card and field.
  package static func load(_ folder: String) throws(ConfigurationProblems) -> [Deck] {
    let files = NamedFiles(
      setting: "decks.directory", what: "a deck", count: Deck.Limits.decks, bytes: Deck.Limits.fileBytes,
      isName: Deck.isName)
    let decks = try files.load(folder) { (name, bytes) throws(NamedFiles.Mistakes) in
      do throws(DeckProblems) { return try Deck.read(bytes, name: name) } catch {
        throw NamedFiles.Mistakes(
          mistakes: error.problems.map { .init(field: $0.field, message: $0.message, allowed: $0.allowed) })
      }
    }
    return decks.values.sorted { $0.name < $1.name }
  }
}
