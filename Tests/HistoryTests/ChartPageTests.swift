import MarketData
import TestSupport
import TestTraits
import Testing

@testable import History

/// Pages of candles beside a model that knows of every minute what was traded and who saw it.
@Suite("A page of candles from rings and store")
struct ChartPageTests {
  private static let days = 2
  private static let minutes = days * 1_440
  private static let instrument = StoreWorld.instrument("ZEC")
  private static let symbol = StoreWorld.symbol("ZEC")

  private enum Minute: Equatable {
    case unseen
    case quiet
    case traded(open: Int64, high: Int64, low: Int64, close: Int64, volume: Int64)
  }

  /// Every minute since the origin.
  private struct Model {
    var minutes: [Minute] = []

    /// The candles of whole intervals in the page's range, in order of time: prices and volumes only.
    func page(_ request: ChartPage.Request, now: Int) -> (candles: [[Int64]], gaps: [[Int64]], next: Int64?) {
      let length = Int(request.interval.minutes)
      var candles: [[Int64]] = []
      var price: Int64?
      for start in stride(from: 0, to: min(now, minutes.count), by: length) {
        let parts = minutes[start..<min(start + length, minutes.count)]
        var candle: [Int64]?
        for case .traded(let open, let high, let low, let close, let volume) in parts {
          if let old = candle {
            candle = [old[0], old[1], max(old[2], high), min(old[3], low), close, old[5] + volume]
          } else {
            candle = [Int64(start), open, high, low, close, volume]
          }
        }
        if candle == nil, parts.allSatisfy({ $0 == .quiet }), let price {
          candle = [Int64(start), price, price, price, price, 0]
        }
        price = candle?[4] ?? price
        let time = StoreWorld.time(start * 60)
        if let candle, time >= request.from, time < request.to { candles.append(candle) }
      }
      let shown = candles.suffix(request.limit)
      let next = candles.count > request.limit ? shown.first?[0] : nil
      var gaps: [[Int64]] = []
      var end = shown.first?[0] ?? .max
      func observed(_ time: Int64) { if end < time { gaps.append([end, time]) } }
      for candle in shown {
        observed(candle[0])
        end = candle[0] + Int64(length)
      }
      let present = Int64(now / length * length)
      observed(
        min(
          present,
          (request.to - StoreWorld.origin + Int64(length) * Microseconds.minute - 1)
            / (Int64(length) * Microseconds.minute) * Int64(length)))
      return (Array(shown), gaps, next)
    }
  }

  private final class World {
    let folder: TemporaryFolder
    let store: HistoryStore
    var model = Model()
    var chart = Chart()
    var random: SeededGenerator

    init(seed: UInt64) throws {
      folder = try TemporaryFolder()
      store = try StoreWorld.store(folder, retention: Retention(minute: nil))
      random = SeededGenerator(seed: seed)
      try store.begin(now: StoreWorld.origin)
    }

    /// Three days: observed but for some gaps, some minutes quiet; the rings know the end of it, from when on is random.
    func live() throws {
      var isObserved = false
      var until = 0
      let ringStart = ChartPageTests.minutes - 1 - Int(random.next() % 1_300)
      var minute = 0
      var price: Int64 = 1_000
      var batch = HistoryBatch()
      while minute < ChartPageTests.minutes {
        if minute >= until {
          isObserved.toggle()
          until = minute + Int(random.next() % (isObserved ? 700 : 90)) + 1
          let time = StoreWorld.time(minute * 60)
          try store.write(batch, now: time)
          batch = HistoryBatch()
          try store.write(.observed("ZEC", minute * 60, isObserved), now: time)
          if minute >= ringStart { isObserved ? chart.beginObserving(at: time) : chart.endObserving(at: time) }
        }
        if minute == ringStart, isObserved { chart.beginObserving(at: StoreWorld.time(minute * 60)) }
        let start = minute * 60
        switch (isObserved, random.next() % 3) {
        case (false, _): model.minutes.append(.unseen)
        case (true, 0) where minute > 0: model.minutes.append(.quiet)
        default:
          let open = price + Int64(random.next() % 21) - 10
          let close = open + Int64(random.next() % 21) - 10
          price = max(100, close)
          let traded = [open, price]
          model.minutes.append(.traded(open: open, high: traded.max()!, low: traded.min()!, close: price, volume: 10))
          let candle = StoreWorld.candle(
            start, open: open, high: traded.max()!, low: traded.min()!, close: price, volume: 10, quoteVolume: nil,
            trades: 2)
          batch.append(.minute("ZEC", candle))
          if minute >= ringStart {
            for (offset, price) in [(1, open), (50, price)] {
              _ = chart.add(
                price: price, size: 5, time: StoreWorld.time(start + offset), now: StoreWorld.time(start + offset))
            }
          }
        }
        var closed: [Candle] = []
        chart.closeCandles(of: .init(0), now: StoreWorld.time(start + 61), into: &closed)
        minute += 1
      }
      try store.write(batch, now: StoreWorld.time(ChartPageTests.minutes * 60))
    }
  }

