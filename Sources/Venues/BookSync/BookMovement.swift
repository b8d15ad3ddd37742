import MarketData

/// Tells a book that has stopped from a quiet one.
///
/// A trade takes what it was made with out of the book, so one that is newer than the book's last change announces a change. If none
/// comes, the updates of that book are lost, however alive the connection is.
struct BookMovement {
  /// How much newer than the book a trade must be, µs: the two are stamped by different servers of a venue.
  static let tolerance = 2 * Microseconds.second
  /// How long the change may take, µs.
  static let patience = 10 * Microseconds.second

  private var moved: Timestamp?
  private var owedSince: Timestamp?

  /// A snapshot or a change of the book, with the venue's time.
  mutating func bookMoved(_ time: Timestamp) {
    moved = time
    owedSince = nil
  }

  /// A trade of now, with the venue's time.
  mutating func traded(_ time: Timestamp, now: Timestamp) {
    guard let moved, owedSince == nil, time - moved > Self.tolerance else { return }
    owedSince = now
  }

  /// Whether a change is owed for longer than it may take.
  func hasStopped(now: Timestamp) -> Bool { owedSince.map { now - $0 >= Self.patience } ?? false }

  /// The book is out of sync, or begins anew.
  mutating func reset() {
    moved = nil
    owedSince = nil
  }
}
