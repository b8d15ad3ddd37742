import TidegateClient

/// The events that `tidegate watch` follows: those of the connection, and of its streams.
struct WatchFeed: Sendable {
  enum Event: Sendable {
    case connection(ConnectionEvent)
    case stream(StreamEvent<Payload>)
  }

  let connection: ConnectionEvents
  let streams: Subscription<Payload>

  /// Calls `body` with each event, from two tasks at once, until it returns a value, the events end, or the task is
  /// cancelled.
  func follow<Answer: Sendable>(_ body: @escaping @Sendable (Event) -> Answer?) async -> Answer? {
    await withTaskGroup(of: Answer?.self) { group in
      group.addTask {
        for await event in connection { if let answer = body(.connection(event)) { return answer } }
        return nil
      }
      group.addTask {
        // The connection's events say why the streams end.
        var events = streams.makeAsyncIterator()
        while let event = try? await events.next() { if let answer = body(.stream(event)) { return answer } }
        return nil
      }
      defer { group.cancelAll() }
      for await answer in group { if let answer { return answer } }
      return nil
    }
  }
}
