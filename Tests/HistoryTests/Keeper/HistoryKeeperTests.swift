import Foundation
import GRDB
import Logging
import MarketData
import Testing

@testable import History

@Suite("The keeper of history")
struct HistoryKeeperTests {
  private let folder = NSTemporaryDirectory() + "tidegate-keeper-" + UUID().uuidString
  private let keeper: HistoryKeeper
  private let now = Timestamp(microseconds: Int64(Date().timeIntervalSince1970 * 1e6))
  private static let symbol = "kraken:ZEC-USD"

  init() throws { keeper = try Self.keeper(folder) }

  private static func keeper(_ folder: String) throws(DataFileError) -> HistoryKeeper {
    try HistoryKeeper(
      directory: folder, isSimulated: false, retention: Retention(minute: nil),
      log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
  }

  private func observed(_ isObserved: Bool = true, at time: Timestamp) -> HistoryBatch {
    var batch = HistoryBatch()
    let instrument = Instrument(
      id: InstrumentID(0), venue: "kraken", venueSymbol: "ZEC/USD", base: "ZEC", quote: "USD", priceScale: 2,
      sizeScale: 8)
    batch.instruments = [.init(symbol: Self.symbol, instrument: instrument)]
    batch.observations = [.init(symbol: Self.symbol, time: time, isObserved: isObserved)]
    return batch
  }

  private func minutes(_ range: Range<Int>) -> HistoryBatch {
    var batch = HistoryBatch()
    for minute in range {
      let start = Timestamp(microseconds: Int64(minute) * Microseconds.minute)
      batch.minutes.append(
        .init(
          symbol: Self.symbol,
          candle: StoredCandle(
            start: start, open: 1, high: 3, low: 1, close: 2, volume: 5, quoteVolume: 9, trades: 2, priceScale: 2,
            sizeScale: 8, quality: .own)))
    }
    return batch
  }

  private func kept() throws -> HistoryRange? {
    try keeper.store.candles(of: Self.symbol, .minute, in: Timestamp(microseconds: 0)..<now)
  }

  private func limit(pages: Int?) throws {
    try keeper.store.file.write { db in
      let present = try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0
      _ = try Int.fetchOne(db, sql: "PRAGMA max_page_count = \(pages.map { present + $0 } ?? 1_000_000)")
    }
  }

  @Test("a full disk loses nothing as long as there is room to wait, says why, and ends by itself")
  func full() throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    keeper.add(observed(at: Timestamp(microseconds: 0)), now: now)
    keeper.flushNow()
    try limit(pages: 2)
    keeper.add(minutes(1_000..<6_000), now: now)
    keeper.flushNow()
    #expect(keeper.figures.failure?.contains("no space is left") == true)
    #expect(keeper.figures.queued >= 5_000)
    keeper.add(minutes(6_000..<6_100), now: now)
    keeper.flushNow()
    #expect(try kept()?.candles.count == 0)
    try limit(pages: nil)
    keeper.flushNow()
    #expect(keeper.figures.failure == nil)
    #expect(keeper.figures.lost == 0)
    #expect(try kept()?.candles.count == 5_100)
  }

  @Test("what finds no room is counted, and is a gap once there is room again")
  func lost() throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    keeper.add(observed(at: Timestamp(microseconds: 0)), now: now)
    keeper.flushNow()
    try limit(pages: 2)
    keeper.add(minutes(1_000..<2_000), now: now)
    keeper.flushNow()
    keeper.add(minutes(0..<HistoryKeeper.limit), now: now)
    keeper.add(minutes(0..<10), now: now)
    #expect(keeper.figures.lost == 10)
    try limit(pages: nil)
    keeper.flushNow()
    #expect(keeper.figures.lost == 10)
    #expect(try kept()?.gaps.count == 1)
  }

  @Test("a file that is damaged while it is in use is set aside, and the empty one knows what is observed")
  func damaged() async throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    keeper.add(observed(at: now - Microseconds.day), now: now)
    keeper.add(minutes(1_000..<9_000), now: now)
    keeper.flushNow()
    let path = keeper.store.file.path
    _ = try keeper.store.file.write { try Int.fetchOne($0, sql: "SELECT 1") }
    let file = try #require(FileHandle(forUpdatingAtPath: path))
    // Behind the header, in the file and in its log alike.
    for handle in [file, try #require(FileHandle(forUpdatingAtPath: path + "-wal"))] {
      let size = try handle.seekToEnd()
      try handle.seek(toOffset: min(4_096, size))
      try handle.write(contentsOf: Data(repeating: 0xEE, count: Int(size - min(4_096, size))))
      try handle.close()
    }
    for _ in 0..<3 {
      await withCheckedContinuation { continuation in
        keeper.read { store in
          try store.candles(of: Self.symbol, .minute, in: Timestamp(microseconds: 0)..<Timestamp.distantFuture)
        } then: { _ in
          continuation.resume()
        }
      }
    }
    keeper.flushNow()
    #expect(keeper.figures.setAside == 1)
    keeper.add(minutes(20_000..<20_001), now: now)
    keeper.flushNow()
    #expect(keeper.figures.failure == nil)
    #expect(try kept()?.candles.isEmpty == false)
    let names = try FileManager.default.contentsOfDirectory(atPath: folder)
    #expect(names.contains { $0.hasPrefix("history.sqlite.damaged-") })
  }

  @Test("a run that ended well is known to the next, and simulated prices have a file of their own")
  func ended() async throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    keeper.add(observed(at: now), now: now)
    keeper.add(minutes(29_000_000..<29_000_001), now: now)
    await withCheckedContinuation { continuation in keeper.finish { continuation.resume() } }
    let next = try Self.keeper(folder)
    #expect(next.knows(Self.symbol))
    let simulated = try HistoryKeeper(
      directory: folder, isSimulated: true, retention: Retention(minute: nil),
      log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    #expect(!simulated.knows(Self.symbol))
  }
}
