import Bytes
import CZlib
import Foundation

/// Lines of a file that is gzip-compressed or plain, told apart by its first two bytes. Reads ahead by one block; a
/// line longer than `lineLimit` is an error. Compressed data that ends too early, and zeros after it as a crashed
/// machine leaves them, count as the end of the file; `isCutOff` is then true.
package final class LineReader {
  /// The longest known line of a recording is an instrument list of 3.7 MB.
  static let lineLimit = 16 << 20
  private static let blockSize = 256 << 10

  package let path: String
  private(set) var lineNumber = 0
  private let file: FileHandle
  /// Nil for a plain file.
  private var stream: UnsafeMutablePointer<z_stream>?
  private var input: [UInt8] = []
  private var inputStart = 0
  private var isAtEnd = false
  /// Whether the compressed data ended in the middle.
  private(set) var isCutOff = false
  /// Whether the last returned line had a break.
  private(set) var lastLineEnded = true
  /// Bytes of the file that were read.
  private(set) var bytesRead = 0
  private var memberEnded = false
  private var text = ByteBuffer(capacity: 2 * blockSize)
  /// The bytes of `text` that are known to have no line break.
  private var scanned = 0
  private var pending = 0

  package init(path: String) throws(RecordingError) {
    self.path = path
    guard let file = FileHandle(forReadingAtPath: path) else {
      throw RecordingError(path: path, "cannot be opened; check that it exists and that you may read it")
    }
    self.file = file
    try readBlock()
    if input.count >= 2, input[0] == 0x1F, input[1] == 0x8B {
      let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
      stream.initialize(to: z_stream())
      // 15 + 32: the largest window, and gzip or zlib by the header.
      guard inflateInit2_(stream, 15 + 32, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
        stream.deallocate()
        throw RecordingError(path: path, "zlib has no memory")
      }
      self.stream = stream
    }
  }

  deinit {
    if let stream {
      inflateEnd(stream)
      stream.deallocate()
    }
    try? file.close()
  }

  /// Calls `body` with the next line, without its break; returns nil at the end of the file. The last line may lack its
  /// break.
  package func next<T>(_ body: (RawSpan) throws(RecordingError) -> T) throws(RecordingError) -> T? {
    text.consume(pending)
    pending = 0
    while true {
      let bytes = text.unsafeBytes
      if let base = bytes.baseAddress, bytes.count > scanned,
        let found = memchr(base + scanned, 0x0A, bytes.count - scanned)
      {
        let length = UnsafeRawPointer(found) - base
        lastLineEnded = true
        return try hand(length, pending: length + 1, body)
      }
      scanned = bytes.count
      guard scanned <= Self.lineLimit else {
        throw RecordingError(path: path, line: lineNumber + 1, "longer than \(Self.lineLimit >> 20) MiB")
      }
      guard try fill() else {
        lastLineEnded = false
        return scanned == 0 ? nil : try hand(scanned, pending: scanned, body)
      }
    }
  }

  private func hand<T>(
    _ length: Int, pending: Int, _ body: (RawSpan) throws(RecordingError) -> T
  ) throws(RecordingError) -> T {
    lineNumber += 1
    scanned = 0
    self.pending = pending
    return try body(UnsafeRawBufferPointer(rebasing: text.unsafeBytes[..<length]).bytes)
  }

  private func readBlock() throws(RecordingError) {
    do {
      let data = try file.read(upToCount: Self.blockSize) ?? Data()
      input = [UInt8](data)
      bytesRead += data.count
      inputStart = 0
      if data.isEmpty { isAtEnd = true }
    } catch {
      throw RecordingError(path: path, "cannot be read: \(error)")
    }
  }

  /// Appends more text; returns false at the end.
  private func fill() throws(RecordingError) -> Bool {
    while true {
      if inputStart == input.count, !isAtEnd { try readBlock() }
      guard let stream else {
        guard inputStart < input.count else { return false }
        text.append(input)
        inputStart = input.count
        return true
      }
      if inputStart == input.count, isAtEnd {
        if !memberEnded { isCutOff = true }
        return false
      }
      if memberEnded {
        if input[inputStart] == 0 {
          // No member begins with a zero; a file system may leave zeros where it has not written yet.
          isCutOff = true
          inputStart = input.count
          isAtEnd = true
          return false
        }
        // Several gzip members in a row are one file (RFC 1952 section 2.2).
        inflateReset(stream)
        memberEnded = false
      }
      var status = Z_OK
      let before = text.count
      let start = inputStart
      let used = input.withUnsafeMutableBufferPointer { bytes -> Int in
        stream.pointee.next_in = bytes.baseAddress! + start
        stream.pointee.avail_in = UInt32(bytes.count - start)
        text.appendUnsafe(Self.blockSize) { output in
          stream.pointee.next_out = output.bindMemory(to: UInt8.self).baseAddress
          stream.pointee.avail_out = UInt32(output.count)
          status = inflate(stream, Z_NO_FLUSH)
          return output.count - Int(stream.pointee.avail_out)
        }
        return bytes.count - start - Int(stream.pointee.avail_in)
      }
      inputStart += used
      switch status {
      case Z_OK, Z_BUF_ERROR: break
      case Z_STREAM_END: memberEnded = true
      default:
        throw RecordingError(
          path: path,
          "damaged gzip data after line \(lineNumber); to save the lines before it: gzip -dc FILE | head -n \(lineNumber)"
        )
      }
      if text.count > before { return true }
    }
  }
}
