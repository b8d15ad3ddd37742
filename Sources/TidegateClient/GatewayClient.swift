/// A client of a Tidegate gateway: any number of subscriptions over one connection, which handles gaps, reconnections
/// and slow consumers.
///
///     let client = GatewayClient(url: try GatewayURL("ws://127.0.0.1:8080/v1/stream"), transport: .urlSession)
///     for try await event in client.subscribe(.pulse("kraken:BTC-USD")) {
///       if case .value(let pulse, let info) = event { print(info.symbol, pulse.direction, pulse.price) }
///     }
///
/// The connection opens with the first subscription, and stays until `close()`, or until the client and all of its
/// subscriptions are gone. The client may be used from any task.
public final class GatewayClient: Sendable {
  /// Where the gateway is.
  public let url: GatewayURL
  private let session: ClientSession

  /// Returns a new token from the app's login; nil if none is available.
  ///
  /// The client calls it if ``ClientOptions/token`` is nil, a minute before a token expires (the session continues with
  /// the new one), and when the gateway refuses a token (4001, or 401 in the handshake). A second refusal in a row is
  /// final.
  public typealias TokenSource = @Sendable () async -> String?

  /// Creates a client. It connects with the first subscription.
  /// - Parameters:
  ///   - transport: makes the connections: `.urlSession` of `TidegateURLSession`, `.epoll` of `TidegateEpoll`, or your
  ///     own.
  ///   - tokenSource: returns new tokens; nil: only ``ClientOptions/token`` is used.
  public init(
    url: GatewayURL, transport: some ClientTransport, options: ClientOptions = .init(), tokenSource: TokenSource? = nil
  ) {
    self.url = url
    session = ClientSession(url: url, options: options, transport: transport, tokenSource: tokenSource)
  }

  /// Subscribes to streams over the client's one connection. The first value of each stream is whole.
  ///
  /// Two subscriptions to the same stream share one subscription at the gateway. When you cancel or release the last of
  /// them, the client unsubscribes.
  public func subscribe<Value>(_ request: StreamRequest<Value>) -> Subscription<Value> {
    let id = session.subscribe(request.items)
    return Subscription(lease: ConsumerLease(session: session, id: id), read: request.read)
  }

  /// Changes an alert of the token's owner, and returns the changed alert; nil if it is deleted.
  ///
  /// It waits for a connection, and then for the answer, each for at most ``ClientOptions/replyTimeout``. It never
  /// sends a request twice: after ``RequestFailure/notConnected`` check the alerts, or call it again. Two requests with
  /// the same `key` create one alert.
  @discardableResult
  public func perform(_ request: AlertRequest) async throws(RequestFailure) -> Alert? {
    try await session.perform(request)
  }

  /// The events of the connection from now on. Opens the connection if it is closed.
  public func connectionEvents() -> ConnectionEvents {
    ConnectionEvents(lease: ConsumerLease(session: session, id: session.listen()))
  }

  /// Pauses all data but heartbeats until `resume`, for example while the screen is off. It stays paused over
  /// reconnections.
  public func pause() { session.act { core, now, actions in core.pause(now: now, into: &actions) } }

  /// Ends the pause. Every stream begins with a new value.
  public func resume() { session.act { core, now, actions in core.resume(now: now, into: &actions) } }

  /// Sets the shortest time between two updates of every stream, at most a minute. It replaces the intervals of the
  /// subscriptions.
  public func setUpdateInterval(_ interval: Duration) {
    session.act { core, now, actions in
      core.configure(cadence: Cadence.milliseconds(interval), now: now, into: &actions)
    }
  }

  /// The traffic received so far.
  public var traffic: Traffic { session.traffic }

  /// Connects at once if the client waits before its next attempt. Call it when the network returns or the app becomes
  /// active.
  public func reconnectNow() { session.act { core, now, actions in core.hurry(now: now, into: &actions) } }

  /// Closes the connection permanently. Every subscription ends after its unread events.
  public func close() { session.act { core, _, actions in core.stop(into: &actions) } }
}
