/// Limits of what one client may ask for and hold; each is named in its error.
package struct ClientLimits: Sendable {
  /// Clients of one hub; see `SubscriberHub.isFull`.
  package var clients = 65_536
  package var subscriptions = 1_000
  /// Also the burst.
  package var requestsPerSecond = 20
  /// Clients of one address whose requests may cost their full rates at the same time, of one hub; see `AddressLedger`.
  /// With 16, an office of 500 that subscribed to 50 symbols each at once was refused in part.
  package var clientsAtFullRate = 64
  /// Bytes of one request.
  package var messageBytes = 64 << 10
  /// Unsent bytes above which a client is slowed down.
  package var softQueuedBytes = 256 << 10
  /// Waiting bytes above which it is closed with 4108.
  package var hardQueuedBytes = 1 << 20
  /// Without progress for so long a client is closed with 4108, s. Readers of 2 kB/s were seen to make none for 16 s,
  /// and with the system's receive buffer over loopback for 32 s: a kernel opens the window again only when a whole
  /// segment's room is free.
  package var stallSeconds = 60
  /// Unsent events of event channels.
  package var queuedEvents = 1_000
  /// Bytes of their messages. Together with `queuedStateBytes`, the bytes in the connection and the unsent bytes in the
  /// kernel, this keeps a slow client below the soft limit.
  package var queuedEventBytes: Int { softQueuedBytes * 3 / 8 }
  /// Bytes of state messages that wait for a client whose connection is full; beyond them streams wait for a snapshot
  /// instead.
  package var queuedStateBytes: Int { softQueuedBytes / 8 }
  /// Sessions that are kept for clients that may come back, of one hub.
  package var parkedSessions = 4_096
  package init() {}
}
