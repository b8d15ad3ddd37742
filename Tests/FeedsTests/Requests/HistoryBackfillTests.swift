import Foundation
import History
import Logging
import MarketData
import TestTraits
import Testing
import Transport
import VenueSimulator

@testable import Feeds

@Suite("A back-fill on demand", .serialized, .realTime)
struct HistoryBackfillTests {
  /// A simulated venue in the clear, and a store that knows one of its markets.
  private final class World {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tidegate-fill-\(UUID().uuidString)")
    let exchange: SimulatedExchange
    let loop: EventLoop
    let venueLoop: EventLoop
    let store: HistoryStore
    let backfill: HistoryBackfill
    let now = Timestamp(microseconds: Int64(Date().timeIntervalSince1970 * 1e6))
    static let symbol = "coinbase:BTC-USD"

    init(faults: [Fault] = []) throws {
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      venueLoop = try EventLoop(index: 0, label: "test.venue")
      loop = try EventLoop(index: 0, label: "test.backfill")
      exchange = try SimulatedExchange(
        venue: "coinbase", seed: 5, rate: 5, faults: faults, listen: SocketAddress(host: "127.0.0.1", port: 0),
        tls: nil, loop: venueLoop)
      let file = try DataFile(
        path: folder.appendingPathComponent("history.sqlite").path, parts: SchemaPart.all, stamp: "x")
      store = try HistoryStore(file: file, retention: .init())
      var log = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
      log.logLevel = .critical
      backfill = HistoryBackfill(store: store, loop: loop, tls: nil, log: log)
      var batch = HistoryBatch()
      let instrument = Instrument(
        id: InstrumentID(0), venue: "coinbase", venueSymbol: "BTC-USD", base: "BTC", quote: "USD", priceScale: 2,
        sizeScale: 8)
      batch.instruments = [.init(symbol: Self.symbol, instrument: instrument)]
      _ = try store.write(batch, now: now)
    }

    func job(_ resolutions: [Resolution], days: Int64 = 2, again: Bool = false) throws -> HistoryBackfill.Job {
      try backfill.job(
        Self.symbol, resolutions, in: (now - days * Microseconds.day)..<now, again: again,
        restEndpoint: exchange.restURL, now: now)
    }

    func finish() async throws -> HistoryBackfill.Progress {
      var patience = Patience()
      while true {
        let progress = await backfill.progress()
        if progress.requests > 0, progress.waiting == 0 { return progress }
        try await patience.wait(for: "the venue to answer; \(progress)")
      }
    }

    func stop() async {
      await backfill.stop()
      store.file.close()
      exchange.stop()
      for loop in [loop, venueLoop] { await withCheckedContinuation { done in loop.shutdown { done.resume() } } }
      try? FileManager.default.removeItem(at: folder)
    }
  }

  @Test("brings what is missing, once: what is there is not asked for again, unless that is wanted")
  func missing() async throws {
    let world = try World()
    let job = try world.job([.hour])
    #expect(HistoryBackfill.requests([job], now: world.now) == 1)
    try world.backfill.begin([job], now: world.now)
    let progress = try await world.finish()
    #expect(progress.failures == 0 && progress.requests == 1 && progress.candles > 40)
    let kept = try #require(try world.store.kept().first { $0.resolution == .hour })
    #expect(kept.symbol == World.symbol && kept.candles == progress.candles)
    #expect(HistoryBackfill.requests([try world.job([.hour])], now: world.now) == 0)
    #expect(HistoryBackfill.requests([try world.job([.hour], again: true)], now: world.now) == 1)
    #expect(throws: HistoryBackfillError.self) {
      try world.backfill.job("coinbase:NOPE-USD", nil, in: nil, again: false, restEndpoint: nil, now: world.now)
    }
    await world.stop()
  }

  @Test("ended in the middle, keeps what has come and leaves the rest to be asked for")
  func ended() async throws {
    let world = try World()
    let job = try world.job([.minute], days: 20)
    let requests = HistoryBackfill.requests([job], now: world.now)
    #expect(requests > 50)
    try world.backfill.begin([job], now: world.now)
    var patience = Patience()
    while await world.backfill.progress().candles == 0 { try await patience.wait(for: "a first answer") }
    await world.backfill.stop()
    let candles = await world.backfill.progress().candles
    let kept = try #require(try world.store.kept().first { $0.resolution == .minute })
    #expect(kept.candles == candles)
    #expect(try world.store.inconsistencies().isEmpty)
    let rest = HistoryBackfill.requests([try world.job([.minute], days: 20)], now: world.now)
    #expect(rest > 0 && rest < requests)
    await world.stop()
  }

  @Test("counts what the venue refuses, and ends all the same")
  func refused() async throws {
    let world = try World()
    var job = try world.job([.hour])
    job = try world.backfill.job(
      World.symbol, [.hour], in: (world.now - Microseconds.day)..<world.now, again: false,
      restEndpoint: world.exchange.restURL + "/nowhere", now: world.now)
    try world.backfill.begin([job], now: world.now)
    let progress = try await world.finish()
    #expect(progress.failures == 1 && progress.candles == 0)
    await world.stop()
  }
}
