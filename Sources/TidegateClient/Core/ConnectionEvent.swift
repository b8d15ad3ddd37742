import Foundation

/// What happens to the client's one connection.
public enum ConnectionEvent: Sendable, Equatable {
  /// The gateway answered. Subscriptions have been sent, again after a reconnection; their values follow.
  case connected(Welcome)
  /// The connection is gone or could not be made. `retryIn` is nil if there will be no other attempt.
  case disconnected(ConnectionFailure, retryIn: Duration?)
  /// The gateway and its feeds are being watched: comes at a fixed pace. Only the latest is kept for a slow consumer.
  case heartbeat(Heartbeat)
  /// The gateway says something about the connection.
  case notice(Notice)
  /// A message as it came, if ``ClientOptions/includesFrames`` is set.
  case frame(String)
  /// This consumer was too slow: so many of its oldest unread events were dropped.
  case dropped(count: Int)
}

/// What a gateway says of itself.
public struct Welcome: Sendable, Hashable {
  /// The name of this session.
  public var session: String
  /// The name of the gateway.
  public var node: String
  /// Its version.
  public var version: String
  /// The time between heartbeats, brought into 0.1 s to an hour.
  public var heartbeatInterval: Duration
  /// Whether it continues with the session of the connection before.
  public var isResumed = false
  /// Whether any feed's prices are simulated: not for trading.
  public var isSimulated = false
}

/// The report that the data is alive.
public struct Heartbeat: Sendable, Hashable {
  /// When the gateway sent it.
  public var time: Date?
  /// Snapshots and updates sent on this connection.
  public var sent: Int
  /// The feeds, by name.
  public var feeds: [FeedReport]
}

/// What a gateway says about the connection.
public enum Notice: Sendable, Hashable {
  /// The client is too slow: updates now come so far apart, where the gateway says it.
  case slowedDown(to: Duration?)
  /// The client is no longer slow: rates are what they were.
  case restored
  /// The gateway shuts down, at the latest at `deadline`; the client comes back by itself in so long.
  case draining(reconnectIn: Duration, deadline: Date?)
  /// A request that was no subscription was refused.
  case refused(Refusal)
  /// Something that this version does not know.
  case unknown(String)
}

/// Why there is no connection: the side at fault, and the remedy.
public enum ConnectionFailure: Error, Sendable, Hashable, CustomStringConvertible {
  /// Could not be made, or broke: the reason in words.
  case network(String)
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
  /// The token source has no token.
  case noToken

  /// The side that can correct it.
  public var fault: Fault {
    switch self {
    case .network, .noHeartbeat, .noAnswer: .network
    case .refused(let status, _): status == 401 || status == 403 ? .credentials : status < 500 ? .request : .gateway
    case .closed(4001, _), .closed(4003, _), .noToken: .credentials
    case .closed(4000...4199, _): .request
    case .closed, .draining, .badMessage: .gateway
    }
  }

  /// What to do. The client comes back by itself wherever that can help.
  public var advice: String {
    switch fault {
    case .credentials: "sign in again, or ask the gateway's operator for access"
    case .network: "check the network and the gateway's address; the client tries again by itself"
    case .request: "ask for what the gateway allows: its reason says what is wrong"
    case .gateway: "tell the gateway's operator if it lasts; the client tries again by itself"
    }
  }

  /// For people: what happened.
  public var description: String {
    switch self {
    case .network(let reason), .refused(_, let reason): reason
    case .closed(let code, let reason): reason.isEmpty ? "closed (\(code))" : "\(reason) (\(code))"
    case .noHeartbeat: "no heartbeat from the gateway"
    case .noAnswer: "no answer from the gateway"
    case .draining: "the gateway is shutting down"
    case .badMessage(let reason): "the gateway sent a bad message: \(reason)"
    case .noToken: "there is no token"
    }
  }
}
