import Synchronization

/// Counts the changes of an instrument's content, so that the owner of a derived value can check from another thread,
/// without a request, whether the value is still up to date. Changes by time alone do not count.
///
/// The market's owner increments it with every change, before it reports the change. If a number is still the present
/// one, nothing had changed up to the moment of the check.
package final class ContentRevision: Sendable {
  package enum Part: Sendable {
    /// The book and whether it is in sync.
    case book
    /// Everything else: trades, quotes, figures and charts.
    case figures
  }

  private let book = Atomic<UInt64>(0)
  private let figures = Atomic<UInt64>(0)

  init() {}

  /// Callable from any thread. O(1), some ns.
  package func number(of part: Part) -> UInt64 {
    switch part {
    case .book: book.load(ordering: .acquiring)
    case .figures: figures.load(ordering: .acquiring)
    }
  }

  /// Only the market's owner calls this, so a load and a store are enough for an addition.
  package func raise(_ part: Part) {
    switch part {
    case .book: book.store(book.load(ordering: .relaxed) &+ 1, ordering: .releasing)
    case .figures: figures.store(figures.load(ordering: .relaxed) &+ 1, ordering: .releasing)
    }
  }
}
