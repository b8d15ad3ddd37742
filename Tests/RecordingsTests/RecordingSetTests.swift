import Foundation
import MarketData
import TestSupport
import Testing

@testable import Recordings

@Suite("A recorder's files follow each other")
struct RecordingSetTests {
  /// 2026-08-21 10:15:00 UTC
  private static let start = Timestamp(microseconds: 1_787_307_300_000_000)
  private static let header = RecordingHeader(
    venue: "coinbase", market: "spot", symbols: ["BTC-USD"], channels: [], started: start)

  private static func withFolder(_ body: (String) throws -> Void) throws {
    let folder =
      FileManager.default.temporaryDirectory.appendingPathComponent("tidegate-\(UUID().uuidString)").path + "/"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try body(folder)
  }

  private static func names(_ folder: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
  }

  private static func set(
    _ folder: String, _ policy: RecordingPolicy, at now: Timestamp = start, disk: SmallDisk = SmallDisk(capacity: .max),
    report: @escaping (RecordingEvent) -> Void = { _ in }
  ) throws -> RecordingSet {
    var header = header
    header.started = now
    return try RecordingSet(
      to: .folder(folder, set: "coinbase-spot"), header: header, policy: policy, at: now,
      makeFile: { (path, mode) throws(RecordingError) in try RecordingFile(path: path, mode: mode, write: disk.write) },
      report: report)
  }

  private static func text(_ number: Int) -> RecordedEvent { .text(Array("frame \(number)".utf8)) }

  /// Kinds and payloads, gaps with what they lost.
  private static func read(_ paths: [String]) throws -> [String] {
    let sequence = try RecordingSequence(paths: paths)
    var found: [String] = []
    while let record = try sequence.next() {
      let payload = String(decoding: sequence.payload, as: UTF8.self)
      found.append(record.kind == .gap ? "gap \(record.lost)" : "\(record.kind.rawValue) \(record.url ?? payload)")
    }
    return found
  }

