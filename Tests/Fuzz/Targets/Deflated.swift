import CZlib

/// Bytes as others compress them.
enum Deflated {
  /// A gzip member (RFC 1952).
  static func gzip(_ bytes: [UInt8]) -> [UInt8] { make(bytes, windowBits: 15 + 16) }
  /// Deflate without a header (RFC 1951).
  static func raw(_ bytes: [UInt8]) -> [UInt8] { make(bytes, windowBits: -15) }

  private static func make(_ bytes: [UInt8], windowBits: Int32) -> [UInt8] {
    var stream = z_stream()
    var input = bytes
    var output = [UInt8](repeating: 0, count: bytes.count + bytes.count / 100 + 64)
    deflateInit2_(
      &stream, 1, Z_DEFLATED, windowBits, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
    defer { deflateEnd(&stream) }
    let count = input.withUnsafeMutableBufferPointer { input in
      output.withUnsafeMutableBufferPointer { output -> Int in
        stream.next_in = input.baseAddress
        stream.avail_in = UInt32(input.count)
        stream.next_out = output.baseAddress
        stream.avail_out = UInt32(output.count)
        let status = CZlib.deflate(&stream, Z_FINISH)
        precondition(status == Z_STREAM_END, "zlib error \(status)")
        return output.count - Int(stream.avail_out)
      }
    }
    return Array(output[..<count])
  }
}
