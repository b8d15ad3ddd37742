import Bytes
import Decks
import MarketData
import PubSub

/// The documents of decks with subscribers: one for each deck and zone a day, and another if a reload changes it. Each
/// call passes the time.
package struct DeckBoard {
  /// The card of a deck in a zone at a moment; nil if the deck no longer exists.
  package typealias Reading = (_ deck: String, _ zone: String, _ now: Timestamp) -> DeckDay?

  private struct Shown {
    /// The span in which it is the card of the day.
    var begins = Timestamp.distantPast
    var ends = Timestamp.distantFuture
    var text: [UInt8] = []
  }

  private var shown: [StreamDocumentName: Shown] = [:]
  /// The span in which no document changes its card.
  private var quiet = (from: Timestamp.distantPast, until: Timestamp.distantFuture)

  package init() {}

  /// Adds a subscribed document; the next `advance` shows it.
  package mutating func want(_ name: StreamDocumentName) {
    shown[name] = Shown(begins: .distantFuture)
    quiet.from = .distantFuture
  }

  /// Removes a document without subscribers.
  package mutating func release(_ name: StreamDocumentName) {
    shown[name] = nil
    findQuiet()
  }

  /// Call when decks were added, removed or changed: the next `advance` checks all documents.
  package mutating func decksChanged() { quiet.from = .distantFuture }

  /// Publishes new documents: those with new subscribers, those whose day has ended, and those whose deck has changed.
  /// If the clock was set back, cards go back, too. O(1) if nothing is due, else O(documents).
  package mutating func advance(to now: Timestamp, _ read: Reading, _ show: (StreamDocumentName, [UInt8]) -> Void) {
    guard now < quiet.from || now >= quiet.until else { return }
    // In their order, so that a seed makes the same world each time.
    for name in shown.keys.sorted(by: { ($0.name, $0.zone ?? "") < ($1.name, $1.zone ?? "") }) {
      guard let zone = name.zone, let old = shown[name] else { continue }
      var next = Shown()
      var out = ByteBuffer(capacity: 512)
      if let today = read(name.name, zone, now) {
        today.append(to: &out)
        (next.begins, next.ends) = (today.day.begins, today.day.ends)
      } else {
        DeckDay.appendRemoved(name.name, zone: zone, to: &out)
      }
      next.text = out.takeBytes()
      shown[name] = next
      if next.text != old.text { show(name, next.text) }
    }
    findQuiet()
  }

  private mutating func findQuiet() {
    quiet = (.distantPast, .distantFuture)
    for entry in shown.values {
      quiet = (max(quiet.from, entry.begins), min(quiet.until, entry.ends))
    }
  }
}
