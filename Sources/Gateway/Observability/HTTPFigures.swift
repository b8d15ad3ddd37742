import Bytes

/// Counts the requests and answers of the client port. Owned by one loop.
struct HTTPFigures: Sendable {
  /// The labels of paths: one for each route, one for the console's files, one for all others. So unknown paths create
  /// no series.
  static let routes = Route.all.map(\.path) + ["console", "other"]

  struct Key: Hashable, Comparable, Sendable {
    /// The index in `routes`.
    let route: Int
    let status: Int
    static func < (one: Key, other: Key) -> Bool { (one.route, one.status) < (other.route, other.status) }
  }

  /// Requests answered. Bounded: statuses are those that the gateway itself gives.
  private(set) var answers: [Key: UInt64] = [:]
  /// The time from the head to the answer, ns, by the index in `routes`.
  private(set) var times = [Histogram](
    repeating: Histogram(from: 10_000, to: 10_000_000_000), count: HTTPFigures.routes.count)

  /// The index in `routes` of a path; nil: the request could not be read.
  static func place(of path: String?) -> Int {
    guard let path else { return routes.count - 1 }
    if let match = Route.find(path) { return match.index }
    return ConsoleFiles.embedded[path] == nil ? routes.count - 1 : routes.count - 2
  }

  /// - Parameter nanoseconds: nil if there was no wait: an upgrade, or an unreadable request.
  mutating func record(_ path: String?, status: Int, nanoseconds: UInt64? = nil) {
    let place = Self.place(of: path)
    answers[Key(route: place, status: status), default: 0] += 1
    if let nanoseconds { times[place].record(nanoseconds) }
  }

  mutating func add(_ other: HTTPFigures) {
    for (key, count) in other.answers { answers[key, default: 0] += count }
    for place in times.indices { times[place].add(other.times[place]) }
  }
}
