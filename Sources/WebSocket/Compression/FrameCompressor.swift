import Bytes

/// Compresses whole frames for many clients, each frame once. Each loop has one, confined to its queue.
///
/// A frame keeps its compressed form (`SharedBytes.compressedForm`), so all clients of all loops share these bytes.
/// That requires a form that every client can read: each message compressed on its own (`serverNoContextTakeover`), and
/// with a window that all clients have room for.
package final class FrameCompressor {
  /// The counts since the start.
  package struct Counts: Sendable {
    /// Frames compressed here.
    package var made: UInt64 = 0
    /// Frames that compression would not have made smaller.
    package var spared: UInt64 = 0
    /// Compressed frames that were used, and their bytes before and after.
    package var frames: UInt64 = 0
    package var bytesBefore: UInt64 = 0
    package var bytesAfter: UInt64 = 0
    package init() {}
  }

  package private(set) var counts = Counts()
  private let thresholdBytes: Int
  private let deflater: Deflater
  private var scratch = ByteBuffer()

  /// - Parameters:
  ///   - thresholdBytes: payloads smaller than that are left alone. Measured with level 1 on messages of the gateway:
  ///     150 bytes take 10 µs and become 0.82 of their size, 2 KB take 32 µs and become 0.39.
  ///   - level: 1…9.
  ///   - windowBits: 9…15; no larger than what was agreed on with any client that gets the frames.
  package init(thresholdBytes: Int = 512, level: Int = 1, windowBits: Int = 12) {
    self.thresholdBytes = thresholdBytes
    self.deflater = Deflater(level: level, windowBits: windowBits, takesOver: false)
  }

  /// The form of a whole unmasked frame for clients with compression: the frame itself if it is small, is not a whole
  /// message, or would not become smaller. O(1) from the second call on.
  package func compressed(_ frame: SharedBytes) -> SharedBytes {
    guard frame.count > thresholdBytes, let compressedForm = frame.compressedForm(compress(frame)) else { return frame }
    counts.frames &+= 1
    counts.bytesBefore &+= UInt64(truncatingIfNeeded: frame.count)
    counts.bytesAfter &+= UInt64(truncatingIfNeeded: compressedForm.count)
    return compressedForm
  }

  /// Counts compressed frames that were used again without separate calls.
  package func noteReuse(frames: Int, bytesBefore: Int, bytesAfter: Int) {
    counts.frames &+= UInt64(truncatingIfNeeded: frames)
    counts.bytesBefore &+= UInt64(truncatingIfNeeded: bytesBefore)
    counts.bytesAfter &+= UInt64(truncatingIfNeeded: bytesAfter)
  }

  private func compress(_ frame: SharedBytes) -> SharedBytes? {
    let bytes = frame.unsafeBytes
    // FIN, no reserved bit, text or binary; a server's length in one, three or nine bytes.
    guard bytes.count >= 2, let opcode = WebSocketFrame.Opcode(rawValue: bytes[0] & 0x0F), bytes[0] & 0xF0 == 0x80,
      opcode == .text || opcode == .binary, bytes[1] & 0x80 == 0
    else { return nil }
    let header = bytes[1] < 126 ? 2 : bytes[1] == 126 ? 4 : 10
    guard bytes.count - header >= thresholdBytes else { return nil }
    scratch.removeAll()
    WebSocketFrame.append(
      opcode, payload: UnsafeRawBufferPointer(rebasing: bytes[header...]), mask: nil, deflater: deflater, to: &scratch)
    defer { if scratch.count > WebSocketConnection.keptBytes { scratch.release() } }
    guard scratch.count < bytes.count else {
      counts.spared &+= 1
      return nil
    }
    counts.made &+= 1
    return SharedBytes(scratch.unsafeBytes)
  }
}
