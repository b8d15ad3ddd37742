import Foundation

/// An event of the client's one connection.
public enum ConnectionEvent: Sendable, Equatable {
  /// The gateway answered. Subscriptions have been sent, again after a reconnection; their values follow.
  case connected(Welcome)
  /// The connection ended or could not be opened. `retryIn` is nil if the client will not try again.
  case disconnected(ConnectionFailure, retryIn: Duration?)
  /// The gateway's report about its feeds, at a fixed interval. Only the latest is kept for a slow consumer.
  case heartbeat(Heartbeat)
  /// A notice of the gateway about the connection.
  case notice(Notice)
  /// A message as it was received, if ``ClientOptions/includesFrames`` is set.
  case frame(String)
  /// This consumer was too slow: this number of its oldest unread events were dropped.
  case dropped(count: Int)
}

/// A gateway's description of itself.
public struct Welcome: Sendable, Hashable {
  /// The name of this session.
  public var session: String
  /// The name of the gateway.
  public var node: String
  /// Its version.
  public var version: String
  /// The time between heartbeats, limited to 0.1 s…1 h.
  public var heartbeatInterval: Duration
  /// Whether it continues the session of the previous connection.
  public var isResumed = false
  /// Whether any feed's prices are simulated: not for trading.
  public var isSimulated = false
}

/// The gateway's report about whether the data is alive.
public struct Heartbeat: Sendable, Hashable {
  /// When the gateway sent it.
  public var time: Date
  /// Snapshots and updates sent on this connection.
  public var sent: Int
  /// The feeds, by name.
  public var feeds: [FeedReport]
}

/// A gateway's notice about the connection.
public enum Notice: Sendable, Hashable {
  /// The client is too slow: the new interval of updates.
  case slowedDown(to: Duration)
  /// The client is no longer slow: it has its former rates again.
  case restored
  /// The gateway stops, at `deadline` at the latest. The client reconnects by itself after the given time.
  case draining(reconnectIn: Duration, deadline: Date)
  /// The gateway refused a request other than a subscription.
  case refused(Refusal)
  /// A notice that this version does not know.
  case unknown(String)
}

/// Why there is no connection: the side at fault, and the remedy.
public enum ConnectionFailure: Error, Sendable, Hashable, CustomStringConvertible {
  /// The connection could not be opened, or broke, with the reason in words.
  case network(String)
  /// The server, or this machine, cannot do what a connection needs, with the reason in words: a certificate that is
  /// not trusted, a server that is no gateway, a system without WebSockets.
  case unusable(String)
  /// The server answered the opening handshake with this HTTP status and opened no stream, with the reason in words.
  case refused(status: Int, reason: String)
  /// The gateway closed it with this code.
  case closed(code: UInt16, reason: String)
  /// No heartbeat for two and a half intervals.
  case noHeartbeat
  /// No answer to a request or to the connection attempt in time.
  case noAnswer
  /// The gateway stops, and asked the client to reconnect.
  case draining
  /// The gateway violated the protocol.
  case badMessage(String)
  /// The token source has no token.
  case noToken

  /// The side that can correct it.
  public var fault: Fault {
    switch self {
    case .network, .noHeartbeat, .noAnswer: .network
    case .unusable: .request
    case .refused(let status, _):
      status == 401 || status == 403 ? .credentials : prospect == .passes && status >= 500 ? .gateway : .request
    case .closed(4001, _), .closed(4003, _), .noToken: .credentials
    case .closed(4000...4199, _): .request
    case .closed, .draining, .badMessage: .gateway
    }
  }

  /// The remedy. The client reconnects by itself wherever that can help.
  public var advice: String {
    if prospect == .passesOnceMet { return "check the gateway's URL and what the reason names" }
    return switch fault {
    case .credentials: "sign in again, or ask the gateway's operator for access"
    case .network: "check the network and the gateway's address; the client tries again by itself"
    case .request: "ask for what the gateway allows: its reason says what is wrong"
    case .gateway: "tell the gateway's operator if it lasts; the client tries again by itself"
    }
  }

  /// A description, for people.
  public var description: String {
    switch self {
    case .network(let reason), .unusable(let reason), .refused(_, let reason): reason
    case .closed(let code, let reason): reason.isEmpty ? "closed (\(code))" : "\(reason) (\(code))"
    case .noHeartbeat: "no heartbeat from the gateway"
    case .noAnswer: "no answer from the gateway"
    case .draining: "the gateway is shutting down"
    case .badMessage(let reason): "the gateway sent a bad message: \(reason)"
    case .noToken: "there is no token"
    }
  }
}
