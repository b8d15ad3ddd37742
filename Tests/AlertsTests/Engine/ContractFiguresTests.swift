import Alerts
import Bytes
import MarketData
import Testing

@Suite("Figures of perpetuals that rules watch")
struct ContractFiguresTests {
  private static let start = Timestamp(microseconds: 1_795_348_800_000_000)
  private static func at(_ seconds: Int64) -> Timestamp { start + seconds * Microseconds.second }

  private static func decimal(_ mantissa: Int64, _ scale: UInt8 = 0) -> Decimal64 {
    Decimal64(mantissa: mantissa, scale: scale)
  }

  private static func figures(_ measures: AlertThreshold.Measure...) -> ContractFigures {
    var figures = ContractFigures()
    figures.watch(measures, at: start)
    return figures
  }

  @Test("funding is in percent per interval, and handed over when it changes")
  func funding() {
    var it = Self.figures(.funding)
    #expect(it.changes(at: Self.at(0)).isEmpty, "nothing is known")
    it.take(fundingRate: Self.decimal(-76, 6), openInterest: nil, at: Self.at(1))
    // −0.000076 is −0.0076 %, at eight digits.
    #expect(it.changes(at: Self.at(1)).map(\.value) == [-760_000])
    it.take(fundingRate: Self.decimal(-760, 7), openInterest: nil, at: Self.at(2))
    #expect(it.changes(at: Self.at(2)).isEmpty, "it is the same number")
    it.take(fundingRate: nil, openInterest: nil, at: Self.at(3))
    #expect(it.changes(at: Self.at(3)).isEmpty)
    it.take(fundingRate: Self.decimal(123_456_789_012_345_678, 18), openInterest: nil, at: Self.at(4))
    #expect(it.changes(at: Self.at(4)).map(\.value) == [1_234_567_890])
  }

  @Test("a change of the open interest is known after the window, and compares at any scale")
  func openInterest() {
    var it = Self.figures(.openInterest(minutes: 1))
    for second in 0...60 {
      it.take(fundingRate: nil, openInterest: Self.decimal(1_000 + Int64(second)), at: Self.at(Int64(second)))
      #expect(it.changes(at: Self.at(Int64(second))).isEmpty, "after \(second) s")
    }
    // The reference is the last one of the part 61 s ago.
    it.take(fundingRate: nil, openInterest: Self.decimal(1_100_000, 3), at: Self.at(61))
    #expect(it.changes(at: Self.at(61)).map(\.value) == [100_000])
    // Nothing new, but the reference moves on: 1,001.
    #expect(it.changes(at: Self.at(62)).map(\.value) == [98_901])
    it.reset(at: Self.at(63))
    #expect(it.changes(at: Self.at(64)).isEmpty)
    it.take(fundingRate: nil, openInterest: Self.decimal(5), at: Self.at(64))
    #expect(it.changes(at: Self.at(64)).isEmpty, "what was before the gap is not compared with")
  }

  @Test("liquidations add up within the window, and leave it")
  func liquidations() {
    var it = Self.figures(.liquidations(minutes: 1), .liquidations(minutes: 2))
    #expect(it.changes(at: Self.at(0)).map(\.value) == [0, 0])
    it.liquidated(Self.decimal(1_004, 1), at: Self.at(0))
    it.liquidated(Self.decimal(25_005, 3), at: Self.at(10))
    // 100.40 + 25.00 (half to even): two digits.
    #expect(it.changes(at: Self.at(10)).map(\.value) == [12_540, 12_540])
    #expect(it.changes(at: Self.at(59)).isEmpty)
    #expect(it.changes(at: Self.at(60)).map(\.value) == [2_500])
    #expect(it.changes(at: Self.at(70)).map(\.value) == [0])
    #expect(it.changes(at: Self.at(120)).map(\.value) == [2_500])
    #expect(it.changes(at: Self.at(100_000)).map(\.value) == [0])
    it.liquidated(Self.decimal(.max), at: Self.at(100_001))
    #expect(it.changes(at: Self.at(100_001)).isEmpty, "it does not fit, and counts for nothing")
    it.liquidated(Self.decimal(.max, 2), at: Self.at(100_002))
    it.liquidated(Self.decimal(.max, 2), at: Self.at(100_003))
    #expect(it.changes(at: Self.at(100_003)).map(\.value) == [.max, .max])
  }

  @Test("a new rule gets the present figure, and those that were there go on")
  func watching() {
    var it = Self.figures(.liquidations(minutes: 1))
    it.liquidated(Self.decimal(7), at: Self.at(1))
    #expect(it.changes(at: Self.at(1)).map(\.value) == [700])
    it.watch([.liquidations(minutes: 1), .funding], at: Self.at(2))
    #expect(it.changes(at: Self.at(2)).map(\.value) == [700])
    it.watch([], at: Self.at(3))
    #expect(it.isEmpty && it.changes(at: Self.at(3)).isEmpty)
  }

  @Test("a rule fires on a figure of a live feed, and its value is in percent")
  func rule() throws {
    let bench = AlertEngineTests.Bench()
    func rule(_ measure: AlertThreshold.Measure, _ bound: Decimal64) throws -> AlertID {
      try bench.engine.insert(
        AlertRule(.threshold(AlertThreshold("kraken:BTC-USD", measure, .above, bound))), owner: bench.owner,
        at: bench.now)
    }
    let funding = try rule(.funding, Self.decimal(5, 2))
    let sums = try rule(.liquidations(minutes: 5), Self.decimal(1_000_000))
    #expect(bench.engine.contracts(of: bench.btc) == [.funding, .liquidations(minutes: 5)])
    bench.engine.contract(bench.btc, .funding, 4_999_999, at: bench.now)
    bench.engine.contract(bench.btc, .openInterest(minutes: 5), .max, at: bench.now)
    #expect(bench.engine.takeOutput().firings.isEmpty)
    bench.engine.contract(bench.btc, .funding, 5_000_000, at: bench.now)
    bench.engine.contract(bench.btc, .liquidations(minutes: 5), 100_000_000, at: bench.now)
    let firings = bench.engine.takeOutput().firings
    #expect(firings.map(\.alert) == [funding, sums])
    #expect(firings.map(\.value) == [Self.decimal(5_000_000, 8), Self.decimal(100_000_000, 2)])
    bench.engine.setFeed(bench.btc, isLive: false, at: bench.now)
    try bench.engine.enable(funding, at: bench.now)
    bench.engine.contract(bench.btc, .funding, 6_000_000, at: bench.now)
    #expect(bench.engine.takeOutput().firings.isEmpty, "the feed is not live")
    try bench.engine.remove(funding, at: bench.now)
    #expect(bench.engine.contracts(of: bench.btc) == [.liquidations(minutes: 5)])
  }
}
