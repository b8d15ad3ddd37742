import Synchronization
import TidegateClient
import Watch

/// Prints every message verbatim, one a line. Events of the connection go to standard error.
struct FramePrinter: Sendable {
  let url: String
  let symbols: [String]
  /// Ends with the first snapshot of a symbol, or after `WatchScreen.onceLimit`.
  let once: Bool

  /// The state that the reader of events shares with the timer.
  private final class Seen: Sendable {
    let isConnected = Atomic(false)
  }

  func run(_ feed: WatchFeed) async throws {
    let seen = Seen()
    guard once else {
      try await print(feed, seen)?.fail()
      return
    }
    let end = try await withThrowingTaskGroup(of: WatchEnd?.self) { group in
      group.addTask { await print(feed, seen) }
      group.addTask {
        try await Task.sleep(for: WatchScreen.onceLimit)
        return seen.isConnected.load(ordering: .relaxed) ? .incomplete(symbols) : .unanswered(url)
      }
      defer { group.cancelAll() }
      return try await group.next() ?? nil
    }
    try end?.fail()
  }

  private func print(_ feed: WatchFeed, _ seen: Seen) async -> WatchEnd? {
    let shared = Mutex(WatchTable(url: url, symbols: symbols))
    return await feed.follow { event in
      shared.withLock { table in
        switch event {
        case .stream(let event):
          _ = table.apply(event)
          return table.isRefused ? .refused(table.refused) : nil
        case .connection(let event):
          table.apply(event)
          seen.isConnected.store(table.isConnected, ordering: .relaxed)
          return print(event)
        }
      }
    }
  }

  private func print(_ event: ConnectionEvent) -> WatchEnd? {
    switch event {
    case .frame(let text):
      StandardOutput.write(text + "\n")
      if once, text.contains("\"type\":\"snapshot\""), !text.contains("\"channel\":\"status\"") {
        return .complete
      }
    case .disconnected(let failure, let retryIn):
      guard retryIn != nil else { return .noConnection(failure.description) }
      printError("disconnected: \(failure.description); reconnecting")
    case .dropped(let count): printError("\(count) messages were dropped: the output is too slow")
    case .connected, .heartbeat, .notice: break
    }
    return nil
  }
}
