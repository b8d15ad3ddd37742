import Bytes
import MarketData
import PubSub

/// A client on the stream, as operators see it.
package struct ClientReport: Sendable {
  /// A client's name for operators, valid while the client is connected: `0.12.3` is its loop, its slot there, and the
  /// use count of the slot.
  package struct ID: Sendable, Equatable, Comparable, CustomStringConvertible {
    package let loop: Int
    package let client: ClientID

    package init(loop: Int, client: ClientID) {
      self.loop = loop
      self.client = client
    }

    package init?(_ text: Substring) {
      let parts = text.split(separator: ".", omittingEmptySubsequences: false)
      guard parts.count == 3, let loop = UInt16(parts[0]), let slot = UInt32(parts[1]),
        let generation = UInt32(parts[2])
      else { return nil }
      self.init(loop: Int(loop), client: ClientID(slot: slot, generation: generation))
    }

    package var description: String { "\(loop).\(client.slot).\(client.generation)" }

    package static func < (one: ID, other: ID) -> Bool { (one.loop, one.client.slot) < (other.loop, other.client.slot) }
  }

  package let id: ID
  let peer: String
  let isTLS: Bool
  let encoding: ClientCounts.Encoding
  /// How long the client has been connected, µs.
  let connected: Int64
  let bytes: UInt64
  /// The rates of the last seconds; nil: the client has not been connected for long enough.
  let pace: ClientPace.Rates?
  let figures: ClientFigures

  package init(
    _ id: ID, peer: String, isTLS: Bool, encoding: ClientCounts.Encoding, connected: Int64, bytes: UInt64,
    pace: ClientPace.Rates?, figures: ClientFigures
  ) {
    self.id = id
    self.peer = peer
    self.isTLS = isTLS
    self.encoding = encoding
    self.connected = connected
    self.bytes = bytes
    self.pace = pace
    self.figures = figures
  }

  /// - Parameter now: UTC.
  package func append(to writer: inout JSONObjectWriter, now: Timestamp) {
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
  package func body(now: Timestamp) -> [UInt8] {
    var writer = JSONObjectWriter(capacity: 512)
    writer.object { append(to: &$0, now: now) }
    return writer.takeBytes()
  }
}
