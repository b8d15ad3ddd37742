import Bytes
import Foundation
import MarketData
import TestSupport
import Testing

@testable import History

@Suite("What a run leaves to the next of its streams")
struct StoredStreamsTests {
  private func streams(epoch: String = "k7") -> StoredStreams {
    let messages = (1...3).map { number in
      StoredStreams.Message(
        prev: UInt64(number) + 40, seq: UInt64(number) + 41, events: 2, time: StoreWorld.time(number),
        bytes: SharedBytes([0x81, UInt8(number), 0, 255]))
    }
    return StoredStreams(
      epoch: epoch, highest: 1 << 40, loops: 2,
      streams: [
        .init(
          number: 4, symbol: "kraken:BTC-USD", interval: 0, seq: 44, last: .init(id: "T-7", time: StoreWorld.time(3)),
          messages: messages),
        .init(
          number: 7, symbol: "kraken:BTC-USD@ws://other", interval: 1000, seq: 9, last: nil, messages: [],
          scale: .init(base: 1_790_000_000_000_000, priceDigits: 2, sizeDigits: 8)),
      ],
      sessions: [
        .init(token: "s_1.0.0.1", subject: nil, isPaused: false, expires: StoreWorld.time(90)),
        .init(token: "s_2.0.0.1", subject: "alice", isPaused: true, expires: StoreWorld.time(100)),
      ])
  }

  private func ended(_ folder: TemporaryFolder, at second: Int) throws {
    let store = try StoreWorld.store(folder)
    try store.begin(now: StoreWorld.time(0))
    try store.keepStreams(streams(), now: StoreWorld.time(second))
    try store.end(now: StoreWorld.time(second))
    store.file.close()
  }

  @Test("the next run takes all of it, once: what it leaves itself is what the run after it takes")
  func once() throws {
    let folder = try TemporaryFolder()
    try ended(folder, at: 60)
    for isSecond in [false, true] {
      let store = try StoreWorld.store(folder)
      try store.begin(now: StoreWorld.time(isSecond ? 62 : 61))
      let found = try store.takeStreams(now: StoreWorld.time(62))
      #expect(found == (isSecond ? nil : streams()))
      #expect(try store.takeStreams(now: StoreWorld.time(62)) == nil)
      // Killed: nothing is left.
      store.file.close()
    }
  }

  @Test(
    "within two minutes of the end, and not before it", arguments: [(-1, false), (0, true), (120, true), (121, false)])
  func age(seconds: Int, isThere: Bool) throws {
    let folder = try TemporaryFolder()
    try ended(folder, at: 60)
    let store = try StoreWorld.store(folder)
    let now = StoreWorld.time(60 + seconds)
    try store.begin(now: now)
    #expect(try store.takeStreams(now: now) == (isThere ? streams() : nil))
  }

  @Test("not where another run has begun since the one that left it: its last trades are newer than the streams")
  func takenOver() throws {
    let folder = try TemporaryFolder()
    let old = try StoreWorld.store(folder)
    try old.begin(now: StoreWorld.time(0))
    let beside = try StoreWorld.store(folder)
    try beside.begin(now: StoreWorld.time(10))
    #expect(try beside.takeStreams(now: StoreWorld.time(10)) == nil)
    try old.keepStreams(streams(), now: StoreWorld.time(20))
    try old.end(now: StoreWorld.time(20))
    old.file.close()
    beside.file.close()
    let next = try StoreWorld.store(folder)
    try next.begin(now: StoreWorld.time(30))
    #expect(try next.takeStreams(now: StoreWorld.time(30)) == nil)
  }

  @Test("the last trades of an instrument come back as they were, at most 50, the newest")
  func lastTrades() throws {
    let folder = try TemporaryFolder()
    let store = try StoreWorld.store(folder)
    try store.begin(now: StoreWorld.time(0))
    var batch = HistoryBatch.observed("BTC", 0)
    let trades = (1...60).map { number in
      LatestState.LastTrade(
        id: number == 60 ? "" : "\(number)-\(String(repeating: "x", count: number % 30))",
        price: Int64.max - Int64(number), size: -Int64(number), isBuy: number % 2 == 0, time: StoreWorld.time(number))
    }
    batch.latest = [
      LatestState(
        symbol: StoreWorld.symbol("BTC"), time: StoreWorld.time(1), priceScale: 2, sizeScale: 8, trade: trades.last,
        trades: trades, minutes: [])
    ]
    try store.write(batch, now: StoreWorld.time(2))
    let latest = try #require(try store.restore(StoreWorld.symbol("BTC"), now: StoreWorld.time(3))?.latest)
    #expect(latest.trades == Array(trades.suffix(50)))
    #expect(latest.trade == trades.last)
  }

  @Test("bytes that are no trades are none, and stop nothing", arguments: testSeeds(200))
  func garbage(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var data = LastTrades.data([
      .init(id: "1", price: 1, size: 1, isBuy: true, time: StoreWorld.time(1)),
      .init(id: "22", price: 2, size: 2, isBuy: false, time: StoreWorld.time(2)),
    ])
    switch Int.random(in: 0..<3, using: &random) {
    case 0: data = data.dropLast(Int.random(in: 1...20, using: &random))
    case 1: data[0] = UInt8.random(in: 41...255, using: &random)
    default:
      data = Data((0..<Int.random(in: 0...200, using: &random)).map { _ in .random(in: 0...255, using: &random) })
    }
    #expect(LastTrades.trades(data).count <= 50)
  }
}
