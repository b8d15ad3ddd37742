import Bytes
import PubSub
import Transport
import WebSocket

/// Writes a client's messages as server-sent events: the bytes of the frames that WebSocket clients get, which are
/// shared and not made again, with a few of its own around them. Owned by one loop.
struct EventWriter {
  /// Between two ids, monotonic µs: an id has up to 2 KiB, and a reader that comes back without the newest drops
  /// what it has by `seq`.
  static let idInterval: Int64 = 250_000
  /// Bytes that a client may send behind its request, which nobody reads.
  static let inputLimit = 64 << 10

  private var positions: EventPositions
  private var nextID = Int64.min
  private var inputBytes = 0

  init(_ request: EventsRequest) { positions = EventPositions(request) }

  /// Writes what a WebSocket client would be sent as `frame`.
  /// - Parameters:
  ///   - isLast: whether none follows at once: then an id goes with it, if one is due.
  ///   - moment: monotonic µs.
  mutating func write(_ frame: SharedBytes, isLast: Bool, at moment: Int64, to connection: Connection) {
    let start = WebSocketFrame.payloadStart(ofUnmasked: frame.unsafeBytes)
    let message = UnsafeRawBufferPointer(rebasing: frame.unsafeBytes[start...])
    positions.note(message.bytes)
    var out = ByteBuffer(capacity: 64)
    if isLast, positions.isNew, moment >= nextID {
      out.append("id: ")
      if positions.appendID(to: &out) {
        out.append("\n")
        nextID = moment + Self.idInterval
      } else {
        out.removeAll()
      }
    }
    if EventText.hasLineEnd(message) {
      EventText.append(message, to: &out)
      return connection.write(out.bytes)
    }
    out.append(EventText.prefix)
    connection.write(out.bytes)
    connection.write(frame, from: start)
    out.removeAll()
    out.append(EventText.end)
    connection.write(out.bytes)
  }

  /// Counts what the client sends behind its request; false when it is more than an accident.
  mutating func mayDrop(_ count: Int) -> Bool {
    inputBytes += count
    return inputBytes <= Self.inputLimit
  }

  /// Writes why the stream ends.
  func writeEnd(_ code: UInt16, _ reason: String, to connection: Connection) {
    var out = ByteBuffer(capacity: 128)
    EventText.appendEnd(code: code, reason: reason, to: &out)
    connection.write(out.bytes)
  }
}
