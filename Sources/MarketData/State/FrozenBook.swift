/// Detects a book that no longer changes although quotes and trades contradict it.
///
/// A book whose channel has died looks like the book of a quiet market. Other channels show the difference: a bid at or
/// above the book's ask, or a trade beyond its best price, must have removed orders from it. Venues send books in
/// batches or on separate connections, so the book may be late. Therefore a contradiction counts only if it lasts; any
/// change of the book ends it.
struct FrozenBook {
  /// How long a contradiction must last, µs. Books come at most a second after quotes and trades on every venue.
  static let patience = 5 * Microseconds.second
  /// Trades further apart than this do not count together: some venues sometimes print trades that were made outside
  /// the book.
  static let memory = Microseconds.minute

  /// Since when quotes have been at or beyond the book's opposite best price.
  private(set) var quoteSince: Timestamp?
  private var firstTrade: Timestamp?
  private var lastTrade = Timestamp.distantPast

  /// Clears the contradictions, because the book changed or is out of sync.
  mutating func bookChanged() {
    quoteSince = nil
    firstTrade = nil
  }

  mutating func quoteReturned() { quoteSince = nil }

  mutating func quoteWentThrough(now: Timestamp) { quoteSince = quoteSince ?? now }

  /// Returns whether trades have contradicted the book for long enough.
  mutating func tradeWentThrough(now: Timestamp) -> Bool {
    if now - lastTrade > Self.memory { firstTrade = nil }
    lastTrade = now
    guard let firstTrade else {
      self.firstTrade = now
      return false
    }
    return now - firstTrade >= Self.patience
  }
}
