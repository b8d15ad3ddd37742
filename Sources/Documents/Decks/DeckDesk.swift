import Alerts
import Decks
import MarketData
import PubSub
import Synchronization

/// The decks of a gateway and the zones in which they are shown: read on every loop, replaced by a reload.
package final class DeckDesk: Sendable {
  private let decks: Mutex<[String: Deck]>
  private let zones = ZoneFiles()

  package init(_ decks: [Deck]) {
    self.decks = Mutex(Self.byName(decks))
    if !decks.isEmpty { zones.refresh() }
  }

  /// All of them, by name.
  package var all: [Deck] { decks.withLock { Array($0.values) }.sorted { $0.name < $1.name } }

  /// Replaces the decks, and reads time zones again. Blocks on the disk.
  /// - Returns: the differences, in words. The caller notifies the loops that show decks.
  package func replace(_ decks: [Deck]) -> [String] {
    if !decks.isEmpty { zones.refresh() }
    let fresh = Self.byName(decks)
    let old = self.decks.withLock { held in
      defer { held = fresh }
      return held
    }
    return Set(old.keys).union(fresh.keys).sorted().compactMap { name in
      switch (old[name], fresh[name]) {
      case (nil, let deck?): "decks: \(name) was added, with \(deck.cards.count) cards"
      case (_?, nil): "decks: \(name) was removed"
      case (let before?, let deck?): before == deck ? nil : "decks: \(name) was changed, to \(deck.cards.count) cards"
      case (nil, nil): nil
      }
    }
  }

  private static func byName(_ decks: [Deck]) -> [String: Deck] {
    Dictionary(decks.map { ($0.name, $0) }) { first, _ in first }
  }

  /// The card that a deck shows in a zone at a moment.
  package func today(_ name: String, zone: String, now: Timestamp) -> Result<DeckDay, ProtocolError> {
    guard let deck = decks.withLock({ $0[name] }) else { return .failure(unknown(name)) }
    guard let rules = zones.rules(zone) else { return .failure(unknownZone(zone)) }
    return .success(DeckDay(deck, zone: zone, rules, now: now))
  }

  /// The same for a document that was shown before: its zone is known, but the deck may have been removed. Nil if it
  /// was.
  package func shown(_ name: String, zone: String, now: Timestamp) -> DeckDay? {
    if case .success(let today) = today(name, zone: zone, now: now) { return today }
    return nil
  }

  /// Why a deck cannot be shown in a zone; nil if it can.
  package func refusal(_ name: String, zone: String) -> ProtocolError? {
    guard decks.withLock({ $0[name] != nil }) else { return unknown(name) }
    return zones.rules(zone) == nil ? unknownZone(zone) : nil
  }

  private func unknown(_ name: String) -> ProtocolError {
    let names = all.map(\.name)
    let shown = String(name.prefix(64))
    return ProtocolError(
      .unknownDeck, "there is no deck `\(shown)`\(NearNames.question(shown, among: names))",
      hint: names.isEmpty
        ? "operators name a folder of them: decks.directory" : "decks: \(names.joined(separator: ", "))"
    )
  }

  private func unknownZone(_ zone: String) -> ProtocolError {
    ProtocolError(
      .outOfRange, "`zone` does not name a known time zone: `\(zone.prefix(64))`",
      hint: "a name of the IANA database: Europe/Berlin, America/New_York, UTC")
  }
}
