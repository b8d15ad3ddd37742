import Bytes
import Foundation
import MarketData
import TestSupport
import Testing
import Venues

@testable import Recordings

@Suite("Recordings are looked through, cut and exported")
struct RecordingToolsTests {
  private static func time(_ frame: Int) -> Timestamp {
    Timestamp(microseconds: IndexTrial.start + Int64(frame) * 100_000)
  }

  @Test(
    "a time is read, or is none",
    arguments: [
      ("1970-01-01T00:00:00Z", 0), ("2023-11-14T22:13:20Z", IndexTrial.start),
      ("2023-11-14T22:13:20.000042Z", IndexTrial.start + 42), ("2023-11-14T22:13:20.5Z", IndexTrial.start + 500_000),
      ("2023-11-14", nil), ("2023-02-29T00:00:00Z", nil), ("2023-11-14T24:00:00Z", nil), ("2023-11-14T22:13:20", nil),
      ("2023-11-14T22:13:20.Z", nil), ("2023-11-14T22:13:20.1234567Z", nil), ("2023-11-14 22:13:20Z", nil), ("", nil),
      ("2023-11-14T22:13:2aZ", nil), ("0000-00-00T00:00:00Z", nil),
    ] as [(String, Int64?)])
  func times(_ text: String, _ microseconds: Int64?) {
    let time = RecordingTime.read(text)
    #expect(time?.microseconds == microseconds)
    if let time { #expect(RecordingTime.read(RecordingTime.text(time)) == time) }
  }

  @Test("a list tells what is in the files, with an index and without")
  func list() throws {
    try IndexTrial.withFolder { folder in
      try IndexTrial.write(folder + "a.ndjson.gz", frames: 0..<1_000)
      try IndexTrial.write(folder + "b.ndjson.gz", frames: 0..<1_000, gapAt: 500)
      try Data("hello".utf8).write(to: URL(fileURLWithPath: folder + "c.ndjson"))
      _ = try RecordingIndexer(paths: [folder + "a.ndjson.gz"]).run()
      let survey = RecordingSurvey.list(try ReplayPlan([folder]))
      #expect(survey.files.map(\.index) == [.fits, nil])
      #expect(survey.files.map(\.contents.messages) == [1_001, 1_001])
      #expect(survey.files.map(\.contents.gapCount) == [0, 1])
      #expect(survey.unreadable.map(\.path) == [folder + "c.ndjson"])
      let text = survey.text(isVerified: false)
      #expect(text.contains("coinbase spot  2023-11-14T22:13:20.000000Z  2023-11-14T22:14:59.900000Z      1001"))
      #expect(text.contains("b.ndjson.gz: 1 gap, 3 records are missing; the first at 2023-11-14T22:14:10.000000Z"))
      let json = try JSONSerialization.jsonObject(with: Data(survey.json.utf8)) as? [String: Any]
      #expect((json?["recordings"] as? [[String: Any]])?.map { $0["messages"] as? Int } == [1_001, 1_001])
      #expect((json?["unreadable"] as? [Any])?.count == 1)
    }
  }

  @Test("verifying finds damage, and an index that says something else than its file")
  func verify() throws {
    try IndexTrial.withFolder { folder in
      let path = folder + "a.ndjson.gz"
      try IndexTrial.write(path, frames: 0..<4_000, padding: 500)
      _ = try RecordingIndexer(paths: [path]).run()
      let good = RecordingSurvey.verify(try ReplayPlan([path]))
      #expect(good.files.map(\.damage) == [[]] && good.files.map(\.index) == [.fits])
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder).count == 2)
      // Damage that size, time and samples do not show.
      var status = stat()
      #expect(stat(path, &status) == 0)
      var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
      #expect(bytes.count > 3 * RecordingIndex.Identity.sampleSize)
      bytes[bytes.count / 2] ^= 0xFF
      try bytes.write(to: URL(fileURLWithPath: path))
      var times = [status.st_mtim, status.st_mtim]
      #expect(utimensat(AT_FDCWD, path, &times, 0) == 0)
      let bad = try #require(RecordingSurvey.verify(try ReplayPlan([path])).files.first)
      #expect(bad.damage.contains { $0.hasPrefix("damaged: damaged gzip data after line") && $0.contains("is lost") })
      #expect(bad.index == .wrong(reason: "the checksum of the file is another one"))
      // A recording of a venue that is not replayed is read.
      let other = folder + "other.ndjson"
      try Data(
        (#"{"recording":1,"venue":"nobody","market":"spot","symbols":[],"channels":[],"started":1}"# + "\n"
          + #"{"t":5,"c":0,"k":"text","m":"x"}"# + "\n").utf8
      ).write(to: URL(fileURLWithPath: other))
      let read = try #require(RecordingSurvey.verify(try ReplayPlan([other])).files.first)
      #expect(read.contents.messages == 1 && read.notPlayed != nil && read.damage.isEmpty)
    }
  }

