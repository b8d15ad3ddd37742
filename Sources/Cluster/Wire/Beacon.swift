import Bytes

/// The right to publish a venue's streams: the highest term wins. It is a counter and no clock, so a wrong clock
/// decides nothing.
package struct ClusterTerm: Sendable, Hashable, Comparable {
  /// One more than any that the claimer had seen.
  package let number: UInt64
  /// Decides between equal numbers.
  package let node: String

  package init(number: UInt64, node: String) {
    self.number = number
    self.node = node
  }

  package static func < (a: ClusterTerm, b: ClusterTerm) -> Bool {
    a.number != b.number ? a.number < b.number : a.node < b.node
  }
}

/// What an ingest says of itself and of its venue, five times a second and at once after a change.
package struct Beacon: Sendable, Equatable {
  package enum Role: UInt8, Sendable {
    /// It publishes.
    case active = 0
    /// It publishes, and asks its partner to claim.
    case draining = 1
    /// It follows the venue, and could claim.
    case warm = 2
    /// It could not claim: its books are not in sync, for example.
    case notReady = 3
  }

  /// The state of the connection to the venue.
  package enum Feed: UInt8, Sendable { case connecting = 0, live = 1, stale = 2, down = 3 }

  /// Of an active ingest its own, of others the highest that they have seen.
  package var term: ClusterTerm
  package var role: Role
  package var node: String
  /// The epoch of the present claim; 0 while not active.
  package var run: UInt32
  package var link: UInt16
  package var feed: Feed
  /// Since the venue's last message, µs, when the beacon was sent.
  package var age: UInt64
  /// The ingest's monotonic time, µs. Receivers compare it with itself only.
  package var sent: UInt64
  /// The revision of the instrument list.
  package var revision: UInt64

  package static let nodeLimit = 64

  package init(
    term: ClusterTerm, role: Role, node: String, run: UInt32, link: UInt16, feed: Feed, age: UInt64, sent: UInt64,
    revision: UInt64 = 0
  ) {
    self.term = term
    self.role = role
    self.node = node
    self.run = run
    self.link = link
    self.feed = feed
    self.age = age
    self.sent = sent
    self.revision = revision
  }

  package var isActive: Bool { role == .active || role == .draining }

  package func append(to out: inout ByteBuffer) {
    out.append(ClusterWire.version)
    out.append(role.rawValue)
    out.append(feed.rawValue)
    out.append(little: link)
    out.append(little: run)
    out.append(little: term.number)
    out.append(little: age)
    out.append(little: sent)
    out.append(little: revision)
    out.append(short: term.node.utf8)
    out.append(short: node.utf8)
  }

  package init(_ message: UnsafeRawBufferPointer) throws(ClusterWireError) {
    var reader = ClusterReader(message)
    try reader.version()
    guard let role = Role(rawValue: try reader.integer()), let feed = Feed(rawValue: try reader.integer()) else {
      throw .value
    }
    let link = try reader.integer(UInt16.self)
    let run = try reader.integer(UInt32.self)
    let number = try reader.integer(UInt64.self)
    let age = try reader.integer(UInt64.self)
    let sent = try reader.integer(UInt64.self)
    let revision = try reader.integer(UInt64.self)
    let term = ClusterTerm(number: number, node: try reader.text(limit: Self.nodeLimit))
    self.init(
      term: term, role: role, node: try reader.text(limit: Self.nodeLimit), run: run, link: link, feed: feed, age: age,
      sent: sent, revision: revision)
    try reader.end()
    // An active ingest has claimed its own term.
    guard !isActive || (term.node == node && run != 0) else { throw .value }
    guard age < 1 << 62, sent < 1 << 62, number < 1 << 62 else { throw .value }
  }
}

/// The last sequences of the streams that changed lately, by which edges notice lost messages. All frames before it
/// were sent on the same connection, so an edge that has a digest and not a frame has lost that frame.
package struct Digest: Sendable, Equatable {
  package struct Item: Sendable, Equatable {
    package var stream: UInt32
    package var sequence: UInt64

    package init(stream: UInt32, sequence: UInt64) {
      self.stream = stream
      self.sequence = sequence
    }
  }

  package var run: UInt32
  /// The ingest's monotonic time, µs. Receivers compare it with itself only.
  package var sent: UInt64
  /// Since the venue's last message, µs. What the venue sent before that, edges have, or find missing.
  package var age: UInt64
  package var items: [Item]

  /// The most items: 960 kB, below the servers' `max_payload` of 1 MiB.
  package static let limit = 80_000

  package init(run: UInt32, sent: UInt64, age: UInt64, items: [Item]) {
    self.run = run
    self.sent = sent
    self.age = age
    self.items = items
  }

  package func append(to out: inout ByteBuffer) {
    out.append(ClusterWire.version)
    out.append(little: run)
    out.append(little: sent)
    out.append(little: age)
    out.append(little: UInt32(items.count))
    for item in items {
      out.append(little: item.stream)
      out.append(little: item.sequence)
    }
  }

  package init(_ message: UnsafeRawBufferPointer) throws(ClusterWireError) {
    var reader = ClusterReader(message)
    try reader.version()
    run = try reader.integer()
    sent = try reader.integer()
    age = try reader.integer()
    guard sent < 1 << 62, age < 1 << 62 else { throw .value }
    let count = try reader.count(limit: Self.limit, size: 12)
    items = []
    items.reserveCapacity(count)
    for _ in 0..<count { items.append(Item(stream: try reader.integer(), sequence: try reader.integer())) }
    try reader.end()
  }
}
