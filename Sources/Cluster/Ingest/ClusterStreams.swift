/// The streams of an ingest, as its publisher has them. All positions that one call returns fit each other.
package protocol ClusterStreams {
  /// Starts the stream of a key, or finds it; nil for a key that the venue does not have. A number belongs to one
  /// stream for a whole epoch: a stream that is closed and opened again has another one, unless its sequence goes on.
  mutating func open(_ key: ClusterKey) -> UInt32?
  /// No edge wants the stream any more.
  mutating func close(_ stream: UInt32)
  /// The sequence of the last frame; nil if the stream has no state yet.
  func sequence(_ stream: UInt32) -> UInt64?
  /// The frames after a sequence, oldest first; nil if they are no longer kept.
  func frames(_ stream: UInt32, after sequence: UInt64) -> [SyncAnswer.Frame]?
  /// The whole state at `sequence(stream)`.
  func snapshot(_ stream: UInt32) -> SyncAnswer.Frame?
  /// The events after the one with this mark, up to `sequence(stream)`.
  func events(_ stream: UInt32, after mark: UInt64) -> ClusterEvents
}

/// Events that an ingest has after one that clients have.
package enum ClusterEvents: Sendable {
  /// One update, without bytes if there are none.
  case update(SyncAnswer.Frame)
  /// The ingest itself has not read that event yet.
  case behind
  /// They are no longer kept, or the venue's events have no numbers that are the same for every reader.
  case unknown
}
