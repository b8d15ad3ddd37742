import Bytes
import CZlib
import Foundation
import MarketData
import TestSupport
import TestTraits
import Testing
import Venues

@testable import Recordings

/// What an index is tested with: recordings that are made, and replays of them.
enum IndexTrial {
  static let start: Int64 = 1_700_000_000_000_000

  static func withFolder(_ body: (String) throws -> Void) throws {
    let folder =
      FileManager.default.temporaryDirectory.appendingPathComponent("tidegate-\(UUID().uuidString)").path + "/"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try body(folder)
  }

  /// A Coinbase book and its trades, a frame every 100 ms, from a snapshot at the beginning on.
  static func write(
    _ path: String, frames: Range<Int>, seed: UInt64 = 1, part: RecordingHeader.Part? = nil, gapAt: Int? = nil,
    padding: Int = 0
  ) throws {
    var random = SeededGenerator(seed: seed)
    func time(_ index: Int) -> Timestamp { Timestamp(microseconds: start + Int64(index) * 100_000) }
    let writer = try RecordingWriter(
      path: path,
      header: RecordingHeader(
        venue: "coinbase", market: "spot", symbols: ["BTC-USD"], channels: [], started: time(frames.lowerBound),
        part: part))
    func text(_ json: String, _ time: Timestamp) throws {
      try Array(json.utf8).withUnsafeBytes { try writer.text($0, connection: 0, at: time) }
    }
    let isFirst = frames.lowerBound == 0
    try writer.open(
      url: "wss://ws-feed.exchange.coinbase.com", connection: 0, at: time(frames.lowerBound), isRepeated: !isFirst)
    if isFirst {
      try text(
        #"{"type":"snapshot","product_id":"BTC-USD","bids":[["10.00","1.5"],["9.99","2"]],"asks":[["20.60","3"]]}"#,
        time(0))
    }
    for index in 0..<frames.upperBound {
      let (bid, size) = (Int.random(in: 1000...1999, using: &random), Int.random(in: 0...99, using: &random))
      let isTrade = Int.random(in: 0..<4, using: &random) == 0
      guard index >= frames.lowerBound else { continue }
      if index == gapAt { try writer.gap(records: 3, reason: "test", connection: 0, at: time(index)) }
      let pad = (0..<padding).map { _ in String("0123456789abcdef".randomElement(using: &random) ?? "0") }.joined()
      let stamp = CivilTime(microseconds: time(index).microseconds).description
      let price = "\(bid / 100).\(String(format: "%02d", bid % 100))"
      try text(
        isTrade
          ? #"{"type":"match","trade_id":\#(index + 1),"side":"sell","size":"0.1","price":"20.50","product_id":"BTC-USD","time":"\#(stamp)","pad":"\#(pad)"}"#
          : #"{"type":"l2update","product_id":"BTC-USD","time":"\#(stamp)","changes":[["buy","\#(price)","0.\#(size)"]]}"#,
        time(index))
    }
    try writer.finish()
  }

  /// What a market looks like, for comparison.
  struct Look: Equatable {
    var symbol: String
    var bids: [PriceLevel]
    var asks: [PriceLevel]
    var state: BookState
    var priceScale: UInt8
  }

  static func look(_ replayer: Replayer) -> [Look] {
    replayer.pipeline.market.instruments.map {
      Look(
        symbol: $0.instrument.symbol, bids: $0.book.bids, asks: $0.book.asks, state: $0.bookState,
        priceScale: $0.instrument.priceScale)
    }
  }

  static func play(_ replayer: Replayer, before time: Timestamp) throws {
    while let next = replayer.nextTime, next < time {
      try replayer.step()
      replayer.pipeline.clear()
    }
  }

