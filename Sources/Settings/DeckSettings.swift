import Decks
import Documents

/// The folder of decks, and the decks that were read from it with the configuration.
package struct DeckSettings: Sendable, Equatable {
  /// A folder with files `NAME.json`.
  package var directory: String?
  /// The decks of that folder.
  package var loaded: [Deck] = []

  package init() {}

  /// The decks that clients see. A demo without a folder shows a deck of its own.
  package func shown(isDemo: Bool) -> [Deck] { directory == nil && isDemo ? [.demo] : loaded }

  /// Reads the decks. A deck that cannot be used is a problem of the configuration, which is then refused as a whole.
  package mutating func read(
    _ load: (String) throws(ConfigurationProblems) -> [Deck], _ problems: inout [ConfigurationProblem]
  ) {
    guard let directory else { return }
    do throws(ConfigurationProblems) { loaded = try load(directory) } catch { problems += error.problems }
  }
}
