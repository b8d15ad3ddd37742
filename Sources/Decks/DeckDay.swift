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
    Self.appendHead(deck.name, zone: zone, state: "live", to: &out)
    out.append(",\"title\":")
    out.append(json: deck.title)
    out.append(",\"date\":\"")
    out.append(CivilDate(daysSince1970: day.number).text)
    out.append("\",\"turns_at\":")
    out.append(integer: day.ends.microseconds)
    out.append(",\"cards\":")
    out.append(integer: Int64(deck.cards.count))
    out.append(",\"card\":{\"number\":")
    out.append(integer: Int64(index + 1))
    out.append(",\"quote\":")
    out.append(json: card.quote)
    out.append(",\"action\":")
    out.append(json: card.action)
    out.append(",\"minutes\":")
    out.append(integer: Int64(card.minutes))
    out.append(",\"domain\":\"")
    out.append(card.domain.rawValue)
    out.append("\",\"source\":")
    out.append(json: card.source)
    out.append("}}")
  }

  /// Appends the message for a removed deck: `{"deck":…,"zone":…,"state":"removed"}`.
  package static func appendRemoved(_ deck: String, zone: String, to out: inout ByteBuffer) {
    appendHead(deck, zone: zone, state: "removed", to: &out)
    out.append(UInt8(ascii: "}"))
  }

  private static func appendHead(_ deck: String, zone: String, state: StaticString, to out: inout ByteBuffer) {
    out.append("{\"deck\":")
    out.append(json: deck)
    out.append(",\"zone\":")
    out.append(json: zone)
    out.append(",\"state\":\"")
    out.append(state)
    out.append(UInt8(ascii: "\""))
  }
}
