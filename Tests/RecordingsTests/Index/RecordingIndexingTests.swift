import Foundation
import MarketData
import TestSupport
import Testing

@testable import Recordings

@Suite("Complete recordings are indexed a little at a time")
struct RecordingIndexingTests {
  private static let names = ["coinbase-spot-20231114T221320Z.ndjson.gz", "coinbase-spot-20231114T221640Z.ndjson.gz"]

  /// Two files of one run, as they lie in a folder.
  private static func write(_ folder: String) throws -> [String] {
    let paths = names.map { folder + $0 }
    try IndexTrial.write(
      paths[0], frames: 0..<3_000, part: .init(set: "coinbase-spot", run: IndexTrial.start, number: 1))
    try IndexTrial.write(
      paths[1], frames: 3_000..<6_000,
      part: .init(set: "coinbase-spot", run: IndexTrial.start, number: 2, follows: names[0]))
    return paths
  }

  private static func now(_ later: Int64 = 0) -> Timestamp {
    Timestamp(microseconds: Int64(Date().timeIntervalSince1970 * 1e6) + later)
  }

  /// Works until nothing is left, and returns the events; the number of turns is bounded.
  private static func work(
    _ paths: [String], at now: Timestamp, seconds: Double = 1
  ) -> (made: [RecordingIndexer.Indexed], failed: [RecordingError], turns: Int) {
    var made: [RecordingIndexer.Indexed] = []
    var failed: [RecordingError] = []
    let indexing = RecordingIndexing(paths) { event in
      switch event {
      case .indexed(let index): made.append(index)
      case .failed(let error): failed.append(error)
      }
    }
    var turns = 0
    while turns < 10_000, indexing.turn(seconds, at: now) { turns += 1 }
    return (made, failed, turns)
  }

  private static func points(_ path: String) throws -> [RecordingIndex.Point] {
    guard case .fits(let index) = RecordingIndex.lookUp(path) else {
      Issue.record("\(path) has no index that fits")
      return []
    }
    return index.points
  }

  @Test("a file gets its index when the next one has begun, the newest when it has been quiet")
  func complete() throws {
    try IndexTrial.withFolder { folder in
      let paths = try Self.write(folder)
      #expect(Self.work([folder], at: Self.now()).made.map(\.path) == [paths[0]])
      #expect(RecordingIndex.fits(paths[0]) && !RecordingIndex.fits(paths[1]))
      let later = Self.work([folder], at: Self.now(RecordingIndexing.quietTime + Microseconds.minute))
      #expect(later.made.map(\.path) == [paths[1]] && later.failed.isEmpty)
      #expect(Self.work([folder], at: Self.now(Microseconds.hour)).made.isEmpty, "all are done")
    }
  }

  @Test("each index is that of the whole set made at once, however short the turns are")
  func same() throws {
    try IndexTrial.withFolder { folder in
      let paths = try Self.write(folder)
      let whole = try RecordingIndexer(paths: paths).run()
      let expected = try paths.map { path in
        (try Self.points(path).map(\.time), try Data(contentsOf: URL(fileURLWithPath: path + ".index")))
      }
      for path in paths { try FileManager.default.removeItem(atPath: path + ".index") }
      let made = Self.work([folder], at: Self.now(Microseconds.hour), seconds: 0)
      #expect(made.failed.isEmpty && made.turns > 6_000 / 500)
      #expect(made.made.map(\.contents) == whole.map(\.contents))
      for (path, (times, bytes)) in zip(paths, expected) {
        #expect(try Self.points(path).map(\.time) == times && !times.isEmpty)
        #expect(try Data(contentsOf: URL(fileURLWithPath: path + ".index")) == bytes, "\(path)")
      }
    }
  }

  @Test("half and damaged files are left alone until they change, and hold up no other")
  func damaged() throws {
    try IndexTrial.withFolder { folder in
      let paths = try Self.write(folder)
      let whole = try Data(contentsOf: URL(fileURLWithPath: paths[0]))
      let later = Self.now(Microseconds.hour)
      // Cut in the middle: what is whole is indexed.
      try whole.prefix(whole.count / 2).write(to: URL(fileURLWithPath: paths[0]))
      var found = Self.work([folder], at: later)
      #expect(found.failed.isEmpty && found.made.map(\.path) == paths)
      #expect(found.made.map(\.contents.isCutOff) == [true, false])
      // Damaged in the middle: indexed up to there, with the reason.
      var broken = whole
      for index in broken.count / 2..<(broken.count / 2 + 40) { broken[index] ^= 0xA5 }
      try broken.write(to: URL(fileURLWithPath: paths[0]))
      found = Self.work([folder], at: later)
      #expect(found.made.map(\.path) == [paths[0]] && found.made[0].contents.stoppedBy != nil)
      // Nothing of a recording.
      try Data("not a recording\n".utf8).write(to: URL(fileURLWithPath: paths[0]))
      let indexing = RecordingIndexing([folder]) { _ in }
      var turns = 0
      while turns < 1_000, indexing.turn(1, at: later) { turns += 1 }
      #expect(turns < 1_000 && !RecordingIndex.fits(paths[0]) && RecordingIndex.fits(paths[1]))
      let names = try FileManager.default.contentsOfDirectory(atPath: folder)
      let isClean = names.allSatisfy { $0.hasSuffix(".ndjson.gz") || $0.hasSuffix(".index") }
      #expect(isClean, "no piece of work is left: \(names)")
    }
  }

  @Test("a file that is written while it is indexed is reported, and done when it is complete")
  func grows() throws {
    try IndexTrial.withFolder { folder in
      let paths = try Self.write(folder)
      var made: [String] = []
      var failed: [String] = []
      let indexing = RecordingIndexing([folder]) { event in
        switch event {
        case .indexed(let index): made.append(index.path)
        case .failed(let error): failed.append(error.reason)
        }
      }
      #expect(indexing.turn(0, at: Self.now()))
      let handle = try #require(FileHandle(forWritingAtPath: paths[0]))
      try handle.seekToEnd()
      try handle.write(contentsOf: IndexTrial.gzip(Array("\n".utf8)))
      try handle.close()
      var turns = 0
      while turns < 1_000, indexing.turn(1, at: Self.now()) { turns += 1 }
      #expect(failed.count <= 1 && failed.allSatisfy { $0.contains("has changed") })
      // It has another state now, so that it is tried again.
      #expect(made == [paths[0]] || Self.work([folder], at: Self.now()).made.map(\.path) == [paths[0]])
      #expect(Self.work(["/nonexistent/"], at: Self.now()).made.isEmpty)
    }
  }
}
