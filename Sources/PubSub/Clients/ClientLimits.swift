/// Limits of what one client may ask for and hold; each is named in its error.
package struct ClientLimits: Sendable {
  /// Clients of one fan-out; see `FanOut.isFull`.
  package var clients = 65_536
  package var subscriptions = 1_000
  /// Also the burst.
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
