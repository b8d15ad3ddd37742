import MarketData
import PubSub
import Venues

/// Reports books that failed so often that the feed pauses them. Their symbols count as failed, with the reason and the
/// time of the next attempt, until their books are live again.
struct FailedBooks {
  private var told: [String: BookFailure] = [:]

  /// Updates `status.failed`; true if that changed it. O(instruments), a few times a second.
  mutating func update(_ pipeline: FeedPipeline, _ status: inout FeedStatus) -> Bool {
    var isChanged = false
    for state in pipeline.market.instruments {
      let symbol = state.instrument.symbol
      let failure = state.bookState == .live ? nil : pipeline.failure(of: state.instrument.id)
      guard failure != told[symbol] else { continue }
      // A symbol that the venue refused keeps that reason.
      guard told[symbol] != nil || status.failed[symbol] == nil else { continue }
      isChanged = true
      told[symbol] = failure
      status.failed[symbol] = failure.map { Self.words($0, state.bookState) }
    }
    return isChanged
  }

  private static func words(_ failure: BookFailure, _ state: BookState) -> String {
    var reason = "no snapshot"
    if case .syncing(let why?) = state { reason = why.description }
    return "its book failed \(failure.failures) times, the last time by: \(reason); "
      + "the next attempt is at \(clock(failure.nextAttempt)) UTC"
  }

  /// `14:03:05`
  private static func clock(_ time: Timestamp) -> String {
    let seconds = time.microseconds / Microseconds.second % 86_400
    return [seconds / 3_600, seconds / 60 % 60, seconds % 60].map { $0 < 10 ? "0\($0)" : "\($0)" }
      .joined(separator: ":")
  }
}
