import Bytes
import CZlib
import MarketData

/// Writes a recording as a sequence of gzip members (RFC 1952 section 2.2), each of whole records. `finish` writes the
/// last one; without it the last records, up to about 256 KB of them, are missing.
///
/// If the disk is full, or fails otherwise, the call that notices it throws, once. The file is cut back to its last
/// whole member, so that it is readable to its end, and accepts nothing more. A caller that continues, in this file or
/// the next, must begin with a `gap` record: without it, a replay would not notice the missing records.
///
/// Holds at most one block of text and one of compressed data; a write to the disk happens about every 256 KB of
/// frames, and at each `flush`.
package final class RecordingWriter {
  private static let blockSize = 256 << 10

  package let path: String
  /// The number of accepted records.
  package private(set) var records = 0
  /// The number of records that are in the file.
  package private(set) var savedRecords = 0
  private let file: RecordingFile
  /// The length of the file up to its last whole member.
  private(set) var savedBytes = 0
  private let stream: UnsafeMutablePointer<z_stream>
  private var text = ByteBuffer(capacity: 2 * blockSize)
  private var output = [UInt8](repeating: 0, count: blockSize)
  /// The time of the last record. A later record with an earlier time gets this time.
  private(set) var lastTime: Timestamp
  /// Whether the writer has failed or ended, and accepts nothing more.
  private var isFinished = false

  /// Makes or empties the file at `path` and writes the header.
  package convenience init(path: String, header: RecordingHeader) throws(RecordingError) {
    try self.init(file: try RecordingFile(path: path), header: header)
  }

  /// - Parameters:
  ///   - header: nil for a file that has one.
  ///   - length: of the file up to its last whole member.
  ///   - lastTime: the time of the previous record.
  package init(
    file: RecordingFile, header: RecordingHeader?, length: Int = 0, after lastTime: Timestamp = .distantPast
  ) throws(RecordingError) {
    self.path = file.path
    self.file = file
    self.savedBytes = length
    self.lastTime = lastTime
    let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    stream.initialize(to: z_stream())
    // 15 + 16: the largest window, with a gzip header.
    guard
      deflateInit2_(
        stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK
    else {
      stream.deallocate()
      throw RecordingError(path: file.path, "zlib has no memory")
    }
    self.stream = stream
    if let header { append(header) }
  }

  deinit {
    deflateEnd(stream)
    stream.deallocate()
  }

  /// - Parameter isRepeated: whether the record repeats one of the previous file.
  package func open(
    url: String, connection: Int, at time: Timestamp, isRepeated: Bool = false
  ) throws(RecordingError) {
    begin(.open, connection, time, isRepeated)
    text.append(",\"url\":")
    text.append(json: url)
    try end()
  }

  /// Records that records are missing here.
  package func gap(records: Int, reason: String, connection: Int, at time: Timestamp) throws(RecordingError) {
    begin(.gap, connection, time)
    text.append(",\"lost\":")
    text.append(integer: Int64(records))
    text.append(",\"m\":")
    text.append(json: reason)
    try end()
  }

  /// Records a received text frame.
  package func text(
    _ message: UnsafeRawBufferPointer, connection: Int, at time: Timestamp
  ) throws(RecordingError) {
    begin(.text, connection, time)
    appendPayload(message)
    try end()
  }

  /// Records the books from which the messages after it continue.
  func state(_ books: String, connection: Int, at time: Timestamp) throws(RecordingError) {
    begin(.state, connection, time)
    text.append(",\"m\":")
    text.append(json: books)
    try end()
  }

  /// Records a received binary frame, as the reader gives it.
  func binary(
    _ message: UnsafeRawBufferPointer, connection: Int, at time: Timestamp
  ) throws(RecordingError) {
    begin(.binary, connection, time)
    appendPayload(message)
    try end()
  }

  /// Records a sent text frame.
  package func sent(_ message: String, connection: Int, at time: Timestamp) throws(RecordingError) {
    begin(.sent, connection, time)
    text.append(",\"m\":")
    text.append(json: message)
    try end()
  }

  /// Records the answer to a REST request.
  /// - Parameter isRepeated: whether the record repeats one of the previous file.
  package func http(
    url: String, status: Int, body: UnsafeRawBufferPointer, at time: Timestamp, isRepeated: Bool = false
  ) throws(RecordingError) {
    begin(.http, 0, time, isRepeated)
    text.append(",\"url\":")
    text.append(json: url)
    text.append(",\"status\":")
    text.append(integer: Int64(status))
    appendPayload(body)
    try end()
  }

  package func close(connection: Int, at time: Timestamp) throws(RecordingError) {
    begin(.close, connection, time)
    try end()
  }

  /// Writes all buffered records, so that a crash of the program loses none of them.
  package func flush() throws(RecordingError) {
    guard !isFinished else { return }
    try writeMember()
  }

  /// Writes all buffered records and waits until they are on the disk.
  package func synchronize() throws(RecordingError) {
    guard !isFinished else { return }
    try writeMember()
    do throws(RecordingError) {
      try file.synchronize()
    } catch {
      isFinished = true
      try? file.close()
      throw error
    }
  }

  /// Writes the remaining records and closes the file. Call it last; after a failure it only closes.
  package func finish() throws(RecordingError) {
    guard !isFinished else { return }
    try writeMember()
    isFinished = true
    try file.close()
  }

  private func append(_ header: RecordingHeader) {
    text.append("{\"recording\":1,\"venue\":")
    text.append(json: header.venue)
    text.append(",\"market\":")
    text.append(json: header.market)
    text.append(",\"symbols\":")
    append(header.symbols)
    text.append(",\"channels\":")
    append(header.channels)
    text.append(",\"started\":")
    text.append(integer: header.started.microseconds)
    if let part = header.part {
      text.append(",\"set\":")
      text.append(json: part.set)
      text.append(",\"run\":")
      text.append(integer: part.run)
      text.append(",\"part\":")
      text.append(integer: Int64(part.number))
      if let previous = part.follows {
        text.append(",\"follows\":")
        text.append(json: previous)
      }
    }
    text.append(",\"note\":")
    text.append(json: header.note)
    text.append("}\n")
  }

  private func begin(_ kind: RecordKind, _ connection: Int, _ time: Timestamp, _ isRepeated: Bool = false) {
    lastTime = max(lastTime, time)
    text.append("{\"t\":")
    text.append(integer: lastTime.microseconds)
    text.append(",\"c\":")
    text.append(integer: Int64(connection))
    text.append(",\"k\":\"")
    text.append(kind.rawValue)
    text.append("\"")
    if isRepeated { text.append(",\"again\":1") }
  }

  private func end() throws(RecordingError) {
    text.append("}\n")
    guard !isFinished else { return text.removeAll() }
    records += 1
    if text.count >= Self.blockSize { try writeMember() }
  }

  private func append(_ names: [String]) {
    text.append("[")
    for (index, name) in names.enumerated() {
      if index > 0 { text.append(",") }
      text.append(json: name)
    }
    text.append("]")
  }

  private func appendPayload(_ bytes: UnsafeRawBufferPointer) {
    text.append(",\"m\":\"")
    for byte in bytes {
      switch byte {
      case UInt8(ascii: "\""): text.append("\\\"")
      case UInt8(ascii: "\\"): text.append("\\\\")
      case 0x0A: text.append("\\n")
      case 0x0D: text.append("\\r")
      case 0x09: text.append("\\t")
      case 0..<0x20:
        text.append("\\u00")
        for digit in [byte >> 4, byte & 15] { text.append(digit < 10 ? digit + 0x30 : digit + 0x57) }
      default: text.append(byte)
      }
    }
    text.append("\"")
  }

  /// Compresses all buffered records into a separate member and writes it. If that fails, the file ends before this
  /// member.
  private func writeMember() throws(RecordingError) {
    guard !text.isEmpty else { return }
    defer { text.removeAll() }
    var length = savedBytes
    do throws(RecordingError) {
      deflateReset(stream)
      let input = text.unsafeMutableBytes
      stream.pointee.next_in = input.bindMemory(to: UInt8.self).baseAddress
      stream.pointee.avail_in = UInt32(input.count)
      var status = Z_OK
      while status != Z_STREAM_END {
        let count = output.withUnsafeMutableBufferPointer { buffer -> Int in
          stream.pointee.next_out = buffer.baseAddress
          stream.pointee.avail_out = UInt32(buffer.count)
          status = deflate(stream, Z_FINISH)
          return buffer.count - Int(stream.pointee.avail_out)
        }
        guard status == Z_OK || status == Z_STREAM_END else {
          throw RecordingError(path: path, "zlib error \(status)")
        }
        var failure: RecordingError?
        output.withUnsafeBytes { bytes in
          do throws(RecordingError) {
            try file.append(UnsafeRawBufferPointer(rebasing: bytes[..<count]))
          } catch {
            failure = error
          }
        }
        if let failure { throw failure }
        length += count
      }
    } catch {
      isFinished = true
      file.truncate(to: savedBytes)
      try? file.close()
      throw error
    }
    savedBytes = length
    savedRecords = records
  }
}
