import HTTP1

/// The time limits of an HTTP connection, and its number of requests.
package struct HTTPConnectionLimits: Sendable, Equatable {
  /// The time from a request's first byte to its head's end, s, 1…300. For the first request it starts with the
  /// connection. Bodies and responses have as long before `bytesPerSecond` applies.
  package var headSeconds = 10
  /// The idle time between requests, s, 1…3600. It is longer than that of common load balancers, so that they close
  /// first.
  package var idleSeconds = 75
  /// The least rate of a body or of a client that reads a response, bytes per second after the first `headSeconds`,
  /// 1…1,048,576.
  package var bytesPerSecond = 1_024
  /// Requests on one connection, 1…1,000,000,000, so that load balancers open new connections now and then.
  package var requests = 10_000

  package init() {}
}

/// Enforces the time limits of HTTP on a client: whole heads in time, a minimum rate of bodies and responses, and a
/// limit for idling. Sans-IO: events and their times go in, overdue limits come out.
struct HTTPWatch {
  /// The phase of the connection.
  enum Phase: Equatable {
    /// Nothing has arrived on a fresh connection.
    case fresh
    /// Between requests.
    case idle
    case head
    /// Bytes of the body so far.
    case body(Int)
    /// The client waits for the gateway's answer.
    case answering
    /// Bytes of responses that the client has taken since it first did not take one at once.
    case sending(Int)

    /// Whether the phases are the same, apart from counts.
    fileprivate func continues(_ other: Phase) -> Bool {
      switch (self, other) {
      case (.body, .body), (.sending, .sending), (.fresh, .idle), (.idle, .fresh): true
      default: self == other
      }
    }
  }

  /// What to do about a client that is too slow.
  enum Overdue: Equatable {
    /// Close without an answer: the client waits for none.
    case idle
    /// Answer 408 with these words, and close.
    case request(String)
    /// Cut it off: the client does not read.
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

  /// The connection enters `phase`; a phase that continues keeps its start. `.fresh` becomes `.idle` only after the
  /// first input.
  mutating func enter(_ phase: Phase, at now: Int64) {
    // The first head counts from the start of the connection: a client that waits is as slow as one that sends slowly.
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
      return .request("the request's body was slower than \(limits.bytesPerSecond) bytes/s")
    case .answering: return nil
    case .sending(let count): return isSlow(count, elapsed) ? .response : nil
    }
  }

  private func isSlow(_ count: Int, _ elapsed: Int64) -> Bool {
    let counted = elapsed - Int64(limits.headSeconds) * 1_000_000
    return counted > 0 && Int64(count) < counted / 1_000_000 * Int64(limits.bytesPerSecond)
  }
}
