import Bytes
import CZlib

/// One inflating context: raw DEFLATE in, the present message out. It has about 7 KB and the window of 2^bits bytes,
/// which zlib allocates when the first message needs it.
package final class Inflater {
  enum Failure: Error {
    /// The message would be larger than the limit.
    case tooBig
    /// The bytes are not DEFLATE, end in the middle of a block, or point before the window.
    case damaged
    /// zlib got no memory.
    case noMemory
  }

  /// The least room for one call of zlib, bytes.
  private static let chunkBytes = 1 << 10

  private let stream: UnsafeMutablePointer<z_stream>
  /// The inflated bytes of the present message.
  private(set) var output = ByteBuffer()
  /// Whether the last read block has BFINAL (RFC 7692 section 7.2.3.4).
  private var hasEnded = false
  private var isEmpty = true

  /// - Parameter windowBits: 8…15.
  init(windowBits: Int) {
    stream = .allocate(capacity: 1)
    stream.initialize(to: z_stream())
    let status = inflateInit2_(stream, Int32(-windowBits), ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
    precondition(status == Z_OK, "zlib has no memory")
  }

  deinit {
    inflateEnd(stream)
    stream.deallocate()
  }

  /// Drops everything and starts again with this window.
  func reset(windowBits: Int) {
    inflateReset2(stream, Int32(-windowBits))
    endMessage(keeping: .max)
    hasEnded = false
  }

  /// Inflates a piece of a compressed message. It appends to `output`, which grows to at most `limit` bytes plus one.
  /// So a small message can cost no more memory.
  func inflate(_ input: UnsafeRawBufferPointer, limit: Int) throws(Failure) {
    guard input.count > 0, let base = input.baseAddress else { return }
    isEmpty = false
    stream.pointee.next_in = UnsafeMutablePointer(mutating: base.assumingMemoryBound(to: UInt8.self))
    stream.pointee.avail_in = UInt32(input.count)
    while true {
      if hasEnded {
        // Bytes after a final block are a separate stream, which may still refer to the window.
        guard stream.pointee.avail_in > 0 else { return }
        inflateResetKeep(stream)
        hasEnded = false
      }
      let room = min(max(Self.chunkBytes, Int(stream.pointee.avail_in) &* 4), limit &- output.count &+ 1)
      let status = step(room)
      guard output.count <= limit else { throw .tooBig }
      switch status {
      case Z_OK, Z_BUF_ERROR:
        guard stream.pointee.avail_out > 0 else { continue }
        guard stream.pointee.avail_in == 0 else { throw .damaged }
        return
      case Z_STREAM_END: hasEnded = true
      case Z_MEM_ERROR: throw .noMemory
      default: throw .damaged
      }
    }
  }

  private func step(_ room: Int) -> Int32 {
    var status = Z_OK
    output.appendUnsafe(room) { memory in
      stream.pointee.next_out = memory.baseAddress?.assumingMemoryBound(to: UInt8.self)
      stream.pointee.avail_out = UInt32(room)
      status = CZlib.inflate(stream, Z_SYNC_FLUSH)
      return room &- Int(stream.pointee.avail_out)
    }
    return status
  }

  /// Ends the message: adds the four octets that its sender left out, and checks that nothing is missing (RFC 7692
  /// section 7.2.2).
  func finish(limit: Int) throws(Failure) {
    // Senders that end a message with a final block, or send nothing at all, need no tail.
    if hasEnded || isEmpty { return }
    let before = output.count
    var failure: Failure?
    withUnsafeBytes(of: (0x00, 0x00, 0xFF, 0xFF) as (UInt8, UInt8, UInt8, UInt8)) { tail in
      do throws(Failure) { try inflate(tail, limit: limit) } catch { failure = error }
    }
    if let failure { throw failure }
    // 128 means that zlib is between two blocks; the lower bits count unused input bits. Then the tail was the end of
    // an empty block; otherwise the message is incomplete.
    guard hasEnded || stream.pointee.data_type & 0xFF == 128, output.count == before else { throw .damaged }
  }

  /// Drops the message, and its memory if that is more than `bytes`.
  func endMessage(keeping bytes: Int) {
    isEmpty = true
    if output.count > bytes { output.release() } else { output.removeAll() }
  }
}

/// A pool of inflating contexts for the connections of a loop. A connection borrows one for the time of a message, so
/// an idle connection holds none. Confined to one queue.
package final class InflaterPool {
  /// The number of kept contexts; others are freed.
  private static let contextLimit = 4
  /// The memory for messages that a context keeps, bytes.
  private static let keptBytes = 64 << 10

  private var idle: [Inflater] = []

  package init() {}

  /// The present number of kept contexts, for tests.
  var idleCount: Int { idle.count }

  func borrow(windowBits: Int) -> Inflater {
    guard let inflater = idle.popLast() else { return Inflater(windowBits: windowBits) }
    inflater.reset(windowBits: windowBits)
    return inflater
  }

  func giveBack(_ inflater: Inflater) {
    guard idle.count < Self.contextLimit else { return }
    inflater.endMessage(keeping: Self.keptBytes)
    idle.append(inflater)
  }
}
