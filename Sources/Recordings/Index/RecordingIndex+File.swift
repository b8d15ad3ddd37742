import Foundation
import MarketData

extension RecordingIndex {
  /// How an index relates to its recording.
  package enum Lookup: Sendable {
    case fits(RecordingIndex)
    case none
    /// It is not of this file as it is now, or is damaged.
    case unusable(reason: String)
  }

  /// Looks for the index of a recording and checks it, without reading the recording.
  package static func lookUp(_ recording: String) -> Lookup {
    let path = path(of: recording)
    var status = stat()
    guard stat(path, &status) == 0 else { return .none }
    // To open a pipe would wait for its other end.
    guard status.st_mode & S_IFMT == S_IFREG, let file = FileHandle(forReadingAtPath: path) else {
      return .unusable(reason: "\(path) cannot be read")
    }
    defer { try? file.close() }
    do throws(IndexDamage) {
      let index = try RecordingIndex(file, of: recording)
      guard let now = try? Identity(of: recording) else { return .unusable(reason: "\(recording) cannot be read") }
      guard now == index.identity else { return .unusable(reason: "\(path) was made before \(recording) changed") }
      return .fits(index)
    } catch {
      return .unusable(reason: "\(path) \(error.reason)")
    }
  }

  /// Whether a recording has an index that fits.
  package static func fits(_ recording: String) -> Bool {
    if case .fits = lookUp(recording) { true } else { false }
  }

  private static func size(_ file: FileHandle) -> Int {
    var status = stat()
    return fstat(file.fileDescriptor, &status) == 0 ? Int(status.st_size) : 0
  }

  init(_ file: FileHandle, of recording: String) throws(IndexDamage) {
    let size = Self.size(file)
    guard size >= Self.magic.count + Self.trailerSize else { throw IndexDamage("is too short for an index") }
    let head = file.bytes(0..<Self.magic.count)
    guard head.dropLast() == Self.magic.dropLast() else { throw IndexDamage("is no index") }
    guard head == Self.magic else {
      throw IndexDamage("has version \(head.last ?? 0); this program reads version \(Self.version)")
    }
    let trailer = file.bytes((size - Self.trailerSize)..<size)
    guard trailer.count == Self.trailerSize, Array(trailer.suffix(8)) == Self.endMagic else {
      throw IndexDamage("has no end")
    }
    let directory = IndexBlob(
      offset: Int(truncatingIfNeeded: trailer.number(at: 0)), count: Int(truncatingIfNeeded: trailer.number(at: 8)),
      rawCount: Int(truncatingIfNeeded: trailer.number(at: 16)),
      checksum: UInt32(truncatingIfNeeded: trailer.number(at: 24)))
    guard directory.isWithin(size) else { throw IndexDamage("has no directory") }
    var decoder = IndexDecoder(try directory.unpack(file.bytes(directory.range)))
    try self.init(directory: &decoder, size: size, of: recording)
  }

  /// The state before a point's record, and where it is in the file.
  func entry(at point: Point) throws(IndexDamage) -> (RestartPoint, KeyFrame) {
    let path = Self.path(of: path)
    guard let file = FileHandle(forReadingAtPath: path) else { throw IndexDamage("cannot be read") }
    defer { try? file.close() }
    var restart = point.restart
    if let window = point.window {
      restart.window = try window.unpack(file.bytes(window.range))
      guard !restart.window.isEmpty else { throw IndexDamage("has an empty window") }
    }
    var frame = try KeyFrame(decoding: try point.frame.unpack(file.bytes(point.frame.range)))
    var bytes = 0
    for blob in messageBlobs[point.messages] {
      bytes += blob.rawCount
      guard bytes <= 2 * KeyFrame.messageBytesLimit else { throw IndexDamage("has too many messages") }
      frame.messages += try KeyFrame.messages(decoding: try blob.unpack(file.bytes(blob.range)))
    }
    return (restart, frame)
  }
}

extension IndexBlob {
  var range: Range<Int> { offset..<(offset + count) }

  func isWithin(_ size: Int) -> Bool {
    offset >= 0 && (0...size).contains(count) && offset <= size - count && (0...Self.limit).contains(rawCount)
  }
}

extension [UInt8] {
  fileprivate func number(at offset: Int) -> UInt64 {
    self[offset..<(offset + 8)].reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }
}

extension UInt64 {
  fileprivate var bytes: [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: self >> (8 * $0)) } }
}

extension RecordingIndex {
  var directory: [UInt8] {
    var out = IndexEncoder()
    out.append(identity.size)
    out.append(identity.changed)
    out.append(UInt64(identity.samples))
    out.append(UInt64(checksum))
    out.append(contents)
    out.append(UInt64(messageBlobs.count))
    for blob in messageBlobs { out.append(blob) }
    out.append(UInt64(points.count))
    for point in points {
      out.append(point.time)
      out.append(point.records)
      out.append(point.restart.fileOffset)
      out.append(UInt64(point.restart.bits))
      out.append(point.restart.skip)
      out.append(point.restart.line)
      out.append(point.window != nil)
      if let window = point.window { out.append(window) }
      out.append(point.frame)
      out.append(point.messages.lowerBound)
      out.append(point.messages.count)
    }
    return out.bytes
  }

