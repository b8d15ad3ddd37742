import Foundation
import MarketData

/// The index of a recording file: its contents in numbers, and the points at which a replay can begin.
///
/// It is a file of its own beside the recording, `NAME.index`. Its layout: 8 bytes `TGINDEX` and the version; pieces
/// (`IndexBlob`), each compressed; and a trailer of 40 bytes with the place and checksum of the last piece, the
/// directory. An index never counts for more than a hint: size, time and samples of the recording must be those that
/// it was made of, each piece must have its checksum, each value must be possible, and the record at a point must have
/// the point's time. If not, it is as if there were none.
package struct RecordingIndex: Sendable {
  static let magic = Array("TGINDEX".utf8) + [version]
  static let endMagic = Array("TGINDEND".utf8)
  /// Of the layout, and of what the pieces mean.
  static let version: UInt8 = 1
  static let suffix = ".index"
  static let trailerSize = 40
  /// Points at most. Beyond it every second one is dropped, and those that follow are twice as far apart.
  static let pointLimit = 1 << 14
  /// Gaps whose place is kept.
  static let gapLimit = 1_000
  static let symbolLimit = 4_096

  /// A file's identity, as far as it can be known without reading all of it.
  struct Identity: Equatable {
    /// Bytes at the beginning and at the end that are sampled.
    static let sampleSize = 64 << 10

    var size: Int
    /// Of the last change, ns since 1970.
    var changed: Int64
    /// CRC-32 of both samples.
    var samples: UInt32
  }

  /// A point at which a replay can begin: before one of the records.
  struct Point: Equatable {
    /// Of that record.
    var time: Timestamp
    /// Records of the file before it.
    var records: Int
    /// Without its window.
    var restart: RestartPoint
    var window: IndexBlob?
    var frame: IndexBlob
    /// Of the blobs with the connection's messages.
    var messages: Range<Int>
  }

  /// The recording's name, and what it is of.
  package let path: String
  let identity: Identity
  /// CRC-32 of all of the recording.
  package let checksum: UInt32
  package let contents: RecordingContents
  let messageBlobs: [IndexBlob]
  let points: [Point]

  init(
    path: String, identity: Identity, checksum: UInt32, contents: RecordingContents, messageBlobs: [IndexBlob],
    points: [Point]
  ) {
    self.path = path
    self.identity = identity
    self.checksum = checksum
    self.contents = contents
    self.messageBlobs = messageBlobs
    self.points = points
  }

  package static func path(of recording: String) -> String { recording + suffix }

  /// The last point at which a replay can begin that is to show the market at `time`: no record of that time or later
  /// is before it. Nil if all points are later. O(log points).
  func point(before time: Timestamp) -> Point? {
    var (low, high) = (0, points.count)
    while low < high {
      let middle = (low + high) / 2
      if points[middle].time < time { low = middle + 1 } else { high = middle }
    }
    return low > 0 ? points[low - 1] : nil
  }
}

/// What is in a recording file.
package struct RecordingContents: Sendable, Equatable {
  package struct Gap: Sendable, Equatable {
    package var time: Timestamp
    /// Records that are missing.
    package var records: Int
  }

  package struct Symbol: Sendable, Equatable {
    /// The venue's own name.
    package var name: String
    package var deltas = 0
    package var snapshots = 0
    package var trades = 0
    /// Links between messages that did not hold.
    package var gaps = 0
    /// Checksums of the venue that its book had, and books that were rebuilt because they had not.
    package var checksums = 0
    package var mismatches = 0

    package init(name: String) { self.name = name }
  }

  package var venue: String
  package var market: String
  /// Of the first and the last record; nil if there is none.
  package var first: Timestamp?
  package var last: Timestamp?
  package var records = 0
  /// Received messages, and their bytes.
  package var messages = 0
  package var messageBytes = 0
  /// Messages that the venue's dialect could not read, and refusals by the venue.
  package var rejected = 0
  /// Connections that were opened.
  package var connections = 0
  /// Records that are missing, as gaps say, and the places of the first of them.
  package var lost = 0
  package var gapCount = 0
  package var gaps: [Gap] = []
  /// Lines that are no records, and the mistake in the first.
  package var badLines = 0
  package var firstBadLine: String?
  /// Whether the file ends in the middle of a record.
  package var isCutOff = false
  /// Why the rest could not be read; nil if all was.
  package var stoppedBy: String?
  /// By name; empty if the recording was not played.
  package var symbols: [Symbol] = []

  package init(venue: String, market: String) {
    self.venue = venue
    self.market = market
  }

  mutating func note(_ record: RecordingReader.Record, bytes: Int) {
    records += 1
    first = first ?? record.time
    last = record.time
    switch record.kind {
    case .text, .binary:
      messages += 1
      messageBytes += bytes
    case .open: connections += record.isRepeated ? 0 : 1
    case .gap:
      gapCount += 1
      lost += record.lost
      if gaps.count < RecordingIndex.gapLimit { gaps.append(Gap(time: record.time, records: record.lost)) }
    case .sent, .http, .close, .state: break
    }
  }
}

extension RecordingIndex.Identity {
  /// - Throws: if the file cannot be read.
  init(of path: String) throws(RecordingError) {
    guard let file = FileHandle(forReadingAtPath: path) else {
      throw RecordingError(path: path, "cannot be opened; check that it exists and that you may read it")
    }
    defer { try? file.close() }
    var status = stat()
    guard fstat(file.fileDescriptor, &status) == 0 else { throw RecordingError(path: path, "cannot be read") }
    size = Int(status.st_size)
    changed = Int64(status.st_mtim.tv_sec) * 1_000_000_000 + Int64(status.st_mtim.tv_nsec)
    let head = file.bytes(0..<min(size, Self.sampleSize))
    let tail = file.bytes(max(0, size - Self.sampleSize)..<size)
    samples = IndexBlob.checksum(tail, after: IndexBlob.checksum(head))
  }

  /// CRC-32 of a whole file. O(bytes).
  static func checksum(of path: String) throws(RecordingError) -> UInt32 {
    guard let file = FileHandle(forReadingAtPath: path) else { throw RecordingError(path: path, "cannot be opened") }
    defer { try? file.close() }
    var checksum: UInt32 = 0
    do {
      while let block = try file.read(upToCount: 1 << 20), !block.isEmpty {
        checksum = IndexBlob.checksum([UInt8](block), after: checksum)
      }
    } catch {
      throw RecordingError(path: path, "cannot be read: \(error)")
    }
    return checksum
  }
}

extension FileHandle {
  /// The bytes of a range, fewer if the file is shorter.
  func bytes(_ range: Range<Int>) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: range.count)
    var count = 0
    while count < range.count {
      let got = bytes.withUnsafeMutableBytes {
        pread(fileDescriptor, $0.baseAddress! + count, range.count - count, off_t(range.lowerBound + count))
      }
      guard got > 0 else { break }
      count += got
    }
    bytes.removeLast(range.count - count)
    return bytes
  }
}
