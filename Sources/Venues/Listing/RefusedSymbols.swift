/// Configured symbols that cannot be followed. Each refusal is reported once. A value.
struct RefusedSymbols {
  /// Reported once a connection, and once each time they have been asked for again.
  private var reported: Set<String> = []
  /// Those that no list of the venue's can change: no symbols, or of a kind that is not followed here.
  private var hopeless: Set<String> = []

  /// Notes a refusal; false if it was reported before.
  mutating func note(_ symbol: String, isForGood: Bool = false) -> Bool {
    if isForGood { hopeless.insert(symbol) }
    return reported.insert(symbol).inserted
  }

  func isHopeless(_ symbol: String) -> Bool { hopeless.contains(symbol) }

  /// They are asked for again.
  mutating func forget(_ symbols: [String]) { for symbol in symbols { reported.remove(symbol) } }

  /// The connection is gone: what the next one refuses is reported again.
  mutating func disconnected() { reported.removeAll() }
}
