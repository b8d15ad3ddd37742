import Bytes
import MarketData
import TestSupport
import Testing

@testable import Venues

/// Levels of the usual shape are read at once, all others part by part. White space makes a shape unusual and changes
/// nothing of what it says.
@Suite("Levels that are read at once")
struct FastLevelTests {
  struct Case: Sendable {
    var format: BookFormat
    /// Of the word, the price and the size, where levels are objects.
    var names: [String] = []
    var hasWord = false
    var isOfBothSides = false
  }

  private static let cases = [
    Case(format: BookFormat(title: "plain")),
    Case(format: BookFormat(title: "action", word: .action(removal: "delete")), hasWord: true),
    Case(format: BookFormat(title: "side", word: .side(bid: "buy", ask: "sell")), hasWord: true, isOfBothSides: true),
    Case(format: BookFormat(title: "object", level: .object(price: "px", size: "sz")), names: ["px", "sz"]),
    Case(
      format: BookFormat(
        title: "object with a side", level: .object(price: "px", size: "sz", word: "side"),
        word: .side(bid: "buy", ask: "sell")), names: ["side", "px", "sz"], hasWord: true, isOfBothSides: true),
  ]

  private struct Outcome: Equatable {
    var bids: [PriceLevel] = []
    var asks: [PriceLevel] = []
    var left = 0
    var error: FeedError.Kind?
  }

  private static func read(_ text: String, _ one: Case, contract: Decimal64) -> Outcome {
    var table = InstrumentTable()
    var batch = EventBatch()
    let market = ListedMarket(
      venueSymbol: "BTCUSD", symbol: FeedSymbol(base: "BTC", quote: "USD"), priceScale: 2, sizeScale: 4,
      contractSize: contract)
    _ = table.add(market, venue: "any", into: &batch)
    let bytes = Array((text + String(repeating: " ", count: 40)).utf8)
    var reader = FieldReader(bytes.span.bytes)
    var outcome = Outcome()
    do throws(FeedError) {
      if one.isOfBothSides {
        try table.readLevels(&reader, 0, "levels", isBid: nil, one.format, into: &batch)
      } else {
        try table.readLevels(&reader, 0, "levels", isBid: true, one.format, into: &batch)
      }
      try reader.end()
      (outcome.bids, outcome.asks, outcome.left) = (batch.bids, batch.asks, table.badLevels)
    } catch {
      outcome.error = error.kind
    }
    return outcome
  }

