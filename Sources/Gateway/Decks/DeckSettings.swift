import Decks

/// Where decks are, and those that were read there with the rest of the configuration.
package struct DeckSettings: Sendable, Equatable {
  /// A folder with files `NAME.json`.
  package var directory: String?
  /// What it held.
  package var loaded: [Deck] = []

  package init() {}

  /// The decks that clients see: a demo without a folder has one of its own.
  func shown(isDemo: Bool) -> [Deck] { directory == nil && isDemo ? [.demo] : loaded }
}
