/// Detects a book that no longer changes although quotes and trades contradict it.
///
/// A book whose channel has died looks like the book of a quiet market. Other channels show the difference: a bid
/// at or above the book's ask, or a trade beyond its best price, must have removed orders from it. Where a venue
/// sends quotes and books of the same orders, a change of the quote must be followed by one of the book. Venues
/// send books in batches or on separate connections, so the book may be late. Therefore a contradiction counts only
/// if it lasts; any change of the book ends it.
struct FrozenBook {
  /// How long a contradiction must last, µs. Books come at most a second after quotes and trades on every venue.
  static let patience = 5 * Microseconds.second
  /// Trades further apart than this do not count together: some venues sometimes print trades that were made outside
  /// the book.
  static let memory = Microseconds.minute

  /// Quotes at or beyond the book's opposite best price.
  private(set) var quotes = ChannelDoubt()
  private var trades = ChannelDoubt()
  /// A quote that has changed since the book last did.
  private(set) var lead = ChannelDoubt()

  /// Clears the contradictions, because the book changed or is out of sync.
  mutating func bookChanged() {
    quotes.end()
    trades.end()
    lead.end()
  }

  mutating func quoteReturned() { quotes.forget() }

  mutating func quoteWentThrough(now: Timestamp) { quotes.begin(now: now) }

  mutating func quoteMoved(now: Timestamp) { lead.begin(now: now) }

  /// Returns whether trades have contradicted the book for long enough.
  mutating func tradeWentThrough(now: Timestamp) -> Bool {
    trades.note(patience: Self.patience, memory: Self.memory, since: .distantPast, now: now)
  }
}
