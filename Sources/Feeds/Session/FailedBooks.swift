import MarketData
import PubSub
import Venues

/// Reports books that failed so often that the feed pauses them. Their symbols count as failed, with the reason and the
/// time of the next attempt, until their books are live again.
struct FailedBooks {
  private var told: [String: BookTrouble] = [:]

  /// Updates `status.failed`; true if that changed it. O(instruments), a few times a second.
  mutating func update(_ pipeline: FeedPipeline, _ status: inout FeedStatus) -> Bool {
    var isChanged = false
    for state in pipeline.market.instruments {
      let symbol = state.instrument.symbol
      let trouble = state.bookState == .live ? nil : pipeline.trouble(of: state.instrument.id)
      guard trouble != told[symbol] else { continue }
      // A symbol that the venue refused keeps that reason.
      guard told[symbol] != nil || status.failed[symbol] == nil else { continue }
      isChanged = true
      told[symbol] = trouble
      status.failed[symbol] = trouble.map { Self.words($0, state.bookState) }
    }
    return isChanged
  }

  private static func words(_ trouble: BookTrouble, _ state: BookState) -> String {
    var reason = "no snapshot"
    if case .syncing(let why?) = state { reason = why.description }
    return "its book failed \(trouble.failures) times, the last time by: \(reason); "
      + "the next attempt is at \(clock(trouble.nextAttempt)) UTC"
  }

  /// `14:03:05`
  private static func clock(_ time: Timestamp) -> String {
    let seconds = time.microseconds / Microseconds.second % 86_400
    return [seconds / 3_600, seconds / 60 % 60, seconds % 60].map { $0 < 10 ? "0\($0)" : "\($0)" }
      .joined(separator: ":")
  }
}
