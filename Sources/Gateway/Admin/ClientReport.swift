import Bytes
import MarketData
import PubSub
import Transport

/// A client on the stream, as operators see it.
struct ClientReport: Sendable {
  /// A client's name for operators, valid while the client is connected: `0.12.3` is its loop, its slot there, and the
  /// use count of the slot.
  struct ID: Sendable, Equatable, Comparable, CustomStringConvertible {
    let loop: Int
    let client: ClientID

    init(loop: Int, client: ClientID) {
      self.loop = loop
      self.client = client
    }

    init?(_ text: Substring) {
      let parts = text.split(separator: ".", omittingEmptySubsequences: false)
      guard parts.count == 3, let loop = UInt16(parts[0]), let slot = UInt32(parts[1]),
        let generation = UInt32(parts[2])
      else { return nil }
      self.init(loop: Int(loop), client: ClientID(slot: slot, generation: generation))
    }

    var description: String { "\(loop).\(client.slot).\(client.generation)" }

    static func < (one: ID, other: ID) -> Bool { (one.loop, one.client.slot) < (other.loop, other.client.slot) }
  }

  let id: ID
  let peer: String
  let isTLS: Bool
  let encoding: ClientCounts.Encoding
  /// How long the client has been connected, µs.
  let connected: Int64
  let bytes: UInt64
  /// The rates of the last seconds; nil: the client has not been connected for long enough.
  let pace: ClientPace.Rates?
  let figures: ClientFigures

  private init?(_ session: StreamSession, of node: LoopNode) {
    guard let figures = ClientFigures(session.client, of: node.hub) else { return nil }
    id = ID(loop: node.loop.index, client: session.client)
    peer = session.address.description
    isTLS = session.connection.isTLS
    encoding = session.encoding
    connected = node.loop.moment - session.openedAt
    bytes = session.connection.bytesWritten
    pace = session.pace.rates
    self.figures = figures
  }

  /// A page of a loop's clients, in the order of their slots. On the loop. O(slots).
  static func page(of node: LoopNode, from slot: Int, limit: Int) -> [ClientReport] {
    node.loop.assertOnLoop()
    guard slot < node.clients.sessions.count else { return [] }
    return Array(
      node.clients.sessions[slot...].lazy.compactMap { $0 }.compactMap { ClientReport($0, of: node) }.prefix(limit))
  }

  /// One client; nil if it has gone. On the loop.
  static func one(_ client: ClientID, of node: LoopNode) -> ClientReport? {
    node.loop.assertOnLoop()
    guard Int(client.slot) < node.clients.sessions.count, let session = node.clients.sessions[Int(client.slot)],
      session.client == client
    else { return nil }
    return ClientReport(session, of: node)
  }

  /// - Parameter now: UTC.
  func append(to writer: inout JSONObjectWriter, now: Timestamp) {
    writer.field("id", id.description)
    writer.field("peer", peer)
    writer.field("key", figures.subject)
    writer.field("transport", encoding.transport(isTLS: isTLS))
    writer.field("encoding", encoding.rawValue)
    writer.field("connected_ms", connected / 1_000)
    writer.field("subscriptions", figures.subscriptions)
    writer.field("messages", figures.sent)
    writer.field("messages_per_second", pace?.messages)
    writer.field("bytes", bytes)
    writer.field("bytes_per_second", pace?.bytes)
    writer.field("queued_bytes", figures.queuedBytes)
    writer.field("merged", figures.merged)
    writer.field("lost", figures.lost)
    writer.field("degraded_ms", figures.degradedMilliseconds)
    writer.field("held_ms", figures.heldMilliseconds)
    writer.field("slow_since", figures.slowSince?.microseconds)
    writer.field("slow_ms", figures.slowSince.map { max(0, now - $0) / Microseconds.millisecond })
    writer.field("paused", figures.isPaused)
  }

  /// JSON alone.
  func body(now: Timestamp) -> [UInt8] {
    var writer = JSONObjectWriter(capacity: 512)
    writer.object { append(to: &$0, now: now) }
    return writer.takeBytes()
  }
}
