import ArgumentParser
import Dispatch
import Foundation
import Synchronization
import TidegateClient
import Watch

#if canImport(Glibc)
  import Glibc
#endif

/// Draws a `WatchTable` until it is interrupted: in place on a terminal, line by line elsewhere.
struct WatchScreen {
  let url: String
  let symbols: [String]
  let once: Bool
  /// The traffic so far, for the line below the table; nil: the table has no such line.
  var cost: (@Sendable () -> String)?

  /// How often the cost is printed where lines are.
  private static let costInterval = Duration.seconds(10)
  /// Ten frames a second: people cannot read faster.
  private static let frameInterval = Duration.milliseconds(100)
  /// How long `--once` waits for rows that stay empty.
  static let onceLimit = Duration.seconds(5)
  /// How long `--once` waits for another row of a pattern, because the number of its rows is not known in advance.
  private static let patternPause = Duration.milliseconds(500)

  func run(_ feed: WatchFeed) async throws {
    let table = WatchTable(url: url, symbols: symbols)
    let end =
      if once {
        try await printOnce(table, feed)
      } else if Terminal.isThere {
        try await draw(table, feed)
      } else {
        await printLines(table, feed)
      }
    try end?.fail()
  }

  /// The state that the drawing and the events share.
  private final class Shared: Sendable {
    struct State {
      var table: WatchTable
      var isChanged = true
      var lastRow = ContinuousClock.now
      /// Why the events have ended; nil while they have not.
      var end: WatchEnd?
    }
    let state: Mutex<State>

    init(_ table: WatchTable) { state = Mutex(State(table: table)) }

    func follow(_ feed: WatchFeed) async {
      let end: WatchEnd? = await feed.follow { [self] event in
        state.withLock { state in
          let rows = state.table.count
          let end = state.table.apply(event)
          state.isChanged = true
          if state.table.count > rows { state.lastRow = .now }
          return end
        }
      }
      state.withLock { $0.end = end ?? .noConnection("the connection has ended") }
    }
  }

  /// Runs `body` ten times a second, even if nothing arrives, until it returns true; returns why the events ended, if
  /// they did.
  private func onTimer(
    _ table: WatchTable, _ feed: WatchFeed, _ body: (inout Shared.State) -> Bool
  ) async throws -> WatchEnd? {
    let shared = Shared(table)
    let following = Task { await shared.follow(feed) }
    defer { following.cancel() }
    while true {
      if shared.state.withLock({ body(&$0) }) { return nil }
      if let end = shared.state.withLock({ $0.end }) { return end }
      try await Task.sleep(for: Self.frameInterval)
    }
  }

  private func printOnce(_ table: WatchTable, _ feed: WatchFeed) async throws -> WatchEnd? {
    let hasPattern = symbols.contains { $0.contains("*") }
    let deadline = ContinuousClock.now + Self.onceLimit
    var last: WatchEnd?
    let end = try await onTimer(table, feed) { state in
      let now = ContinuousClock.now
      let isComplete = state.table.isComplete && (!hasPattern || now - state.lastRow >= Self.patternPause)
      guard isComplete || now >= deadline else { return false }
      guard state.table.isConnected else {
        last = .unanswered(url, lost: state.table.lost)
        return true
      }
      let lines =
        Terminal.isThere
        ? state.table.lines(width: Terminal.size.columns, height: 1_000, color: Terminal.hasColor)
        : state.table.plainLines
      StandardOutput.write((lines + [cost?()].compactMap(\.self)).joined(separator: "\n") + "\n")
      let (refused, unfinished) = (state.table.refused, state.table.unfinished)
      if !refused.isEmpty {
        last = .refused(refused)
      } else if !unfinished.isEmpty || state.table.count == 0 {
        last = .incomplete(unfinished.isEmpty ? symbols : unfinished)
      }
      return true
    }
    return end ?? last
  }

  private func draw(_ table: WatchTable, _ feed: WatchFeed) async throws -> WatchEnd? {
    StandardOutput.write(Terminal.enter)
    let isResized = Atomic(true)
    let ends = Terminal.leavingOnSignals()
    let resizes = Interrupt.sources([SIGWINCH]) { _ in isResized.store(true, ordering: .relaxed) }
    defer {
      for source in ends + resizes { source.cancel() }
      StandardOutput.write(Terminal.leave)
    }
    return try await onTimer(table, feed) { state in
      let isResized = isResized.exchange(false, ordering: .relaxed)
      guard state.isChanged || isResized else { return false }
      let cost = [cost?()].compactMap(\.self)
      state.isChanged = false
      let size = Terminal.size
      let lines = state.table.lines(width: size.columns, height: size.rows - cost.count, color: Terminal.hasColor)
      Terminal.draw(lines + cost.map { String($0.prefix(size.columns)) })
      return false
    }
  }

  /// The state of printing line by line.
  private struct Lines {
    var table: WatchTable
    var wasLost = false
  }

  /// A line for each change of a row or of a feed's state, and one when the connection is lost and when it is back.
  private func printLines(_ table: WatchTable, _ feed: WatchFeed) async -> WatchEnd? {
    let shared = Mutex(Lines(table: table))
    let costs = Task { [cost] in
      while let cost, (try? await Task.sleep(for: Self.costInterval)) != nil {
        StandardOutput.write(cost() + "\n")
      }
    }
    defer { costs.cancel() }
    return await feed.follow { event in shared.withLock { lines in print(event, &lines) } }
  }

  private func print(_ event: WatchFeed.Event, _ lines: inout Lines) -> WatchEnd? {
    var changed: String?
    let end = lines.table.apply(event, changed: &changed)
    let failure = lines.table.failure
    if let failure, case .connection(.disconnected(_, let retryIn)) = event {
      StandardOutput.write(failure + (retryIn == nil ? "\n" : "; reconnecting\n"))
    } else if lines.wasLost, failure == nil {
      StandardOutput.write("● connected to \(url)\n")
    }
    lines.wasLost = failure != nil
    for line in lines.table.news { StandardOutput.write(line + "\n") }
    if let changed, let line = lines.table.line(changed, width: Terminal.plainWidth, color: false) {
      StandardOutput.write(line + "\n")
    }
    return end
  }
}

extension WatchTable {
  /// Applies an event; returns why the events end, if it says so.
  fileprivate mutating func apply(_ event: WatchFeed.Event) -> WatchEnd? {
    var changed: String?
    return apply(event, changed: &changed)
  }

  fileprivate mutating func apply(_ event: WatchFeed.Event, changed: inout String?) -> WatchEnd? {
    switch event {
    case .connection(let event):
      apply(event)
      if case .disconnected(let failure, nil) = event {
        return .noConnection(WatchTable.withoutRoutes(failure.description))
      }
    case .stream(let event): changed = apply(event)
    }
    return isRefused ? .refused(refused) : nil
  }
}