  /// Begins in the middle by the index, and compares with a replay of everything: at `time` and at the end.
  /// - Returns: the records that were played less.
  @discardableResult
  static func compare(_ paths: [String], at time: Timestamp) throws -> Int {
    let (entry, notes) = RecordingEntry.find(paths, before: time)
    let found = try #require(entry, "no entry at \(time): \(notes)")
    #expect(found.time < time)
    let whole = try Replayer(paths: paths)
    let jumped = try Replayer(paths: paths, at: found)
    try play(whole, before: time)
    try play(jumped, before: time)
    let saved = whole.recordsPlayed - jumped.recordsPlayed
    #expect(look(jumped) == look(whole), "at \(time)")
    #expect(jumped.nextTime == whole.nextTime)
    whole.beginCounting()
    jumped.beginCounting()
    try play(whole, before: .distantFuture)
    try play(jumped, before: .distantFuture)
    #expect(look(jumped) == look(whole), "at the end, from \(time)")
    let (a, b) = (whole.result(ReplayClock()), jumped.result(ReplayClock()))
    #expect(a.records == b.records && a.frames == b.frames)
    for (x, y) in zip(a.symbols, b.symbols) {
      #expect(
        x.counts.deltas == y.counts.deltas && x.counts.gaps == y.counts.gaps && x.counts.trades == y.counts.trades
          && x.counts.sequenceOK == y.counts.sequenceOK && x.checksumsOK == y.checksumsOK, "\(x) \(y)")
    }
    return saved
  }

  static func index(_ path: String) throws -> RecordingIndex {
    guard case .fits(let index) = RecordingIndex.lookUp(path) else {
      throw RecordingError(path: path, "\(RecordingIndex.lookUp(path))")
    }
    return index
  }

  /// One gzip member, as other programs compress.
  static func gzip(_ bytes: [UInt8]) -> [UInt8] {
    var stream = z_stream()
    deflateInit2_(
      &stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
    defer { deflateEnd(&stream) }
    var input = bytes
    var output = [UInt8](repeating: 0, count: Int(deflateBound(&stream, UInt(bytes.count))))
    let count = input.withUnsafeMutableBufferPointer { input in
      output.withUnsafeMutableBufferPointer { output -> Int in
        stream.next_in = input.baseAddress
        stream.avail_in = UInt32(input.count)
        stream.next_out = output.baseAddress
        stream.avail_out = UInt32(output.count)
        precondition(deflate(&stream, Z_FINISH) == Z_STREAM_END, "deflate did not end")
        return output.count - Int(stream.avail_out)
      }
    }
    return Array(output[..<count])
  }

  /// The text of a recording.
  static func text(_ path: String) throws -> [UInt8] {
    let reader = try LineReader(path: path)
    var text: [UInt8] = []
    while true {
      let line = try reader.next { (line) throws(RecordingError) in line.withUnsafeBytes { Array($0) } }
      guard let line else { return text }
      text += line + [0x0A]
    }
  }
}

@Suite("An index lets a replay begin in the middle")
struct RecordingIndexTests {
  @Test("books are those of a whole replay, at any time and to the end, in a file and across the files of a set")
  func middle() throws {
    try IndexTrial.withFolder { folder in
      let single = folder + "single.ndjson.gz"
      try IndexTrial.write(single, frames: 0..<6_000)
      _ = try RecordingIndexer(paths: [single]).run()
      var saved = 0
      for index in [100, 601, 3_000, 5_999] {
        let time = Timestamp(microseconds: IndexTrial.start + Int64(index) * 100_000)
        saved = try IndexTrial.compare([single], at: time)
      }
      #expect(saved > 5_000, "a point at least every minute: \(saved)")
      let paths = (0..<3).map { "\(folder)part\($0).ndjson.gz" }
      for (number, path) in paths.enumerated() {
        try IndexTrial.write(
          path, frames: number * 2_000..<(number + 1) * 2_000, seed: 2,
          part: .init(set: "x", run: 1, number: number + 1, follows: number == 0 ? nil : "before"))
      }
      #expect(try RecordingIndexer(paths: paths).run().map(\.path) == paths)
      for index in [100, 2_500, 4_001, 5_000] {
        let time = Timestamp(microseconds: IndexTrial.start + Int64(index) * 100_000)
        let saved = try IndexTrial.compare(paths, at: time)
        #expect(saved >= (index / 2_000) * 2_000 - 1)
      }
    }
  }

