import MarketData

/// A list of markets that comes in the stream, in parts that are asked for together. A value; time is a parameter.
struct StreamedParts {
  private let list: DialectFacts.StreamedList?
  /// Nil what is awaited; empty while nothing is.
  private var parts: [[ListedMarket]?] = []
  private var due: Timestamp?
  /// How often in a row it did not come.
  private(set) var attempts = 0
  /// Whether all of it has come on this connection, and no newer one is awaited.
  private(set) var isThere = false

  init(_ list: DialectFacts.StreamedList?) { self.list = list }

  mutating func connected() { attempts = 0 }

  mutating func disconnected() {
    parts = []
    due = nil
    isThere = false
  }

  /// The parts to ask for: those that have not come, of a list that has all of them anew.
  mutating func begin(now: Timestamp) -> [Int] {
    guard let list else { return [] }
    if parts.isEmpty {
      isThere = false
      parts = Array(repeating: nil, count: list.parts)
    }
    due = now + list.within
    return parts.indices.filter { parts[$0] == nil }
  }

  /// Whether it is overdue, which is one more attempt.
  mutating func takeOverdue(now: Timestamp) -> Bool {
    guard let due, now >= due else { return false }
    attempts += 1
    return true
  }

  /// A part has come; false if it is not awaited.
  mutating func take(_ markets: [ListedMarket], part: Int) -> Bool {
    guard parts.indices.contains(part) else { return false }
    parts[part] = markets
    return true
  }

  /// All of the list, once every part is there; it is handed over once.
  mutating func takeWhole() -> [ListedMarket]? {
    let whole = parts.compactMap(\.self)
    guard whole.count == parts.count else { return nil }
    parts = []
    isThere = true
    due = nil
    attempts = 0
    return Array(whole.joined())
  }
}
