import Bytes

/// The subject of a card, which decides its colour.
package enum DeckDomain: String, Sendable, CaseIterable {
  case consciousness, health, wealth, relationships
}

/// A card of a deck: a quote, and an action of some minutes.
package struct DeckCard: Sendable, Hashable {
  package var quote: String
  package var action: String
  /// How long the action takes, 1…1,440.
  package var minutes: Int
  package var domain: DeckDomain
  /// The source of the quote.
  package var source: String
  /// The first day on which a round with this card may begin, in days since 1970; nil: the card belongs to all rounds.
  package var since: Int64?

  package init(
    quote: String, action: String, minutes: Int, domain: DeckDomain, source: String, since: Int64? = nil
  ) {
    self.quote = quote
    self.action = action
    self.minutes = minutes
    self.domain = domain
    self.source = source
    self.since = since
  }
}

/// A list of cards. Each day shows one card, the same to everybody.
///
/// A deck runs in rounds. A round shows every card once, one a day, in the order of the file; the next round follows on
/// the next day. A card with a `since` takes part from the first round that begins on that day or later. So a card that
/// is appended with the present day as its `since` changes no day before the end of the present round. A card appended
/// without `since` belongs to all rounds, and changes the days of every round but the first.
package struct Deck: Sendable, Hashable {
  package struct Limits: Sendable {
    /// The most decks of a gateway.
    package static let decks = 16
    package static let cards = 2_000
    /// Bytes of a file.
    package static let fileBytes = 1 << 20
    /// Characters of a title, a quote, an action and a source.
    package static let title = 60
    package static let quote = 500
    package static let action = 300
    package static let source = 80
    package static let minutes = 1...1_440
  }

  /// `calm`: 1 to 64 of `a-z 0-9 . _ -`.
  package let name: String
  package let title: String
  /// The day of the first card, in days since 1970.
  package let starts: Int64
  /// In the order of the file; at least one belongs to all rounds.
  package let cards: [DeckCard]
  /// The days on which cards are added, in order, each with the number of cards from then on.
  private let joins: [Join]

  private struct Join: Sendable, Hashable {
    var day: Int64
    var count: Int
  }

  /// - Parameter cards: one of them has no `since` after `starts`.
  package init(name: String, title: String, starts: Int64, cards: [DeckCard]) {
    self.name = name
    self.title = title
    self.starts = starts
    self.cards = cards
    var joins: [Join] = []
    for (index, day) in cards.map({ max(starts, $0.since ?? starts) }).sorted().enumerated() {
      if joins.last?.day == day { joins.removeLast() }
      joins.append(Join(day: day, count: index + 1))
    }
    self.joins = joins
    precondition(joins.first?.day == starts, "a deck has a card from its start on")
  }

  /// The index in `cards` of the card of a day. Days before the start count back from it. O(cards).
  package func index(on day: Int64) -> Int {
    // All rounds before the next added card are alike.
    var (round, count, next) = (starts, joins[0].count, 1)
    while next < joins.count {
      let wait = joins[next].day - round
      let end = round + (wait + Int64(count) - 1) / Int64(count) * Int64(count)
      if day < end { break }
      round = end
      while next < joins.count, joins[next].day <= round {
        count = joins[next].count
        next += 1
      }
    }
    let rest = (day - round) % Int64(count)
    return cardIndex(Int(rest < 0 ? rest + Int64(count) : rest), ofRoundOn: round)
  }

  /// The index of the `index`th card among the cards of `day`.
  private func cardIndex(_ position: Int, ofRoundOn day: Int64) -> Int {
    var left = position
    for (index, card) in cards.enumerated() where max(starts, card.since ?? starts) <= day {
      if left == 0 { return index }
      left -= 1
    }
    preconditionFailure("a round has as many cards as were counted")
  }

  /// Whether `name` can be a deck's: 1 to 64 of `a-z 0-9 . _ -`.
  package static func isName(_ name: String) -> Bool {
    (1...64).contains(name.utf8.count)
      && name.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."),
          UInt8(ascii: "_"), UInt8(ascii: "-"):
          true
        default: false
        }
      }
  }
}
