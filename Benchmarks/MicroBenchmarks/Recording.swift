import Bytes
import CZlib
import TestSupport

/// Frames of a recorded session; recordings are not part of the project, so a benchmark of them may be unavailable.
struct Recording {
  var frames = TextTable()
  /// The answer to the depth request.
  var snapshot = ""

  /// The first `count` depth updates that are newer than the recorded snapshot.
  static func binanceDepth(_ name: String, count: Int) throws -> Recording {
    guard let folder = recordingsFolder else {
      throw BenchmarkUnavailable("no recordings: TIDEGATE_RECORDINGS names their folder")
    }
    guard let file = gzopen("\(folder)/\(name).ndjson.gz", "rb") else {
      throw BenchmarkUnavailable("\(folder) has no \(name).ndjson.gz")
    }
    defer { gzclose(file) }
    var recording = Recording()
    var snapshotID: Int64 = 0
    var early: [String] = []
    var line = [CChar](repeating: 0, count: 4 << 20)
    while recording.frames.count < count, gzgets(file, &line, Int32(line.count)) != nil {
      let bytes = line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
      let isHTTP = contains(bytes, "\"k\":\"http\"") && contains(bytes, "/depth?")
      guard isHTTP || contains(bytes, "depthUpdate"), let text = message(bytes) else { continue }
      if isHTTP {
        guard recording.snapshot.isEmpty else { continue }
        recording.snapshot = text
        snapshotID = number(after: "\"lastUpdateId\":", in: text)
        for frame in early where number(after: "\"u\":", in: frame) > snapshotID { recording.frames.append(frame) }
      } else if recording.snapshot.isEmpty {
        early.append(text)
      } else if number(after: "\"u\":", in: text) > snapshotID {
        recording.frames.append(text)
      }
    }
    guard recording.frames.count == count else {
      throw BenchmarkUnavailable("\(name) has \(recording.frames.count) depth updates, fewer than \(count)")
    }
    return recording
  }

  private static func contains(_ bytes: [UInt8], _ text: String) -> Bool {
    bytes.firstRange(of: Array(text.utf8)) != nil
  }

  /// The text of the record's `m`.
  private static func message(_ bytes: [UInt8]) -> String? {
    bytes.withUnsafeBytes { raw in
      do throws(JSONError) {
        var scanner = JSONScanner(RawSpan(_unsafeBytes: raw))
        try scanner.objectStart()
        while let key = try scanner.nextKey() {
          if scanner.equals(key, "m") { return try scanner.decoded(try scanner.string()) }
          try scanner.skipValue()
        }
      } catch {}
      return nil
    }
  }

  private static func number(after key: String, in text: String) -> Int64 {
    guard let range = text.firstRange(of: key) else { return 0 }
    return Int64(text[range.upperBound...].prefix { $0.isNumber }) ?? 0
  }
}
