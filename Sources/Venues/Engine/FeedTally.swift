/// The counts of a connection, and its notices for people.
struct FeedTally {
  private static let noticeLimit = 16

  var counts = FeedCounts()
  /// By index.
  var symbols: [SymbolCounts] = []
  /// At most `noticeLimit`; the pipeline takes them.
  var notices: [(error: FeedError, text: String)] = []

  mutating func grow(to symbols: Int) { while self.symbols.count < symbols { self.symbols.append(SymbolCounts()) } }

  /// Keeps something that is no message of the venue's.
  mutating func note(_ error: FeedError, text: String) {
    if notices.count < Self.noticeLimit { notices.append((error, text)) }
  }
}
