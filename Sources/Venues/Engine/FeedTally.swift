/// What a connection has seen and what of it people are to read: counts, and notices with a text of their own.
struct FeedTally {
  private static let noticeLimit = 16

  var counts = FeedCounts()
  /// By place.
  var symbols: [SymbolCounts] = []
  /// At most `noticeLimit`; the pipeline takes them.
  var notices: [(error: FeedError, text: String)] = []

  mutating func grow(to symbols: Int) { while self.symbols.count < symbols { self.symbols.append(SymbolCounts()) } }

  /// Keeps something that is no message of the venue's.
  mutating func note(_ error: FeedError, text: String) {
    if notices.count < Self.noticeLimit { notices.append((error, text)) }
  }
}
