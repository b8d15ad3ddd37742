import Synchronization
import TidegateClient

/// Takes the events of a client and lets a test wait for what it expects. The connection ends with it.
final class ClientFollower: Sendable {
  private struct State {
    var events: [TidegateEvent] = []
    var isOver = false
  }

  private let state: Shared
  private let task: Task<Void, Never>

  private final class Shared: Sendable {
    let mutex = Mutex(State())
  }

  init(_ events: TidegateEvents) {
    let state = Shared()
    self.state = state
    task = Task {
      for await event in events { state.mutex.withLock { $0.events.append(event) } }
      state.mutex.withLock { $0.isOver = true }
    }
  }

  deinit { task.cancel() }

  var events: [TidegateEvent] { state.mutex.withLock { $0.events } }
  /// What should not have happened.
  var trouble: [TidegateEvent] { events.filter { $0.isTrouble } }
  var isOver: Bool { state.mutex.withLock { $0.isOver } }

  /// Waits until `look` finds something in the events from the `from`th on.
  @discardableResult
  func wait<T>(_ what: String, from: Int = 0, _ look: ([TidegateEvent]) -> T?) async throws -> T {
    var patience = Patience()
    while true {
      let events = events
      if let found = look(Array(events.dropFirst(from))) { return found }
      try await patience.wait(for: "\(what); \(events.count) events, the last: \(events.suffix(3))")
    }
  }

  /// Waits for one event; answers its place.
  @discardableResult
  func first(_ what: String, from: Int = 0, where fits: (TidegateEvent) -> Bool) async throws -> Int {
    from + (try await wait(what, from: from) { $0.firstIndex(where: fits) })
  }
}

extension TidegateEvent {
  var isConnected: Bool { if case .connected = self { true } else { false } }
  var isHeartbeat: Bool { if case .heartbeat = self { true } else { false } }
  var isTrouble: Bool {
    switch self {
    case .gap, .failed, .disconnected, .dropped: true
    default: false
    }
  }
  var snapshotInfo: StreamInfo? { if case .snapshot(let info, _) = self { info } else { nil } }
  var updateInfo: StreamInfo? { if case .update(let info, _) = self { info } else { nil } }
}
