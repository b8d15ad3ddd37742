/// The events of one subscription, in order. The subscription lives until it is cancelled or released.
///
/// A subscription has one queue, from which an iteration takes events. A second iteration continues where the first
/// stopped, and misses no event in between. Two simultaneous iterations share the events. When the task of an iteration
/// is cancelled, the iteration ends and the subscription continues. After ``cancel()`` an iteration ends at once. After
/// ``GatewayClient/close()`` it ends when it has read the remaining events.
///
/// An iteration throws a ``ConnectionFailure`` if another attempt cannot help: the gateway refuses the client (a close
/// code of 4000…4099, or a status such as 403), or no gateway has ever answered and the server is none, its certificate
/// is not trusted, or this system has no WebSockets. After all other failures the client reconnects.
///
/// A slow consumer affects only itself, see ``StreamEvent``.
public struct Subscription<Value: Sendable>: AsyncSequence, Sendable {
  /// An event.
  public typealias Element = StreamEvent<Value>
  /// The reason why the client does not reconnect.
  public typealias Failure = ConnectionFailure

  let lease: ConsumerLease
  let read: @Sendable (Payload) -> Value?

  /// Ends the subscription and all its iterations.
  public func cancel() { lease.cancel() }

  /// Takes events off the queue.
  public func makeAsyncIterator() -> Iterator { Iterator(lease: lease, read: read) }

  /// Takes events off the queue of a subscription.
  public struct Iterator: AsyncIteratorProtocol {
    let lease: ConsumerLease
    let read: @Sendable (Payload) -> Value?

    /// The next event; nil after the last event, or if the task is cancelled.
    public mutating func next() async throws(ConnectionFailure) -> StreamEvent<Value>? { try await take() }

    /// The next event; nil after the last event, or if the task is cancelled.
    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(ConnectionFailure) -> StreamEvent<Value>? {
      try await take()
    }

    private nonisolated(nonsending) func take() async throws(ConnectionFailure) -> StreamEvent<Value>? {
      while let event = try await lease.next({ core, id in core.next(id) }) {
        if let event = event.map(read) { return event }
      }
      return nil
    }
  }
}

/// The events of a client's connection, in order. Iterate it as a ``Subscription``.
public struct ConnectionEvents: AsyncSequence, Sendable {
  /// An event.
  public typealias Element = ConnectionEvent
  /// The iteration ends without an error: its last event, `.disconnected` without `retryIn`, has the reason.
  public typealias Failure = Never

  let lease: ConsumerLease

  /// Ends the events.
  public func cancel() { lease.cancel() }

  /// Takes events off the queue.
  public func makeAsyncIterator() -> Iterator { Iterator(lease: lease) }

  /// Takes events off the queue.
  public struct Iterator: AsyncIteratorProtocol {
    let lease: ConsumerLease

    /// The next event; nil after the last event, or if the task is cancelled.
    public mutating func next() async -> ConnectionEvent? { await take() }

    /// The next event; nil after the last event, or if the task is cancelled.
    public mutating func next(isolation actor: isolated (any Actor)?) async -> ConnectionEvent? { await take() }

    private nonisolated(nonsending) func take() async -> ConnectionEvent? {
      // The last event has reported the failure.
      (try? await lease.next { core, id in core.nextOfConnection(id) }) ?? nil
    }
  }
}

/// A consumer's registration in a session. It ends when the object is released.
final class ConsumerLease: Sendable {
  private let session: ClientSession
  private let id: Int

  init(session: ClientSession, id: Int) {
    self.session = session
    self.id = id
  }

  deinit { session.cancel(id) }

  func cancel() { session.cancel(id) }

  /// Waits until `take` gets something from the core.
  func next<Event: Sendable>(
    _ take: @escaping @Sendable (inout ClientCore, Int) -> Event?
  ) async throws(ConnectionFailure) -> Event? {
    try await session.next(id, take)
  }
}
