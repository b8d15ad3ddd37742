import Bytes
import MarketData
import WebSocket

/// Limits of what one client may ask for and hold; each is named in its error.
package struct ClientLimits: Sendable {
  package var subscriptions = 1_000
  package var requestsPerSecond = 20
  /// Bytes of one request.
  package var messageBytes = 64 << 10
  /// Unsent bytes above which a client is slowed down.
  package var softQueuedBytes = 256 << 10
  /// Unsent bytes above which it is closed with 4108.
  package var hardQueuedBytes = 1 << 20
  /// Unsent events of event channels.
  package var queuedEvents = 1_000
  package init() {}
}

/// What a fan-out wants done.
package enum FanOutAction: Sendable {
  /// Carry this to the hub of that loop.
  case command(HubCommand, loop: Int)
  /// Send the client what is queued, then a close frame with this code and reason, then end the connection.
  case close(ClientID, code: UInt16, reason: String)
}

/// The subscribing half, one per loop that has clients: it speaks `tidegate.v1` with them, keeps who subscribes to what, and
/// queues frames for each, merging what a slow client has not taken. Sans-IO: the gateway moves bytes between it and sockets.
package final class FanOut {
  package struct Identity: Sendable {
    package var node: String
    package var version: String
    package init(node: String, version: String) { self.node = node; self.version = version }
  }

  package init(loop: Int, loops: Int, identity: Identity, limits: ClientLimits = .init()) {}

  /// What symbols resolve to; the gateway replaces it when it changes.
  package var directory = Directory()
  /// The feed states for heartbeats; the gateway replaces them when they change.
  package var feeds: [FeedStatus] = []

  /// Adds a client. `session` is random text that names it (`s_8f2c…`).
  package func open(session: String, now: Timestamp) -> ClientID { fatalError("being written") }
  /// The connection is gone.
  package func close(_ client: ClientID, into actions: inout [FanOutAction]) { fatalError("being written") }

  /// A text message from the client.
  package func receive(_ message: RawSpan, from client: ClientID, now: Timestamp, into actions: inout [FanOutAction]) {
    fatalError("being written")
  }
  /// Frames and answers from hubs, in order.
  package func deliver(_ deliveries: [Delivery], now: Timestamp, into actions: inout [FanOutAction]) {
    fatalError("being written")
  }
  /// Heartbeats, slow-consumer time-outs. Call about ten times a second.
  package func advance(to now: Timestamp, into actions: inout [FanOutAction]) { fatalError("being written") }

  /// Clients that have something queued since the list was last emptied by `removeDirty`.
  package var dirty: [ClientID] { fatalError("being written") }
  package func removeDirty() { fatalError("being written") }

  /// Hands over queued frames of a client in order, at most about `byteLimit` bytes (at least one frame), appending to `frames`.
  /// Call when the client's connection is writable; what stays queued can still be merged.
  package func take(from client: ClientID, byteLimit: Int, now: Timestamp, into frames: inout [SharedBytes], actions: inout [FanOutAction]) {
    fatalError("being written")
  }
  /// How many bytes handed over are not yet with the kernel (0: the connection drained). For the limits of slow consumers.
  package func setUnsent(_ bytes: Int, for client: ClientID, now: Timestamp) { fatalError("being written") }
}
