import MarketData

@testable import History

/// Instruments, candles and times for tests of the store. Second 0 is a midnight.
enum StoreWorld {
  static let origin = Timestamp(microseconds: 1_790_000_000_000_000 / Microseconds.day * Microseconds.day)

  static func time(_ second: Int) -> Timestamp { origin + Int64(second) * Microseconds.second }

  static func instrument(_ name: String, priceScale: UInt8 = 2, sizeScale: UInt8 = 8) -> Instrument {
    Instrument(
      id: InstrumentID(0), venue: "kraken", venueSymbol: "\(name)/USD", base: name, quote: "USD",
      priceScale: priceScale, sizeScale: sizeScale)
  }

  static func symbol(_ name: String) -> String { instrument(name).symbol }

  static func candle(
    _ second: Int, open: Int64 = 100, high: Int64 = 120, low: Int64 = 90, close: Int64 = 110, volume: Int128 = 5,
    quoteVolume: Int128? = 500, trades: Int64? = 3, quality: StoredCandle.Quality = .own, revision: UInt32 = 0
  ) -> StoredCandle {
    StoredCandle(
      start: time(second), open: open, high: high, low: low, close: close, volume: volume, quoteVolume: quoteVolume,
      trades: trades, priceScale: 2, sizeScale: 8, quality: quality, revision: revision)
  }

  static func store(_ folder: TemporaryFolder, retention: Retention = Retention()) throws -> HistoryStore {
    try HistoryStore(file: DataFile(path: folder.file, parts: SchemaPart.all, stamp: "then"), retention: retention)
  }
}

extension HistoryBatch {
  static func observed(_ name: String, _ second: Int, _ isObserved: Bool = true) -> HistoryBatch {
    var batch = HistoryBatch()
    batch.instruments = [Description(symbol: StoreWorld.symbol(name), instrument: StoreWorld.instrument(name))]
    batch.observations = [
      Observation(symbol: StoreWorld.symbol(name), time: StoreWorld.time(second), isObserved: isObserved)
    ]
    return batch
  }

  static func minute(_ name: String, _ candle: StoredCandle) -> HistoryBatch {
    var batch = HistoryBatch()
    batch.minutes = [ClosedMinute(symbol: StoreWorld.symbol(name), candle: candle)]
    return batch
  }

  static func delivery(
    _ name: String, _ resolution: Resolution, _ candles: [StoredCandle], covers: Range<Int>?
  ) -> HistoryBatch {
    var batch = HistoryBatch()
    batch.deliveries = [
      Delivery(
        symbol: StoreWorld.symbol(name), resolution: resolution, candles: candles,
        covers: covers.map { StoreWorld.time($0.lowerBound)..<StoreWorld.time($0.upperBound) })
    ]
    return batch
  }
}
