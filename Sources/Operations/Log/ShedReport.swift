/// Turns counts of connections that were shed for lack of descriptors into log lines: one at the start, one in each
/// period, one at the end. A plain value without a clock.
package struct ShedReport: Sendable {
  package enum News: Equatable {
    /// So many connections were turned away since the last line.
    case exhausted(Int)
    /// None was turned away for a whole period; so many were in all.
    case recovered(Int)
  }

  /// The time between two lines, µs.
  static let period: Int64 = 10_000_000

  private var told = 0
  private var toldAt = Int64.min / 2
  private var lastAt = Int64.min / 2
  private var seen = 0
  private var began: Int?

  package init() {}

  /// - Parameter count: connections shed since the start of the process.
  package mutating func look(_ count: Int, now: Int64) -> News? {
    if count > seen {
      seen = count
      lastAt = now
    }
    if count > told, now - toldAt >= Self.period {
      defer {
        if began == nil { began = told }
        told = count
        toldAt = now
      }
      return .exhausted(count - told)
    }
    if let first = began, count == told, now - lastAt >= Self.period {
      began = nil
      return .recovered(count - first)
    }
    return nil
  }
}
