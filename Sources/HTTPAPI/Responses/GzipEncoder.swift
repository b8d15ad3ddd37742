import CZlib

/// Compresses one body as gzip (RFC 1952), a piece at a time, so that a long one takes many short turns.
final class GzipEncoder {
  /// Bytes of a body that are compressed in one turn: about a quarter of a millisecond.
  static let pieceBytes = 16 << 10
  /// Smaller bodies gain nothing: they fit in one packet anyway.
  static let leastBytes = 1 << 10
  /// The most encoders of one loop at a time, some 270 KB each. At the limit, bodies are sent uncompressed.
  static let limit = 8

  private let body: [UInt8]
  private var offset = 0
  private var out: [UInt8] = []
  private let stream: UnsafeMutablePointer<z_stream>

  /// Nil if zlib has no memory.
  init?(_ body: [UInt8]) {
    self.body = body
    stream = .allocate(capacity: 1)
    stream.initialize(to: z_stream())
    // 15 + 16: the largest window, with a gzip header. Level 1: two thirds of the gain for a third of the time.
    guard
      deflateInit2_(
        stream, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK
    else {
      stream.deinitialize(count: 1)
      stream.deallocate()
      return nil
    }
    out.reserveCapacity(body.count / 3)
  }

  deinit {
    deflateEnd(stream)
    stream.deinitialize(count: 1)
    stream.deallocate()
  }

  /// Compresses the next piece; returns the whole after the last piece, nil before.
  func advance() -> [UInt8]? {
    let end = min(body.count, offset + Self.pieceBytes)
    let isLast = end == body.count
    var piece = [UInt8](body[offset..<end])
    offset = end
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 4096) { buffer in
      piece.withUnsafeMutableBufferPointer { input in
        stream.pointee.next_in = input.baseAddress
        stream.pointee.avail_in = UInt32(input.count)
        repeat {
          stream.pointee.next_out = buffer.baseAddress
          stream.pointee.avail_out = 4096
          deflate(stream, isLast ? Z_FINISH : Z_NO_FLUSH)
          out.append(contentsOf: buffer[..<(4096 - Int(stream.pointee.avail_out))])
        } while stream.pointee.avail_out == 0
      }
    }
    return isLast ? out : nil
  }

  /// Whether a client takes gzip (RFC 9110 section 12.5.3): `gzip`, `x-gzip` or `*` with a weight above 0.
  static func isAccepted(_ fields: [String]) -> Bool {
    var any = false
    for item in fields.flatMap({ $0.split(separator: ",") }) {
      let parts = item.split(separator: ";").map { part in part.filter { $0 != " " && $0 != "\t" }.lowercased() }
      guard let name = parts.first else { continue }
      let weight = parts.dropFirst().first { $0.hasPrefix("q=") }.map { $0.dropFirst(2) }
      let isWanted = weight.map { $0.contains { ("1"..."9").contains($0) } } ?? true
      if name == "gzip" || name == "x-gzip" { return isWanted }
      if name == "*" { any = isWanted }
    }
    return any
  }
}
