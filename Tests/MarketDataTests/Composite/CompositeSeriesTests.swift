import Bytes
import TestSupport
import Testing

@testable import MarketData

@Suite("Candles of a composite, kept up to date")
struct CompositeSeriesTests {
  private static let start = Timestamp(microseconds: 1_795_348_800_000_000)
  private static let composite = instrument("composite", 3, 5)

  private static func instrument(_ venue: String, _ priceScale: UInt8, _ sizeScale: UInt8) -> Instrument {
    Instrument(
      id: InstrumentID(0), venue: venue, venueSymbol: "BTCUSD", base: "BTC", quote: "USD", priceScale: priceScale,
      sizeScale: sizeScale)
  }

  private static func candle(
    _ minute: Int64, _ price: Int64, volume: Int128, rev: UInt32 = 0, isClosed: Bool = true
  ) -> Candle {
    Candle(
      instrument: InstrumentID(0), interval: .minute, time: start + minute * Microseconds.minute, open: price,
      high: price + 3, low: price - 2, close: price + 1, volume: volume, quoteVolume: volume * 2, trades: 1, rev: rev,
      source: .own, isClosed: isClosed)
  }

  @Test(
    "under seeds, it has what merging all candles of all members has, and tells each closed one that differs",
    arguments: testSeeds(40))
  func model(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let instruments = [
      Self.instrument("a", 2, 4), Self.instrument("b", 3, 4), Self.instrument("c", 1, 5), Self.instrument("d", 2, 2),
    ]
    var all = [[Int64: Candle]](repeating: [:], count: instruments.count)
    var series = CompositeSeries(.minute, limit: 60)
    var told: [Timestamp: Candle] = [:]
    var histories = 0
    func parts() -> [CompositeCandles.Part] {
      zip(instruments, all).map { instrument, candles in
        .init(instrument: instrument, candles: candles.values.sorted { $0.time < $1.time })
      }
    }
    for minute in Int64(0)..<200 {
      var new = [[Candle]](repeating: [], count: instruments.count)
      func set(_ member: Int, _ candle: Candle) {
        all[member][(candle.time - Self.start) / Microseconds.minute] = candle
        new[member].append(candle)
      }
      for member in instruments.indices where Int.random(in: 0..<8, using: &random) > 0 {
        let price = Int64.random(in: 100...900, using: &random)
        let volume = Int128(Int.random(in: 0...4, using: &random))
        set(member, Self.candle(minute, price, volume: volume, isClosed: false))
        if let open = all[member][minute - 1], !open.isClosed {
          var closed = open
          closed.isClosed = true
          set(member, closed)
        }
        // A late trade, nearly always of the last minutes.
        let back = Int.random(in: 0..<40, using: &random) == 0 ? 30 : Int64.random(in: 1...9, using: &random)
        if let old = all[member][minute - back], old.isClosed, Bool.random(using: &random) {
          set(member, Self.candle(minute - back, price, volume: volume + 1, rev: old.rev + 1))
        }
      }
      var changed: [Candle] = []
      var earliest = Timestamp.distantFuture
      // They come in any order, and some twice.
      for member in instruments.indices.shuffled(using: &random) {
        series.take(
          new[member] + new[member].prefix(1), of: instruments[member], at: Self.composite, earliest: &earliest)
      }
      if earliest != .distantFuture { _ = series.merge(from: earliest, changed: &changed) }
      for candle in changed { told[candle.time] = candle }
      if series.isIncomplete {
        histories += 1
        series.beginRestoring()
        _ = series.restore(parts(), of: Self.composite)
        for candle in series.candles { told[candle.time] = candle.isClosed ? candle : nil }
      }
      let merged = CompositeCandles.merge(
        parts().map { part in part.candles.compactMap { $0.wider(part.instrument, Self.composite) } })
      #expect(series.candles.suffix(60) == merged.suffix(60), "seed \(seed) minute \(minute)")
      for candle in merged.suffix(60) where candle.isClosed {
        #expect(told[candle.time] == candle, "seed \(seed) minute \(minute)")
      }
    }
    #expect(histories < 60, "a late trade of the last minutes needs no history")
  }

  @Test("what changes while the history is read is in it; what cannot be read is asked for again")
  func reading() {
    let instrument = Self.instrument("a", 3, 5)
    var series = CompositeSeries(.minute, limit: 10)
    #expect(series.isIncomplete && !series.isKnown)
    series.beginRestoring()
    #expect(!series.isIncomplete)
    var earliest = Timestamp.distantFuture
    series.take([Self.candle(1, 500, volume: 9)], of: instrument, at: Self.composite, earliest: &earliest)
    series.failRestoring()
    #expect(series.isIncomplete)
    series.beginRestoring()
    let closed = Self.candle(1, 500, volume: 9)
    series.take([closed], of: instrument, at: Self.composite, earliest: &earliest)
    // The page was read before the candle closed.
    let page = [Self.candle(0, 400, volume: 1), Self.candle(1, 450, volume: 8, isClosed: false)]
    let isOther = series.restore([.init(instrument: instrument, candles: page)], of: Self.composite)
    #expect(!isOther && series.isKnown && series.candles == [page[0], closed])
    // A member that the history did not have makes it read again.
    series.take([closed], of: Self.instrument("b", 1, 1), at: Self.composite, earliest: &earliest)
    #expect(series.isIncomplete)
  }

  @Test("a candle that a member never closes is closed after five seconds, as a partial one")
  func patience() {
    let instruments = [Self.instrument("a", 3, 5), Self.instrument("b", 3, 5)]
    var series = CompositeSeries(.minute, limit: 10)
    series.beginRestoring()
    let open = Self.candle(0, 400, volume: 1, isClosed: false)
    _ = series.restore(instruments.map { .init(instrument: $0, candles: [open]) }, of: Self.composite)
    var earliest = Timestamp.distantFuture
    let end = open.end
    series.take([Self.candle(0, 400, volume: 1)], of: instruments[0], at: Self.composite, earliest: &earliest)
    series.close(at: end + 4 * Microseconds.second, earliest: &earliest)
    var changed: [Candle] = []
    #expect(series.merge(from: earliest, changed: &changed) == false && series.open != nil && changed.isEmpty)
    earliest = .distantFuture
    series.close(at: end + 5 * Microseconds.second, earliest: &earliest)
    _ = series.merge(from: earliest, changed: &changed)
    #expect(changed.count == 1 && changed[0].isClosed && changed[0].source == .partial && series.open == nil)
    // If it closes later, it is whole again.
    changed = []
    earliest = .distantFuture
    series.take([Self.candle(0, 400, volume: 1)], of: instruments[1], at: Self.composite, earliest: &earliest)
    _ = series.merge(from: earliest, changed: &changed)
    #expect(changed.count == 1 && changed[0].source == .own)
  }
}
