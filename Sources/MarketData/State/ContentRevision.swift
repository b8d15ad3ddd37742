import Synchronization

/// How often what an instrument shows has changed, so that anyone who keeps what was made from it can tell, on another
/// thread and without asking, whether it would be made the same again. What time alone changes is not counted.
///
/// The market's owner raises it with every change, before anybody can be told of the change. A number that is still the
/// present one says that nothing had changed up to the moment of the look.
package final class ContentRevision: Sendable {
  package enum Part: Sendable {
    /// The book and whether it is in sync.
    case book
    /// All the rest: trades, quotes, figures and charts.
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

  /// By the market's owner alone, so that a load and a store do for an addition.
  package func raise(_ part: Part) {
    switch part {
    case .book: book.store(book.load(ordering: .relaxed) &+ 1, ordering: .releasing)
    case .figures: figures.store(figures.load(ordering: .relaxed) &+ 1, ordering: .releasing)
    }
  }
}
