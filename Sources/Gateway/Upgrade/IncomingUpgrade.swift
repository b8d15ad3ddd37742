/// An upgrade in the process that takes over. A value: messages and time in, actions out.
///
/// It warms up until all of its connections are live, or for a limited time. Then it sends `ready` and waits for
/// `yours`. A failure before that ends this process, and the other process continues to serve.
struct IncomingUpgrade: Sendable {
  enum Phase: Sendable {
    case warming, waiting, taking, ended
  }

  enum Action: Sendable, Equatable {
    case send(UpgradeMessage)
    /// This process has the data file and the ports now: open them. With the number of the upgrade.
    case take(number: Int)
    /// End, and report why.
    case giveUp(reason: String)
  }

  /// The progress of the feeds.
  struct Warmth: Sendable, Equatable {
    /// Connections to venues.
    var live = 0
    var all = 0
    /// Venues all of whose connections are live.
    var venues = 0
  }

  /// How long this process waits for `yours`, µs: as long as the other process may write, and a little more.
  static let waitLimit = OutgoingUpgrade.writingLimit + OutgoingUpgrade.margin

  private(set) var phase = Phase.warming
  private var warmth = Warmth()
  private let required: Int
  private var deadline: Int64

  /// - Parameters:
  ///   - required: venues that must be live (`ready-feeds`).
  ///   - seconds: the time to wait for connections that are not live.
  ///   - now: monotonic µs, as everywhere.
  init(required: Int, warmSeconds seconds: Int, now: Int64) {
    self.required = required
    deadline = now + Int64(seconds) * 1_000_000
  }

  mutating func feeds(_ warmth: Warmth, now: Int64) -> [Action] {
    guard phase == .warming, warmth != self.warmth else { return [] }
    self.warmth = warmth
    let progress = [Action.send(.warming(live: warmth.live, of: warmth.all))]
    return warmth.live == warmth.all && warmth.venues >= required ? progress + offer(now) : progress
  }

  /// - Parameter message: nil: it could not be read.
  mutating func received(_ message: UpgradeMessage?) -> [Action] {
    switch (phase, message) {
    case (.waiting, .yours(let number)):
      phase = .taking
      deadline = .max
      return [.take(number: number)]
    case (.taking, _), (.ended, _): return []
    default: return giveUp("the serving process sent an unexpected message")
    }
  }

  /// The other process has ended. After it has handed over, that is expected.
  mutating func predecessorEnded() -> [Action] {
    phase == .warming || phase == .waiting ? giveUp("the serving process has ended") : []
  }

  mutating func tick(now: Int64) -> [Action] {
    guard now >= deadline else { return [] }
    switch phase {
    case .warming where warmth.venues >= required: return offer(now)
    case .warming:
      return giveUp(
        "\(warmth.live) of \(warmth.all) connections are live in time; ready-feeds requires \(required) venues")
    case .waiting: return giveUp("the serving process did not hand over in time")
    case .taking, .ended: return []
    }
  }

  private mutating func offer(_ now: Int64) -> [Action] {
    phase = .waiting
    deadline = now + Self.waitLimit
    return [.send(.ready)]
  }

  private mutating func giveUp(_ reason: String) -> [Action] {
    phase = .ended
    deadline = .max
    return [.send(.failed(reason)), .giveUp(reason: reason)]
  }
}
