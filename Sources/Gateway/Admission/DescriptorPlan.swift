import Access

/// Computes how many client connections the process has descriptors for.
package enum DescriptorPlan {
  /// Descriptors that are not for clients: standard streams, libraries, name resolution, files, pending refusals, the
  /// internal port, and those of each loop and feed.
  static func reserve(loops: Int, feeds: Int) -> Int {
    64 + Admission.refusingLimit + Admission.roomLimit + 256 + 4 * loops + 4 * feeds
  }

  /// Lowers `limits.clients` if `descriptors` do not suffice, and returns a text that says so; nil: they suffice. Half
  /// of the descriptors are for clients in any case.
  package static func fit(_ configuration: inout GatewayConfiguration, descriptors: Int) -> String? {
    let wanted = configuration.limits.clients
    let reserve = reserve(loops: configuration.loops, feeds: configuration.feeds.count)
    let possible = max(1, max(descriptors / 2, descriptors - reserve))
    guard wanted > possible else { return nil }
    configuration.limits.clients = possible
    return """
      limits.clients is \(wanted), but the process may open \(descriptors) descriptors (RLIMIT_NOFILE): \(possible) \
      connections are served. Raise the hard limit to \(wanted + reserve) (ulimit -Hn, LimitNOFILE=) or lower limits.clients
      """
  }
}

/// Turns counts of connections that were shed for lack of descriptors into log lines: one at the start, one in each
/// period, one at the end. A plain value without a clock.
struct ShedReport: Sendable {
  enum News: Equatable {
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

  /// - Parameter count: connections shed since the start of the process.
  mutating func look(_ count: Int, now: Int64) -> News? {
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
