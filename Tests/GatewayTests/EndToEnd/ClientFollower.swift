import Synchronization
import TestTraits
import TidegateClient

/// Takes the events of a client and lets a test wait for what it expects. The subscription ends with it.
final class ClientFollower: Sendable {
  enum Event: Sendable {
    case connection(ConnectionEvent)
    case stream(StreamEvent<Payload>)
  }

  private struct State {
    var events: [Event] = []
    /// Of the streams and of the connection.
    var over = 0
  }

  private let state: Shared
  private let tasks: [Task<Void, Never>]

  private final class Shared: Sendable {
    let mutex = Mutex(State())
  }

  init(_ client: GatewayClient, _ requests: StreamRequest<Payload>...) {
    let state = Shared()
    self.state = state
    let connection = client.connectionEvents()
    let streams = client.subscribe(.all(requests))
    tasks = [
      Task {
        for await event in connection { state.mutex.withLock { $0.events.append(.connection(event)) } }
        state.mutex.withLock { $0.over += 1 }
      },
      Task {
        // Why they end is the connection's to tell.
        do {
          for try await event in streams { state.mutex.withLock { $0.events.append(.stream(event)) } }
        } catch {}
        state.mutex.withLock { $0.over += 1 }
      },
    ]
  }

  deinit { for task in tasks { task.cancel() } }

  var events: [Event] { state.mutex.withLock { $0.events } }
  /// What should not have happened.
  var failure: [Event] { events.filter { $0.isTrouble } }
  var isOver: Bool { state.mutex.withLock { $0.over == 2 } }

  /// Waits until `look` finds something in the events from the `from`th on.
  @discardableResult
  func wait<T>(_ what: String, from: Int = 0, _ look: ([Event]) -> T?) async throws -> T {
    var patience = Patience()
    while true {
      let events = events
      if let found = look(Array(events.dropFirst(from))) { return found }
      try await patience.wait(for: "\(what); \(events.count) events, the last: \(events.suffix(3))")
    }
  }

  /// Waits for one event; answers its place.
  @discardableResult
  func first(_ what: String, from: Int = 0, where fits: (Event) -> Bool) async throws -> Int {
    from + (try await wait(what, from: from) { $0.firstIndex(where: fits) })
  }
}

extension ClientFollower.Event {
  var isConnected: Bool { if case .connection(.connected) = self { true } else { false } }
  var isHeartbeat: Bool { if case .connection(.heartbeat) = self { true } else { false } }
  var isTrouble: Bool {
    switch self {
    case .connection(.disconnected), .connection(.dropped), .stream(.stale), .stream(.gap), .stream(.refused),
      .stream(.dropped):
      true
    default: false
    }
  }
  var info: StreamInfo? { if case .stream(.value(_, let info)) = self { info } else { nil } }
  var book: OrderBook? { if case .stream(.value(.book(let book), _)) = self { book } else { nil } }
}