  /// The end of an index file: its directory, which is at `offset`, and the trailer.
  func end(at offset: Int) -> [UInt8] {
    let raw = directory
    let packed = IndexBlob.pack(raw)
    var out = packed
    let numbers = [offset, packed.count, raw.count, Int(IndexBlob.checksum(packed))]
    for number in numbers { out += UInt64(number).bytes }
    return out + Self.endMagic
  }

  fileprivate init(directory decoder: inout IndexDecoder, size: Int, of recording: String) throws(IndexDamage) {
    path = recording
    identity = Identity(
      size: try decoder.int(), changed: try decoder.int64(), samples: UInt32(truncatingIfNeeded: try decoder.uint()))
    checksum = UInt32(truncatingIfNeeded: try decoder.uint())
    contents = try decoder.contents()
    var blobs: [IndexBlob] = []
    for _ in 0..<(try decoder.count(of: 4, limit: 2 * Self.pointLimit)) { blobs.append(try decoder.blob(size)) }
    messageBlobs = blobs
    var points: [Point] = []
    for _ in 0..<(try decoder.count(of: 8, limit: Self.pointLimit)) {
      let point = try decoder.point(size, blobs: blobs.count, file: identity.size)
      guard point.time >= points.last?.time ?? .distantPast else { throw IndexDamage("has points out of order") }
      points.append(point)
    }
    self.points = points
    try decoder.end()
  }
}

extension IndexEncoder {
  fileprivate mutating func append(_ blob: IndexBlob) {
    append(blob.offset)
    append(blob.count)
    append(blob.rawCount)
    append(UInt64(blob.checksum))
  }

  fileprivate mutating func append(_ contents: RecordingContents) {
    append(contents.venue)
    append(contents.market)
    append(contents.first?.rawValue ?? -1)
    append(contents.last?.rawValue ?? -1)
    for count in [
      contents.records, contents.messages, contents.messageBytes, contents.connections, contents.lost,
      contents.gapCount, contents.badLines,
    ] { append(count) }
    append(contents.rejected)
    append(contents.firstBadLine ?? "")
    append(contents.isCutOff)
    append(contents.stoppedBy ?? "")
    append(UInt64(contents.gaps.count))
    for gap in contents.gaps {
      append(gap.time)
      append(gap.records)
    }
    append(UInt64(contents.symbols.count))
    for symbol in contents.symbols {
      append(symbol.name)
      for count in [symbol.deltas, symbol.snapshots, symbol.trades, symbol.gaps, symbol.checksums, symbol.mismatches] {
        append(count)
      }
    }
  }
}

extension IndexDecoder {
  fileprivate mutating func blob(_ size: Int) throws(IndexDamage) -> IndexBlob {
    let blob = IndexBlob(
      offset: try int(), count: try int(), rawCount: try int(), checksum: UInt32(truncatingIfNeeded: try uint()))
    guard blob.isWithin(size) else { throw IndexDamage("names a piece that it does not have") }
    return blob
  }

  fileprivate mutating func point(
    _ size: Int, blobs: Int, file: Int
  ) throws(IndexDamage) -> RecordingIndex.Point {
    let (time, records) = (try time(), try int())
    let restart = RestartPoint(
      fileOffset: try int(0...file), bits: UInt8(try int8(7)),
      skip: try int(0...(LineReader.lineLimit + (64 << 20))), line: try int())
    let window = try flag() ? try blob(size) : nil
    let frame = try blob(size)
    let first = try int(0...blobs)
    let count = try int(0...(blobs - first))
    return RecordingIndex.Point(
      time: time, records: records, restart: restart, window: window, frame: frame, messages: first..<(first + count))
  }

  private mutating func int8(_ most: UInt64) throws(IndexDamage) -> UInt64 {
    let value = try uint()
    guard value <= most else { throw IndexDamage("has \(value) where at most \(most) is possible") }
    return value
  }

  private mutating func optionalTime() throws(IndexDamage) -> Timestamp? {
    let value = try int64()
    guard value >= 0 else { return nil }
    guard let time = Timestamp(reading: value) else { throw IndexDamage("has an impossible time") }
    return time
  }

  private mutating func optionalText() throws(IndexDamage) -> String? {
    let text = try text()
    return text.isEmpty ? nil : text
  }

  fileprivate mutating func contents() throws(IndexDamage) -> RecordingContents {
    var contents = RecordingContents(venue: try text(), market: try text())
    contents.first = try optionalTime()
    contents.last = try optionalTime()
    contents.records = try int()
    contents.messages = try int()
    contents.messageBytes = try int()
    contents.connections = try int()
    contents.lost = try int()
    contents.gapCount = try int()
    contents.badLines = try int()
    contents.rejected = try int()
    contents.firstBadLine = try optionalText()
    contents.isCutOff = try flag()
    contents.stoppedBy = try optionalText()
    for _ in 0..<(try count(of: 2, limit: RecordingIndex.gapLimit)) {
      contents.gaps.append(RecordingContents.Gap(time: try time(), records: try int()))
    }
    for _ in 0..<(try count(of: 6, limit: RecordingIndex.symbolLimit)) {
      var symbol = RecordingContents.Symbol(name: try text())
      symbol.deltas = try int()
      symbol.snapshots = try int()
      symbol.trades = try int()
      symbol.gaps = try int()
      symbol.checksums = try int()
      symbol.mismatches = try int()
      contents.symbols.append(symbol)
    }
    return contents
  }
}
