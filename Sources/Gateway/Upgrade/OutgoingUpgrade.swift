import Operations

/// An upgrade in the serving process. A value: messages and time in, actions out.
///
///     idle ──request──▸ warming ──ready──▸ writing ──handedOver──▸ taking ──serving──▸ leaving
///
/// While the next process warms up, nothing changes here: after a failure, this process continues, and can start
/// another upgrade. From `writing` on this process cannot go back, because its feeds have ended and the other process
/// has the data file. If the next process fails then, this process ends with a failure, so that the service manager
/// restarts it. Each phase has a time limit.
struct OutgoingUpgrade: Sendable {
  enum Action: Sendable, Equatable {
    /// Start the next process.
    case start
    case send(UpgradeMessage)
    /// End the feeds, write everything, and close the data file; `handedOver` says when that is done.
    case handOver
    /// The next process serves: send the clients to it, and end.
    case leave
    /// End the next process, if it exists.
    case endSuccessor
    /// Report that this process continues, and why.
    case goOn(reason: String)
    /// End with a failure.
    case giveUp(reason: String)
  }

  /// Why no upgrade begins, in words.
  struct UpgradeRefusal: Error, Equatable {
    let reason: String
  }

  /// The longest time in `writing`, µs: the file's own limits are shorter.
  static let writingLimit: Int64 = 30_000_000
  /// The time that the next process has to open the data file, with a migration, and to accept clients, µs.
  static let takingLimit: Int64 = 60_000_000
  /// How long after its time to warm up the next process may still report, µs.
  static let margin: Int64 = 10_000_000

  private(set) var phase = UpgradeReport.Phase.idle
  /// Connections to venues of the next process.
  private(set) var warmth: (live: Int, of: Int)?
  private var deadline = Int64.max
  /// The number of upgrades of this service before this process.
  let number: Int

  /// - Parameter number: the number of the upgrade that started this process; 0: none.
  init(number: Int = 0) { self.number = number }

  /// Begins an upgrade.
  /// - Parameters:
  ///   - seconds: the time that the next process has for its feeds.
  ///   - now: monotonic µs, as everywhere.
  mutating func request(warmSeconds seconds: Int, now: Int64) throws(UpgradeRefusal) -> [Action] {
    switch phase {
    case .idle: break
    case .warming, .writing, .taking: throw UpgradeRefusal(reason: "an upgrade is under way")
    case .leaving: throw UpgradeRefusal(reason: "another process serves already, and this one sends its clients there")
    case .ended: throw UpgradeRefusal(reason: "this process is ending")
    }
    phase = .warming
    warmth = nil
    deadline = now + Int64(seconds) * 1_000_000 + Self.margin
    return [.start]
  }

  /// The next process could not be started.
  mutating func couldNotStart(_ reason: String) -> [Action] { phase == .warming ? fail(reason) : [] }

  /// - Parameter message: nil: it could not be read.
  mutating func received(_ message: UpgradeMessage?, now: Int64) -> [Action] {
    switch (phase, message) {
    case (.idle, _), (.leaving, _), (.ended, _): return []
    case (.warming, .warming(let live, let all)):
      warmth = (live, all)
      return []
    case (.warming, .ready):
      phase = .writing
      deadline = now + Self.writingLimit
      return [.handOver]
    case (.taking, .serving):
      phase = .leaving
      deadline = .max
      return [.leave]
    case (_, .failed(let reason)): return fail(reason)
    default: return fail("the next process sent an unexpected message")
    }
  }

  /// The next process is gone.
  mutating func successorEnded(_ how: String) -> [Action] {
    phase == .idle || phase == .leaving || phase == .ended ? [] : fail("the next process is gone: \(how)")
  }

  /// The hand-over that `handOver` started is complete.
  mutating func handedOver(now: Int64) -> [Action] {
    guard phase == .writing else { return [] }
    phase = .taking
    deadline = now + Self.takingLimit
    return [.send(.yours(number + 1))]
  }

  mutating func tick(now: Int64) -> [Action] {
    guard now >= deadline else { return [] }
    switch phase {
    case .warming: return fail("the next process was not ready in time")
    case .writing: return fail("the data file could not be written in time")
    case .taking: return fail("the next process did not serve in time")
    case .idle, .leaving, .ended: return []
    }
  }

  /// This process ends for another reason: no upgrade can begin any more, and a running one ends.
  mutating func processEnds() -> [Action] {
    defer {
      if phase != .leaving { phase = .ended }
    }
    switch phase {
    case .warming, .writing, .taking: return [.endSuccessor]
    case .idle, .leaving, .ended: return []
    }
  }

  private mutating func fail(_ reason: String) -> [Action] {
    let canGoOn = phase == .warming
    phase = canGoOn ? .idle : .ended
    deadline = .max
    return [.endSuccessor, canGoOn ? .goOn(reason: reason) : .giveUp(reason: reason)]
  }
}
