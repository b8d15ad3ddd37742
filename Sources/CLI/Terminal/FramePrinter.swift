import Synchronization
import TidegateClient

/// Prints every message verbatim, one a line; what is not a message (no connection) goes to standard error.
struct FramePrinter: Sendable {
  let url: String
  let symbols: [String]
  /// Ends with the first snapshot of a symbol, or after `WatchScreen.onceLimit`.
  let once: Bool

  /// What the reader of events has seen, for the timer beside it.
  private final class Seen: Sendable {
    let isConnected = Atomic(false)
  }

  func run(_ events: TidegateEvents) async throws {
    let seen = Seen()
    guard once else {
      try await print(events, seen)?.fail()
      return
    }
    let end = try await withThrowingTaskGroup(of: WatchEnd?.self) { group in
      group.addTask { await print(events, seen) }
      group.addTask {
        try await Task.sleep(for: WatchScreen.onceLimit)
        return seen.isConnected.load(ordering: .relaxed) ? .incomplete(symbols) : .unanswered(url)
      }
      defer { group.cancelAll() }
      return try await group.next() ?? nil
    }
    try end?.fail()
  }

  private func print(_ events: TidegateEvents, _ seen: Seen) async -> WatchEnd? {
    var table = WatchTable(url: url, symbols: symbols)
    for await event in events {
      _ = table.apply(event)
      seen.isConnected.store(table.isConnected, ordering: .relaxed)
      if table.isRefused { return .refused(table.refused) }
      switch event {
      case .frame(let text):
        StandardOutput.write(text + "\n")
        if once, text.contains("\"type\":\"snapshot\""), !text.contains("\"channel\":\"status\"") { return nil }
      case .disconnected(let reason, let retryIn):
        guard retryIn != nil else { return .noConnection(reason.description) }
        printError("disconnected: \(reason.description); reconnecting")
      case .dropped(let count): printError("\(count) messages were dropped: the output is too slow")
      default: break
      }
    }
    return nil
  }
}
