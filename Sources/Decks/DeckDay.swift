import Alerts
import Bytes
import MarketData

/// The day of a time zone at a moment, with the moments at which it begins and ends.
///
/// A day begins at its midnight. If clocks skip midnight, it begins at the first moment after it; if they show midnight
/// twice, at the first of the two. So no day begins twice, and a day that a zone skips has no moment.
package struct ZoneDay: Sendable, Equatable {
  /// Days since 1970.
  package let number: Int64
  package let begins: Timestamp
  /// When the next day begins.
  package let ends: Timestamp

  /// O(log changes of the zone).
  package init(at now: Timestamp, in zone: TimeZoneRules) {
    var seconds = now.microseconds / 1_000_000
    if seconds * 1_000_000 > now.microseconds { seconds -= 1 }
    func midnight(_ day: Int64) -> Int64 { zone.firstMoment(ofLocal: day * CivilDay.seconds) }
    // If the clock is set back over midnight, the previous day is shown again.
    var day = (zone.local(seconds) + 2 * CivilDay.seconds) / CivilDay.seconds
    while midnight(day) > seconds { day -= 1 }
    number = day
    begins = Timestamp(microseconds: midnight(day) * 1_000_000)
    ends = Timestamp(microseconds: midnight(day + 1) * 1_000_000)
  }
}

/// The card of a deck in a time zone at a moment.
package struct DeckDay: Sendable {
  package let deck: Deck
  /// As in the request: `Europe/Berlin`.
  package let zone: String
  package let day: ZoneDay
  /// The index of the card in the deck.
  package let index: Int

  package init(_ deck: Deck, zone name: String, _ rules: TimeZoneRules, now: Timestamp) {
    self.deck = deck
    zone = name
    day = ZoneDay(at: now, in: rules)
    index = deck.index(on: day.number)
  }

  package var card: DeckCard { deck.cards[index] }

  /// Appends
  /// `{"deck":…,"zone":…,"state":"live","title":…,"date":"2026-11-23","turns_at":…,"cards":14,"card":{"number":7,…}}`.
  package func append(to out: inout ByteBuffer) {
    out.appendObject { writer in
      Self.appendHead(deck.name, zone: zone, state: "live", to: &writer)
      writer.field("title", deck.title)
      writer.field("date", CivilDate(daysSince1970: day.number).text)
      writer.field("turns_at", day.ends.microseconds)
      writer.field("cards", Int64(deck.cards.count))
      writer.object("card") { writer in
        writer.field("number", Int64(index + 1))
        writer.field("quote", card.quote)
        writer.field("action", card.action)
        writer.field("minutes", Int64(card.minutes))
        writer.field("domain", card.domain.rawValue)
        writer.field("source", card.source)
      }
    }
  }

  /// Appends the message for a removed deck: `{"deck":…,"zone":…,"state":"removed"}`.
  package static func appendRemoved(_ deck: String, zone: String, to out: inout ByteBuffer) {
    out.appendObject { appendHead(deck, zone: zone, state: "removed", to: &$0) }
  }

  private static func appendHead(_ deck: String, zone: String, state: String, to writer: inout JSONObjectWriter) {
    writer.field("deck", deck)
    writer.field("zone", zone)
    writer.field("state", state)
  }
}
