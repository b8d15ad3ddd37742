import MarketData

/// The symbols that rules name, and which of them are live. A value.
struct AlertSymbols {
  /// The interval at which the store records which markets are live, µs.
  private static let interval = 5 * Microseconds.second

  /// The number of rules that name each symbol.
  private var uses: [String: Int] = [:]
  private var live: Set<String> = []
  private var recorded = Timestamp.distantPast

  /// All symbols, sorted.
  var all: [String] { uses.keys.sorted() }

  /// The live ones, sorted.
  var allLive: [String] { live.sorted() }

  func isUsed(_ symbol: String) -> Bool { uses[symbol] != nil }

  /// A rule that names the symbol was added.
  mutating func add(_ symbol: String) { uses[symbol, default: 0] += 1 }

  /// A rule that names the symbol was removed; true if it was the last one. No loop reports its values any more.
  mutating func remove(_ symbol: String) -> Bool {
    let count = uses[symbol, default: 0] - 1
    uses[symbol] = count > 0 ? count : nil
    if count <= 0 { live.remove(symbol) }
    return count <= 0
  }

  mutating func setLive(_ symbol: String, _ isLive: Bool) {
    if isLive { live.insert(symbol) } else { live.remove(symbol) }
  }

  /// Whether the store should record now which markets are live; then it counts as done.
  mutating func takeRecord(now: Timestamp) -> Bool {
    guard !live.isEmpty, now - recorded >= Self.interval || now < recorded else { return false }
    recorded = now
    return true
  }
}
