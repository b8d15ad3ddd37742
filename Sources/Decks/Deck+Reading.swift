import Bytes
import MarketData

/// The mistakes in the file of a deck.
package struct DeckProblem: Error, Sendable, Equatable {
  /// The location: `cards[3].minutes`; empty for the whole file.
  package var field: String
  package var message: String
  /// The allowed values; empty if `message` names them.
  package var allowed: String

  package init(_ field: String, _ message: String, allowed: String = "") {
    self.field = field
    self.message = message
    self.allowed = allowed
  }
}

/// All mistakes in the file of a deck, up to a limit.
package struct DeckProblems: Error, Sendable, Equatable {
  package var problems: [DeckProblem]
}

extension Deck {
  /// The most problems of one file that are reported.
  static let problemLimit = 20

  /// Reads a deck from the JSON of its file. O(bytes).
  package static func read(_ bytes: [UInt8], name: String) throws(DeckProblems) -> Deck {
    guard bytes.count <= Limits.fileBytes else {
      throw DeckProblems(
        problems: [DeckProblem("", "has \(bytes.count) bytes", allowed: "at most \(Limits.fileBytes)")])
    }
    guard String(validating: bytes, as: UTF8.self) != nil else {
      throw DeckProblems(problems: [DeckProblem("", "is not UTF-8 text", allowed: "JSON in UTF-8")])
    }
    var reader = DeckReader()
    do throws(JSONError) { try reader.read(bytes) } catch {
      throw DeckProblems(problems: [DeckProblem("", "is not one JSON object: see byte \(error.offset)")])
    }
    return try reader.deck(name)
  }
}

/// Reads the parts of a deck. It continues after a mistake, so that it reports all mistakes at once.
private struct DeckReader {
  private static let fields = ["title", "starts", "cards"]
  private static let cardFields = ["quote", "action", "minutes", "domain", "source", "since"]

  private var problems: [DeckProblem] = []
  private var title: String?
  private var starts: Int64?
  private var cards: [DeckCard]?

  mutating func deck(_ name: String) throws(DeckProblems) -> Deck {
    if let cards, problems.isEmpty {
      let start = starts ?? 0
      if cards.isEmpty {
        problem("cards", "is empty", allowed: "1 to \(Deck.Limits.cards) cards")
      } else if cards.allSatisfy({ $0.since ?? start > start }) {
        problem(
          "cards", "has no card for the days from `starts` on", allowed: "at least one card without a later `since`")
      }
    } else if problems.isEmpty {
      problem("cards", "is missing", allowed: "a list of cards")
    }
    guard let cards, problems.isEmpty else { throw DeckProblems(problems: problems) }
    return Deck(name: name, title: title ?? name, starts: starts ?? 0, cards: cards)
  }

  private mutating func problem(_ field: String, _ message: String, allowed: String = "") {
    guard problems.count < Deck.problemLimit else { return }
    problems.append(DeckProblem(field, message, allowed: allowed))
  }

  mutating func read(_ bytes: [UInt8]) throws(JSONError) {
    var json = JSONScanner(bytes.span.bytes)
    try json.objectStart()
    var seen: Set<String> = []
    while let key = try json.nextKey() {
      let name = try json.decoded(key)
      guard isNew(name, &seen, among: Self.fields, path: "") else {
        try json.skipValue()
        continue
      }
      switch name {
      case "title": title = try text(&json, "title", Deck.Limits.title)
      case "starts": starts = try day(&json, "starts")
      default: cards = try cards(&json)
      }
    }
    try json.end()
  }

  /// Whether a field is known and appears for the first time.
  private mutating func isNew(
    _ name: String, _ seen: inout Set<String>, among known: [String], path: String
  ) -> Bool {
    guard known.contains(name) else {
      let shown = String(name.prefix(40))
      problem(
        path + shown, "there is no such field\(NearNames.question(shown, among: known))",
        allowed: known.joined(separator: ", "))
      return false
    }
    guard seen.insert(name).inserted else {
      problem(path + name, "appears twice", allowed: "each field once")
      return false
    }
    return true
  }

  private mutating func cards(_ json: inout JSONScanner) throws(JSONError) -> [DeckCard]? {
    guard json.peek() == .array else {
      problem("cards", "is not a list", allowed: "1 to \(Deck.Limits.cards) cards")
      try json.skipValue()
      return nil
    }
    var cards: [DeckCard] = []
    var count = 0
    try json.arrayStart()
    while try json.nextElement() {
      defer { count += 1 }
      guard count < Deck.Limits.cards else {
        if count == Deck.Limits.cards {
          problem("cards", "has too many", allowed: "at most \(Deck.Limits.cards)")
        }
        try json.skipValue()
        continue
      }
      if let card = try card(&json, "cards[\(count)]") { cards.append(card) }
    }
    return cards
  }