  private static let numbers = [
    "0", "1", "100.5", "97250.12", "0.0012", "0.0", "-1", "1e3", "5e-1", "12345678901234567890", "0.-1", "", "007",
    "1.",
    "99999999.5", "123456789012.25", "0.00001",
  ]
  private static let words = [#""buy""#, #""sell""#, #""new""#, #""delete""#, #""other""#, #""b\u0075y""#, "1", "null"]
  private static let others = [#""0""#, #""2026-09-25T00:00:00Z""#, "5", "null", #"{"a":[1]}"#, #""a\"b""#, "]"]

  /// Nearly always what venues print, and now and then anything.
  private static func level(_ one: Case, _ random: inout SeededGenerator) -> String {
    func isOdd(_ random: inout SeededGenerator) -> Bool { Int.random(in: 0..<12, using: &random) == 0 }
    func number(_ random: inout SeededGenerator) -> String {
      let text =
        isOdd(&random)
        ? numbers.randomElement(using: &random)! : numbers[1...4].randomElement(using: &random)!
      return Bool.random(using: &random) ? "\"\(text)\"" : text
    }
    func other(_ random: inout SeededGenerator) -> String {
      isOdd(&random) ? others.randomElement(using: &random)! : others[Int.random(in: 0...1, using: &random)]
    }
    let word = isOdd(&random) ? words.randomElement(using: &random)! : words[Int.random(in: 0...1, using: &random)]
    var values = (one.hasWord ? [word] : []) + [number(&random), number(&random)]
    guard !one.names.isEmpty else {
      for _ in 0..<Int.random(in: 0...2, using: &random) where Bool.random(using: &random) {
        values.append(other(&random))
      }
      if isOdd(&random) { values.removeLast() }
      return "[\(values.joined(separator: ","))]"
    }
    var fields = zip(one.names, values).map { "\"\($0)\":\($1)" }
    for name in ["time", "n"] where Bool.random(using: &random) {
      fields.insert("\"\(name)\":\(other(&random))", at: Int.random(in: 0...fields.count, using: &random))
    }
    if isOdd(&random) { fields.shuffle(using: &random) }
    if isOdd(&random) { fields.removeLast() }
    return "{\(fields.joined(separator: ","))}"
  }

  @Test("say what they say with white space in them", arguments: cases.indices)
  func same(_ index: Int) {
    let one = Self.cases[index]
    var (used, refused) = (0, 0)
    for seed in testSeeds(600) {
      var random = SeededGenerator(seed: seed)
      let count = Int.random(in: 0...6, using: &random)
      let list = (0..<count).map { _ in Self.level(one, &random) }.joined(separator: ",")
      let text = "[\(list)]"
      let wide = text.replacing("[", with: "[ ").replacing("{", with: "{ ")
      let contract = Decimal64(mantissa: Bool.random(using: &random) ? 1 : 10, scale: 2)
      let outcome = Self.read(text, one, contract: contract)
      #expect(outcome == Self.read(wide, one, contract: contract), "TIDEGATE_SEED=\(seed): \(text)")
      if outcome.error == nil { used += outcome.bids.count + outcome.asks.count } else { refused += 1 }
    }
    #expect(used > 100 && refused > 20)
  }

  private static func update(_ text: String) -> Outcome {
    var table = InstrumentTable()
    var batch = EventBatch()
    for (name, base, scale) in [("BTCUSD", "BTC", 2), ("ETHUSD", "ETH", 1)] as [(String, String, UInt8)] {
      let market = ListedMarket(
        venueSymbol: name, symbol: FeedSymbol(base: base, quote: "USD"), priceScale: scale, sizeScale: 4,
        contractSize: Decimal64(mantissa: 1, scale: 0))
      _ = table.add(market, venue: "any", into: &batch)
    }
    let bytes = Array(text.utf8)
    var reader = FieldReader(bytes.span.bytes)
    var outcome = Outcome()
    do throws(FeedError) {
      let book = BookFormat(title: "book", bids: "b", asks: "a", needsBothSides: false)
      let fields = try table.readUpdate(&reader, UpdateFormat(symbol: "s"), book, into: &batch)
      try reader.end()
      #expect(fields.index == 0, "\(text)")
      (outcome.bids, outcome.asks, outcome.left) = (batch.bids, batch.asks, table.badLevels)
    } catch {
      outcome.error = .shape
    }
    // What was only guessed widens nothing.
    if let widened = table.widenIfNeeded(into: &batch) { #expect(widened.index == 0 && outcome.error != nil) }
    return outcome
  }

  @Test("are the same wherever their symbol stands, whatever the end of the message looks like")
  func symbolAnywhere() {
    var (used, refused) = (0, 0)
    for seed in testSeeds(2_000) {
      var random = SeededGenerator(seed: seed)
      func side(_ name: String) -> String {
        let count = Int.random(in: 0...3, using: &random)
        return "\"\(name)\":[\((0..<count).map { _ in Self.level(Self.cases[0], &random) }.joined(separator: ","))]"
      }
      var fields = [side("b"), side("a")]
      for other in [#""x":{"s":"ETHUSD"}"#, #""y":"\"s\":\"ETHUSD\"""#, #""z":{"s":"XRPUSD"}"#, #""u":7"#]
      where Int.random(in: 0..<3, using: &random) == 0 { fields.append(other) }
      fields.shuffle(using: &random)
      let first = [#""s":"BTCUSD""#] + fields
      fields.insert(first[0], at: Int.random(in: 0...fields.count, using: &random))
      let outcome = Self.update("{\(first.joined(separator: ","))}")
      let text = "{\(fields.joined(separator: ","))}"
      #expect(outcome == Self.update(text), "TIDEGATE_SEED=\(seed): \(text)")
      if outcome.error == nil { used += 1 } else { refused += 1 }
    }
    #expect(used > 500 && refused > 100)
  }
}
