import MarketData
import TestSupport
import TestTraits
import Testing

@testable import History

/// The store against a model that knows of each second what was observed, and of each interval what it was told.
@Suite("The store beside a naive model")
struct HistoryModelTests {
  private static let length = 8 * 3_600

  private struct Model {
    /// Of each second: nil before anything was observed, true while observed, false in a gap.
    var observed = [Bool?](repeating: nil, count: HistoryModelTests.length)
    /// Of each second: the finest resolution at which a venue has answered for it.
    var filled = [Resolution?](repeating: nil, count: HistoryModelTests.length)
    var covered: [Resolution: Int] = [:]
    var minutes: [Int: StoredCandle] = [:]
    /// What a venue sent of coarser resolutions, the newest.
    var venue: [Resolution: [Int: StoredCandle]] = [:]

    func isWhole(_ seconds: Range<Int>, _ resolution: Resolution) -> Bool {
      guard let covered = covered[resolution], covered <= seconds.lowerBound else { return false }
      return seconds.allSatisfy { second in
        observed[second] == true || filled[second].map { $0 <= resolution } ?? (observed[second] == nil)
      }
    }
  }

  @Test(
    "minutes, gaps, coverage and computed candles agree after random observations, answers of venues and kills",
    .longComputation, arguments: testSeeds(12))
  func random(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let folder = try TemporaryFolder()
    var store = try StoreWorld.store(folder)
    let names = ["BTC", "ZEC"]
    var models = [Model(), Model()]
    var isObserved = [false, false]
    var began = false
    var now = 0
    var lastWrite = 0
    try store.begin(now: StoreWorld.time(0))

    func write(_ batch: HistoryBatch) throws {
      try store.write(batch, now: StoreWorld.time(now))
      lastWrite = now
    }
    /// Closed minutes of what was observed, some of them quiet.
    func closeMinutes(_ from: Int, _ to: Int) throws {
      for minute in stride(from: from / 60 * 60, to: to / 60 * 60, by: 60) where minute + 60 <= to {
        for (index, name) in names.enumerated() where models[index].observed[minute..<(minute + 60)].contains(true) {
          guard random.next() % 5 != 0 else { continue }
          let candle = Self.candle(minute, .own, &random)
          try write(.minute(name, candle))
          Self.put(candle, into: &models[index])
        }
      }
    }

    while now < Self.length - 1_200 {
      let before = now
      let step = Int(random.next() % 400) + 1
      for index in names.indices where models[index].covered[.minute] != nil {
        for second in before..<(before + step) { models[index].observed[second] = isObserved[index] }
      }
      now += step
      try closeMinutes(before, now)
      let index = Int(random.next() % 2)
      switch random.next() % 10 {
      case 0...2:
        isObserved[index].toggle()
        if isObserved[index] {
          for resolution in Resolution.allCases where models[index].covered[resolution] == nil {
            models[index].covered[resolution] = now
          }
        }
        if models[index].covered[.minute] != nil { models[index].observed[now] = isObserved[index] }
        try write(.observed(names[index], now, isObserved[index]))
        began = true
      case 3...5 where began:
        // A venue answers, of all quarters or minutes up to now.
        let resolution = random.next() % 2 == 0 ? Resolution.minute : .quarter
        let length = Int(resolution.length / Microseconds.second)
        let end = now / length * length
        let start = max(0, end - Int(random.next() % 8 + 1) * length)
        guard start < end, models[index].covered[.minute] != nil else { break }
        var candles: [StoredCandle] = []
        for second in stride(from: start, to: end, by: length) where random.next() % 4 != 0 {
          candles.append(Self.candle(second, .venue, &random))
        }
        try write(.delivery(names[index], resolution, candles, covers: start..<end))
        Self.deliver(candles, resolution, start..<end, to: &models[index])
      case 6:
        // The process is killed; what was observed since the last write is not known to have been, and trades of the
        // second before may have been under way.
        store.file.close()
        store = try StoreWorld.store(folder)
        for index in names.indices where isObserved[index] {
          for second in max(0, lastWrite - 1)..<(now + 1) { models[index].observed[second] = false }
          isObserved[index] = false
        }
        try store.begin(now: StoreWorld.time(now))
        lastWrite = now
      case 7:
        // A late trade.
        guard let minute = models[index].minutes.keys.sorted().last(where: { _ in random.next() % 3 == 0 }) else {
          break
        }
        var candle = Self.candle(minute, .own, &random)
        candle.revision = 1
        try write(.minute(names[index], candle))
        Self.put(candle, into: &models[index])
      default: try write(HistoryBatch())
      }
    }
    for index in names.indices where models[index].covered[.minute] != nil {
      for second in now..<Self.length { models[index].observed[second] = isObserved[index] }
    }
    now = Self.length - 1
    try write(HistoryBatch())
    for (index, name) in names.enumerated() { try compare(name, models[index], store, seed) }
  }

