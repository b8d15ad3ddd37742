import Bytes
import MarketData

/// Reads a recording: NDJSON, gzip-compressed or plain; a header line, then one record a line in the order of arrival.
///
/// It ignores unknown keys. A last line without its break and its `}` is left out: the file was cut off there, and
/// `isCutOff` is true. Every other mistake is an error with its line and field.
package final class RecordingReader {
  package let header: RecordingHeader
  private var lines: LineReader

  /// The record of the last `next`; `payload` has its text.
  package struct Record: Sendable {
    package var kind: RecordKind
    package var time: Timestamp
    package var connection: Int
    /// For `open` and `http` records.
    package var url: String?
    /// For `http` records.
    package var status: Int
    /// Whether it repeats a record of the previous file.
    package var isRepeated = false
    /// For `gap` records: the number of missing records.
    package var lost = 0
  }

  /// The text of the last record: a frame, a body. Empty for `open` and `close`.
  package private(set) var payload = ByteBuffer()
  private var lastTime = Timestamp.distantPast
  static let noHeader = "ends in its first line and has no records; delete it"

  package convenience init(path: String) throws(RecordingError) { try self.init(path: path, notesRestarts: false) }

  /// - Parameter point: the beginning of a record; the header is read in any case.
  convenience init(path: String, at point: RestartPoint) throws(RecordingError) {
    try self.init(path: path, notesRestarts: false)
    guard point != .beginning else { return }
    lines = try LineReader(path: path, at: point)
  }

  /// - Parameter notesRestarts: whether `restartPoint` is asked for.
  init(path: String, notesRestarts: Bool) throws(RecordingError) {
    let lines = try LineReader(path: path, at: .beginning, notesRestarts: notesRestarts)
    let header = try lines.next { (line) throws(RecordingError) in
      if lines.isCutOff, !lines.lastLineEnded { throw RecordingError(path: path, Self.noHeader) }
      return try Self.header(line, path: path)
    }
    guard let header else {
      throw RecordingError(
        path: path, lines.isCutOff ? Self.noHeader : "is empty; a recording begins with a header line")
    }
    self.header = header
    self.lines = lines
  }

  package var path: String { lines.path }
  /// The time of the last record; before the first, the beginning of the recording.
  package var time: Timestamp { lastTime == .distantPast ? Timestamp(clamping: header.started.microseconds) : lastTime }
  /// The number of the last line that was read, from 1.
  package var lineNumber: Int { lines.lineNumber }

  /// The point at which another reader would begin with the last record; nil if it is not known.
  var restartPoint: RestartPoint? { lines.restartPoint }

  /// Whether the file ended in the middle of a record or of its compressed data; known at the end.
  package private(set) var isCutOff = false
  /// The bytes of the file that have been read.
  package var bytesRead: Int { lines.bytesRead }

  /// The next record, nil at the end.
  package func next() throws(RecordingError) -> Record? {
    while true {
      let record: Record??
      var lineIsWhole = true
      do throws(RecordingError) {
        record = try lines.next { (line) throws(RecordingError) -> Record? in
          guard line.byteCount > 0 else { return nil }
          lineIsWhole =
            lines.lastLineEnded
            || !lines.isCutOff
              && line.unsafeLoad(fromByteOffset: line.byteCount - 1, as: UInt8.self) == UInt8(ascii: "}")
          return try read(line)
        }
      } catch {
        guard !lineIsWhole else { throw error }
        isCutOff = true
        payload.removeAll()
        return nil
      }
      if record == nil, lines.isCutOff { isCutOff = true }
      // Skips an empty line; the outer nil is the end.
      guard let record else { return nil }
      if let record { return record }
    }
  }

  private func fail(_ field: String?, _ reason: String) -> RecordingError {
    RecordingError(path: path, line: lineNumber, field: field, reason, isOfOneLine: true)
  }

  /// The fields of a record, as far as they are read.
  private struct Fields {
    var kind: RecordKind?
    var time: Int64?
    var record = Record(kind: .text, time: .distantPast, connection: 0, url: nil, status: 0)
    var hasPayload = false
    var hasStatus = false
    /// The one being read, for errors.
    var key = "record"
  }

  private func read(_ line: RawSpan) throws(RecordingError) -> Record {
    var fields = Fields()
    do throws(JSONError) { try read(line, into: &fields) } catch {
      if error.offset < 0 {
        throw fail("k", "not a kind of record; the kinds are open, text, binary, sent, http, close, gap and state")
      }
      throw fail(fields.key, "malformed at byte \(error.offset)")
    }
    guard let time = fields.time else { throw fail("t", "missing") }
    guard let kind = fields.kind else { throw fail("k", "missing") }
    // A replay steps through the time between two records.
    guard let moment = Timestamp(reading: time) else {
      throw fail("t", "\(time) is not a time in microseconds since 1970 before the year 10000")
    }
    guard time >= lastTime.rawValue else {
      throw fail(
        "t", "goes back by \(lastTime.rawValue - time) µs: records must be in the order of arrival; sort the lines by t"
      )
    }
    switch kind {
    case .text, .binary, .sent, .http, .state:
      guard fields.hasPayload else { throw fail("m", "missing in a record of kind \(kind.rawValue)") }
    case .open, .close, .gap: break
    }
    if kind == .http, !fields.hasStatus { throw fail("status", "missing in a record of kind http") }
    if kind == .open, fields.record.url == nil { throw fail("url", "missing in a record of kind open") }
    var record = fields.record
    record.kind = kind
    record.time = moment
    lastTime = record.time
    return record
  }

  private func read(_ line: RawSpan, into fields: inout Fields) throws(JSONError) {
    payload.removeAll()
    var json = JSONScanner(line)
    try json.objectStart()
    while let name = try json.nextKey() {
      if json.equals(name, "t") {
        fields.key = "t"
        fields.time = try json.int64()
      } else if json.equals(name, "c") {
        fields.key = "c"
        fields.record.connection = Int(try json.int64())
      } else if json.equals(name, "k") {
        fields.key = "k"
        let slice = try json.string()
        fields.kind = RecordKind(rawValue: try json.decoded(slice))
        guard fields.kind != nil else { throw JSONError(reason: .badEscape, offset: -1) }
      } else if json.equals(name, "m") {
        fields.key = "m"
        let slice = try json.string()
        let offset = json.offset - slice.count - 1
        if let bad = Self.unescape(json.text(slice), isEscaped: slice.isEscaped, into: &payload) {
          throw JSONError(reason: .badEscape, offset: offset + bad)
        }
        fields.hasPayload = true
      } else if json.equals(name, "url") {
        fields.key = "url"
        let slice = try json.string()
        fields.record.url = try json.decoded(slice)
      } else if json.equals(name, "status") {
        fields.key = "status"
        fields.record.status = Int(try json.int64())
        fields.hasStatus = true
      } else if json.equals(name, "again") {
        fields.key = "again"
        fields.record.isRepeated = try json.int64() != 0
      } else if json.equals(name, "lost") {
        fields.key = "lost"
        // An impossibly large number is limited, so that sums stay within `Int`.
        fields.record.lost = Int(min(max(try json.int64(), 0), 1 << 40))
      } else {
        try json.skipValue()
      }
    }
    fields.key = "record"
    try json.end()
  }

  /// Appends the decoded content of a JSON string; returns the offset of a bad escape, or nil. Runs without a backslash
  /// are copied whole.
  static func unescape(_ text: RawSpan, isEscaped: Bool, into out: inout ByteBuffer) -> Int? {
    guard isEscaped else {
      out.append(text)
      return nil
    }
    return text.withUnsafeBytes { bytes -> Int? in
      var index = 0
      out.reserve(bytes.count)
      while index < bytes.count {
        let byte = bytes[index]
        guard byte == UInt8(ascii: "\\") else {
          out.append(byte)
          index += 1
          continue
        }
        guard index + 1 < bytes.count else { return index }
        switch bytes[index + 1] {
        case UInt8(ascii: "\""): out.append(UInt8(ascii: "\""))
        case UInt8(ascii: "\\"): out.append(UInt8(ascii: "\\"))
        case UInt8(ascii: "/"): out.append(UInt8(ascii: "/"))
        case UInt8(ascii: "n"): out.append(0x0A)
        case UInt8(ascii: "t"): out.append(0x09)
        case UInt8(ascii: "r"): out.append(0x0D)
        case UInt8(ascii: "b"): out.append(0x08)
        case UInt8(ascii: "f"): out.append(0x0C)
        default:
          // \u is rare: the scanner decodes it, because it handles surrogates.
          var end = index
          while end + 6 <= bytes.count, bytes[end] == UInt8(ascii: "\\"), bytes[end + 1] == UInt8(ascii: "u") {
            end += 6
          }
          guard end > index else { return index }
          var buffer = ByteBuffer(capacity: end - index + 2)
          buffer.append(UInt8(ascii: "\""))
          buffer.append(UnsafeRawBufferPointer(rebasing: bytes[index..<end]))
          buffer.append(UInt8(ascii: "\""))
          var json = JSONScanner(buffer.bytes)
          guard let slice = try? json.string(), let decoded = try? json.decoded(slice) else { return index }
          out.append(decoded)
          index = end
          continue
        }
        index += 2
      }
      return nil
    }
  }

  /// The fields of a header, as far as they are read.
  private struct HeaderFields {
    var version: Int64?
    var header = RecordingHeader(venue: "", market: "", symbols: [], channels: [], started: .distantPast)
    var part = RecordingHeader.Part(set: "", run: 0, number: 0)
    /// The one being read, for errors.
    var key = "recording"
  }

  private static func header(_ line: RawSpan, path: String) throws(RecordingError) -> RecordingHeader {
    var fields = HeaderFields()
    do throws(JSONError) { try read(line, into: &fields) } catch {
      throw RecordingError(
        path: path, line: 1, field: fields.key, "not the header of a recording at byte \(error.offset)")
    }
    guard let version = fields.version else {
      throw RecordingError(path: path, line: 1, field: "recording", "missing: not a recording")
    }
    guard version == 1 else {
      throw RecordingError(path: path, line: 1, field: "recording", "version \(version); this program reads version 1")
    }
    var header = fields.header
    guard !header.venue.isEmpty else { throw RecordingError(path: path, line: 1, field: "venue", "missing") }
    guard !header.market.isEmpty else { throw RecordingError(path: path, line: 1, field: "market", "missing") }
    if !fields.part.set.isEmpty, fields.part.number > 0 { header.part = fields.part }
    return header
  }

  private static func read(_ line: RawSpan, into fields: inout HeaderFields) throws(JSONError) {
    var json = JSONScanner(line)
    try json.objectStart()
    while let name = try json.nextKey() {
      if json.equals(name, "recording") {
        fields.key = "recording"
        fields.version = try json.int64()
      } else if json.equals(name, "venue") {
        fields.key = "venue"
        let slice = try json.string()
        fields.header.venue = try json.decoded(slice)
      } else if json.equals(name, "market") {
        fields.key = "market"
        let slice = try json.string()
        fields.header.market = try json.decoded(slice)
      } else if json.equals(name, "symbols") {
        fields.key = "symbols"
        fields.header.symbols = try names(&json)
      } else if json.equals(name, "channels") {
        fields.key = "channels"
        fields.header.channels = try names(&json)
      } else if json.equals(name, "started") {
        fields.key = "started"
        let time = try json.int64()
        guard let started = Timestamp(reading: time) else {
          throw JSONError(reason: .badNumber, offset: json.offset)
        }
        fields.header.started = started
      } else if json.equals(name, "set") {
        fields.key = "set"
        let slice = try json.string()
        fields.part.set = try json.decoded(slice)
      } else if json.equals(name, "run") {
        fields.key = "run"
        fields.part.run = try json.int64()
      } else if json.equals(name, "part") {
        fields.key = "part"
        fields.part.number = Int(try json.int64())
      } else if json.equals(name, "follows") {
        fields.key = "follows"
        let slice = try json.string()
        fields.part.follows = try json.decoded(slice)
      } else if json.equals(name, "note") {
        fields.key = "note"
        let slice = try json.string()
        fields.header.note = try json.decoded(slice)
      } else {
        try json.skipValue()
      }
    }
    try json.end()
  }

  private static func names(_ json: inout JSONScanner) throws(JSONError) -> [String] {
    var names: [String] = []
    try json.arrayStart()
    while try json.nextElement() {
      let slice = try json.string()
      names.append(try json.decoded(slice))
    }
    return names
  }
}
