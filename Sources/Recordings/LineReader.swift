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
  /// Bytes of the file before its first block that was not read.
  private(set) var bytesRead = 0
  private var memberEnded = false
  private var text = ByteBuffer(capacity: 2 * blockSize)
  /// The bytes of `text` that are known to have no line break.
  private var scanned = 0
  private var pending = 0
  /// Whether the stream has no gzip header, because reading began inside a member; and how much of that member's
  /// trailer has to be skipped.
  private var isRaw = false
  private var trailerLeft = 0
  /// Bytes of text that have been skipped to, so far; of the text that was inflated.
  private var skip: Int
  private var produced = 0
  /// The place of the last returned line in the text.
  private var lineStart = 0
  private var restarts: RestartCandidates?

  package convenience init(path: String) throws(RecordingError) { try self.init(path: path, at: .beginning) }

  /// - Parameters:
  ///   - point: where reading begins.
  ///   - notesRestarts: whether `restartPoint` is asked for. Precondition: reading begins at the beginning.
  init(path: String, at point: RestartPoint, notesRestarts: Bool = false) throws(RecordingError) {
    self.path = path
    skip = point.skip
    lineNumber = point.line
    guard let file = FileHandle(forReadingAtPath: path) else {
      throw RecordingError(path: path, "cannot be opened; check that it exists and that you may read it")
    }
    self.file = file
    try readBlock()
    let isCompressed = input.count >= 2 && input[0] == 0x1F && input[1] == 0x8B
    if notesRestarts {
      precondition(point == .beginning, "points are counted from the beginning of the file")
      restarts = RestartCandidates(isPlain: !isCompressed)
    }
    if isCompressed { stream = try makeStream(isRaw: !point.window.isEmpty) }
    if point.fileOffset > 0 { try enter(point) }
  }

  private func makeStream(isRaw: Bool) throws(RecordingError) -> UnsafeMutablePointer<z_stream> {
    let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    stream.initialize(to: z_stream())
    // 15 + 32: the largest window, and gzip or zlib by the header. Below 0: no header.
    guard inflateInit2_(stream, isRaw ? -15 : 15 + 32, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
      stream.deallocate()
      throw RecordingError(path: path, "zlib has no memory")
    }
    return stream
  }

  private func enter(_ point: RestartPoint) throws(RecordingError) {
    isRaw = stream != nil && !point.window.isEmpty
    let start = point.fileOffset - (isRaw && point.bits > 0 ? 1 : 0)
    do { try file.seek(toOffset: UInt64(max(0, start))) } catch {
      throw RecordingError(path: path, "cannot be read from byte \(start) on: \(error)")
    }
    bytesRead = start
    isAtEnd = false
    try readBlock()
    guard isRaw, let stream else { return }
    if point.bits > 0 {
      guard let first = input.first, point.bits < 8 else {
        throw RecordingError(path: path, "has no byte \(start)")
      }
      inputStart = 1
      inflatePrime(stream, Int32(point.bits), Int32(first >> (8 - point.bits)))
    }
    var window = point.window
    let status = window.withUnsafeMutableBufferPointer {
      inflateSetDictionary(stream, $0.baseAddress, UInt32($0.count))
    }
    guard status == Z_OK else { throw RecordingError(path: path, "cannot be entered at byte \(start)") }
  }

  /// The point at which another reader would begin with the last returned line; nil if it is not known.
  var restartPoint: RestartPoint? { restarts?.point(before: lineStart, line: lineNumber - 1) }

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
    while skip > 0 {
      if text.count == 0, try !fill() { break }
      let count = min(skip, text.count)
      text.consume(count)
      skip -= count
    }
    lineStart = produced - text.count
    restarts?.forget(before: lineStart)
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
        produced += input.count
        inputStart = input.count
        return true
      }
      if inputStart == input.count, isAtEnd {
        if !memberEnded { isCutOff = true }
        return false
      }
      if trailerLeft > 0 {
        let count = min(trailerLeft, input.count - inputStart)
        inputStart += count
        trailerLeft -= count
        continue
      }
      if memberEnded, !beginMember(stream) { return false }
      let before = produced
      switch inflate(stream) {
      case Z_OK, Z_BUF_ERROR: break
      case Z_STREAM_END:
        memberEnded = true
        if isRaw { trailerLeft = Self.trailerSize }
      default:
        throw RecordingError(
          path: path,
          "damaged gzip data after line \(lineNumber); to save the lines before it: gzip -dc FILE | head -n \(lineNumber)"
        )
      }
      if produced > before { return true }
    }
  }

  /// CRC-32 and length at the end of a gzip member.
  private static let trailerSize = 8

  /// Whether another member follows the one that ended. Several in a row are one file (RFC 1952 section 2.2).
  private func beginMember(_ stream: UnsafeMutablePointer<z_stream>) -> Bool {
    if input[inputStart] == 0 {
      // No member begins with a zero; a file system may leave zeros where it has not written yet.
      isCutOff = true
      inputStart = input.count
      isAtEnd = true
      return false
    }
    if isRaw { inflateReset2(stream, 15 + 32) } else { inflateReset(stream) }
    isRaw = false
    memberEnded = false
    restarts?.member(at: bytesRead - (input.count - inputStart), text: produced)
    return true
  }

  /// Inflates what there is of the block that was read, up to the next deflate block if restarts are noted.
  private func inflate(_ stream: UnsafeMutablePointer<z_stream>) -> Int32 {
    var status = Z_OK
    let start = inputStart
    let before = text.count
    let used = input.withUnsafeMutableBufferPointer { bytes -> Int in
      stream.pointee.next_in = bytes.baseAddress! + start
      stream.pointee.avail_in = UInt32(bytes.count - start)
      text.appendUnsafe(Self.blockSize) { output in
        stream.pointee.next_out = output.bindMemory(to: UInt8.self).baseAddress
        stream.pointee.avail_out = UInt32(output.count)
        status = CZlib.inflate(stream, restarts == nil ? Z_NO_FLUSH : Z_BLOCK)
        return output.count - Int(stream.pointee.avail_out)
      }
      return bytes.count - start - Int(stream.pointee.avail_in)
    }
    inputStart += used
    produced += text.count - before
    if status == Z_OK || status == Z_BUF_ERROR {
      restarts?.block(stream, at: bytesRead - (input.count - inputStart), text: produced)
    }
    return status
  }
}

