import Bytes
import MarketData
import PubSub
import Transport

/// A client on the stream, as operators see it.
struct ClientReport: Sendable {
  /// A client's name for operators, which is good as long as it is connected: `0.12.3` is its loop, its slot there, and
  /// how often the slot was used.
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
  let deflates: Bool
  /// How long it is connected, µs.
  let connected: Int64
  let bytes: UInt64
  let figures: ClientFigures

  private init?(_ session: StreamSession, of node: LoopNode) {
    guard let figures = ClientFigures(session.client, of: node.hub) else { return nil }
    id = ID(loop: node.loop.index, client: session.client)
    peer = session.address?.description ?? session.connection.peer.host
    isTLS = session.isTLS
    deflates = session.deflates
    connected = node.loop.moment - session.openedAt
    bytes = session.connection.bytesWritten
    self.figures = figures
  }

  /// A page of a loop's clients, in the order of their slots. On the loop. O(slots).
  static func page(of node: LoopNode, from slot: Int, limit: Int) -> [ClientReport] {
    node.loop.assertOnLoop()
    guard slot < node.sessions.count else { return [] }
    return Array(node.sessions[slot...].lazy.compactMap { $0 }.compactMap { ClientReport($0, of: node) }.prefix(limit))
  }

  /// One client; nil if it has gone. On the loop.
  static func one(_ client: ClientID, of node: LoopNode) -> ClientReport? {
    node.loop.assertOnLoop()
    guard Int(client.slot) < node.sessions.count, let session = node.sessions[Int(client.slot)],
      session.client == client
    else { return nil }
    return ClientReport(session, of: node)
  }

  func append(to out: inout ByteBuffer) {
    out.append("{\"id\":")
    out.append(json: id.description)
    out.append(",\"peer\":")
    out.append(json: peer)
    if let subject = figures.subject {
      out.append(",\"key\":")
      out.append(json: subject)
    }
    out.append(isTLS ? ",\"transport\":\"wss\"" : ",\"transport\":\"ws\"")
    out.append(deflates ? ",\"encoding\":\"deflate\"" : ",\"encoding\":\"plain\"")
    for (name, value) in [
      ("connected_ms", connected / 1_000), ("subscriptions", Int64(figures.subscriptions)),
      ("messages", Int64(clamping: figures.sent)), ("bytes", Int64(clamping: bytes)),
      ("queued_bytes", Int64(figures.queuedBytes)), ("merged", Int64(figures.merged)), ("lost", Int64(figures.lost)),
      ("degraded_ms", Int64(figures.degradedMilliseconds)),
    ] {
      out.append(",\"\(name)\":")
      out.append(integer: value)
    }
    if let since = figures.slowSince {
      out.append(",\"slow_since\":")
      out.append(integer: since.microseconds)
    }
    out.append(figures.isPaused ? ",\"paused\":true}" : ",\"paused\":false}")
  }
}