  @Test(
    "every page is the model's, whatever the rings know, and pages one after the other are all there is",
    .longComputation, arguments: testSeeds(6))
  func model(seed: UInt64) throws {
    let world = try World(seed: seed)
    try world.live()
    let now = StoreWorld.time(Self.minutes * 60 + 30)
    for _ in 0..<40 {
      let interval = [CandleInterval.minute, .minute, .fiveMinutes][Int(world.random.next() % 3)]
      let from = StoreWorld.time(Int(world.random.next() % UInt64(Self.minutes * 60)))
      let to = from + Int64(world.random.next() % UInt64(Microseconds.day))
      let limit = Int(world.random.next() % 300) + 1
      var request = ChartPage.Request(interval: interval, from: from, to: to, limit: limit)
      var pages = 0
      while true {
        pages += 1
        let rings = world.chart.candles(
          interval, from: request.from, to: request.to, limit: request.wanted, of: .init(0), now: now
        ).filter { $0.end <= now }
        let page = try world.store.page(request, of: Self.symbol, Self.instrument, rings: rings, now: now)
        let expected = world.model.page(request, now: Self.minutes)
        #expect(page.candles.map(Self.figures) == expected.candles, "seed \(seed), \(request), page \(pages)")
        #expect(
          page.gaps.map { [Self.minute($0.from), Self.minute($0.to)] } == expected.gaps,
          "seed \(seed), \(request), page \(pages)")
        // A page that ends in a time that nobody observed may be followed by an empty one.
        if page.candles.count == limit {
          #expect(page.next.map(Self.minute) == expected.next, "seed \(seed), \(request)")
        }
        guard let next = page.next, pages < 100 else { break }
        #expect(next < request.to, "seed \(seed)")
        request.to = next
      }
    }
  }

  @Test("where the rings lack the whole of an interval, the store's candle of it is shown, and the rings' where not")
  func seam() throws {
    let folder = try TemporaryFolder()
    let store = try StoreWorld.store(folder)
    try store.begin(now: StoreWorld.origin)
    try store.write(.observed("ZEC", 0), now: StoreWorld.origin)
    try store.write(.minute("ZEC", StoreWorld.candle(0, close: 101)), now: StoreWorld.time(61))
    try store.write(.minute("ZEC", StoreWorld.candle(60, close: 102)), now: StoreWorld.time(121))
    let rings = [
      Self.ring(0, close: 201, .partial), Self.ring(60, close: 202, .own),
      Self.ring(120, close: 203, .partial, isClosed: false),
    ]
    let request = ChartPage.Request(interval: .minute, from: .distantPast, to: .distantFuture, limit: 10)
    let now = StoreWorld.time(150)
    #expect(ChartPage(rings: rings, request, now: now) == nil)
    let page = try store.page(request, of: Self.symbol, Self.instrument, rings: rings, now: now)
    #expect(page.candles.map(\.close) == [101, 202, 203])
    #expect(page.candles.map(\.source) == [.own, .own, .partial])
    #expect(page.gaps.isEmpty && page.next == nil)
  }

  @Test("a page that the rings have whole needs no store; one with a hole, a partial candle or too few does")
  func ringsAlone() {
    let now = StoreWorld.time(600)
    let rings = (0..<10).map { Self.ring($0 * 60, close: 200, .own) }
    func request(from: Int = 0, limit: Int) -> ChartPage.Request {
      .init(interval: .minute, from: StoreWorld.time(from), to: .distantFuture, limit: limit)
    }
    let page = ChartPage(rings: Array(rings.suffix(5)), request(from: -600, limit: 4), now: now)
    #expect(page?.candles == Array(rings.suffix(4)))
    #expect(page?.next == StoreWorld.time(360))
    // It begins where the range does.
    #expect(ChartPage(rings: rings, request(limit: 20), now: now)?.candles.count == 10)
    #expect(ChartPage(rings: rings, request(from: -60, limit: 20), now: now) == nil)
    var hole = rings
    hole.remove(at: 7)
    #expect(ChartPage(rings: hole, request(limit: 9), now: now) == nil)
    var partial = rings
    partial[8].source = .partial
    #expect(ChartPage(rings: partial, request(limit: 20), now: now) == nil)
    // The end of the page was not observed.
    #expect(ChartPage(rings: Array(rings.prefix(8)), request(limit: 20), now: now) == nil)
  }

  @Test("a time of years without a candle is jumped over, and a page looks through a bounded number of stretches")
  func sparse() throws {
    let folder = try TemporaryFolder()
    let store = try StoreWorld.store(folder)
    try store.begin(now: StoreWorld.origin)
    try store.write(.observed("ZEC", 0), now: StoreWorld.origin)
    try store.write(.observed("ZEC", 120, false), now: StoreWorld.time(120))
    try store.write(.minute("ZEC", StoreWorld.candle(0, close: 101)), now: StoreWorld.time(121))
    let now = StoreWorld.time(400 * 86_400)
    let request = ChartPage.Request(interval: .minute, from: .distantPast, to: .distantFuture, limit: 5)
    let page = try store.page(request, of: Self.symbol, Self.instrument, rings: [], now: now)
    // The second minute was observed, and quiet.
    #expect(page.candles.map(\.close) == [101, 101])
    #expect(page.gaps == [TimeSpan(from: StoreWorld.time(120), to: now)])
    #expect(page.next == nil)
  }

  private static func ring(
    _ second: Int, close: Int64, _ source: CandleSource, isClosed: Bool = true
  ) -> Candle {
    Candle(
      instrument: .init(0), interval: .minute, time: StoreWorld.time(second), open: 100, high: 300, low: 50,
      close: close, volume: 1, quoteVolume: 1, trades: 1, source: source, isClosed: isClosed)
  }

  private static func minute(_ time: Timestamp) -> Int64 { (time - StoreWorld.origin) / Microseconds.minute }

  private static func figures(_ candle: Candle) -> [Int64] {
    [minute(candle.time), candle.open, candle.high, candle.low, candle.close, Int64(candle.volume)]
  }
}
