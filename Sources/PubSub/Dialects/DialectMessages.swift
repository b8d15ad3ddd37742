import Bytes
import WebSocket

/// Messages of another protocol as frames, one after the other.
package struct DialectMessages: ~Copyable {
  var frames: ByteBuffer
  /// The number of messages.
  package private(set) var count = 0

  package init(capacity: Int = 0) { frames = ByteBuffer(capacity: capacity) }

  /// Appends a message of text, which `body` writes.
  package mutating func text(_ body: (inout ByteBuffer) -> Void) {
    WebSocketFrame.appendUnmasked(.text, to: &frames, body)
    count += 1
  }

  /// Appends a message of bytes, which `body` writes.
  package mutating func binary(_ body: (inout ByteBuffer) -> Void) {
    WebSocketFrame.appendUnmasked(.binary, to: &frames, body)
    count += 1
  }

  mutating func removeAll() {
    frames.removeAll()
    count = 0
  }

  /// The frames, as tests read them.
  package func takeBytes() -> [UInt8] { frames.takeBytes() }
}