  @Test("a cut replays alone as its part of the whole does")
  func cut() throws {
    try IndexTrial.withFolder { folder in
      let path = folder + "a.ndjson.gz"
      try IndexTrial.write(path, frames: 0..<4_000, gapAt: 3_500)
      for (isIndexed, range) in [(false, 1_000..<3_000), (true, 2_500..<3_900), (true, 0..<100)] {
        if isIndexed { _ = try RecordingIndexer(paths: [path]).run() }
        let output = "\(folder)cut-\(isIndexed)-\(range.lowerBound).ndjson.gz"
        let window = Self.time(range.lowerBound)..<Self.time(range.upperBound)
        let cut = try RecordingCut.make([path], window: window, output: output)
        #expect(cut.first == window.lowerBound && cut.last == Self.time(range.upperBound - 1))
        #expect(cut.notes.isEmpty == (isIndexed || range.lowerBound == 0))
        let whole = try Replayer(path: path)
        try IndexTrial.play(whole, before: window.upperBound)
        let part = try Replayer(path: output)
        try IndexTrial.play(part, before: .distantFuture)
        #expect(IndexTrial.look(part) == IndexTrial.look(whole))
        let result = part.result(ReplayClock())
        #expect(result.records[.text] == range.count + (range.lowerBound == 0 ? 1 : 0))
        #expect(result.isFlawless == (range.upperBound < 3_500))
        // A cut can be indexed and cut again.
        _ = try RecordingIndexer(paths: [output]).run()
        try IndexTrial.compare([output], at: Self.time(range.upperBound - 10))
      }
      let taken = folder + "cut-false-1000.ndjson.gz"
      #expect(throws: RecordingError.self) {
        _ = try RecordingCut.make([path], window: Self.time(0)..<Self.time(10), output: taken)
      }
      #expect(FileManager.default.fileExists(atPath: taken), "a file that exists is not touched")
      let none = folder + "none.ndjson.gz"
      #expect(throws: RecordingError.self) {
        _ = try RecordingCut.make([path], window: Self.time(9_000)..<Self.time(9_001), output: none)
      }
      #expect(!FileManager.default.fileExists(atPath: none))
    }
  }

  @Test("books of a cut that are damaged are out of sync, and not wrong")
  func damagedState() throws {
    try IndexTrial.withFolder { folder in
      let path = folder + "a.ndjson.gz"
      try IndexTrial.write(path, frames: 0..<1_000)
      let output = folder + "cut.ndjson.gz"
      _ = try RecordingCut.make([path], window: Self.time(500)..<Self.time(1_000), output: output)
      let text = String(decoding: try IndexTrial.text(output), as: UTF8.self)
      let start = try #require(text.range(of: #""k":"state","m":""#)?.upperBound)
      var bytes = Array(text.utf8)
      let index = text.utf8.distance(from: text.startIndex, to: start) + 40
      bytes[index] = bytes[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
      let damaged = folder + "damaged.ndjson"
      try Data(bytes).write(to: URL(fileURLWithPath: damaged))
      let result = try Replayer(path: damaged).run()
      #expect(result.symbols.allSatisfy { !$0.isLiveAtEnd && $0.finalBids.isEmpty })
    }
  }

  private static func export(
    _ path: String, _ subject: RecordingExport.Subject, _ format: RecordingExport.Format,
    _ window: Range<Timestamp> = ReplayRun.always, symbols: Set<String> = []
  ) throws -> [String] {
    var text = ""
    let export = RecordingExport(subject, format, symbols: symbols) { text += $0.description }
    try export.begin()
    let run = try ReplayRun(
      try ReplayPlan([path]), window: window,
      onChanges: { (replayer, time) throws(RecordingError) in try export.take(replayer, at: time) })
    _ = try run.run()
    let lines = text.split(separator: "\n").map(String.init)
    #expect(lines.count == export.count + (format == .csv ? 1 : 0))
    return lines
  }

  @Test("trades and best prices are exported, of a part and of chosen symbols")
  func exports() throws {
    try IndexTrial.withFolder { folder in
      let path = folder + "a.ndjson.gz"
      try IndexTrial.write(path, frames: 0..<1_000)
      let trades = try Self.export(path, .trades, .csv)
      #expect(trades[0] == "received,time,symbol,id,price,size,side")
      let result = try Replayer(path: path).run()
      #expect(trades.count - 1 == result.symbols[0].counts.trades)
      #expect(
        trades.dropFirst().allSatisfy { $0.contains(",coinbase:BTC-USD,") && $0.hasSuffix(",20.50,0.10,buy") },
        "\(trades[1])")
      let half = try Self.export(path, .trades, .csv, Self.time(500)..<Self.time(1_000))
      #expect(trades.suffix(half.count - 1) == half.dropFirst() && half.count < trades.count)
      #expect(try Self.export(path, .trades, .csv, symbols: ["coinbase:ETH-USD"]).count == 1)
      let lines = try Self.export(path, .trades, .ndjson)
      #expect(lines.count == trades.count - 1)
      let first = try JSONSerialization.jsonObject(with: Data(lines[0].utf8)) as? [String: String]
      #expect(first?["price"] == "20.50" && first?["symbol"] == "coinbase:BTC-USD")

      let tops = try Self.export(path, .top, .csv)
      #expect(tops[0] == "received,time,symbol,bid,bid_size,ask,ask_size")
      #expect(tops[1].hasSuffix(",coinbase:BTC-USD,10.00,1.5,20.60,3.0") || tops[1].hasSuffix(",10.00,1.5,20.60,3"))
      // Each line is another one than that before it.
      let prices = tops.map { $0.split(separator: ",")[2...] }
      #expect(zip(prices, prices.dropFirst()).allSatisfy { $0 != $1 })
      let part = try Self.export(path, .top, .csv, Self.time(500)..<Self.time(1_000))
      #expect(part.last == tops.last, "a part begins with the book that was there")
      for line in try Self.export(path, .top, .ndjson) {
        #expect((try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: String])?.count == 7)
      }
    }
  }

  @Test("a run from the middle publishes what a whole run publishes from there on, but for sums of the past")
  func window() throws {
    try IndexTrial.withFolder { folder in
      let path = folder + "a.ndjson.gz"
      try IndexTrial.write(path, frames: 0..<3_000)
      func published(_ window: Range<Timestamp>) throws -> (books: [String], notes: [String], report: ReplayResult) {
        var books: [String] = []
        let publisher = ReplayPublisher {
          let text = String(decoding: $0, as: UTF8.self)
          if text.contains(#""channel":"book""#) { books.append(text) }
        }
        let run = try ReplayRun(try ReplayPlan([path]), publisher: publisher, window: window)
        let report = try #require(try run.run().first)
        return (books, run.notes, report)
      }
      let from = Self.time(2_000)
      let plain = try published(from..<Self.time(2_500))
      #expect(plain.notes.contains { $0.contains("no index") })
      _ = try RecordingIndexer(paths: [path]).run()
      let jumped = try published(from..<Self.time(2_500))
      #expect(jumped.notes.isEmpty)
      #expect(jumped.books == plain.books && !jumped.books.isEmpty)
      #expect(jumped.report.frames == 500 && plain.report.frames == 500)
      #expect(jumped.report.symbols[0].counts == plain.report.symbols[0].counts)
      #expect(jumped.report.symbols[0].finalBids == plain.report.symbols[0].finalBids)
      let instant = try published(from..<from)
      #expect(instant.report.frames == 0 && instant.report.symbols[0].isLiveAtEnd)
      // A wrong index costs time, and changes nothing.
      let url = URL(fileURLWithPath: RecordingIndex.path(of: path))
      var bytes = try Data(contentsOf: url)
      bytes[20] ^= 1
      try bytes.write(to: url)
      #expect(try published(from..<Self.time(2_500)).books == plain.books)
    }
  }
}
