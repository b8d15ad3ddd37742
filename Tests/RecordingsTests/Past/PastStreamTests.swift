import Bytes
import Foundation
import MarketData
import PubSub
import TestSupport
import Testing
import Venues

@testable import Recordings

@Suite("Recorded time is played for one client, in turns")
struct PastStreamTests {
  private static let symbol = "coinbase:BTC-USD"

  private static func time(_ frame: Int) -> Timestamp {
    Timestamp(microseconds: IndexTrial.start + Int64(frame) * 100_000)
  }

  private static let keys = [
    StreamKey(channel: .trades, symbol: symbol), StreamKey(channel: .book, symbol: symbol),
    StreamKey(channel: .book, symbol: symbol, depth: 10, intervalMilliseconds: 1_000),
    StreamKey(channel: .candles, symbol: symbol, intervalMilliseconds: 250),
  ]

  /// What a client got, and how it ended.
  private struct Played {
    var messages: [[UInt8]] = []
    var streams: [(number: UInt32, epoch: String)] = []
    var turns = 0
    var largestTurn = 0
    var problem: RecordedPast.Failure?
    var hasEnded = false
    var position = Timestamp.distantPast
  }

  /// - Parameter targets: the moments up to which turns play; after them, everything.
  private static func play(
    _ past: RecordedPast, _ window: Range<Timestamp>, keys: [StreamKey] = keys, limits: PastStream.Limits = .init(),
    targets: [Timestamp] = []
  ) -> Played {
    var played = Played()
    do throws(PastStream.Problem) {
      let stream = try PastStream(past, keys: keys, window: window, epoch: "replay-1", limits: limits)
      var targets = targets[...]
      while !played.hasEnded, played.turns < 100_000 {
        var bytes = 0
        let step = try stream.turn(until: targets.first ?? .distantFuture) { output in
          switch output {
          case .joined(let result, _): played.streams.append((result.stream.rawValue, result.epoch))
          case .message(let frame):
            bytes += frame.bytes.count
            played.messages.append(Array(frame.bytes.unsafeBytes))
          }
        }
        played.turns += 1
        played.largestTurn = max(played.largestTurn, bytes)
        played.position = stream.position
        if case .waits(let due) = step, let target = targets.first {
          guard due > target else { break }
          targets = targets.dropFirst()
        }
        played.hasEnded = step == .ended
      }
    } catch {
      played.problem = error.failure
    }
    return played
  }

  private static func json(_ message: [UInt8]) throws -> [String: Any] {
    let start = message[1] < 126 ? 2 : message[1] == 126 ? 4 : 10
    let value = try JSONSerialization.jsonObject(with: Data(message[start...]))
    return try #require(value as? [String: Any])
  }

  private static func text(_ price: Int64, _ scale: UInt8) -> String {
    var out = ByteBuffer()
    out.append(decimal: price, scale: scale)
    return out.description
  }

  private static func write(_ folder: String, isIndexed: Bool) throws {
    let paths = ["coinbase-spot-20231114T221320Z.ndjson.gz", "coinbase-spot-20231114T221640Z.ndjson.gz"].map {
      folder + $0
    }
    let run = IndexTrial.start
    try IndexTrial.write(paths[0], frames: 0..<600, part: .init(set: "coinbase-spot", run: run, number: 1))
    try IndexTrial.write(
      paths[1], frames: 600..<1_200,
      part: .init(set: "coinbase-spot", run: run, number: 2, follows: String(paths[0].split(separator: "/").last ?? ""))
    )
    if isIndexed { _ = try RecordingIndexer(paths: paths).run() }
  }

  @Test("the bytes are the same, however the turns are cut", arguments: testSeeds(4))
  func turns(_ seed: UInt64) throws {
    try IndexTrial.withFolder { folder in
      try Self.write(folder, isIndexed: seed.isMultiple(of: 2))
      var random = SeededGenerator(seed: seed)
      let from = Self.time(Int.random(in: 0..<800, using: &random))
      let window = from..<(from + Int64.random(in: 10...60, using: &random) * Microseconds.second)
      let past = RecordedPast([folder])
      let whole = Self.play(past, window)
      #expect(whole.hasEnded && whole.messages.count > 20)
      #expect(whole.streams.map(\.epoch) == Array(repeating: "replay-1", count: 4))
      var small = PastStream.Limits()
      small.records = Int.random(in: 1...7, using: &random)
      small.bytes = Int.random(in: 1...2_000, using: &random)
      var targets: [Timestamp] = []
      var target = from
      while target < window.upperBound {
        target = target + Int64.random(in: 1...3_000_000, using: &random)
        targets.append(target)
      }
      let cut = Self.play(past, window, limits: small, targets: targets)
      #expect(cut.hasEnded && cut.turns > whole.turns)
      #expect(cut.messages == whole.messages, "seed \(seed)")
      let longest = whole.messages.map(\.count).max() ?? 0
      #expect(cut.largestTurn < small.bytes + 5 * longest, "a turn ends with the message that reaches its limit")
    }
  }

