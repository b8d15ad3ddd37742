/// What happens on a connection to a gateway.
public enum TidegateEvent: Sendable, Equatable {
  /// The gateway answered: the first event of a connection, but for `frame`. Subscriptions have been sent, again after
  /// a reconnection; snapshots follow.
  case connected(Welcome)
  /// The connection is gone or could not be made. `retryIn` is nil if there will be no other attempt: then the sequence
  /// ends.
  case disconnected(reason: DisconnectReason, retryIn: Duration?)
  /// The whole state of a stream.
  case snapshot(StreamInfo, Payload)
  /// A change of a stream.
  case update(StreamInfo, Payload)
  /// A stream missed something, or a heartbeat shows that anything on the connection did. What is shown is old until
  /// its next snapshot, which has been asked for; `trades` go on at once.
  case gap(StreamInfo)
  /// The exchange's book is out of sync at the gateway, for the reason given in words: what a `book`, or a `quote` that
  /// is read from it, has shown is old until the stream's next snapshot or update, which comes as soon as the book is
  /// right again. Nothing has to be done.
  case outOfSync(StreamInfo, reason: String)
  /// After a reconnection: a stream goes on where it stopped. What was missed follows as updates; nothing is lost. A
  /// stream that had more to catch up with than the gateway remembers begins with a snapshot instead, after a `.gap` if
  /// it is one of trades.
  case recovered(StreamInfo)
  /// A subscription has another rate from here on, and with it another stream: what had the number `from` goes on as
  /// this one, beginning with a snapshot.
  case moved(StreamInfo, from: Int64)
  /// The gateway says something about the connection.
  case notice(Notice)
  /// The gateway refused a subscription; the others are unharmed.
  case failed(FailedItem)
  /// The feeds are being watched: comes at a fixed pace.
  case heartbeat(Heartbeat)
  /// The consumer was too slow: `count` of its oldest unread trades, notices or frames were dropped.
  case dropped(count: Int)
  /// A message as it came, if `TidegateOptions.includesFrames` is set.
  case frame(String)

  /// What a gateway says of itself.
  public struct Welcome: Sendable, Equatable {
    /// The name of this session.
    public var session: String
    /// The name of the gateway.
    public var node: String
    /// Its version.
    public var version: String
    /// Seconds between heartbeats.
    public var heartbeatSeconds: Double
    /// Whether it goes on with the session of the connection before.
    public var isResumed: Bool = false
  }

  /// Which stream something belongs to.
  public struct StreamInfo: Sendable, Hashable {
    /// The kind of data.
    public var channel: TidegateChannel
    /// `kraken:BTC-USD`; empty for `.status`.
    public var symbol: String
    /// The number of the stream on this connection; another after `.moved`.
    public var stream: Int64
    /// Why a snapshot was sent: `subscribe`, `resync`, `slow`, …; empty otherwise.
    public var reason: String
    /// The least step between two prices, as the gateway tells it: `0.01`. What `ExactDecimal.trimmed(to:)` wants.
    public var priceIncrement: ExactDecimal?
  }

  /// The data of a stream.
  public enum Payload: Sendable, Equatable {
    /// Of `.quote`.
    case quote(Quote)
    /// Of `.trades`, oldest first.
    case trades([Trade])
    /// Of `.ticker`.
    case ticker(Ticker)
    /// Of `.pulse`.
    case pulse(Pulse)
    /// Of `.book`: apply it to a `BookView`.
    case book(BookLevels)
    /// Of `.sparkline`.
    case sparkline(Sparkline)
    /// Of `.status`.
    case status([FeedReport])
  }

  /// Why a connection ended.
  public enum DisconnectReason: Sendable, Equatable, CustomStringConvertible {
    /// Could not be made, or broke: the reason in words.
    case transport(String)
    /// The server answered the opening handshake with this HTTP status and opened no stream: the reason in words.
    case refused(status: Int, reason: String)
    /// The gateway closed it with this code.
    case closed(code: UInt16, reason: String)
    /// No heartbeat for two and a half intervals.
    case noHeartbeat
    /// No answer to a request or to the connection attempt in time.
    case noAnswer
    /// The gateway is being shut down and asked to come again.
    case draining
    /// The gateway sent something that is not the protocol.
    case badMessage(String)

    /// For people.
    public var description: String {
      switch self {
      case .transport(let reason), .refused(_, let reason): reason
      case .closed(let code, let reason): reason.isEmpty ? "closed (\(code))" : "\(reason) (\(code))"
      case .noHeartbeat: "no heartbeat from the gateway"
      case .noAnswer: "no answer from the gateway"
      case .draining: "the gateway is shutting down"
      case .badMessage(let reason): "the gateway sent a bad message: \(reason)"
      }
    }
  }

  /// What a gateway says about the connection.
  public enum Notice: Sendable, Equatable {
    /// The client is too slow (`degraded`), or no longer (`restored`): updates now come every so many milliseconds.
    case slow(action: String, intervalMilliseconds: Int64?)
    /// Numbers of a stream that will not come.
    case lost(stream: Int64, from: UInt64, to: UInt64, count: Int64)
    /// The gateway shuts down, at the latest at `deadline` (µs since 1970, UTC); the client reconnects in so many
    /// milliseconds.
    case drain(reconnectInMilliseconds: Int64, deadline: Int64?)
    /// Something that this version does not know.
    case other(code: String)
  }

  /// A subscription that was refused.
  public struct FailedItem: Sendable, Equatable {
    /// The channel as asked for.
    public var channel: String
    /// The symbol as asked for; empty if the whole request was refused.
    public var symbol: String
    /// `unknown_symbol`, …
    public var code: String
    /// For people: what is wrong.
    public var message: String
    /// What to do; empty if the gateway says nothing.
    public var hint: String
    /// When it can be asked for again, ms. Such items are, by the client itself, and are not told as `failed`.
    var retryAfterMilliseconds: Int64?
  }

  /// The report that the data is alive.
  public struct Heartbeat: Sendable, Equatable {
    /// Microseconds since 1970, UTC.
    public var time: Int64
    /// Data frames sent on this connection.
    public var sent: Int64
    /// The feeds, by name.
    public var feeds: [FeedReport]
  }
}
