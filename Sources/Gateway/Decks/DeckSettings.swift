import Decks
import Documents
import Logging
import Transport

/// The folder of decks, and the decks that were read from it with the configuration.
package struct DeckSettings: Sendable, Equatable {
  /// A folder with files `NAME.json`.
  package var directory: String?
  /// The decks of that folder.
  package var loaded: [Deck] = []

  package init() {}

  /// The decks that clients see. A demo without a folder shows a deck of its own.
  func shown(isDemo: Bool) -> [Deck] { directory == nil && isDemo ? [.demo] : loaded }

  /// Reads the decks. A deck that cannot be used is a problem of the configuration, which is then refused as a whole.
  mutating func read(
    _ load: (String) throws(ConfigurationProblems) -> [Deck], _ problems: inout [ConfigurationProblem]
  ) {
    guard let directory else { return }
    do throws(ConfigurationProblems) { loaded = try load(directory) } catch { problems += error.problems }
  }

  /// Replaces the gateway's decks by those of `next`. If no configuration was read again, it reads the folder anew. If
  /// a deck cannot be used, all old decks stay.
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
