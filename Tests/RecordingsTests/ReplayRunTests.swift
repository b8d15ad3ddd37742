import Bytes
import Foundation
import MarketData
import TestSupport
import TestTraits
import Testing
import Venues

@testable import Recordings

@Suite("Replays are the same every time")
struct ReplayRunTests {
  private static let start: Int64 = 1_700_000_000_000_000

  private static func withFolder(_ body: (String) throws -> Void) throws {
    let folder =
      FileManager.default.temporaryDirectory.appendingPathComponent("tidegate-\(UUID().uuidString)").path + "/"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try body(folder)
  }

  /// A minute of a Coinbase book and its trades, a frame every `step` ms, from `offset` ms on.
  private static func write(
    _ path: String, _ symbol: String, seed: UInt64, offset: Int64 = 0, step: Int64 = 50, frames: Range<Int> = 0..<1_200,
    part: RecordingHeader.Part? = nil, gapAt: Int? = nil
  ) throws {
    var random = SeededGenerator(seed: seed)
    let first = Timestamp(microseconds: start + offset * 1_000)
    let writer = try RecordingWriter(
      path: path,
      header: RecordingHeader(
        venue: "coinbase", market: "spot", symbols: [symbol], channels: [],
        started: first + Int64(frames.lowerBound) * step * 1_000, part: part))
    func text(_ json: String, _ time: Timestamp) throws {
      try Array(json.utf8).withUnsafeBytes { try writer.text($0, connection: 0, at: time) }
    }
    let isFirst = frames.lowerBound == 0
    try writer.open(
      url: "wss://ws-feed.exchange.coinbase.com", connection: 0,
      at: first + Int64(frames.lowerBound) * step * 1_000, isRepeated: !isFirst)
    if isFirst {
      try text(
        #"{"type":"snapshot","product_id":"\#(symbol)","bids":[["10.00","1.5"],["9.99","2"]],"asks":[["20.60","3"],["20.70","4"]]}"#,
        first)
    }
    for index in 0..<frames.upperBound {
      let cents = Int.random(in: 10...99, using: &random)
      let isTrade = Int.random(in: 0..<4, using: &random) == 0
      guard index >= frames.lowerBound else { continue }
      let time = first + Int64(index) * step * 1_000
      if index == gapAt { try writer.gap(records: 3, reason: "test", connection: 0, at: time) }
      try text(
        isTrade
          ? #"{"type":"match","trade_id":\#(index + 1),"side":"sell","size":"0.1","price":"15.\#(cents)","product_id":"\#(symbol)","time":"2023-11-14T22:13:20.000000Z"}"#
          : #"{"type":"l2update","product_id":"\#(symbol)","time":"2023-11-14T22:13:20.000000Z","changes":[["buy","10.\#(cents)","\#(index)"]]}"#,
        time)
    }
    try writer.finish()
  }

  private struct Outcome: Equatable {
    var digest: UInt64
    var count: Int
    var last: String
  }

  private static func play(
    _ paths: [String], speed: ReplaySpeed = .fastest, waits: (Int64) -> Void = { _ in }
  ) throws -> Outcome {
    var last = ""
    let publisher = ReplayPublisher { last = String(decoding: $0, as: UTF8.self) }
    let run = try ReplayRun(try ReplayPlan(paths), publisher: publisher)
    _ = try run.run(speed: speed, wait: waits)
    return Outcome(digest: publisher.digest, count: publisher.count, last: last)
  }

  @Test("the same files give the same published bytes at every speed; others do not")
  func deterministic() throws {
    try Self.withFolder { folder in
      try Self.write(folder + "a.ndjson.gz", "AAA-USD", seed: 1)
      try Self.write(folder + "b.ndjson.gz", "BBB-USD", seed: 2, offset: 20_013)
      try Self.write(folder + "c.ndjson.gz", "AAA-USD", seed: 3)
      let paths = [folder + "a.ndjson.gz", folder + "b.ndjson.gz"]
      let first = try Self.play(paths)
      #expect(first.count > 2_400, "pulses and tickers are published beside what came: \(first.count)")
      #expect(first.last.hasPrefix(#"{"type":"update","#))
      #expect(try Self.play(paths) == first)
      for text in ["1x", "10x"] {
        let speed = try #require(ReplaySpeed(text))
        var waits: [Int64] = []
        #expect(try Self.play(paths, speed: speed) { waits.append($0) } == first)
        #expect(waits == waits.sorted() && waits.first == 0)
        // The last record is 60 s less one step after the first of b.
        #expect(waits.last == speed.wait(for: (20_013 + 1_199 * 50) * 1_000))
      }
      #expect(try Self.play([folder + "c.ndjson.gz", folder + "b.ndjson.gz"]).digest != first.digest)
    }
  }

