import Bytes
import CZlib

/// One compressing context: messages in, raw DEFLATE without its last four octets out (RFC 7692 section 7.2.1).
///
/// It has 2^(bits + 2) + 2^(memory level + 9) bytes: 32 KB with a window of 12 bits, 256 KB with one of 15.
package final class Deflater {
  /// Whether a message may refer to earlier ones. If so, every compressed message must be sent exactly as returned.
  package let takesOver: Bool
  private let stream: UnsafeMutablePointer<z_stream>
  private var isFresh = true
  /// The last message that was compressed for a frame.
  var scratch = ByteBuffer()

  /// - Parameters:
  ///   - level: 1 (fast)…9 (small).
  ///   - windowBits: 9…15; zlib has no raw deflate with 8.
  package init(level: Int = 1, windowBits: Int = 15, takesOver: Bool = false) {
    precondition((1...9).contains(level) && (9...15).contains(windowBits), "level 1 to 9, window of 9 to 15 bits")
    self.takesOver = takesOver
    stream = .allocate(capacity: 1)
    stream.initialize(to: z_stream())
    // The hash table is as large as the window, so that the reset for each message is no larger than necessary.
    let status = deflateInit2_(
      stream, Int32(level), Z_DEFLATED, Int32(-windowBits), Int32(max(4, windowBits - 7)), Z_DEFAULT_STRATEGY,
      ZLIB_VERSION,
      Int32(MemoryLayout<z_stream>.size))
    precondition(status == Z_OK, "zlib has no memory")
  }

  deinit {
    deflateEnd(stream)
    stream.deallocate()
  }

  /// Appends the compressed message to `out`. O(payload): about 10 µs for 500 bytes of JSON, 32 µs for 2 KB.
  package func append(_ payload: UnsafeRawBufferPointer, to out: inout ByteBuffer) {
    guard payload.count > 0, let base = payload.baseAddress else {
      // Section 7.2.3.6: an empty message is the first octet of an empty block.
      return out.append(0)
    }
    if !takesOver, !isFresh { deflateReset(stream) }
    isFresh = false
    stream.pointee.next_in = UnsafeMutablePointer(mutating: base.assumingMemoryBound(to: UInt8.self))
    stream.pointee.avail_in = UInt32(payload.count)
    // The bound is for a stream that ends; a flush needs at most six bytes more.
    var room = Int(deflateBound(stream, UInt(payload.count))) + 16
    repeat {
      out.appendUnsafe(room) { memory in
        stream.pointee.next_out = memory.baseAddress?.assumingMemoryBound(to: UInt8.self)
        stream.pointee.avail_out = UInt32(room)
        let status = deflate(stream, Z_SYNC_FLUSH)
        precondition(status == Z_OK, "zlib refuses a stream that is in order")
        return room - Int(stream.pointee.avail_out)
      }
      room = 256
    } while stream.pointee.avail_out == 0
    // A flush ends in 00 00 FF FF, which the receiver puts back.
    out.truncate(to: out.count - 4)
  }
}

extension WebSocketFrame {
  /// Appends a message of one frame, compressed by `deflater` if that makes it smaller. With context takeover it is
  /// always compressed, because the context then includes it.
  ///
  /// - Parameters:
  ///   - opcode: `.text` or `.binary`.
  ///   - mask: nil from a server; four random bytes, fresh for each frame, from a client.
  package static func append(
    _ opcode: Opcode, payload: UnsafeRawBufferPointer, mask: UInt32?, deflater: Deflater, to out: inout ByteBuffer
  ) {
    precondition(opcode == .text || opcode == .binary, "only messages are compressed (RFC 7692 section 6)")
    deflater.scratch.removeAll()
    deflater.append(payload, to: &deflater.scratch)
    if !deflater.takesOver, deflater.scratch.count >= payload.count {
      append(opcode, payload: payload, mask: mask, to: &out)
    } else {
      append(opcode, payload: deflater.scratch.unsafeBytes, mask: mask, isCompressed: true, to: &out)
    }
    if deflater.scratch.count > WebSocketConnection.keptBytes { deflater.scratch.release() }
  }
}