  @Test("a missing file, a gap and a bad line are the same from the middle on as from the beginning")
  func holes() throws {
    try IndexTrial.withFolder { folder in
      let paths = [0, 2].map { "\(folder)part\($0).ndjson.gz" }
      for (number, path) in zip([0, 2], paths) {
        try IndexTrial.write(
          path, frames: number * 1_000..<(number + 1) * 1_000, part: .init(set: "x", run: 1, number: number + 1),
          gapAt: 700)
      }
      let indexed = try RecordingIndexer(paths: paths).run()
      #expect(indexed[0].contents.gapCount == 1 && indexed[0].contents.lost == 3)
      // The one between the files.
      #expect(indexed[1].contents.gapCount == 1)
      for index in [650, 800, 2_001, 2_900] {
        try IndexTrial.compare(paths, at: Timestamp(microseconds: IndexTrial.start + Int64(index) * 100_000))
      }
      let bad = folder + "bad.ndjson"
      var lines = try IndexTrial.text(paths[0]).split(separator: 0x0A).map(Array.init)
      lines.insert(Array(#"{"t":1,"k":"wave"}"#.utf8), at: 640)
      try Data(lines.joined(separator: [0x0A])).write(to: URL(fileURLWithPath: bad))
      let contents = try RecordingIndexer(paths: [bad]).run()[0].contents
      #expect(contents.badLines == 1 && contents.firstBadLine?.hasPrefix("line 641") == true)
      try IndexTrial.compare([bad], at: Timestamp(microseconds: IndexTrial.start + 63_000_000))
      try IndexTrial.compare([bad], at: Timestamp(microseconds: IndexTrial.start + 80_000_000))
    }
  }

  @Test("a plain file and a single gzip stream are entered, too")
  func others() throws {
    try IndexTrial.withFolder { folder in
      let own = folder + "own.ndjson.gz"
      try IndexTrial.write(own, frames: 0..<36_000)
      let text = try IndexTrial.text(own)
      #expect(text.count > 5 << 20, "the window of a block is needed: \(text.count)")
      for (name, bytes) in [("plain.ndjson", text), ("stream.ndjson.gz", IndexTrial.gzip(text))] {
        let path = folder + name
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        _ = try RecordingIndexer(paths: [path]).run()
        let index = try IndexTrial.index(path)
        #expect(index.contents.records == 36_002)
        #expect(index.points.contains { $0.window != nil } == (name != "plain.ndjson"))
        for frame in [15_000, 35_500] {
          let saved = try IndexTrial.compare(
            [path], at: Timestamp(microseconds: IndexTrial.start + Int64(frame) * 100_000))
          #expect(saved > frame - 10_000, "\(name): \(saved)")
        }
      }
    }
  }

  @Test("what is in a file is what was counted")
  func contents() throws {
    try IndexTrial.withFolder { folder in
      let path = folder + "a.ndjson.gz"
      try IndexTrial.write(path, frames: 0..<2_000)
      let indexed = try RecordingIndexer(paths: [path]).run()[0]
      let index = try IndexTrial.index(path)
      #expect(index.contents == indexed.contents)
      #expect(index.points.count == indexed.points && indexed.points == 4)
      let contents = index.contents
      #expect(contents.records == 2_002 && contents.messages == 2_001 && contents.connections == 1)
      #expect(contents.first == Timestamp(microseconds: IndexTrial.start))
      #expect(contents.last == Timestamp(microseconds: IndexTrial.start + 1_999 * 100_000))
      #expect(contents.symbols.map(\.name) == ["BTC-USD"])
      #expect(contents.symbols[0].deltas + contents.symbols[0].trades == 2_000)
      #expect(contents.symbols[0].snapshots == 1)
      // Made again, it is the same.
      let first = try Data(contentsOf: URL(fileURLWithPath: RecordingIndex.path(of: path)))
      _ = try RecordingIndexer(paths: [path]).run()
      #expect(try Data(contentsOf: URL(fileURLWithPath: RecordingIndex.path(of: path))) == first)
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder).count == 2, "a temporary file is left")
    }
  }

