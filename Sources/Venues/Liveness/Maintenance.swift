import MarketData

/// A venue's maintenance, as it tells of it. A value; time is a parameter.
struct Maintenance {
  /// What maintenance is to a venue.
  enum Effect {
    /// It is only told of.
    case isTold
    /// Nothing is asked for and no book vouched for. It counts as over after so long without a word, µs; then
    /// everything is subscribed again.
    case endsSubscriptions(limit: Int64)
  }

  private let effect: Effect
  private(set) var isOn = false
  private var since = Timestamp.distantPast

  init(_ effect: Effect) { self.effect = effect }

  /// Whether subscriptions end with it.
  var endsSubscriptions: Bool { if case .endsSubscriptions = effect { true } else { false } }

  /// Whether requests wait for the end of the maintenance.
  var holdsRequests: Bool { isOn && endsSubscriptions }

  /// Whether it has been on for so long that it counts as over.
  func isOverdue(now: Timestamp) -> Bool {
    guard isOn, case .endsSubscriptions(let limit) = effect else { return false }
    return now - since >= limit
  }

  /// The venue tells of it; false if that is no news.
  mutating func set(_ isOn: Bool, now: Timestamp) -> Bool {
    guard isOn != self.isOn else { return false }
    self.isOn = isOn
    since = now
    return true
  }

  /// The connection is gone. Where it is only told of, the first acknowledgement says that it is over.
  mutating func disconnected() { if endsSubscriptions { isOn = false } }
}
