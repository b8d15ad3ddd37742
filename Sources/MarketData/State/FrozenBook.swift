/// What contradicts a book while it stands still: quotes and trades through its best price.
///
/// A book whose channel has died looks like that of a quiet market. What tells them apart is what comes beside it: a
/// bid at or above the book's ask, or a trade beyond its best, must have taken orders out of it. Batches and
/// connections of their own let the book come late, so a contradiction counts only when it lasts; any change of the
/// book ends it.
struct FrozenBook {
  /// How long a contradiction must last, µs. Books come at most a second after quotes and trades on every venue.
  static let patience = 5 * Microseconds.second
  /// Trades further apart are no common contradiction: some venues print trades that were made off the book now and
  /// then.
  static let memory = Microseconds.minute

  /// Since when quotes have been through the book's best.
  private(set) var quoteSince: Timestamp?
  private var firstTrade: Timestamp?
  private var lastTrade = Timestamp.distantPast

  /// The book changed, or is out of sync: nothing contradicts it.
  mutating func bookChanged() {
    quoteSince = nil
    firstTrade = nil
  }

  mutating func quoteReturned() { quoteSince = nil }

  mutating func quoteWentThrough(now: Timestamp) { quoteSince = quoteSince ?? now }

  /// Returns whether trades have gone through for long enough.
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