  @Test("the trades are those that arrived in the window; the book becomes that of its end", arguments: testSeeds(3))
  func state(_ seed: UInt64) throws {
    try IndexTrial.withFolder { folder in
      try Self.write(folder, isIndexed: seed.isMultiple(of: 2))
      var random = SeededGenerator(seed: seed)
      let from = Self.time(Int.random(in: 1..<700, using: &random))
      let window = from..<(from + Int64.random(in: 5...45, using: &random) * Microseconds.second)
      let past = RecordedPast([folder])
      let played = Self.play(past, window)
      var ids: [String] = []
      var bids: [String: String] = [:]
      var last: [Int: Int] = [:]
      for message in try played.messages.map(Self.json) {
        let stream = try #require(message["stream"] as? Int)
        let seq = try #require(message["seq"] as? Int)
        if message["type"] as? String == "update" { #expect(message["prev"] as? Int == last[stream]) }
        last[stream] = seq
        let data = try #require(message["data"] as? [String: Any])
        switch (message["channel"] as? String, message["type"] as? String) {
        case ("trades", "update"): ids += (data["trades"] as? [[String: Any]] ?? []).compactMap { $0["id"] as? String }
        case ("book", let type) where stream == Int(played.streams[1].number):
          if type == "snapshot" { bids = [:] }
          for level in data["bids"] as? [[String]] ?? [] { bids[level[0]] = level[1] == "0" ? nil : level[1] }
        default: break
        }
      }
      let trades = try past.trades(of: Self.symbol, in: window, limit: 1_000)
      #expect(ids == trades.trades.map(\.id.text), "seed \(seed)")
      let expected = try past.market(Self.symbol, at: window.upperBound) { state in
        Set(state.book.bids.map { Self.text($0.price, state.instrument.priceScale) })
      }
      #expect(Set(bids.keys) == expected, "seed \(seed)")
    }
  }

  @Test("streams go on in the next recording of the market, with a number of their own")
  func nextRecording() throws {
    try IndexTrial.withFolder { folder in
      try IndexTrial.write(folder + "a.ndjson.gz", frames: 0..<500)
      try IndexTrial.write(folder + "b.ndjson.gz", frames: 1_000..<1_500)
      let past = RecordedPast([folder])
      let keys = [StreamKey(channel: .trades, symbol: Self.symbol)]
      let window = Self.time(100)..<Self.time(1_400)
      let played = Self.play(past, window, keys: keys)
      #expect(played.hasEnded && Set(played.streams.map(\.number)).count == 2)
      let trades = try played.messages.map(Self.json).filter { $0["type"] as? String == "update" }
      let first = try past.trades(of: Self.symbol, in: Self.time(100)..<Self.time(1_000), limit: 1_000).trades
      let second = try past.trades(of: Self.symbol, in: Self.time(1_000)..<Self.time(1_400), limit: 1_000).trades
      let ids = trades.flatMap { ($0["data"] as? [String: Any])?["trades"] as? [[String: Any]] ?? [] }
      #expect(ids.compactMap { $0["id"] as? String } == (first + second).map(\.id.text))
    }
  }

  @Test("a request that has no answer says why, and costs no more than allowed")
  func problems() throws {
    try IndexTrial.withFolder { folder in
      try Self.write(folder, isIndexed: false)
      var limits = RecordedPast.Limits()
      limits.unindexedBytes = 1_000
      let past = RecordedPast([folder])
      let short = RecordedPast([folder], limits: limits)
      limits = RecordedPast.Limits()
      limits.records = 100
      let cheap = RecordedPast([folder], limits: limits)
      let window = Self.time(500)..<Self.time(600)
      let other = [StreamKey(channel: .trades, symbol: "coinbase:ETH-USD")]
      #expect(Self.play(past, window, keys: other).problem == .unknownSymbol)
      #expect(Self.play(short, window).problem == .notIndexed)
      #expect(Self.play(cheap, window).problem == .tooMuch)
      let before = Timestamp(microseconds: 0)..<Timestamp(microseconds: 1)
      #expect(Self.play(past, before).problem == .nothingRecorded(last: nil, next: Self.time(0)))
      let after = Timestamp.readable.upperBound..<Timestamp.distantFuture
      #expect(Self.play(past, after).problem == .nothingRecorded(last: Self.time(1_199), next: nil))
      let all = Self.play(past, Timestamp(microseconds: 0)..<Timestamp.distantFuture)
      #expect(all.hasEnded && all.problem == nil && all.position > Self.time(1_199))
    }
  }

  @Test("a damaged recording is played up to the damage, and half a file up to its end")
  func damage() throws {
    try IndexTrial.withFolder { folder in
      let path = folder + "a.ndjson.gz"
      try IndexTrial.write(path, frames: 0..<2_000, padding: 300)
      let whole = try Data(contentsOf: URL(fileURLWithPath: path))
      let past = RecordedPast([folder])
      let window = Self.time(10)..<Self.time(2_000)
      let count = Self.play(past, window).messages.count
      try whole.prefix(whole.count / 2).write(to: URL(fileURLWithPath: path))
      let half = Self.play(past, window)
      #expect(half.hasEnded && half.problem == nil && half.messages.count > 10 && half.messages.count < count)
      var broken = whole
      broken[whole.count / 2] ^= 0xFF
      try broken.write(to: URL(fileURLWithPath: path))
      let damaged = Self.play(past, window)
      #expect(damaged.problem == .unreadable && damaged.messages.count > 10 && !damaged.hasEnded)
    }
  }
}
