import Decks
import Logging
import Transport

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

extension ConfigurationLoader {
  /// Reads the decks, so that a configuration with one that cannot be used is refused as a whole.
  mutating func readDecks() {
    guard let folder = configuration.decks.directory else { return }
    do throws(ConfigurationProblems) { configuration.decks.loaded = try files.decks(folder) } catch {
      problems += error.problems
    }
  }
}

extension Gateway {
  /// Takes the decks of `next`; where no configuration is read again, those that its folder has now. If they cannot be
  /// used, the old ones stay.
  func reloadDecks(_ next: GatewayConfiguration?) -> (isThere: Bool, changed: [String], problems: [String]) {
    let folder = (next ?? current).decks.directory
    var decks = (next ?? current).decks.shown(isDemo: configuration.demo)
    if next == nil, let folder {
      do throws(ConfigurationProblems) { decks = try DeckFiles.load(folder) } catch {
        return (true, [], error.problems.map(\.description))
      }
    }
    let changed = settings.decks.replace(decks)
    if folder != nil { log.notice("decks read again", metadata: ["changes": "\(changed.joined(separator: "; "))"]) }
    if !changed.isEmpty {
      let node = nodes[0]
      node.loop.execute { node.decks.changed() }
    }
    return (folder != nil, changed, [])
  }
}