  @Test("an index of another file, of an older version of it, or a damaged one is not used", arguments: testSeeds(4))
  func damage(_ seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    try IndexTrial.withFolder { folder in
      let path = folder + "a.ndjson.gz"
      try IndexTrial.write(path, frames: 0..<900)
      _ = try RecordingIndexer(paths: [path], recordSpacing: 300).run()
      let url = URL(fileURLWithPath: RecordingIndex.path(of: path))
      let good = try Data(contentsOf: url)
      let time = Timestamp(microseconds: IndexTrial.start + 70_000_000)
      let whole = try Replayer(path: path)
      try IndexTrial.play(whole, before: time)
      for _ in 0..<50 {
        var bytes = good
        if Bool.random(using: &random) {
          bytes[Int.random(in: bytes.indices, using: &random)] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        } else {
          bytes = bytes.prefix(Int.random(in: 0..<bytes.count, using: &random))
        }
        try bytes.write(to: url)
        // A changed bit in a piece that is not read changes nothing.
        guard let entry = RecordingEntry.find([path], before: time).entry else { continue }
        let replayer = try Replayer(paths: [path], at: entry)
        try IndexTrial.play(replayer, before: time)
        #expect(IndexTrial.look(replayer) == IndexTrial.look(whole), "seed \(seed)")
      }
      try good.write(to: url)
      _ = try IndexTrial.index(path)
      try IndexTrial.write(path, frames: 0..<901)
      guard case .unusable(let reason) = RecordingIndex.lookUp(path) else {
        Issue.record("an index of what the file was is used")
        return
      }
      #expect(reason.contains("was made before"))
      #expect(unlink(url.path) == 0 && mkfifo(url.path, 0o600) == 0)
      guard case .unusable = RecordingIndex.lookUp(path) else {
        Issue.record("a pipe is read")
        return
      }
    }
  }

  @Test("a file that ends in damage is indexed up to it, and those after it as well")
  func stopped() throws {
    try IndexTrial.withFolder { folder in
      let paths = (0..<2).map { "\(folder)part\($0).ndjson.gz" }
      for (number, path) in paths.enumerated() {
        try IndexTrial.write(
          path, frames: number * 8_000..<(number + 1) * 8_000, part: .init(set: "x", run: 1, number: number + 1))
      }
      var bytes = try Data(contentsOf: URL(fileURLWithPath: paths[0]))
      for index in (bytes.count - 4_000)..<(bytes.count - 3_000) { bytes[index] = 0x5A }
      try bytes.write(to: URL(fileURLWithPath: paths[0]))
      let indexed = try RecordingIndexer(paths: paths).run()
      #expect(indexed.map(\.path) == paths)
      #expect(indexed[0].contents.stoppedBy?.hasPrefix("damaged gzip data after line") == true)
      #expect((1_000..<8_000).contains(indexed[0].contents.records))
      #expect(indexed[1].contents.stoppedBy == nil && indexed[1].contents.records > 7_999)
    }
  }

  @Test(
    "recorded sessions of venues go on from the middle as they do from the beginning", .longComputation,
    .enabled(if: recordingsFolder != nil, "no recordings on this machine: set TIDEGATE_RECORDINGS"),
    arguments: [
      "binance-spot-20240808-btcusdt", "binance-spot-20210404-book3", "bybit-linear-20241201-ob500",
      "coinbase-spot-20210417-book10", "bitfinex-spot-20210417-book7", "kraken-spot-20260802-ethusd",
      "okx-mixed-20220227-book10", "bitstamp-spot-20220105-book10", "gate-spot-20210422-book10",
      "binance-usdm-20210722-book4",
    ])
  func sessions(_ name: String) throws {
    let folder = try #require(recordingsFolder)
    try IndexTrial.withFolder { own in
      let path = own + name + ".ndjson.gz"
      try FileManager.default.copyItem(atPath: "\(folder)/\(name).ndjson.gz", toPath: path)
      let indexer = try RecordingIndexer(paths: [path], recordSpacing: 500)
      let contents = try indexer.run()[0].contents
      let first = try #require(contents.first)
      let last = try #require(contents.last)
      try IndexTrial.compare([path], at: first + (last - first) * 6 / 10)
    }
  }
}
