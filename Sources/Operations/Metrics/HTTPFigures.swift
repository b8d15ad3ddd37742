import Bytes

/// Counts the requests and answers of the client port. Owned by one loop.
package struct HTTPFigures: Sendable {
  package struct Key: Hashable, Comparable, Sendable {
    /// The index in `labels`.
    package let route: Int
    package let status: Int
    package static func < (one: Key, other: Key) -> Bool { (one.route, one.status) < (other.route, other.status) }
  }

  /// The labels of routes. They are fixed, so that unknown paths create no series.
  let labels: [String]
  /// Requests answered. Bounded: statuses are those that the gateway itself gives.
  private(set) var answers: [Key: UInt64] = [:]
  /// The time from the head to the answer, ns, by the index in `labels`.
  private(set) var times: [Histogram]

  package init(labels: [String]) {
    self.labels = labels
    times = [Histogram](repeating: Histogram(from: 10_000, to: 10_000_000_000), count: labels.count)
  }

  /// - Parameters:
  ///   - route: the index in `labels`.
  ///   - nanoseconds: nil if there was no wait: an upgrade, or an unreadable request.
  package mutating func record(route: Int, status: Int, nanoseconds: UInt64? = nil) {
    answers[Key(route: route, status: status), default: 0] += 1
    if let nanoseconds { times[route].record(nanoseconds) }
  }

  /// Adds the figures of another loop, which have the same labels.
  mutating func add(_ other: HTTPFigures) {
    for (key, count) in other.answers { answers[key, default: 0] += count }
    for index in times.indices { times[index].add(other.times[index]) }
  }
}
