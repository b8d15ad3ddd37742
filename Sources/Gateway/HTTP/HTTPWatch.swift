import HTTP1

/// How long an HTTP connection may take, and how often it may ask.
package struct HTTPConnectionLimits: Sendable, Equatable {
  /// From a request's first byte (for the first request of a connection: from the connection's begin) to its head's
  /// end, s, 1…300. A body, and a client that takes a response, may rest as long before `bytesPerSecond` counts.
  package var headSeconds = 10
  /// Without a request under way, s, 1…3600. Longer than the idle time of the usual balancers, so that they end first.
  package var idleSeconds = 75
  /// The least a body must come, and a response must be taken, per second after the first `headSeconds`, 1…1,048,576.
  package var bytesPerSecond = 1_024
  /// Requests on one connection, 1…1,000,000,000, so that balancers see fresh ones now and then.
  package var requests = 10_000

  package init() {}
}

/// Enforces the time limits of HTTP on a client: whole heads in time, a minimum rate of bodies and responses, and a
/// limit for idling. Sans-IO: events and their times go in, overdue limits come out.
struct HTTPWatch {
  /// What the connection is at.
  enum Phase: Equatable {
    /// Nothing has come on a fresh connection.
    case fresh
    /// Between requests.
    case idle
    case head
    /// Bytes of the body so far.
    case body(Int)
    /// The client waits for the gateway's answer.
    case answering
    /// Bytes of responses the client has taken since the first that it did not take at once.
    case sending(Int)

    /// The same but for counts.
    fileprivate func continues(_ other: Phase) -> Bool {
      switch (self, other) {
      case (.body, .body), (.sending, .sending), (.fresh, .idle), (.idle, .fresh): true
      default: self == other
      }
    }
  }

  /// What to do about a client that is too slow.
  enum Overdue: Equatable {
    /// Close without a word: it is not waiting for one.
    case idle
    /// Answer 408 with these words, and close.
    case request(String)
    /// Cut it off: it does not take what is sent.
    case response
  }

  private let limits: HTTPConnectionLimits
  private(set) var phase = Phase.fresh
  /// When the phase began, monotonic µs.
  private var since: Int64

  /// A connection that began at `now`, monotonic µs.
  init(_ limits: HTTPConnectionLimits, now: Int64) {
    self.limits = limits
    self.since = now
  }

  /// The connection is at `phase`; a phase that continues keeps its begin. `.idle` stays `.fresh` until something has
  /// come.
  mutating func enter(_ phase: Phase, at now: Int64) {
    // The first head is counted from the connection's begin: connecting and waiting is as slow as sending slowly.
    let isFirstHead = self.phase == .fresh && phase == .head
    if !self.phase.continues(phase), !isFirstHead { since = now }
    if !(self.phase == .fresh && phase == .idle) { self.phase = phase }
  }

  /// What is overdue at `now`; nil if nothing is.
  func overdue(at now: Int64) -> Overdue? {
    let elapsed = now - since
    switch phase {
    case .fresh: return elapsed > Int64(limits.headSeconds) * 1_000_000 ? .idle : nil
    case .idle: return elapsed > Int64(limits.idleSeconds) * 1_000_000 ? .idle : nil
    case .head:
      guard elapsed > Int64(limits.headSeconds) * 1_000_000 else { return nil }
      return .request("the request's head was not complete after \(limits.headSeconds) s")
    case .body(let count):
      guard isSlow(count, elapsed) else { return nil }
      return .request("the request's body came slower than \(limits.bytesPerSecond) bytes/s")
    case .answering: return nil
    case .sending(let count): return isSlow(count, elapsed) ? .response : nil
    }
  }

  private func isSlow(_ count: Int, _ elapsed: Int64) -> Bool {
    let counted = elapsed - Int64(limits.headSeconds) * 1_000_000
    return counted > 0 && Int64(count) < counted / 1_000_000 * Int64(limits.bytesPerSecond)
  }
}
