/// The options of a client. The defaults suit an app.
public struct ClientOptions: Sendable, Equatable {
  /// Names this client to the gateway: `ios/2.3`.
  public var clientName = "tidegate-swift/0.2"
  /// A key or token, sent in `hello`, for a gateway that requires one. Also see ``GatewayClient/TokenSource``.
  public var token: String?
  /// The requested time between heartbeats, whole seconds, 1…60.
  public var heartbeatInterval: Duration = .seconds(5)
  /// The bounds of the back-off: each wait is random, from zero to a limit that doubles from the first bound to the
  /// second.
  public var backOff: ClosedRange<Duration> = .milliseconds(250)...(.seconds(30))
  /// How long a connection attempt, `welcome` included, and every reply may take.
  public var replyTimeout: Duration = .seconds(10)
  /// How long to wait for the gateway's snapshot after a gap before subscribing again.
  public var snapshotTimeout: Duration = .seconds(5)
  /// Unread trades and notices that are kept for each slow consumer, 1…100,000; past it the oldest are dropped and
  /// counted. Everything else is merged and needs no bound but the number of streams.
  public var bufferLimit = 5_000
  /// Whether the symbols of a request arrive together, in one message a tick, where the gateway can. The events are the
  /// same.
  public var usesGroups = true
  /// Whether every received message is also an event (``ConnectionEvent/frame(_:)``).
  public var includesFrames = false

  /// The defaults.
  public init() {}
}
