import Bytes
import MarketData

/// What the publisher remembers of its streams, for clients that come back.
extension StreamPublisher {
  /// Bytes of all rings of a publisher; past it a stream that publishes forgets half of its own.
  static let ringBytesLimit = 64 << 20

  /// Keeps a message in its stream's ring, if the channel has one.
  func remember(_ frame: StreamFrame, of stream: PublishedStream, now: Timestamp) {
    guard remembers, let limits = stream.ringLimits else { return }
    ringBytes -= stream.ring.bytes
    stream.ring.append(frame, time: steady(now), limits: limits)
    if ringBytes + stream.ring.bytes > Self.ringBytesLimit { stream.ring.trim(toBytes: stream.ring.bytes / 2) }
    ringBytes += stream.ring.bytes
  }

  /// Its messages do not link to what comes.
  func forget(_ stream: PublishedStream) {
    ringBytes -= stream.ring.bytes
    stream.ring.removeAll()
  }

  /// What a client with this position is owed: nothing, or the messages since; nil if only a snapshot will do. Call before a stream
  /// that slept is woken.
  func replay(from position: StreamPosition, of stream: PublishedStream, now: Timestamp) -> [StreamFrame]? {
    guard position.epoch == epoch, stream.loops != 0, stream.isShown, position.seq <= stream.seq,
      position.stream ?? stream.id.rawValue == stream.id.rawValue
    else { return nil }
    if position.seq == stream.seq { return [] }
    guard let frames = stream.ring.frames(after: position.seq, now: steady(now)) else { return nil }
    if stream.key.channel.isEvent { return frames }
    let size = frames.reduce(0) { $0 + $1.bytes.count }
    guard let snapshot = snapshot(of: stream, reason: .resume, now: now) else { return nil }
    return size < snapshot.bytes.count ? frames : nil
  }
}
