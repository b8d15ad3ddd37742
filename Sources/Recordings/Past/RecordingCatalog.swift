import Foundation
import MarketData
import Venues

/// What is in folders of recordings: which tracks have which markets from when on. It looks again when a folder has
/// changed. Used by one thread at a time.
struct RecordingCatalog {
  struct File: Equatable {
    let path: String
    let started: Timestamp
    /// As it is now: the newest file grows.
    var bytes: Int { RecordingCatalog.status(path).map { Int($0.st_size) } ?? 0 }
  }

  /// The files of one connection, in the order of time.
  struct Track {
    var files: [File]
    let venue: String
    /// The markets in the gateway's spelling; nil until somebody asks for one of that venue.
    var symbols: Set<String>?
    /// Whether markets were selected by their volume, so that every one of the venue may be among them.
    var isOpen = false
  }

  private var tracks: [Track] = []
  /// Files that had no header yet when the folders were read; a recorder writes it after some seconds.
  private var unread: [String] = []
  /// Of those at most.
  private static let unreadLimit = 256
  /// The state of the folders and of `unread` when they were read; empty: they are read again.
  private var seen: [Stamp] = []

  private struct Stamp: Equatable {
    var path: String
    var seconds: Int
    var nanoseconds: Int
  }

  /// The track that has the market, and the last file that begins before `time`; or else the first file that begins
  /// before `end`. O(files) once a folder has changed, else O(tracks).
  mutating func track(
    of symbol: String, at time: Timestamp, orBefore end: Timestamp, _ paths: [String]
  ) throws(RecordedPast.Failure) -> Track {
    refresh(paths)
    var best: (track: Int, started: Timestamp)?
    var first: (track: Int, started: Timestamp)?
    for index in tracks.indices where has(symbol, in: index) {
      let start = tracks[index].files[0].started
      if first.map({ start < $0.started }) ?? true { first = (index, start) }
      guard let file = tracks[index].files.last(where: { $0.started < time }) else { continue }
      if best.map({ $0.started < file.started }) ?? true { best = (index, file.started) }
    }
    if let best { return tracks[best.track] }
    guard let first else { throw .unknownSymbol }
    guard first.started < end else { throw .nothingRecorded(last: nil, next: first.started) }
    return tracks[first.track]
  }

  /// The start of the first file after `time` of another track that has the market; nil: none.
  mutating func start(of symbol: String, after time: Timestamp, except track: Track) -> Timestamp? {
    var next: Timestamp?
    for index in tracks.indices where tracks[index].files != track.files && has(symbol, in: index) {
      guard let file = tracks[index].files.first(where: { $0.started > time }) else { continue }
      next = min(next ?? .distantFuture, file.started)
    }
    return next
  }

  /// Whether a track has, or may have, a market. Reads the beginning of the track's first file, once.
  private mutating func has(_ symbol: String, in index: Int) -> Bool {
    guard symbol.utf8.starts(with: "\(tracks[index].venue):".utf8) else { return false }
    // A file whose lists are not written yet is looked at again.
    if tracks[index].symbols == nil, let source = try? ReplaySource(path: tracks[index].files[0].path) {
      tracks[index].symbols = Set(source.symbols.map { "\(source.venue.name):\($0)" })
      tracks[index].isOpen = source.symbols.contains { MarketSelection.isMeant(by: $0) }
    }
    return tracks[index].isOpen || tracks[index].symbols?.contains(symbol) ?? false
  }

  private mutating func refresh(_ paths: [String]) {
    guard seen.isEmpty || (paths + unread).compactMap(Self.stamp) != seen else { return }
    let folders = paths.compactMap(Self.stamp)
    let known = tracks
    (tracks, unread, seen) = ([], [], [])
    guard let plan = try? ReplayPlan(paths) else { return }
    unread = plan.skipped.prefix(Self.unreadLimit).map(\.path)
    let stamps = unread.compactMap(Self.stamp)
    // One that has got its header meanwhile would not change again.
    if !unread.contains(where: { (try? RecordingReader(path: $0)) != nil }) { seen = folders + stamps }
    for track in plan.tracks {
      var files: [File] = []
      var venue = ""
      for path in track.paths {
        guard let header = try? RecordingReader(path: path).header else { continue }
        venue = header.venue
        files.append(File(path: path, started: header.started))
      }
      guard !files.isEmpty else { continue }
      let before = known.first { $0.files[0] == files[0] }
      tracks.append(Track(files: files, venue: venue, symbols: before?.symbols, isOpen: before?.isOpen ?? false))
    }
  }

  private static func stamp(_ path: String) -> Stamp? {
    status(path).map { Stamp(path: path, seconds: $0.st_mtim.tv_sec, nanoseconds: $0.st_mtim.tv_nsec) }
  }

  fileprivate static func status(_ path: String) -> stat? {
    var status = stat()
    return stat(path, &status) == 0 ? status : nil
  }
}
