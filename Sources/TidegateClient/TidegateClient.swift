/// A client of a Tidegate gateway: streams of market data as an `AsyncSequence`, with gaps, reconnections and slow
/// consumers taken care of.
///
///     let client = TidegateClient(url: "ws://127.0.0.1:8080/v1/stream")!
///     for await event in client.events(.init(channels: [.pulse], symbols: ["kraken:BTC-USD"])) {
///       if case .update(let info, .pulse(let pulse)) = event { print(info.symbol, pulse.direction, pulse.price) }
///     }
///
/// Every sequence has a connection of its own: it opens when iteration begins and closes when it ends or its task is
/// cancelled.
public final class TidegateClient: Sendable {
  /// Where the gateway is.
  public let url: TidegateURL
  /// How the client behaves.
  public let options: TidegateOptions
  private let transport: any ClientTransport
  private let tokenSource: TokenSource?

  /// Gets a fresh token, from wherever the app logs in; nil if none is available.
  ///
  /// It is asked when `TidegateOptions.token` is nil, a minute before a token expires (the session goes on with the
  /// fresh one), and when the gateway refuses a token (4001); a second refusal in a row ends the events.
  public typealias TokenSource = @Sendable () async -> String?

  /// Creates a client; it connects when events are asked for.
  /// - Parameters:
  ///   - transport: makes the connections.
  ///   - tokenSource: gets fresh tokens; nil: `TidegateOptions.token` is all there is.
  public init(
    url: TidegateURL, options: TidegateOptions = .init(), transport: any ClientTransport,
    tokenSource: TokenSource? = nil
  ) {
    self.url = url
    self.options = options
    self.transport = transport
    self.tokenSource = tokenSource
  }

  /// Creates a client that uses the default transport.
  public convenience init(url: TidegateURL, options: TidegateOptions = .init(), tokenSource: TokenSource? = nil) {
    self.init(
      url: url, options: options,
      transport: LoopTransport(caFile: options.caFile, offersCompression: options.offersCompression),
      tokenSource: tokenSource)
  }

  /// Creates a client for `ws://host:port/v1/stream` or `wss://…`; nil if `url` is no such URL.
  public convenience init?(url: String, options: TidegateOptions = .init(), tokenSource: TokenSource? = nil) {
    guard let url = TidegateURL(url) else { return nil }
    self.init(url: url, options: options, tokenSource: tokenSource)
  }

  /// The events of these subscriptions, over a connection of their own.
  ///
  /// The sequence ends when the gateway forbids coming back (close codes 4000…4099) or refuses the opening handshake
  /// for good (400, 401, 403 and the like, see `DisconnectReason.refused`); the last event says why. Any other trouble
  /// is reported by `.disconnected` and repaired.
  public func events(_ subscriptions: TidegateSubscription...) -> TidegateEvents {
    events(subscriptions)
  }

  /// The events of these subscriptions, over a connection of their own.
  public func events(_ subscriptions: [TidegateSubscription]) -> TidegateEvents {
    TidegateEvents(
      session: ClientSession(
        url: url, subscriptions: subscriptions, options: options, transport: transport,
        tokenSource: tokenSource))
  }
}

/// What happens on one connection to a gateway. Iterate it once.
///
/// A consumer that falls behind loses nothing that matters: unread state is merged per stream, and only trades and
/// notices beyond `TidegateOptions.bufferLimit` are dropped, with a `.dropped` event in their place.
public struct TidegateEvents: AsyncSequence, Sendable {
  /// What happens.
  public typealias Element = TidegateEvent

  let session: ClientSession

  /// Asks for heartbeats alone, until `resume`: what a screen that is off needs. Stays in force over reconnections.
  public func pause() { session.want { core, now, actions in core.pause(now: now, into: &actions) } }

  /// Asks for data again. A snapshot of every stream comes first.
  public func resume() { session.want { core, now, actions in core.resume(now: now, into: &actions) } }

  /// Changes the least time between two updates of every stream; the subscriptions' own are forgotten. Each stream that
  /// is another at the new rate is announced by `.moved`. Stays in force over reconnections.
  /// - Parameter intervalMilliseconds: 0…60,000; others are brought into that range.
  public func configure(intervalMilliseconds: Int) {
    let interval = Swift.min(Swift.max(intervalMilliseconds, 0), 60_000)
    session.want { core, now, actions in core.configure(interval: interval, now: now, into: &actions) }
  }

  /// Opens the connection. A second iteration of the same sequence gets no events.
  public func makeAsyncIterator() -> Iterator { Iterator(lease: ClientSession.Lease(session)) }

  /// Takes events off the connection; the connection ends with it.
  public struct Iterator: AsyncIteratorProtocol {
    let lease: ClientSession.Lease

    /// The next event; nil when there will be no more or the task is cancelled.
    public mutating func next() async -> TidegateEvent? { await lease.next() }

    /// The next event; nil when there will be no more or the task is cancelled.
    public mutating func next(isolation actor: isolated (any Actor)?) async -> TidegateEvent? { await lease.next() }
  }
}
