import Bytes

/// Whether and when the client connects again.
struct Reconnection: Sendable {
  /// The longest `Retry-After` that the client respects, ns.
  static let retryAfterLimit: UInt64 = 600_000_000_000

  private let first: Int64, last: Int64
  private var random: UInt64
  /// Attempts since a connection worked.
  private(set) var attempt = 0
  /// When to connect; nil: not by itself.
  private(set) var dueAt: UInt64?
  /// Whether a gateway has answered: the URL leads to one.
  private var hasMetGateway = false
  /// Why the client does not connect again; nil: it does.
  private(set) var end: ConnectionFailure?

  /// - Parameter seed: of the jitter.
  init(_ backOff: ClosedRange<Duration>, seed: UInt64) {
    first = Int64(clamping: backOff.lowerBound.nanoseconds)
    last = Int64(clamping: backOff.upperBound.nanoseconds)
    random = seed
  }

  /// A gateway has answered.
  mutating func meet() { hasMetGateway = true }

  /// The connection works: the back-off begins anew with the next failure.
  mutating func works() { attempt = 0 }

  /// How long to wait before the next attempt, ns; nil: there is none.
  /// - Parameter least: the shortest wait, ns.
  mutating func wait(after failure: ConnectionFailure, notBefore least: UInt64, now: UInt64) -> UInt64? {
    let prospect = failure.prospect
    if prospect == .lasts || prospect == .passesOnceMet && !hasMetGateway {
      finish(failure)
      return nil
    }
    // Jitter is added, so that clients with the same `Retry-After` do not reconnect together.
    let wait = attempt == 0 && failure.isOrderly ? 0 : least + backOff()
    attempt += 1
    dueAt = now + wait
    return wait
  }

  /// The client does not connect again.
  mutating func finish(_ failure: ConnectionFailure) { end = failure }

  /// Whether to connect now.
  mutating func takeDue(_ now: UInt64) -> Bool {
    guard let dueAt, dueAt <= now else { return false }
    self.dueAt = nil
    return true
  }

  /// Does not wait any longer; false: the client does not wait.
  mutating func hurry() -> Bool {
    guard dueAt != nil else { return false }
    dueAt = nil
    attempt = 0
    return true
  }

  /// Full jitter: uniform from zero to a limit that doubles with each attempt, so that the clients of a gateway do not
  /// all reconnect at once.
  private mutating func backOff() -> UInt64 {
    let cap = UInt64(Backoff.ceiling(first: first, limit: last, attempts: attempt))
    // SplitMix64: small, seeded, and good enough for jitter.
    random &+= 0x9E37_79B9_7F4A_7C15
    var z = random
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return (z ^ (z >> 31)) % (cap + 1)
  }
}

extension ConnectionFailure {
  /// Whether the gateway ended the connection because it stops or moves its clients.
  fileprivate var isOrderly: Bool {
    switch self {
    case .closed(4200...4299, _), .draining: true
    default: false
    }
  }
}
