import Foundation
import MarketData
import TestSupport
import Testing
import Venues

@testable import Recordings

@Suite("Recordings answer for markets as they were")
struct RecordedPastTests {
  private static let symbol = "coinbase:BTC-USD"

  private static func time(_ frame: Int) -> Timestamp {
    Timestamp(microseconds: IndexTrial.start + Int64(frame) * 100_000)
  }

  /// Why there is no book; nil: there is one.
  private static func failure(
    _ past: RecordedPast, at time: Timestamp, _ symbol: String = symbol
  ) -> RecordedPast.Failure? {
    do throws(RecordedPast.Failure) {
      _ = try past.market(symbol, at: time) { $0.bookState == .live ? $0 : nil }
      return nil
    } catch {
      return error
    }
  }

  private static func books(_ past: RecordedPast, at time: Timestamp) throws -> [[PriceLevel]] {
    try past.market(symbol, at: time) { [$0.book.bids, $0.book.asks] }
  }

  private static func text(_ trade: Trade) -> String {
    "\(trade.id.text) \(trade.price) \(trade.size) \(trade.side) \(trade.time.microseconds)"
  }

  /// Two files of one run.
  private static func write(_ folder: String) throws -> [String] {
    let paths = ["coinbase-spot-20231114T221320Z.ndjson.gz", "coinbase-spot-20231114T221640Z.ndjson.gz"].map {
      folder + $0
    }
    let run = IndexTrial.start
    try IndexTrial.write(paths[0], frames: 0..<600, part: .init(set: "coinbase-spot", run: run, number: 1))
    try IndexTrial.write(
      paths[1], frames: 600..<1_200,
      part: .init(set: "coinbase-spot", run: run, number: 2, follows: String(paths[0].split(separator: "/").last ?? ""))
    )
    return paths
  }

  @Test("a book is that of a whole replay up to the moment, with an index and without", arguments: testSeeds(3))
  func books(_ seed: UInt64) throws {
    try IndexTrial.withFolder { folder in
      let paths = try Self.write(folder)
      var random = SeededGenerator(seed: seed)
      let past = RecordedPast([folder])
      for isIndexed in [false, true] {
        if isIndexed { _ = try RecordingIndexer(paths: paths).run() }
        for _ in 0..<4 {
          let moment = Self.time(Int.random(in: 1..<1_200, using: &random)) + Int64.random(in: 0...1, using: &random)
          let whole = try Replayer(paths: paths)
          try IndexTrial.play(whole, before: moment)
          let state = try #require(whole.pipeline.market.instruments.first)
          let books = try Self.books(past, at: moment)
          #expect(books == [state.book.bids, state.book.asks], "seed \(seed), at \(moment)")
        }
      }
    }
  }