  @Test("records of equal times come in the order in which the files were named")
  func equalTimes() throws {
    try Self.withFolder { folder in
      try Self.write(folder + "a.ndjson.gz", "AAA-USD", seed: 1, frames: 0..<20)
      try Self.write(folder + "b.ndjson.gz", "BBB-USD", seed: 1, frames: 0..<20)
      for names in [["a", "b"], ["b", "a"]] {
        let run = try ReplayRun(try ReplayPlan(names.map { "\(folder)\($0).ndjson.gz" }))
        var before = run.replayers.map(\.recordsPlayed)
        var order: [Int] = []
        var last = Timestamp.distantPast
        while let time = run.nextTime {
          #expect(time >= last)
          let isPlayed = try run.step()
          #expect(isPlayed)
          let played = run.replayers.map(\.recordsPlayed)
          let track = played[0] > before[0] ? 0 : 1
          if time == last, let previous = order.last { #expect(previous <= track) }
          order.append(track)
          before = played
          last = time
        }
        #expect(order.count == 44 && order.prefix(6) == [0, 0, 0, 1, 1, 1])
      }
    }
  }

  @Test("the files of a set give the same bytes as one file that was never rotated")
  func parts() throws {
    try Self.withFolder { folder in
      try Self.write(folder + "whole.ndjson.gz", "AAA-USD", seed: 7)
      try FileManager.default.createDirectory(atPath: folder + "set", withIntermediateDirectories: true)
      for (number, frames) in [0..<400, 400..<900, 900..<1_200].enumerated() {
        try Self.write(
          folder + "set/x-\(number).ndjson.gz", "AAA-USD", seed: 7, frames: frames,
          part: .init(set: "x", run: 1, number: number + 1, follows: number == 0 ? nil : "x-\(number - 1).ndjson.gz"))
      }
      let whole = try Self.play([folder + "whole.ndjson.gz"])
      #expect(try Self.play([folder + "set"]) == whole)
      let named = [2, 0, 1].map { "\(folder)set/x-\($0).ndjson.gz" }
      #expect(try Self.play(named) == whole)
      let result = try ReplayRun(try ReplayPlan([folder + "set"])).run()
      #expect(result.count == 1 && result[0].lostRecords == 0 && result[0].symbols[0].isLiveAtEnd)
    }
  }

  @Test("after a gap, books are out of sync until the next snapshot; trades go on")
  func gap() throws {
    try Self.withFolder { folder in
      try Self.write(folder + "a.ndjson.gz", "AAA-USD", seed: 1, frames: 0..<100, gapAt: 50)
      let result = try ReplayRun(try ReplayPlan([folder])).run()[0]
      let whole = folder + "w.ndjson.gz"
      try Self.write(whole, "AAA-USD", seed: 1, frames: 0..<100)
      let other = try ReplayRun(try ReplayPlan([whole])).run()[0]
      #expect(result.lostRecords == 3 && other.lostRecords == 0)
      #expect(!result.symbols[0].isLiveAtEnd && other.symbols[0].isLiveAtEnd)
      #expect(result.symbols[0].counts.trades == other.symbols[0].counts.trades)
    }
  }

  @Test("a set whose files overlap ends where they do, by name")
  func overlap() throws {
    try Self.withFolder { folder in
      for run in 1...2 {
        try Self.write(
          folder + "x-\(run).ndjson.gz", "AAA-USD", seed: 7, offset: Int64(run) * 100, frames: 0..<100,
          part: .init(set: "x", run: Int64(run), number: 1))
      }
      let result = try #require(try ReplayRun(try ReplayPlan([folder])).run().first)
      #expect(result.stoppedBy?.path == folder + "x-2.ndjson.gz" && !result.isFlawless)
      #expect(result.stoppedBy?.reason.contains("overlap; replay each one alone") == true)
    }
  }

  @Test("what cannot be replayed is told with what to do")
  func problems() throws {
    try Self.withFolder { folder in
      func reason(_ paths: [String]) -> String {
        do throws(RecordingError) {
          _ = try ReplayPlan(paths)
          return ""
        } catch {
          return error.description
        }
      }
      #expect(reason([folder + "none"]).contains("does not exist; give a recording"))
      #expect(reason([folder]).contains("has no recordings: files that end in .ndjson.gz"))
      _ = FileManager.default.createFile(atPath: folder + "empty.ndjson.gz", contents: nil)
      try Self.write(folder + "a.ndjson.gz", "AAA-USD", seed: 1, frames: 0..<3)
      let plan = try ReplayPlan([folder, folder + "a.ndjson.gz"])
      #expect(
        plan.tracks.count == 1
          && plan.notes == [folder + "empty.ndjson.gz: is empty; a recording begins with a header line, left out"])
    }
  }

  @Test(
    "speeds are told in words",
    arguments: [
      ("1", 1), ("1x", 1), ("10x", 10), ("0.5X", 0.5), ("max", nil), ("MAX", nil), ("10000", 10_000),
    ] as [(String, Double?)])
  func speeds(_ text: String, _ factor: Double?) throws {
    let speed = try #require(ReplaySpeed(text))
    #expect(speed.factor == factor)
    #expect(ReplaySpeed(speed.description) == speed)
    #expect(speed.wait(for: 1_000) == factor.map { Int64(1_000 / $0) } ?? 0)
  }

  @Test("what is no speed is refused", arguments: ["", "x", "0", "-1", "fast", "1e3", "20000", "nan", "1 x", "0x10"])
  func noSpeeds(_ text: String) { #expect(ReplaySpeed(text) == nil) }

  @Test(
    "recorded sessions publish the same bytes twice, alone and side by side", .longComputation,
    .enabled(if: recordingsFolder != nil, "no recordings on this machine: set TIDEGATE_RECORDINGS"))
  func recorded() throws {
    let folder = try #require(recordingsFolder)
    let paths = ["binance-spot-20211012-book4", "coinbase-spot-20210417-book10"].map { "\(folder)/\($0).ndjson.gz" }
    let first = try Self.play(paths)
    #expect(first.count > 10_000)
    #expect(try Self.play(paths) == first)
  }
}