  @Test("another file is begun after the time, named by UTC, and repeats what is not sent again")
  func byTime() throws {
    try Self.withFolder { folder in
      var policy = RecordingPolicy()
      policy.rotateSeconds = 60
      let set = try Self.set(folder, policy)
      var now = Self.start
      set.record(.http(url: "https://h/products", status: 200, body: Array("[]".utf8)), at: now)
      set.record(.open(url: "wss://h"), at: now)
      for second in 0..<150 {
        now = Self.start + Int64(second) * Microseconds.second
        set.record(Self.text(second), at: now)
        set.tick(at: now)
      }
      set.finish(at: now)
      let names = try Self.names(folder)
      #expect(
        names == [
          "coinbase-spot-20260821T101500Z.ndjson.gz", "coinbase-spot-20260821T101600Z.ndjson.gz",
          "coinbase-spot-20260821T101700Z.ndjson.gz",
        ])
      let paths = names.map { folder + $0 }
      let all = ["http https://h/products", "open wss://h"] + (0..<150).map { "text frame \($0)" }
      #expect(try Self.read(paths) == all)
      #expect(set.figures.records == all.count + 4 && set.figures.files == 3 && set.figures.lost == 0)
      // The second alone says what it follows, and where the instruments are.
      let second = try RecordingReader(path: paths[1])
      #expect(
        second.header.part
          == .init(
            set: "coinbase-spot", run: Self.start.microseconds, number: 2, follows: names[0]))
      #expect(try Self.read([paths[1]]).prefix(3) == ["http https://h/products", "open wss://h", "text frame 61"])
      // Without the second, the third does not go on from the first.
      let holed = try Self.read([paths[0], paths[2]])
      #expect(holed.count { $0 == "gap 1" } == 1)
      #expect(try ReplayPlan([paths[0], paths[2]]).tracks.map(\.notes.count) == [1])
      #expect(try ReplayPlan([folder]).tracks.map(\.paths) == [paths])
      #expect(try ReplayPlan([folder]).tracks[0].notes == [])
    }
  }

  @Test("another file is begun at the size; the oldest are deleted, other people's files are not")
  func bySize() throws {
    try Self.withFolder { folder in
      let foreign = ["coinbase-spot-20200101T000000Z.ndjson.gz", "coinbase-spot-notes.ndjson.gz", "other.txt"]
      for name in foreign { try "mine".write(toFile: folder + name, atomically: false, encoding: .utf8) }
      var policy = RecordingPolicy()
      policy.rotateMegabytes = 1
      policy.rotateSeconds = 0
      policy.keepFiles = 3
      var deleted: [String] = []
      var set = try Self.set(folder, policy) { if case .deleted(let path) = $0 { deleted.append(path) } }
      let firstIndex = RecordingIndex.path(of: set.figures.path)
      try "index".write(toFile: firstIndex, atomically: false, encoding: .utf8)
      var random = SeededGenerator(seed: 3)
      // Hexadecimal digits take half their length compressed.
      let digits = Array("0123456789abcdef".utf8)
      let noise = (0..<200_000).map { _ in digits[Int.random(in: 0..<16, using: &random)] }
      var time = Self.start
      func write(_ megabytes: Int) {
        for _ in 0..<(megabytes * 100) {
          time = time + 10 * Microseconds.millisecond
          let index = Int.random(in: 0..<180_000, using: &random)
          set.record(.text(Array(noise[index..<(index + 20_000)])), at: time)
        }
      }
      write(6)
      set.finish(at: time)
      #expect(deleted.count >= 2 && set.figures.filesDeleted == deleted.count)
      #expect(!FileManager.default.fileExists(atPath: firstIndex), "an index goes with its recording")
      let names = try Self.names(folder).filter { !foreign.contains($0) }
      #expect(names.count == 3)
      for name in names.dropLast() {
        let size = try FileManager.default.attributesOfItem(atPath: folder + name)[.size] as? Int ?? 0
        #expect((1_000_000..<1_400_000).contains(size))
      }
      // The next run counts what is there as its own.
      time = time + Microseconds.minute
      set = try Self.set(folder, policy, at: time)
      set.finish(at: time)
      #expect(try Self.names(folder).filter { !foreign.contains($0) }.count == 3)
      #expect(try Self.names(folder).filter { foreign.contains($0) }.count == 3)
    }
  }

  @Test("a crash costs what came since the last flush")
  func flush() throws {
    try Self.withFolder { folder in
      var policy = RecordingPolicy()
      policy.flushSeconds = 2
      policy.sync = .seconds(10)
      let set = try Self.set(folder, policy)
      for second in 0..<30 {
        let now = Self.start + Int64(second) * Microseconds.second
        set.tick(at: now)
        set.record(Self.text(second), at: now)
        let kept = try Self.read(try Self.names(folder).map { folder + $0 })
        #expect(kept.count >= second - 1)
        #expect(kept == (0..<kept.count).map { "text frame \($0)" })
      }
      // Nobody ends it.
      let kept = try Self.read(try Self.names(folder).map { folder + $0 })
      #expect(kept.count >= 28)
    }
  }

  @Test("a full disk pauses the set; it goes on in another file, after a gap, and nothing else is missing")
  func fullDisk() throws {
    try Self.withFolder { folder in
      let disk = SmallDisk(capacity: 2_000)
      var events: [String] = []
      var policy = RecordingPolicy()
      policy.flushSeconds = 1
      let set = try Self.set(folder, policy, disk: disk) { event in
        switch event {
        case .began: events.append("began")
        case .paused(_, let reason, _): events.append(reason.contains("No space left") ? "paused" : reason)
        case .resumed: events.append("resumed")
        case .deleted, .notDeleted: events.append("deleted")
        }
      }
      set.record(.open(url: "wss://h"), at: Self.start)
      for second in 0..<300 {
        let now = Self.start + Int64(second) * Microseconds.second
        if second == 200 { disk.grow(to: .max) }
        set.record(Self.text(second), at: now)
        set.tick(at: now)
      }
      set.finish(at: Self.start + 300 * Microseconds.second)
      #expect(events == ["began", "paused", "resumed"])
      let names = try Self.names(folder)
      #expect(names.count == 2, "attempts leave no files behind: \(names)")
      let found = try Self.read(names.map { folder + $0 })
      let gap = try #require(found.firstIndex { $0.hasPrefix("gap") })
      let lost = set.figures.lost
      #expect(found[gap] == "gap \(lost)" && lost > 100)
      #expect(found.count == 1 + 300 - lost + 1)
      #expect(found[..<gap] == (["open wss://h"] + (0..<(gap - 1)).map { "text frame \($0)" })[...])
      #expect(found.last == "text frame 299")
      #expect(set.figures.pausedBy == nil)
    }
  }

  @Test("names tell the files of a set from others")
  func names() {
    #expect(RecordingPart.isName("kraken-spot-20260821T101500Z.ndjson.gz", of: "kraken-spot"))
    #expect(RecordingPart.isName("kraken-spot-20260821T101500Z_2.ndjson.gz", of: "kraken-spot"))
    #expect(!RecordingPart.isName("kraken-spot-2-20260821T101500Z.ndjson.gz", of: "kraken-spot"))
    #expect(!RecordingPart.isName("kraken-spot-20260821.ndjson.gz", of: "kraken-spot"))
    #expect(!RecordingPart.isName("kraken-spot.ndjson.gz", of: "kraken-spot"))
    #expect(RecordingPart.stamp(Timestamp(microseconds: 951_782_400_000_000)) == "20000229T000000Z")
  }
}
