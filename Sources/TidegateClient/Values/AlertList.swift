import Foundation

/// The alerts of the owner whose token the client shows: the gateway's snapshot and what has changed since.
public struct AlertList: Sendable, Hashable {
  /// In the order in which the gateway named them.
  public private(set) var alerts: [Alert] = []
  /// Whether the gateway stores them; false: they are lost when its process ends.
  public private(set) var isKept = true
  /// The index of each alert in `alerts`.
  private var indices: [String: Int] = [:]

  /// The largest number of rules of an owner here.
  static let limit = 100_000

  init(isKept: Bool) { self.isKept = isKept }

  /// The ringing alerts: fired and not acknowledged.
  public var ringing: [Alert] { alerts.filter { $0.state == .alerting } }

  /// The alert of an id. O(1).
  public subscript(id: String) -> Alert? { indices[id].map { alerts[$0] } }

  /// Replaces the alert with the same id. O(1) each, and O(alerts) if some are removed. False if there would be too
  /// many.
  mutating func apply(_ changed: [Alert], removed: [String]) -> Bool {
    for alert in changed {
      if let index = indices[alert.id] {
        alerts[index] = alert
      } else {
        guard alerts.count < Self.limit else { return false }
        indices[alert.id] = alerts.count
        alerts.append(alert)
      }
    }
    let gone = Set(removed)
    guard !gone.isDisjoint(with: indices.keys) else { return true }
    alerts.removeAll { gone.contains($0.id) }
    indices = Dictionary(uniqueKeysWithValues: alerts.enumerated().map { ($1.id, $0) })
    return true
  }
}

/// A rule that the gateway watches, with its state and firings.
public struct Alert: Sendable, Hashable, Identifiable {
  /// A firing of a rule.
  public struct Firing: Sendable, Hashable {
    /// Counts the rule's firings from 1.
    public var number: Int64
    /// When.
    public var time: Date
    /// The market of the firing; nil for clocks.
    public var symbol: String?
    /// The value that was reached: a price, a percentage, a size.
    public var value: ExactDecimal?
    /// The longest time since the price crossed while the gateway could not see it; nil: the gateway saw it.
    public var lateBy: Duration?
    /// Whether it rings again after a snooze.
    public var isReminder = false
    /// The number of times at which a clock alarm should have rung and did not.
    public var missed = 0
  }

  /// The gateway's.
  public var id: String
  /// Its owner's name for it.
  public var name: String
  /// Its present state.
  public var state: AlertState
  /// The rule, as JSON text, as the guide Alerts describes it.
  public var rule: String
  /// When it was made.
  public var created: Date
  /// Grows with each change of the rule.
  public var revision: Int64
  /// How often it has fired, and how many of these are acknowledged.
  public var firings: Int64, acknowledged: Int64
  /// When it rings or watches next.
  public var next: Date?
  /// From when on it watches, if it does not know yet which prices to compare with.
  public var watchingFrom: Date?
  /// The newest firing.
  public var firing: Firing?
}

/// The state of an alert.
public enum AlertState: OpenState {
  /// Waits for its time.
  case scheduled
  /// Watches, or counts down.
  case running
  case paused
  /// It has fired, and is not acknowledged.
  case alerting
  case disabled
  case unknown(String)

  /// The words that this version knows.
  public static let known: [AlertState] = [.scheduled, .running, .paused, .alerting, .disabled]

  /// The word on the wire.
  public var rawValue: String {
    switch self {
    case .scheduled: "scheduled"
    case .running: "running"
    case .paused: "paused"
    case .alerting: "alerting"
    case .disabled: "disabled"
    case .unknown(let text): text
    }
  }
}
