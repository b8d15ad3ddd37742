import Bytes

/// Messages as server-sent events (HTML standard, "Server-sent events").
package enum EventText {
  /// The first line of the first event: how long a client waits before it reconnects, ms. A block of its own would be
  /// an event without data to readers that do not follow the standard to the letter.
  package static let opening: StaticString = "retry: 2000\n"
  package static let prefix: StaticString = "data: "
  package static let end: StaticString = "\n\n"

  /// Whether a message must be cut into lines. Cuts are only between its tokens, because JSON strings have no line
  /// ends. O(bytes), eight at a time.
  package static func hasLineEnd(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var offset = 0
    while offset &+ 8 <= bytes.count {
      let word = bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
      if hasByte(0x0A, word) || hasByte(0x0D, word) { return true }
      offset &+= 8
    }
    while offset < bytes.count {
      if bytes[offset] == 0x0A || bytes[offset] == 0x0D { return true }
      offset &+= 1
    }
    return false
  }

  /// Whether any byte of a word is `byte`: a zero byte of their difference borrows from its highest bit.
  private static func hasByte(_ byte: UInt8, _ word: UInt64) -> Bool {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let rest = word ^ (ones &* UInt64(byte))
    return (rest &- ones) & ~rest & (ones << 7) != 0
  }

  /// Appends a whole event, cut into lines. O(bytes).
  package static func append(_ message: UnsafeRawBufferPointer, to out: inout ByteBuffer) {
    out.append(prefix)
    var isAfterReturn = false
    for byte in message {
      // CR LF is one line end.
      if byte == 0x0A, isAfterReturn {
        isAfterReturn = false
        continue
      }
      isAfterReturn = byte == 0x0D
      if byte == 0x0A || byte == 0x0D {
        out.append("\n")
        out.append(prefix)
      } else {
        out.append(byte)
      }
    }
    out.append(end)
  }

  /// Appends the last event of a stream: why it ends.
  package static func appendEnd(code: UInt16, reason: String, to out: inout ByteBuffer) {
    out.append(prefix)
    out.append("{\"type\":\"end\",\"code\":")
    out.append(integer: UInt64(code))
    out.append(",\"reason\":")
    out.append(json: reason)
    out.append("}")
    out.append(end)
  }
}
