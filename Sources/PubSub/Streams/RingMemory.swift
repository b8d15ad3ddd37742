import MarketData

/// The bytes that the rings of a publisher's streams have together, and their limit.
struct RingMemory {
  /// The most bytes of all rings; beyond it, a publishing stream drops half of its own.
  static let limit = 64 << 20

  /// Whether messages are kept for returning clients, which otherwise get snapshots.
  let isEnabled: Bool
  private(set) var bytes = 0

  init(isEnabled: Bool) { self.isEnabled = isEnabled }

  /// Stores a message in the ring of its stream, if the channel has one.
  mutating func remember(_ frame: StreamFrame, of stream: PublishedStream, time: Timestamp) {
    guard isEnabled, let limits = stream.ringLimits else { return }
    bytes -= stream.ring.bytes
    stream.ring.append(frame, time: time, limits: limits)
    if bytes + stream.ring.bytes > Self.limit { stream.ring.trim(toBytes: stream.ring.bytes / 2) }
    bytes += stream.ring.bytes
  }

  /// Drops the messages of a stream, because they do not link to later ones.
  mutating func forget(_ stream: PublishedStream) {
    bytes -= stream.ring.bytes
    stream.ring.removeAll()
  }
}
