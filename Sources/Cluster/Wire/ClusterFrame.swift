import Bytes

/// What precedes the bytes of a frame between nodes: 34 bytes, integers with the least byte first.
package struct ClusterFrameHead: Sendable, Equatable {
  /// The epoch: one claim of one ingest.
  package var run: UInt32
  package var stream: UInt32
  package var sequence: UInt64
  /// The sequence that this frame follows; 0 for a snapshot.
  package var previous: UInt64
  /// The number of the last event in it, which is the same for all ingests of the venue; 0 where events have none.
  package var mark: UInt64
  package var isSnapshot: Bool

  /// Bytes of a head on the wire.
  package static let size = 34
  /// The most bytes of a frame.
  package static let frameLimit = 4 << 20

  package init(
    run: UInt32, stream: UInt32, sequence: UInt64, previous: UInt64, mark: UInt64 = 0, isSnapshot: Bool = false
  ) {
    self.run = run
    self.stream = stream
    self.sequence = sequence
    self.previous = previous
    self.mark = mark
    self.isSnapshot = isSnapshot
  }

  /// Appends a head; `count` bytes of the frame follow. Several frames of one subject share a message.
  @inline(__always)
  package func append(count: Int, to out: inout ByteBuffer) {
    out.reserve(Self.size)
    out.append(ClusterWire.version)
    out.append(isSnapshot ? 1 : 0)
    out.append(little: run)
    out.append(little: stream)
    out.append(little: UInt32(truncatingIfNeeded: count))
    out.append(little: sequence)
    out.append(little: isSnapshot ? 0 : UInt32(clamping: sequence &- previous))
    out.append(little: mark)
  }
}

/// Reads the frames of a message.
package struct ClusterFrames {
  private var reader: ClusterReader

  package init(_ message: UnsafeRawBufferPointer) { reader = ClusterReader(message) }

  /// The next frame, whose bytes are those of the message; nil at the end.
  package mutating func next() throws(ClusterWireError) -> (head: ClusterFrameHead, bytes: UnsafeRawBufferPointer)? {
    guard !reader.isAtEnd else { return nil }
    try reader.version()
    let flags = try reader.integer(UInt8.self)
    guard flags <= 1 else { throw .value }
    let run = try reader.integer(UInt32.self)
    let stream = try reader.integer(UInt32.self)
    let count = Int(try reader.integer(UInt32.self))
    let sequence = try reader.integer(UInt64.self)
    let distance = UInt64(try reader.integer(UInt32.self))
    let mark = try reader.integer(UInt64.self)
    guard count <= ClusterFrameHead.frameLimit else { throw .limit }
    guard distance <= sequence, sequence > 0, flags == 1 || distance > 0 else { throw .value }
    return (
      ClusterFrameHead(
        run: run, stream: stream, sequence: sequence, previous: flags == 1 ? 0 : sequence - distance,
        mark: mark, isSnapshot: flags == 1),
      try reader.bytes(count)
    )
  }
}