  private mutating func card(_ json: inout JSONScanner, _ path: String) throws(JSONError) -> DeckCard? {
    guard json.peek() == .object else {
      problem(path, "is not a card", allowed: "an object with \(Self.cardFields.joined(separator: ", "))")
      try json.skipValue()
      return nil
    }
    var seen: Set<String> = []
    var card = DeckCard(quote: "", action: "", minutes: 0, domain: .health, source: "")
    let before = problems.count
    try json.objectStart()
    while let key = try json.nextKey() {
      let name = try json.decoded(key)
      guard isNew(name, &seen, among: Self.cardFields, path: path + ".") else {
        try json.skipValue()
        continue
      }
      let location = "\(path).\(name)"
      switch name {
      case "quote": card.quote = try text(&json, location, Deck.Limits.quote) ?? ""
      case "action": card.action = try text(&json, location, Deck.Limits.action) ?? ""
      case "source": card.source = try text(&json, location, Deck.Limits.source) ?? ""
      case "minutes": card.minutes = try minutes(&json, location)
      case "domain": card.domain = try domain(&json, location) ?? .health
      default: card.since = try day(&json, location)
      }
    }
    for name in Self.cardFields.dropLast() where !seen.contains(name) {
      problem("\(path).\(name)", "is missing")
    }
    return problems.count == before ? card : nil
  }

  // MARK: Values

  /// The text of a string; nil for any other value, which is skipped.
  private func string(_ json: inout JSONScanner) throws(JSONError) -> String? {
    guard json.peek() == .string else {
      try json.skipValue()
      return nil
    }
    let slice = try json.string()
    return try json.decoded(slice)
  }

  private mutating func text(
    _ json: inout JSONScanner, _ location: String, _ limit: Int
  ) throws(JSONError) -> String? {
    let allowed = "1 to \(limit) characters without control characters, at most \(4 * limit) bytes"
    guard let text = try string(&json) else {
      problem(location, "is not a text", allowed: allowed)
      return nil
    }
    guard text.contains(where: { !$0.isWhitespace }) else {
      problem(location, "is empty", allowed: allowed)
      return nil
    }
    guard text.count <= limit, text.utf8.count <= 4 * limit else {
      problem(location, "has \(text.count) characters", allowed: allowed)
      return nil
    }
    guard text.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control }) else {
      problem(location, "has a control character", allowed: allowed)
      return nil
    }
    return text
  }

  private mutating func minutes(_ json: inout JSONScanner, _ location: String) throws(JSONError) -> Int {
    let range = Deck.Limits.minutes
    let allowed = "a whole number, \(range.lowerBound)…\(range.upperBound)"
    guard json.peek() == .number else {
      problem(location, "is not a number", allowed: allowed)
      try json.skipValue()
      return range.lowerBound
    }
    let slice = try json.number()
    guard let value = try? DecimalText.parse(json.text(slice), scale: 0), range.contains(Int(value)) else {
      problem(location, "is not allowed", allowed: allowed)
      return range.lowerBound
    }
    return Int(value)
  }

  private mutating func domain(_ json: inout JSONScanner, _ location: String) throws(JSONError) -> DeckDomain? {
    let known = DeckDomain.allCases.map(\.rawValue)
    guard let text = try string(&json) else {
      problem(location, "is not a text", allowed: known.joined(separator: ", "))
      return nil
    }
    guard let domain = DeckDomain(rawValue: text) else {
      let shown = String(text.prefix(40))
      problem(
        location, "\"\(shown)\" is not a domain\(NearNames.question(shown, among: known))",
        allowed: known.joined(separator: ", "))
      return nil
    }
    return domain
  }

  /// `2026-11-23` in days since 1970.
  private mutating func day(_ json: inout JSONScanner, _ location: String) throws(JSONError) -> Int64? {
    let text = try string(&json) ?? ""
    guard let day = CivilDate(text)?.daysSince1970 else {
      problem(location, "is not a date", allowed: "a date like 2026-11-23")
      return nil
    }
    return day
  }
}

extension CivilDate {
  /// Reads `2026-11-23`; nil if it is not such a day.
  init?(_ text: String) {
    let bytes = Array(text.utf8)
    guard bytes.count == 10, zip(bytes, "0000-00-00".utf8).allSatisfy({ $1 == 0x2D ? $0 == $1 : $0 &- 0x30 < 10 })
    else { return nil }
    func number(_ range: Range<Int>) -> Int64 { bytes[range].reduce(0) { $0 * 10 + Int64($1 - 0x30) } }
    self.init(year: number(0..<4), month: number(5..<7), day: number(8..<10))
    guard isValid else { return nil }
  }

  /// `2026-11-23`, of the years 0 to 9999.
  var text: String {
    func padded(_ value: Int64, _ count: Int) -> String {
      let digits = String(value)
      return String(repeating: "0", count: max(0, count - digits.count)) + digits
    }
    return "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))"
  }
}
