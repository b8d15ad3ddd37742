import Bytes

/// What a connection knows of a frame or message that has not ended, and of no other: a connection between messages
/// has none.
final class PartialInput {
  // `@exclusivity(unchecked)`: one connection alone has it; a feed uses it for every message.

  @exclusivity(unchecked) var header = PartialHeader()
  /// The frame whose payload is under way.
  @exclusivity(unchecked) var frame: PartialFrame?
  /// The message whose last frame has not ended; control frames may come in between.
  @exclusivity(unchecked) var message: PartialMessage?
  /// The payload of that message, unless it is compressed, and that of a control frame.
  @exclusivity(unchecked) var gathered = ByteBuffer()
  @exclusivity(unchecked) var control = ByteBuffer()

  /// Whether it says nothing; then the buffers are empty, too.
  var isEmpty: Bool { frame == nil && message == nil && header.count == 0 && control.isEmpty }

  /// Ends the use of a whole message; a buffer of more than `kept` bytes is freed.
  func emptyGathered(keeping kept: Int) {
    if gathered.count > kept { gathered.release() } else { gathered.removeAll() }
  }
}

/// A frame from its header on.
struct PartialFrame {
  let opcode: UInt8
  let isFinal: Bool
  /// Of the first frame of a compressed message (RSV1).
  let isCompressed: Bool
  /// The key in memory order.
  let key: UInt32
  /// The payload bytes that were read, and that are missing.
  var taken = 0
  var remaining: Int

  var isControl: Bool { opcode >= 8 }
  /// Whether the message ends with what was read.
  var endsMessage: Bool { remaining == 0 && isFinal }
}

/// A message from its first frame on.
struct PartialMessage {
  let isText: Bool
  let isCompressed: Bool
  /// Payload bytes of its frames so far, announced ones included.
  var bytes: Int
  var fragments = 1
  var utf8 = UTF8Validator()

  /// A message of which `frame` is the first.
  init(_ frame: PartialFrame) {
    isText = frame.opcode == 1
    isCompressed = frame.isCompressed
    bytes = frame.taken + frame.remaining
  }
}

/// The bytes of a frame header that is cut: at most 2 + 8 + 4.
struct PartialHeader {
  var bytes: (UInt64, UInt64) = (0, 0)
  var count = 0

  subscript(index: Int) -> UInt8 { withUnsafeBytes(of: bytes) { $0[index] } }

  mutating func append(_ byte: UInt8) {
    withUnsafeMutableBytes(of: &bytes) { $0[count] = byte }
    count += 1
  }
}
