import MarketData

/// What a view of an instrument was made of, and how to tell on any thread, without asking the instrument's owner,
/// whether it would be made of the same again.
package struct PartStamp: Sendable {
  /// As `StreamPublisher.tag` says; nil if there is nothing to show.
  package let tag: UInt64?
  /// From then on time alone may have changed it.
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

  /// Whether nothing that the owner has told since, and no time that has passed, can have changed it. O(1).
  package func isCurrent(at now: Timestamp) -> Bool { now < validUntil && revision.number(of: part) == number }
}

extension StreamPublisher {
  /// How long at most a line of all days stands, µs: who wants it has its venue asked for days that are missing, each
  /// time that the owner hears of it.
  private static let longest = Microseconds.minute

  /// The stamp of a view as it is now; nil if there is no such instrument. O(1), for trades O(limit).
  package func stamp(of view: MarketView, at place: MarketPlace, now: Timestamp) -> PartStamp? {
    guard markets.indices.contains(place.market),
      let state = markets[place.market].instrument(place.instrument)?.state
    else { return nil }
    let part: ContentRevision.Part = if case .book = view { .book } else { .figures }
    let validUntil: Timestamp =
      switch view {
      case .book, .trades: .distantFuture
      case .ticker: state.nextFigureChange(after: now)
      case .sparkline(let range, _): state.nextLineChange(range, after: now)
      case .snapshot:
        min(state.nextFigureChange(after: now), state.nextLineChange(.day, after: now))
      }
    return PartStamp(
      tag: tag(of: view, at: place, now: now),
      validUntil: view.isOfAllDays ? min(validUntil, now + Self.longest) : validUntil, revision: state.revision,
      part: part)
  }
}

extension MarketView {
  fileprivate var isOfAllDays: Bool {
    if case .sparkline(.all, _) = self { true } else { false }
  }
}
