import Foundation
import TestSupport
import Testing

@testable import Decks

@Suite("A deck's file")
struct DeckReadingTests {
  private static let card =
    #"{"quote":"Q","action":"A","minutes":10,"domain":"health","source":"S"}"#

  private static func read(_ text: String) throws(DeckProblems) -> Deck {
    try Deck.read(Array(text.utf8), name: "calm")
  }

  private static func problems(_ text: String) -> [DeckProblem] {
    do throws(DeckProblems) {
      _ = try read(text)
      return []
    } catch {
      return error.problems
    }
  }

  @Test("gives cards in their order, with what is left out")
  func reads() throws {
    let deck = try Self.read(#"{"cards":[\#(Self.card)]}"#)
    #expect(
      deck
        == Deck(
          name: "calm", title: "calm", starts: 0,
          cards: [DeckCard(quote: "Q", action: "A", minutes: 10, domain: .health, source: "S")]))
    let second =
      #"{"since":"2026-12-01","source":"T \u00e9","domain":"wealth","minutes":1440,"action":"B","quote":"R"}"#
    let full = try Self.read(#"{"title":"A calm day","starts":"2026-01-01","cards":[\#(Self.card),\#(second)]}"#)
    #expect(full.title == "A calm day")
    #expect(full.starts == 20_454)
    #expect(full.cards[1].since == 20_788)
    #expect(full.cards[1].source == "T é")
    #expect(full.cards[1].domain == .wealth)
  }

  /// A card with one field replaced, or left out where `value` is nil.
  private static func card(_ field: String, _ value: String?) -> String {
    var fields = ["quote": "\"Q\"", "action": "\"A\"", "minutes": "10", "domain": "\"health\"", "source": "\"S\""]
    fields[field] = value
    return "{" + fields.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",") + "}"
  }

  @Test(
    "an error names the card and the field",
    arguments: [
      ("quote", "\"\"", "is empty"), ("quote", "\" \\t\"", "is empty"), ("quote", "7", "is not a text"),
      ("quote", "\"a\\nb\"", "has a control character"), ("quote", "\"a\\u0000\"", "has a control character"),
      ("action", "\"\(String(repeating: "x", count: 301))\"", "has 301 characters"),
      ("source", "\"\(String(repeating: "é", count: 81))\"", "has 81 characters"),
      ("minutes", "\"10\"", "is not a number"), ("minutes", "0", "is not allowed"),
      ("minutes", "1441", "is not allowed"),
      ("minutes", "1.5", "is not allowed"), ("minutes", "-3", "is not allowed"),
      ("minutes", "99999999999999999999", "is not allowed"),
      ("domain", "\"helth\"", "\"helth\" is not a domain (did you mean health?)"), ("domain", "null", "is not a text"),
      ("since", "\"2026-02-29\"", "is not a date"), ("since", "\"2026-1-01\"", "is not a date"),
      ("since", "5", "is not a date"),
      ("qoute", "\"Q\"", "there is no such field (did you mean quote?)"),
    ])
  func fields(field: String, value: String, message: String) throws {
    let problems = Self.problems(#"{"cards":[\#(Self.card),\#(Self.card(field, value))]}"#)
    #expect(problems.map(\.field) == ["cards[1].\(field)"])
    #expect(problems.first?.message == message)
    #expect(problems.first?.allowed.isEmpty == false)
  }

  @Test("what is missing is named", arguments: ["quote", "action", "minutes", "domain", "source"])
  func missing(field: String) {
    let problems = Self.problems(#"{"cards":[\#(Self.card(field, nil))]}"#)
    #expect(problems == [DeckProblem("cards[0].\(field)", "is missing")])
  }

  @Test(
    "a file that is no deck is refused",
    arguments: [
      ("", ""), ("[]", ""), ("{", ""), (#"{"cards":[]} x"#, ""), (#"{"title":"a"}"#, "cards"),
      (#"{"cards":[]}"#, "cards"), (#"{"cards":{}}"#, "cards"), (#"{"cards":[1]}"#, "cards[0]"),
      (#"{"cards":[],"cards":[]}"#, "cards"), (#"{"card":[]}"#, "card"),
      (#"{"title":"","cards":[{"quote":"Q","action":"A","minutes":1,"domain":"health","source":"S"}]}"#, "title"),
      (
        #"{"cards":[{"quote":"Q","action":"A","minutes":1,"domain":"health","source":"S","since":"2026-01-01"}]}"#,
        "cards"
      ),
      (
        #"{"cards":[{"quote":"Q","quote":"R","action":"A","minutes":1,"domain":"health","source":"S"}]}"#,
        "cards[0].quote"
      ),
    ])
  func refused(text: String, field: String) {
    #expect(Self.problems(text).first?.field == field, "\(Self.problems(text))")
  }

  @Test("bytes that are no UTF-8, too many bytes, too many cards and too many problems are refused in bounds")
  func bounds() {
    do throws(DeckProblems) {
      _ = try Deck.read([0x7B, 0xFF, 0x7D], name: "a")
      Issue.record("read")
    } catch { #expect(error.problems.map(\.message) == ["is not UTF-8 text"]) }
    let many = Array(repeating: Self.card, count: Deck.Limits.cards + 1).joined(separator: ",")
    #expect(Self.problems(#"{"cards":[\#(many)]}"#).map(\.message) == ["has too many"])
    let broken = Array(repeating: "{}", count: 100).joined(separator: ",")
    #expect(Self.problems(#"{"cards":[\#(broken)]}"#).count == Deck.problemLimit)
    #expect(
      Self.problems(String(repeating: " ", count: Deck.Limits.fileBytes + 1)).first?.message.hasPrefix("has 1") == true)
  }

  @Test("any bytes are read or refused, and what is read keeps to the limits", arguments: 0..<20)
  func anything(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let whole = Array(#"{"title":"T","starts":"2026-01-01","cards":[\#(Self.card),\#(Self.card)]}"#.utf8)
    for _ in 0..<300 {
      var bytes = whole
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        let index = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0..<3, using: &random) {
        case 0: bytes[index] = UInt8.random(in: 0...255, using: &random)
        case 1: bytes.remove(at: index)
        default: bytes.insert(whole[Int.random(in: 0..<whole.count, using: &random)], at: index)
        }
      }
      guard let deck = try? Deck.read(bytes, name: "x") else { continue }
      #expect(!deck.cards.isEmpty)
      #expect(deck.cards.allSatisfy { Deck.Limits.minutes.contains($0.minutes) && !$0.quote.isEmpty }, "seed \(seed)")
      _ = deck.index(on: 20_000)
    }
  }

  @Test(
    "names are those of topics",
    arguments: [("calm", true), ("", false), ("A", false), ("a/b", false), ("a.b-c_9", true)])
  func names(name: String, isName: Bool) { #expect(Deck.isName(name) == isName) }
}
