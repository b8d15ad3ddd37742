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

  /// Reads the decks, so that a configuration with one that cannot be used is refused as a whole.
  mutating func read(
    _ load: (String) throws(ConfigurationProblems) -> [Deck], _ problems: inout [ConfigurationProblem]
  ) {
    guard let directory else { return }
    do throws(ConfigurationProblems) { loaded = try load(directory) } catch { problems += error.problems }
  }

  /// Has a gateway take the decks of `next`; where no configuration is read again, those that its folder has now. If
  /// they cannot be used, the old ones stay.
  static func reload(
    _ gateway: Gateway, _ next: GatewayConfiguration?
  ) -> (isThere: Bool, changed: [String], problems: [String]) {
    var decks = (next ?? gateway.current).decks
    var problems: [ConfigurationProblem] = []
    if next == nil { decks.read(DeckFiles.load, &problems) }
    guard problems.isEmpty else { return (true, [], problems.map(\.description)) }
    let changed = gateway.settings.decks.replace(decks.shown(isDemo: gateway.configuration.demo))
    if decks.directory != nil {
      gateway.log.notice("decks read again", metadata: ["changes": "\(changed.joined(separator: "; "))"])
    }
    if !changed.isEmpty {
      let node = gateway.nodes[0]
      node.loop.execute { node.decks.changed() }
    }
    return (decks.directory != nil, changed, [])
  }
}