/// The points at which a reader of text could begin, as far as lines after them have not been returned. At most one for
/// each `spacing` of text: with the longest line, 17 of them.
private struct RestartCandidates {
  /// Between two members that are noted, in bytes of text.
  private static let memberSpacing = 256 << 10
  /// Between two blocks, each of which costs a window: only in files whose members are that long.
  private static let blockSpacing = 4 << 20

  private struct Candidate {
    var point: RestartPoint
    /// Where it is in the text.
    var text: Int
  }

  private let isPlain: Bool
  private var candidates = [Candidate(point: .beginning, text: 0)]

  init(isPlain: Bool) { self.isPlain = isPlain }

  mutating func member(at offset: Int, text: Int) {
    guard let last = candidates.last, text - last.text >= Self.memberSpacing else { return }
    candidates.append(Candidate(point: RestartPoint(fileOffset: offset, line: 0), text: text))
  }

  /// Notes the boundary of a block, if the stream stands at one that is not the last of its member.
  mutating func block(_ stream: UnsafeMutablePointer<z_stream>, at offset: Int, text: Int) {
    guard let last = candidates.last, text - last.text >= Self.blockSpacing else { return }
    let state = stream.pointee.data_type
    // zlib.h, inflate(): 128 is added after a block, 64 in the last one; the low three bits are the unused ones.
    guard state & 128 != 0, state & 64 == 0 else { return }
    var window = [UInt8](repeating: 0, count: RestartPoint.windowLimit)
    var count: UInt32 = 0
    guard window.withUnsafeMutableBufferPointer({ inflateGetDictionary(stream, $0.baseAddress, &count) }) == Z_OK,
      count > 0
    else { return }
    window.removeLast(window.count - Int(count))
    candidates.append(
      Candidate(point: RestartPoint(fileOffset: offset, bits: UInt8(state & 7), window: window, line: 0), text: text))
  }

  /// Keeps the last candidate at or before `text`, and those after it.
  mutating func forget(before text: Int) {
    while candidates.count > 1, candidates[1].text <= text { candidates.removeFirst() }
  }

  func point(before text: Int, line: Int) -> RestartPoint? {
    if isPlain { return RestartPoint(fileOffset: text, line: line) }
    guard let first = candidates.first, first.text <= text else { return nil }
    var point = first.point
    point.skip = text - first.text
    point.line = line
    return point
  }
}
