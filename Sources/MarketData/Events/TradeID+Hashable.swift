extension TradeID: Hashable {
  @usableFromInline
  package static func == (a: TradeID, b: TradeID) -> Bool {
    guard a.length == b.length else { return false }
    for index in 0..<Int(a.length) where a.storage[index] != b.storage[index] { return false }
    return true
  }

  @usableFromInline
  package func hash(into hasher: inout Hasher) {
    for index in 0..<Int(length) { hasher.combine(storage[index]) }
  }

  /// Whether the venue sent no id.
  package var isEmpty: Bool { length == 0 }
}
