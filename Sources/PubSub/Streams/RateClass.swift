/// How often a stream may publish. A stream of class 0 publishes every change, the others at most once per interval, at
/// multiples of it, so that all data of a class for a client is sent at once.
package enum RateClass {
  /// The intervals, in milliseconds.
  package static let intervals: [UInt16] = [0, 100, 250, 1000, 5000]

  /// The nearest class that is not faster than `milliseconds`; beyond 5 s it is 5 s.
  package static func nearest(notFasterThan milliseconds: Int) -> UInt16 {
    intervals.first { Int($0) >= milliseconds } ?? 5000
  }

  /// The next slower class; nil after the slowest.
  package static func slower(than interval: UInt16) -> UInt16? { intervals.first { $0 > interval } }

  static func index(of interval: UInt16) -> Int { intervals.firstIndex(of: interval) ?? 0 }

  /// The class of a subscription that requests `milliseconds`, or nothing.
  package static func interval(for channel: ChannelName, asked milliseconds: Int?) -> UInt16 {
    channel.facts.rate.interval(asked: milliseconds)
  }
}

/// The classes that a channel has.
package enum RateRule: Sendable {
  /// One class, whatever a client requests.
  case fixed(UInt16)
  /// The class nearest to the requested interval, or to `usual` if the client requests none, but none faster than
  /// `fastest`; in ms. If `allowsEvery`, a client that requests 0 gets every change.
  case requested(usual: Int, fastest: UInt16 = 0, allowsEvery: Bool = false)

  func interval(asked milliseconds: Int?) -> UInt16 {
    switch self {
    case .fixed(let interval): return interval
    case .requested(let usual, let fastest, let allowsEvery):
      let nearest = RateClass.nearest(notFasterThan: milliseconds ?? usual)
      return allowsEvery && nearest == 0 ? 0 : max(fastest, nearest)
    }
  }
}
