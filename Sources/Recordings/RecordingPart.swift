import Bytes
import Foundation
import MarketData

/// A complete file in a recorder's folder, with the rules for its name.
struct RecordingPart: Equatable {
  var path: String
  var bytes: Int
  var started: Timestamp
  var number: Int

  /// The files of this set in `folder` from earlier runs, recognised by name and header. Oldest first.
  static func earlier(in folder: String, set: String) -> [RecordingPart] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    var found: [RecordingPart] = []
    for name in names where isName(name, of: set) {
      let path = folder + name
      var status = stat()
      guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
        let reader = try? RecordingReader(path: path),
        let part = reader.header.part, part.set == set
      else { continue }
      found.append(
        RecordingPart(path: path, bytes: Int(status.st_size), started: reader.header.started, number: part.number))
    }
    return found.sorted { ($0.started, $0.number, $0.path) < ($1.started, $1.number, $1.path) }
  }

  /// `SET-20260821T101500Z.ndjson.gz`, or with `_2` before the point.
  static func isName(_ name: String, of set: String) -> Bool {
    guard name.hasPrefix(set + "-"), name.hasSuffix(".ndjson.gz") else { return false }
    let stamp = Array(name.dropFirst(set.count + 1).dropLast(10).prefix { $0 != "_" }.utf8)
    return stamp.count == 16 && stamp[8] == UInt8(ascii: "T") && stamp[15] == UInt8(ascii: "Z")
      && stamp.indices.allSatisfy { $0 == 8 || $0 == 15 || (0x30...0x39).contains(stamp[$0]) }
  }

  /// `20260821T101500Z`
  static func stamp(_ time: Timestamp) -> String { CivilTime(microseconds: max(0, time.microseconds)).stamp }

  /// The path of a file of `set` that begins at `time`, with a number at its end if the name is taken: `_2`…`_999`.
  static func unusedPath(in folder: String, set: String, at time: Timestamp) -> String {
    let stem = "\(folder)\(set)-\(stamp(time))"
    var path = "\(stem).ndjson.gz"
    var copy = 2
    while FileManager.default.fileExists(atPath: path), copy < 1_000 {
      path = "\(stem)_\(copy).ndjson.gz"
      copy += 1
    }
    return path
  }
}
