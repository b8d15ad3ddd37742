/// How a client behaves. The defaults suit an app.
public struct TidegateOptions: Sendable, Equatable {
  /// Names this client to the gateway: `ios/2.3`.
  public var clientName = "tidegate-swift/0.1"
  /// A key or token, sent in `hello` where the gateway asks for one. Also see `TidegateClient.TokenSource`.
  public var token: String?
  /// Seconds between heartbeats to ask for.
  public var heartbeatSeconds = 5
  /// The bounds of the back-off: each wait is drawn from zero to a cap that doubles from the first to the second.
  public var backOff: ClosedRange<Duration> = .milliseconds(250)...(.seconds(30))
  /// How long a connection attempt, `welcome` included, and every reply may take.
  public var replyTimeout: Duration = .seconds(10)
  /// How long to wait for the gateway's snapshot after a gap before subscribing again.
  public var snapshotTimeout: Duration = .seconds(5)
  /// Unread trades, notices and frames that are kept for a slow consumer, 1…100,000; past it the oldest are dropped and
  /// counted. Everything else is merged and needs no bound but the number of streams.
  public var bufferLimit = 1_000
  /// Also hands out every message as it came (`TidegateEvent.frame`).
  public var includesFrames = false
  /// Offers the gateway to send large messages compressed (permessage-deflate), which costs this end about 12 KB and
  /// some time, and saves half of the bytes of books and snapshots. Used by the default transport.
  public var offersCompression = true
  /// PEM file of the roots to trust for `wss` instead of the system's. Used by the default transport.
  public var caFile: String?

  /// The defaults.
  public init() {}
}