  private static func candle(
    _ second: Int, _ quality: StoredCandle.Quality, _ random: inout SeededGenerator
  )
    -> StoredCandle
  {
    let prices = (0..<4).map { _ in Int64(random.next() % 1_000) + 1 }
    return StoreWorld.candle(
      second, open: prices[0], high: prices.max() ?? 1, low: prices.min() ?? 1, close: prices[3],
      volume: Int128(random.next() % 10_000), quoteVolume: random.next() % 3 == 0 ? nil : Int128(random.next()),
      trades: random.next() % 4 == 0 ? nil : Int64(random.next() % 90), quality: quality)
  }

  private static func put(_ candle: StoredCandle, into model: inout Model) {
    let second = Int((candle.start - StoreWorld.origin) / Microseconds.second)
    var candle = candle
    if candle.quality == .own, !model.isWhole(second..<(second + 60), .minute) { candle.quality = .partial }
    guard model.minutes[second].map({ $0.quality <= candle.quality }) ?? true else { return }
    model.minutes[second] = candle
  }

  private static func deliver(
    _ candles: [StoredCandle], _ resolution: Resolution, _ range: Range<Int>, to model: inout Model
  ) {
    for candle in candles {
      if resolution == .minute {
        put(candle, into: &model)
      } else {
        model.venue[resolution, default: [:]][Int((candle.start - StoreWorld.origin) / Microseconds.second)] = candle
      }
    }
    for second in range where model.observed[second] == false {
      model.filled[second] = min(model.filled[second] ?? resolution, resolution)
    }
    for coarse in Resolution.allCases where coarse >= resolution {
      guard let covered = model.covered[coarse], range.lowerBound < covered else { continue }
      let finer = coarse.finer.flatMap { model.covered[$0] } ?? covered
      if range.upperBound < min(covered, finer) {
        guard coarse == .minute else { continue }
        for second in range.upperBound..<covered { model.observed[second] = false }
      }
      model.covered[coarse] = range.lowerBound
    }
  }

  private func compare(_ name: String, _ model: Model, _ store: HistoryStore, _ seed: UInt64) throws {
    let all = StoreWorld.time(-86_400)..<StoreWorld.time(Self.length)
    guard let minutes = try store.candles(of: StoreWorld.symbol(name), .minute, in: all) else {
      #expect(model.minutes.isEmpty, "seed \(seed)")
      return
    }
    expectEqual(minutes.candles, model.minutes, "seed \(seed) \(name)")
    for resolution in [Resolution.minute, .quarter] {
      let kept = try #require(try store.candles(of: StoreWorld.symbol(name), resolution, in: all))
      #expect(kept.coveredFrom == model.covered[resolution].map(StoreWorld.time), "seed \(seed) \(name)")
      let missing = (0..<Self.length - 1).filter { second in
        model.observed[second] == false && model.filled[second].map { $0 > resolution } ?? true
      }
      let gaps = kept.gaps.flatMap { gap -> [Int] in
        let start = Int((gap.start - StoreWorld.origin) / Microseconds.second)
        let end = min(Int((gap.end - StoreWorld.origin) / Microseconds.second), Self.length - 1)
        return start < end ? Array(start..<end) : []
      }
      let difference = Set(gaps).symmetricDifference(missing).sorted()
      #expect(difference.isEmpty, "seed \(seed) \(name) \(resolution): seconds \(difference.prefix(3)), \(kept.gaps)")
    }
    var quarters: [Int: StoredCandle] = [:]
    for second in stride(from: 0, to: Self.length - 900, by: 900) {
      let parts = (0..<15).compactMap { model.minutes[second + $0 * 60] }
      var quality = StoredCandle.Quality.partial
      if model.isWhole(second..<(second + 900), .minute), parts.allSatisfy({ $0.quality != .partial }) {
        quality = parts.allSatisfy { $0.quality == .own } ? .own : .mixed
      }
      let computed = StoredCandle.combined(parts, start: StoreWorld.time(second), quality: quality)
      let venue = model.venue[.quarter]?[second]
      quarters[second] = computed.map { $0.quality > .venue || venue == nil ? $0 : venue } ?? venue
    }
    let kept = try #require(try store.candles(of: StoreWorld.symbol(name), .quarter, in: all))
    let end = StoreWorld.time(Self.length - 900)
    expectEqual(kept.candles.filter { $0.start < end }, quarters, "seed \(seed) \(name) quarters")
  }

  /// Says the first difference only.
  private func expectEqual(_ candles: [StoredCandle], _ model: [Int: StoredCandle], _ comment: String) {
    let expected = model.sorted { $0.key < $1.key }.map(\.value)
    let index = zip(candles, expected).enumerated().first { $0.element.0 != $0.element.1 }?.offset
    let difference = index ?? (candles.count == expected.count ? nil : min(candles.count, expected.count))
    guard let difference else { return }
    let kept = candles.dropFirst(difference).first.map { "\($0)" } ?? "nothing"
    let other = expected.dropFirst(difference).first.map { "\($0)" } ?? "nothing"
    Issue.record("\(comment): \(kept) is kept, not \(other)")
  }
}
