import MarketData

/// Identifies the data that a view of an instrument was made from. Any thread can check, without a request to the
/// instrument's owner, whether the view is still up to date.
package struct PartStamp: Sendable {
  /// The tag from `StreamPublisher.tag`; nil if there is nothing to show.
  package let tag: UInt64?
  /// From this time on, the mere passing of time may have changed the data.
  package let validUntil: Timestamp
  private let revision: ContentRevision
  private let part: ContentRevision.Part
  private let number: UInt64

  init(tag: UInt64?, validUntil: Timestamp, revision: ContentRevision, part: ContentRevision.Part) {
    self.tag = tag
    self.validUntil = validUntil
    self.revision = revision
    self.part = part
    number = revision.number(of: part)
  }

  /// Whether the data is unchanged: the owner has reported no change since, and time has not changed it. O(1).
  package func isCurrent(at now: Timestamp) -> Bool { now < validUntil && revision.number(of: part) == number }
}

extension MarketView {
  var isOfAllDays: Bool {
    if case .sparkline(.all, _) = self { true } else { false }
  }
}
