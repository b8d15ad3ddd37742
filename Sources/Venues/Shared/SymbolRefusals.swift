import Bytes
import MarketData

/// Symbols that a venue refused, and when each is asked for again: slowly, and for ever. A market may be halted today
/// and listed tomorrow, and a gateway is not to be restarted for that.
///
/// Each wait is twice the one before, from `firstWait` to `lastWait`. What is due within a minute of each other is
/// asked for together, so that there is at most one round a minute, however many there are. Bounded by the symbols
/// that are configured.
package struct SymbolRefusals: Sendable {
  package static let firstWait = Microseconds.minute
  package static let lastWait = 30 * Microseconds.minute

  private struct Entry {
    var backoff = Backoff(first: SymbolRefusals.firstWait, limit: SymbolRefusals.lastWait)
    var due: Timestamp
  }
  private var entries: [String: Entry] = [:]
  private var lastRound = Timestamp.distantPast

  package var isEmpty: Bool { entries.isEmpty }

  /// A symbol was refused. Returns when it is asked for again.
  mutating func note(_ symbol: String, now: Timestamp) -> Timestamp {
    var entry = entries[symbol] ?? Entry(due: now)
    // Refused again before its time, as a new connection asks for everything: the wait goes on.
    if entry.due <= now { entry.due = now + entry.backoff.next() }
    entries[symbol] = entry
    return entry.due
  }

  /// The symbol is followed.
  mutating func forget(_ symbol: String) { entries[symbol] = nil }

  /// The symbols to be asked for now, in order; their next times are set. Empty if none is due, or the last round was
  /// less than a minute ago.
  mutating func takeDue(now: Timestamp) -> [String] {
    guard !entries.isEmpty, now - lastRound >= Self.firstWait, entries.contains(where: { $0.value.due <= now }) else {
      return []
    }
    lastRound = now
    let symbols = entries.filter { $0.value.due <= now + Self.firstWait }.keys.sorted()
    for symbol in symbols { entries[symbol]!.due = now + entries[symbol]!.backoff.next() }
    return symbols
  }
}
