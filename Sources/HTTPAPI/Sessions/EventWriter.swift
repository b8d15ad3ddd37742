import Bytes
import PubSub
import Transport
import WebSocket

/// Writes a client's messages as server-sent events. It shares the bytes of the frames that WebSocket clients get, with
/// a few bytes of its own around them. Owned by one loop.
package final class EventWriter {
  /// The interval between two ids, monotonic µs. An id has up to 2 KiB, and a client that resumes from an older id
  /// ignores known messages by `seq`.
  static let idInterval: Int64 = 250_000
  /// Bytes that a client may send after its request; they are ignored.
  static let inputLimit = 64 << 10

  private static let prefix = SharedBytes(Array("\(EventText.prefix)".utf8))
  private static let end = SharedBytes(Array("\(EventText.end)".utf8))

  private var positions: EventPositions
  private var nextID = Int64.min
  private var inputBytes = 0

  package init(_ request: EventsRequest) { positions = EventPositions(request) }

  /// Writes a message that a WebSocket client would get as `frame`.
  /// - Parameters:
  ///   - isLast: whether no message follows at once; then an id is added, if one is due.
  ///   - moment: monotonic µs.
  package func write(_ frame: SharedBytes, isLast: Bool, at moment: Int64, to connection: Connection) {
    let start = WebSocketFrame.payloadStart(ofUnmasked: frame.unsafeBytes)
    let message = UnsafeRawBufferPointer(rebasing: frame.unsafeBytes[start...])
    positions.note(message.bytes)
    if isLast, positions.isNew, moment >= nextID { writeID(at: moment, to: connection) }
    guard !EventText.hasLineEnd(message) else {
      var out = ByteBuffer(capacity: message.count + 64)
      EventText.append(message, to: &out)
      return connection.write(out.bytes)
    }
    connection.write(Self.prefix)
    connection.write(frame, from: start)
    connection.write(Self.end)
  }

  private func writeID(at moment: Int64, to connection: Connection) {
    var out = ByteBuffer(capacity: 256)
    out.append("id: ")
    guard positions.appendID(to: &out) else { return }
    out.append("\n")
    connection.write(out.bytes)
    nextID = moment + Self.idInterval
  }

  /// Counts the bytes that the client sends after its request; false if they are too many.
  package func mayDrop(_ count: Int) -> Bool {
    inputBytes += count
    return inputBytes <= Self.inputLimit
  }

  /// Writes why the stream ends.
  package func writeEnd(_ code: UInt16, _ reason: String, to connection: Connection) {
    var out = ByteBuffer(capacity: 128)
    EventText.appendEnd(code: code, reason: reason, to: &out)
    connection.write(out.bytes)
  }
}
