import Foundation
import MarketData

/// The plan of a replay, from the names of files and folders: which files follow each other, and which run in parallel.
package struct ReplayPlan: Sendable {
  /// One venue's connection: a recording, or the files of a set in the order of time.
  package struct Track: Sendable, Equatable {
    package var paths: [String]
    /// Bytes of all files.
    package var bytes: Int
    /// What the report of a replay should say about it.
    package var notes: [String]
  }

  /// Files at most.
  package static let fileLimit = 100_000
  /// Tracks at most.
  package static let trackLimit = 256
  private static let endings = [".ndjson.gz", ".ndjson", ".jsonl.gz", ".jsonl"]

  /// In the order in which they were named; tracks with equal times are played in it.
  package let tracks: [Track]
  /// Files that were left out, and why.
  package let skipped: [RecordingError]
  /// The same in words.
  package var notes: [String] { skipped.map { "\($0.description), left out" } }

  private struct File {
    var path: String
    var bytes: Int
    var header: RecordingHeader
  }

  private struct SetName: Hashable {
    var folder: String
    var venue: String
    var market: String
    var set: String
    var symbols: [String]
  }

  /// Looks at the files' headers.
  /// - Parameter paths: recordings, and folders of them (not of folders).
  /// - Throws: the problem of the first unusable recording, if none can be used; or that a path does not exist.
  package init(_ paths: [String]) throws(RecordingError) {
    var skipped: [RecordingError] = []
    var files: [File] = []
    for path in paths {
      var isFolder: ObjCBool = false
      guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else {
        throw RecordingError(path: path, "does not exist; give a recording, or a folder of recordings")
      }
      for file in isFolder.boolValue ? try Self.recordings(in: path) : [path] {
        do throws(RecordingError) {
          files.append(try Self.file(file))
        } catch {
          skipped.append(error)
        }
      }
      guard files.count <= Self.fileLimit else {
        throw RecordingError(path: path, "has too many files: at most \(Self.fileLimit) can be replayed at once")
      }
    }
    if files.isEmpty, let first = skipped.first { throw first }
    var tracks: [[File]] = []
    var indices: [SetName: Int] = [:]
    var seen: Set<String> = []
    for file in files where seen.insert(file.path).inserted {
      guard let part = file.header.part else {
        tracks.append([file])
        continue
      }
      let name = SetName(
        folder: String(file.path[..<(file.path.lastIndex(of: "/") ?? file.path.startIndex)]), venue: file.header.venue,
        market: file.header.market,
        set: part.set, symbols: file.header.symbols)
      if let index = indices[name] {
        tracks[index].append(file)
      } else {
        indices[name] = tracks.count
        tracks.append([file])
      }
    }
    guard tracks.count <= Self.trackLimit else {
      throw RecordingError(
        path: paths.first ?? "",
        "and the others make \(tracks.count) simultaneous recordings; at most \(Self.trackLimit) can be replayed at once"
      )
    }
    self.tracks = tracks.map { files in
      let files = files.sorted(by: Self.precedes)
      return Track(paths: files.map(\.path), bytes: files.reduce(0) { $0 + $1.bytes }, notes: Self.holes(in: files))
    }
    self.skipped = skipped
  }

  private static func precedes(_ a: File, _ b: File) -> Bool {
    let (x, y) = (a.header.part, b.header.part)
    return (a.header.started, x?.number ?? 0, a.path) < (b.header.started, y?.number ?? 0, b.path)
  }

  private static func holes(in files: [File]) -> [String] {
    var notes: [String] = []
    var previous: File?
    for file in files {
      defer { previous = file }
      guard let part = file.header.part, let follows = part.follows else { continue }
      if let before = previous?.header.part, before.run == part.run, before.number &+ 1 == part.number { continue }
      notes.append(
        "\(file.path): follows \(follows), which is missing: its books are out of sync until the venue sends a snapshot"
      )
    }
    return notes
  }

  private static func file(_ path: String) throws(RecordingError) -> File {
    File(path: path, bytes: size(path), header: try RecordingReader(path: path).header)
  }

  private static func size(_ path: String) -> Int {
    var status = stat()
    return stat(path, &status) == 0 ? Int(status.st_size) : 0
  }

  private static func recordings(in folder: String) throws(RecordingError) -> [String] {
    let names: [String]
    do {
      names = try FileManager.default.contentsOfDirectory(atPath: folder)
    } catch {
      throw RecordingError(path: folder, "cannot be read: \(error.localizedDescription)")
    }
    let found = names.filter { name in endings.contains { name.hasSuffix($0) } }.sorted()
    guard !found.isEmpty else {
      throw RecordingError(path: folder, "has no recordings: files that end in \(endings.joined(separator: ", "))")
    }
    return found.map { folder.hasSuffix("/") ? folder + $0 : "\(folder)/\($0)" }
  }
}