  @Test("pages of trades are all trades of the window, each once, whatever the limit", arguments: testSeeds(3))
  func trades(_ seed: UInt64) throws {
    try IndexTrial.withFolder { folder in
      let paths = try Self.write(folder)
      if seed.isMultiple(of: 2) { _ = try RecordingIndexer(paths: paths).run() }
      var random = SeededGenerator(seed: seed)
      var all: [(received: Timestamp, trade: Trade)] = []
      let whole = try Replayer(paths: paths)
      while let time = whole.nextTime {
        try whole.step()
        for case .trades(_, let range) in whole.pipeline.changes.items {
          all += whole.pipeline.changes.trades[range].map { (time, $0) }
        }
        whole.pipeline.clear()
      }
      #expect(all.count > 200)
      var limits = RecordedPast.Limits()
      limits.records = 1_000
      let past = RecordedPast([folder], limits: limits)
      for limit in [1, 7, 1_000] {
        let from = Self.time(Int.random(in: 0..<500, using: &random))
        let window = from..<(from + Int64.random(in: 1...60, using: &random) * Microseconds.second)
        var found: [String] = []
        var next: Timestamp? = window.lowerBound
        var pages = 0
        while let start = next, pages < 5_000 {
          let page = try past.trades(of: Self.symbol, in: start..<window.upperBound, limit: limit)
          #expect(page.trades.count <= limit && page.instrument.symbol == Self.symbol)
          found += page.trades.map(Self.text)
          next = page.next
          pages += 1
        }
        #expect(
          found == all.filter { window.contains($0.received) }.map { Self.text($0.trade) },
          "seed \(seed), limit \(limit)")
      }
    }
  }

  @Test("a window goes on in the next recording of the market")
  func nextRecording() throws {
    try IndexTrial.withFolder { folder in
      try IndexTrial.write(folder + "a.ndjson.gz", frames: 0..<500)
      try IndexTrial.write(folder + "b.ndjson.gz", frames: 1_000..<1_500)
      let past = RecordedPast([folder])
      let window = Self.time(100)..<Self.time(1_400)
      let first = try past.trades(of: Self.symbol, in: window, limit: 1_000)
      #expect(first.next == Self.time(1_000))
      let second = try past.trades(of: Self.symbol, in: Self.time(1_000)..<window.upperBound, limit: 1_000)
      #expect(second.next == nil && !second.trades.isEmpty)
      // The same from before everything.
      let early = try past.trades(of: Self.symbol, in: .distantPast..<Self.time(300), limit: 1_000)
      #expect(early.trades.first?.time ?? .distantFuture < Self.time(100))
    }
  }

  @Test("a time of which nothing is known gets no book, and the times around it")
  func nothing() throws {
    try IndexTrial.withFolder { folder in
      try IndexTrial.write(folder + "a.ndjson.gz", frames: 0..<500)
      try IndexTrial.write(folder + "b.ndjson.gz", frames: 2_000..<2_500)
      let past = RecordedPast([folder])
      #expect(
        Self.failure(past, at: Self.time(0))
          == .nothingRecorded(last: nil, next: Self.time(0)))
      // 60 s after the last record the book is still the venue's, and 60 s and 1 µs after it is not.
      let last = Self.time(499)
      #expect(Self.failure(past, at: last + RecordedPast.longestPause) == nil)
      #expect(
        Self.failure(past, at: last + RecordedPast.longestPause + 1) == .nothingRecorded(last: last, next: nil))
      var failure: RecordedPast.Failure?
      do throws(RecordedPast.Failure) {
        _ = try past.trades(of: Self.symbol, in: .distantPast..<Self.time(0), limit: 1)
      } catch {
        failure = error
      }
      #expect(failure == .nothingRecorded(last: nil, next: Self.time(0)))
      for unknown in ["coinbase:ETH-USD", "kraken:BTC-USD", "BTC-USD", "", ":", "coinbase:"] {
        #expect(
          Self.failure(past, at: last, unknown)
            == .unknownSymbol)
      }
      // A book that was out of sync is none.
      try IndexTrial.write(folder + "c.ndjson.gz", frames: 5_000..<5_500)
      #expect(
        Self.failure(past, at: Self.time(5_300)) == .outOfSync)
    }
  }

  @Test("a file that was empty at the first question has its market once it is written")
  func emptyAtFirst() throws {
    try IndexTrial.withFolder { folder in
      try IndexTrial.write(folder + "whole", frames: 0..<500)
      let bytes = try Data(contentsOf: URL(fileURLWithPath: folder + "whole"))
      try FileManager.default.removeItem(atPath: folder + "whole")
      for isAlone in [true, false] {
        let path = folder + (isAlone ? "a.ndjson.gz" : "b.ndjson.gz")
        #expect(FileManager.default.createFile(atPath: path, contents: nil))
        let past = RecordedPast([folder])
        if isAlone { #expect(Self.failure(past, at: Self.time(400)) == .unknownSymbol) }
        if !isAlone { #expect(Self.failure(past, at: Self.time(400)) == nil) }
        // In place, so that the folder does not change.
        let handle = try #require(FileHandle(forWritingAtPath: path))
        try handle.write(contentsOf: bytes)
        try handle.close()
        #expect(Self.failure(past, at: Self.time(400)) == nil)
      }
    }
  }

  @Test("a question has a bound: unread bytes without an index, and records")
  func bounds() throws {
    try IndexTrial.withFolder { folder in
      let paths = try Self.write(folder)
      var limits = RecordedPast.Limits()
      limits.unindexedBytes = 1_000
      var reports: [String] = []
      let past = RecordedPast([folder], limits: limits) { reports.append($0) }
      func ask(_ frame: Int) -> RecordedPast.Failure? { Self.failure(past, at: Self.time(frame)) }
      #expect(ask(1_000) == .notIndexed)
      #expect(reports.map { $0.contains(paths[0]) && $0.contains("recordings index") } == [true])
      _ = try RecordingIndexer(paths: paths).run()
      #expect(ask(1_000) == nil)
      // An index of another state of the file is none.
      let handle = try #require(FileHandle(forWritingAtPath: paths[1]))
      try handle.seekToEnd()
      try handle.write(contentsOf: IndexTrial.gzip(Array("\n".utf8)))
      try handle.close()
      #expect(ask(1_000) == .notIndexed)
      limits = RecordedPast.Limits()
      limits.records = 100
      let short = RecordedPast([paths[0]], limits: limits)
      #expect(
        Self.failure(short, at: Self.time(499))
          == .tooMuch)
    }
  }

  @Test("a damaged recording is reported, and a folder that is gone has no market")
  func damage() throws {
    var reports: [String] = []
    try IndexTrial.withFolder { folder in
      let path = folder + "a.ndjson.gz"
      try IndexTrial.write(path, frames: 0..<2_000, padding: 300)
      var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
      bytes[bytes.count / 2] ^= 0xFF
      try bytes.write(to: URL(fileURLWithPath: path))
      let past = RecordedPast([folder]) { reports.append($0) }
      #expect(
        Self.failure(past, at: Self.time(1_900))
          == .unreadable)
      #expect(reports.count == 1 && reports[0].contains("damaged gzip data"))
      #expect(Self.failure(past, at: Self.time(100)) == nil)
    }
    let gone = RecordedPast(["/nonexistent/"])
    #expect(
      Self.failure(gone, at: Self.time(1))
        == .unknownSymbol)
  }
}
