import MarketData

/// Tells a connection that lives from one that does not, by what comes on it.
///
/// Two silences, which are not the same:
/// - **of the socket**: nothing comes at all, though pings went out. Any frame ends it, a pong and the answer to an
///   application ping among them, and that is all that those prove.
/// - **of the market**: nothing comes of any market, and no heartbeat that the venue sends by itself. Pongs and
///   answers change nothing about it.
///
/// A value; time is a parameter. The owner of the connection calls `heard` for each frame and `check` a few times a
/// second.
package struct ConnectionWatch: Sendable {
  /// After this much silence of the socket a ping is sent, µs.
  package static let probeAfter = 2 * Microseconds.second
  /// A ping is sent at least this often, µs, whatever comes: some venues end a connection without any for a minute.
  package static let pingEvery = 30 * Microseconds.second
  /// A ping that is not answered for this long makes the feed stale, µs, where the venue has answered one before.
  package static let probeLimit = 2 * Microseconds.second
  /// A socket on which nothing came for so long is dead, µs: half-open, or a host that is gone.
  package static let deadAfter = 12 * Microseconds.second
  /// Longer between two checks, µs, and it was not the venue that stood still.
  package static let longestPause = Microseconds.second

  package enum Health: Sendable, Equatable {
    case fine
    /// Nothing that it shows is to be believed to be the present; the connection is kept.
    case stale(String)
    /// Another connection is to be made.
    case dead(String)
  }

  private let staleAfter: Int64
  private var frameAt: Timestamp
  private var marketAt: Timestamp
  private var checkedAt: Timestamp
  /// When the ping went out that nothing has come after; nil if there is none.
  private var probedAt: Timestamp?
  /// When the last ping went out.
  private var pingedAt: Timestamp
  private var answersPings = false
  /// Whether anything of a market has come yet: before that, nothing on the connection shows that the venue speaks.
  package private(set) var hasHeardMarket = false

  /// A connection that has just been opened; the first ping is due at once.
  /// - Parameter staleAfter: see `Cadence.staleAfter`, µs.
  package init(staleAfter: Int64, now: Timestamp) {
    self.staleAfter = staleAfter
    frameAt = now
    marketAt = now
    checkedAt = now
    pingedAt = now
  }

  /// A ping went out.
  package mutating func probed(now: Timestamp) {
    probedAt = now
    pingedAt = now
  }

  /// Anything came.
  package mutating func heard(isPong: Bool = false, now: Timestamp) {
    frameAt = now
    probedAt = nil
    if isPong { answersPings = true }
  }

  /// Something of a market came, or a heartbeat that the venue sends by itself.
  package mutating func heardMarket(now: Timestamp) {
    marketAt = now
    hasHeardMarket = true
  }

  /// Whether another ping is due.
  package func isProbeDue(now: Timestamp) -> Bool {
    probedAt == nil && (now - frameAt > Self.probeAfter || now - pingedAt >= Self.pingEvery)
  }

  /// - Parameter expectsMarket: whether the venue has anything to send: false while nothing is subscribed.
  package mutating func check(now: Timestamp, expectsMarket: Bool) -> Health {
    let pause = now - checkedAt
    checkedAt = now
    // This process did not run, or its clock was set: what came meanwhile waits to be read.
    if pause > Self.longestPause {
      shift(by: pause)
      frameAt = min(frameAt, now)
      marketAt = min(marketAt, now)
      probedAt = probedAt.map { min($0, now) }
    }
    if !expectsMarket { marketAt = now }
    let silence = now - frameAt
    if silence >= Self.deadAfter {
      return .dead("nothing came for \(silence / Microseconds.second) s, no answer to a ping either")
    }
    let quiet = now - marketAt
    if quiet >= 2 * staleAfter { return .dead("no market data for \(quiet / Microseconds.second) s") }
    if quiet >= staleAfter { return .stale("no market data for \(quiet / Microseconds.second) s") }
    if answersPings, let probedAt, now - probedAt > Self.probeLimit {
      return .stale("no answer to a ping for \((now - probedAt) / Microseconds.second) s")
    }
    return .fine
  }

  /// The clock was moved by `span`.
  package mutating func timeJumped(by span: Int64) {
    shift(by: span)
    checkedAt = checkedAt + span
  }

  private mutating func shift(by span: Int64) {
    frameAt = frameAt + span
    marketAt = marketAt + span
    pingedAt = pingedAt + span
    probedAt = probedAt.map { $0 + span }
  }
}
