import Bytes
import Foundation
import TestSupport
import Testing

@testable import Decks

/// A deck whose cards say their number, so that a test can tell them apart.
func numberedDeck(_ sinces: [Int64?], starts: Int64 = 0) -> Deck {
  Deck(
    name: "test", title: "Test", starts: starts,
    cards: sinces.enumerated().map { index, since in
      DeckCard(quote: "q\(index)", action: "a", minutes: 1, domain: .health, source: "s", since: since)
    })
}

@Suite("The card of a day")
struct DeckTests {
  /// Plays the deck day by day, as the guide says it.
  private static func play(_ deck: Deck, days: Int) -> [Int] {
    var shown: [Int] = []
    var day = deck.starts
    while shown.count < days {
      let round = deck.cards.indices.filter { (deck.cards[$0].since ?? deck.starts) <= day }
      shown += round
      day += Int64(round.count)
    }
    return Array(shown.prefix(days))
  }

  @Test("is that of rounds played one after the other, whenever cards join", arguments: 0..<200)
  func rounds(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let starts = Int64.random(in: -400...20_500, using: &random)
    var sinces: [Int64?] = [nil]
    for _ in 0..<Int.random(in: 0...30, using: &random) {
      sinces.append(Bool.random(using: &random) ? nil : starts + Int64.random(in: -50...300, using: &random))
    }
    sinces.shuffle(using: &random)
    let deck = numberedDeck(sinces, starts: starts)
    for (offset, index) in Self.play(deck, days: 900).enumerated() {
      #expect(deck.index(on: starts + Int64(offset)) == index, "seed \(seed), day \(offset)")
    }
  }

  @Test("a round shows every card once")
  func once() {
    let deck = numberedDeck(Array(repeating: nil, count: 14), starts: 20_454)
    for round in 0..<5 {
      let days = (0..<14).map { deck.index(on: 20_454 + Int64(round * 14 + $0)) }
      #expect(days.sorted() == Array(0..<14))
    }
  }

  @Test("a card appended with the day of its appending changes no day up to the end of the round under way")
  func appending() {
    for day in Int64(1)...60 {
      let before = numberedDeck(Array(repeating: nil, count: 7))
      let after = numberedDeck(Array(repeating: nil, count: 7) + [day])
      let next = (day + 6) / 7 * 7
      for other in -20..<next { #expect(after.index(on: other) == before.index(on: other)) }
      #expect(after.index(on: next + 7) == 7, "the new card ends the next round")
    }
  }

  @Test("a card appended without a day leaves the first round as it was")
  func appendingWithoutDay() {
    let (before, after) = (numberedDeck([nil, nil, nil]), numberedDeck([nil, nil, nil, nil]))
    for day in Int64(0)..<3 { #expect(after.index(on: day) == before.index(on: day)) }
    #expect(after.index(on: 3) == 3)
  }

  @Test("days before the start count back")
  func early() {
    let deck = numberedDeck([nil, nil, nil], starts: 10)
    #expect((4..<13).map { deck.index(on: $0) } == [0, 1, 2, 0, 1, 2, 0, 1, 2])
  }

  @Test("a large deck in which every card joins on a day of its own is found at once")
  func large() {
    let deck = numberedDeck((0..<Deck.Limits.cards).map { $0 == 0 ? nil : Int64($0) })
    #expect(deck.index(on: 3_000_000) < Deck.Limits.cards)
  }

  @Test("the demo's deck keeps to the limits of a file, and shows every domain")
  func demo() throws {
    #expect(Set(Deck.demo.cards.map(\.domain)) == Set(DeckDomain.allCases))
    for card in Deck.demo.cards {
      #expect(card.quote.count <= 160 && card.action.count <= 120 && card.source.count <= 20)
      #expect(Deck.Limits.minutes.contains(card.minutes))
    }
    #expect(Set(Deck.demo.cards.map(\.quote)).count == Deck.demo.cards.count)
  }
}
