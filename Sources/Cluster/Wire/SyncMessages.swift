import Bytes

/// An edge's position in a stream: the ingest answers with the frames after it.
package struct SyncItem: Sendable, Equatable {
  package var key: ClusterKey
  /// The epoch of the position; 0: the edge has nothing.
  package var run: UInt32
  package var sequence: UInt64
  /// The number of the last event that clients have; 0 for none.
  package var mark: UInt64

  package init(key: ClusterKey, run: UInt32 = 0, sequence: UInt64 = 0, mark: UInt64 = 0) {
    self.key = key
    self.run = run
    self.sequence = sequence
    self.mark = mark
  }
}

/// A request of an edge to the active ingest. One request is everything: it joins streams, renews the interest in them,
/// checks positions, and asks for what is missing.
package struct SyncRequest: Sendable, Equatable {
  package var edge: String
  /// Streams that the edge no longer wants.
  package var left: [ClusterKey]
  package var items: [SyncItem]

  /// The most streams of a request.
  package static let limit = 500

  package init(edge: String, items: [SyncItem], left: [ClusterKey] = []) {
    self.edge = edge
    self.items = items
    self.left = left
  }

  package func append(to out: inout ByteBuffer) {
    out.append(ClusterWire.version)
    out.append(short: edge.utf8)
    out.append(little: UInt32(left.count))
    for key in left { out.append(short: key.tail) }
    out.append(little: UInt32(items.count))
    for item in items {
      out.append(short: item.key.tail)
      out.append(little: item.run)
      out.append(little: item.sequence)
      out.append(little: item.mark)
    }
  }

  package init(_ message: UnsafeRawBufferPointer) throws(ClusterWireError) {
    var reader = ClusterReader(message)
    try reader.version()
    edge = try reader.text(limit: Beacon.nodeLimit)
    left = []
    for _ in 0..<(try reader.count(limit: Self.limit, size: 2)) { left.append(try reader.key()) }
    items = []
    for _ in 0..<(try reader.count(limit: Self.limit, size: 22)) {
      items.append(
        SyncItem(
          key: try reader.key(), run: try reader.integer(), sequence: try reader.integer(), mark: try reader.integer()))
    }
    try reader.end()
  }
}

/// The frames of a stream that an edge lacks.
package struct SyncAnswer: Sendable, Equatable {
  package enum Kind: UInt8, Sendable {
    /// Nothing: the position is the last one.
    case current = 0
    /// `frames` follow the edge's position.
    case frames = 1
    /// The whole state at `sequence`: the frame of a snapshot.
    case snapshot = 2
    /// Another epoch, whose events go on after the edge's mark: one update, or none if nothing was missed.
    case continued = 3
    /// The stream has no state yet; a snapshot follows as a frame.
    case pending = 4
    /// No such stream.
    case unknown = 5
    /// The answer is full: ask again.
    case later = 6
    /// The new ingest has not read yet what the edge's clients have: ask again soon.
    case behind = 7
  }

  package struct Frame: Sendable, Equatable {
    package var sequence: UInt64
    package var previous: UInt64
    package var mark: UInt64
    package var bytes: [UInt8]

    package init(sequence: UInt64, previous: UInt64, mark: UInt64 = 0, bytes: [UInt8]) {
      self.sequence = sequence
      self.previous = previous
      self.mark = mark
      self.bytes = bytes
    }
  }

  package var key: ClusterKey
  package var kind: Kind
  package var stream: UInt32
  /// The position after this answer.
  package var sequence: UInt64
  package var mark: UInt64
  package var frames: [Frame]

  package init(
    key: ClusterKey, kind: Kind, stream: UInt32 = 0, sequence: UInt64 = 0, mark: UInt64 = 0, frames: [Frame] = []
  ) {
    self.key = key
    self.kind = kind
    self.stream = stream
    self.sequence = sequence
    self.mark = mark
    self.frames = frames
  }

  /// Bytes on the wire, about.
  var size: Int { frames.reduce(64 + ClusterKey.limit) { $0 + $1.bytes.count + 32 } }
}

/// The answer of the active ingest.
package struct SyncReply: Sendable, Equatable {
  package var run: UInt32
  package var answers: [SyncAnswer]

  /// Bytes of an answer, below the servers' `max_payload` of 1 MiB. One frame may be larger by itself.
  package static let byteLimit = 900 << 10
  /// Frames of one stream in an answer; a ring that holds more makes a snapshot.
  package static let frameLimit = 4_096

  package init(run: UInt32, answers: [SyncAnswer]) {
    self.run = run
    self.answers = answers
  }

  package func append(to out: inout ByteBuffer) {
    out.append(ClusterWire.version)
    out.append(little: run)
    out.append(little: UInt32(answers.count))
    for answer in answers {
      out.append(answer.kind.rawValue)
      out.append(short: answer.key.tail)
      out.append(little: answer.stream)
      out.append(little: answer.sequence)
      out.append(little: answer.mark)
      out.append(little: UInt32(answer.frames.count))
      for frame in answer.frames {
        out.append(little: frame.sequence)
        out.append(little: frame.previous)
        out.append(little: frame.mark)
        out.append(little: UInt32(frame.bytes.count))
        out.append(frame.bytes)
      }
    }
  }

  package init(_ message: UnsafeRawBufferPointer) throws(ClusterWireError) {
    var reader = ClusterReader(message)
    try reader.version()
    run = try reader.integer()
    answers = []
    for _ in 0..<(try reader.count(limit: SyncRequest.limit, size: 27)) {
      guard let kind = SyncAnswer.Kind(rawValue: try reader.integer()) else { throw .value }
      var answer = SyncAnswer(key: try reader.key(), kind: kind)
      answer.stream = try reader.integer()
      answer.sequence = try reader.integer()
      answer.mark = try reader.integer()
      for _ in 0..<(try reader.count(limit: Self.frameLimit, size: 28)) {
        let (sequence, previous, mark) = (
          try reader.integer(UInt64.self), try reader.integer(UInt64.self), try reader.integer(UInt64.self)
        )
        let count = Int(try reader.integer(UInt32.self))
        guard count <= ClusterFrameHead.frameLimit else { throw .limit }
        answer.frames.append(
          SyncAnswer.Frame(
            sequence: sequence, previous: previous, mark: mark, bytes: Array(try reader.bytes(count))))
      }
      answers.append(answer)
    }
    try reader.end()
  }
}
