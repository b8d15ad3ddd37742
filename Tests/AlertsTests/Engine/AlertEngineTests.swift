import Alerts
import Bytes
import MarketData
import Testing

@Suite("The alert engine")
struct AlertEngineTests {
  /// A clock that is moved by hand, an engine, and one live market with prices of two digits.
  final class Bench {
    var steady: Int64 = 1_000_000_000
    /// 2026-11-22 12:00 UTC, a Sunday.
    var wall: Int64 = 1_795_348_800_000_000
    let engine: AlertEngine
    let btc: AlertSource
    let owner = AlertOwner(rawValue: 7)
    var now: AlertMoment { AlertMoment(steady: steady, wall: Timestamp(microseconds: wall)) }

    init(limits: AlertEngine.Limits = .init(), isLive: Bool = true) {
      let now = AlertMoment(steady: steady, wall: Timestamp(microseconds: wall))
      engine = AlertEngine(limits: limits, at: now)
      btc = engine.source("kraken:BTC-USD")
      engine.describe(btc, priceScale: 2, sizeScale: 8)
      engine.setFeed(btc, isLive: isLive, at: now)
    }

    func wait(_ seconds: Int64) {
      steady += seconds * 1_000_000
      wall += seconds * 1_000_000
      engine.advance(to: now)
    }

    /// Live prices, a second apart; the numbers of the firings.
    @discardableResult
    func prices(_ prices: Int64...) -> [UInt32] {
      for price in prices {
        wait(1)
        engine.price(btc, price, at: now)
      }
      return fired()
    }

    func fired() -> [UInt32] { engine.takeOutput().firings.map(\.number) }

    func insert(
      _ comparison: AlertThreshold.Comparison, _ bound: Int64, hysteresis: Int64 = 0,
      _ frequency: AlertFrequency = .every(cooldown: 1), hours: LocalHours? = nil
    ) throws -> AlertID {
      try engine.insert(
        AlertRule(
          .threshold(
            AlertThreshold(
              "kraken:BTC-USD", .price, comparison, Decimal64(mantissa: bound, scale: 2),
              hysteresis: Decimal64(mantissa: hysteresis, scale: 2))), frequency: frequency, hours: hours),
        owner: owner, at: now)
    }

    func state(_ id: AlertID) throws -> AlertState { try engine.status(of: id).state }
  }

  @Test("a price that trembles on the threshold fires once, until it has gone back by the hysteresis")
  func hysteresis() throws {
    let bench = Bench()
    _ = try bench.insert(.above, 10_000, hysteresis: 50)
    #expect(bench.prices(9_990, 10_000, 9_999, 10_001, 9_960, 10_010) == [1])
    #expect(bench.prices(9_950, 10_000) == [2])
  }

  @Test(
    "a bound beyond what a market's scale can write is reached by no price, at the ends of its range either",
    arguments: [AlertThreshold.Comparison.above, .below, .crossesUp, .crossesDown, .crosses])
  func ends(_ comparison: AlertThreshold.Comparison) throws {
    for (hysteresis, bound) in [(0, 7_000_050), (5_000, 7_000_050), (0, -7_000_050), (5_000, -7_000_050)] {
      let bench = Bench()
      // Prices up to 9.2.
      bench.engine.describe(bench.btc, priceScale: 18, sizeScale: 18)
      _ = try bench.insert(comparison, Int64(bound), hysteresis: Int64(hysteresis))
      let fired = bench.prices(.max, 1, .max, .min, -1, .min, .max, .max - 1, .min + 1, 0)
      let holds = (comparison == .above && bound < 0) || (comparison == .below && bound > 0)
      #expect(fired == (holds ? [1] : []), "\(bound), \(hysteresis)")
    }
  }

  @Test("a rule fires once, is alerting until it is acknowledged, and then disabled")
  func once() throws {
    let bench = Bench()
    let id = try bench.insert(.below, 9_000, .once)
    #expect(try bench.state(id) == .running)
    #expect(bench.prices(9_100, 9_000, 9_100, 8_000) == [1])
    #expect(try bench.state(id) == .alerting)
    try bench.engine.acknowledge(id, at: bench.now)
    #expect(try bench.state(id) == .disabled)
    try bench.engine.enable(id, at: bench.now)
    // The price is still below: a fresh look.
    #expect(bench.fired() == [2])
  }

  @Test("a cooldown swallows what comes true within it")
  func cooldown() throws {
    let bench = Bench()
    _ = try bench.insert(.above, 10_000, .every(cooldown: 10))
    #expect(bench.prices(9_000, 10_000, 9_000, 10_000, 9_000, 10_000) == [1])
    bench.wait(10)
    #expect(bench.prices(9_000, 10_000) == [2])
  }

  @Test("once a day: not again on the local day of the last firing")
  func daily() throws {
    let bench = Bench()
    _ = try bench.insert(.above, 10_000, .daily)
    #expect(bench.prices(9_000, 10_000, 9_000, 10_000) == [1])
    bench.wait(12 * 3_600)
    #expect(bench.prices(9_000, 10_000, 9_000, 10_000) == [2])
  }

  @Test("a crossing needs a side first, and is told in the direction that was asked for")
  func crossings() throws {
    let bench = Bench()
    _ = try bench.insert(.crossesUp, 10_000)
    #expect(bench.prices(10_100, 10_200) == [])
    #expect(bench.prices(9_900, 10_000, 9_999, 10_001) == [1, 2])
    let both = try bench.insert(.crosses, 10_000)
    bench.engine.takeOutput()
    _ = bench.prices(9_900, 10_100)
    #expect(try bench.engine.status(of: both).firings == 2)
  }

  @Test("nothing fires on data that is not live; what crossed meanwhile fires late and says so, if it is still true")
  func staleData() throws {
    let bench = Bench()
    _ = try bench.insert(.above, 10_000)
    _ = try bench.insert(.crossesUp, 10_000)
    #expect(bench.prices(9_900) == [])
    bench.engine.setFeed(bench.btc, isLive: false, at: bench.now)
    #expect(bench.prices(10_500) == [])
    bench.wait(30)
    bench.engine.setFeed(bench.btc, isLive: true, at: bench.now)
    #expect(bench.fired() == [])
    bench.engine.price(bench.btc, 10_200, at: bench.now)
    let firings = bench.engine.takeOutput().firings
    #expect(firings.map(\.lateBy) == [31_000_000, 31_000_000])
    #expect(firings.allSatisfy { $0.value == Decimal64(mantissa: 10_200, scale: 2) })
  }

  @Test("a restart neither loses nor repeats: phases, cooldowns, firings and acknowledgements go on")
  func restart() throws {
    let bench = Bench()
    let fired = try bench.insert(.above, 10_000, .every(cooldown: 60))
    let waiting = try bench.insert(.above, 20_000)
    #expect(bench.prices(9_000, 10_500) == [1])
    let progress = try [fired, waiting].map { try bench.engine.progress(of: $0) }

    let after = Bench(isLive: false)
    (after.steady, after.wall) = (5_000_000, bench.wall + 10_000_000)
    let engine = AlertEngine(at: after.now)
    let source = engine.source("kraken:BTC-USD")
    engine.describe(source, priceScale: 2, sizeScale: 8)
    for (index, (id, bound)) in [(fired, 10_000 as Int64), (waiting, 20_000)].enumerated() {
      let rule = AlertRule(
        .threshold(AlertThreshold("kraken:BTC-USD", .price, .above, Decimal64(mantissa: bound, scale: 2))),
        frequency: .every(cooldown: index == 0 ? 60 : 1))
      try engine.restore(rule, id, owner: bench.owner, progress[index], at: after.now)
    }
    engine.finishRestoring()
    engine.wasLive(source, until: Timestamp(microseconds: bench.wall), at: after.now)
    engine.setFeed(source, isLive: true, at: after.now)
    engine.price(source, 21_000, at: after.now)
    let firings = engine.takeOutput().firings
    #expect(firings.map(\.alert) == [waiting])
    #expect(firings.map(\.lateBy) == [10_000_000])
    #expect(try engine.status(of: fired).firings == 1)
    #expect(try engine.status(of: fired).state == .alerting)
    let new = try engine.insert(
      AlertRule(.clock(.countdown(seconds: 5))), owner: bench.owner, at: after.now)
    #expect(new.rawValue != fired.rawValue && new.rawValue != waiting.rawValue)
  }

  @Test("a countdown runs, holds while it is paused, rings, and rings again after a snooze")
  func countdown() throws {
    let bench = Bench()
    let id = try bench.engine.insert(AlertRule(.clock(.countdown(seconds: 60))), owner: bench.owner, at: bench.now)
    #expect(try bench.state(id) == .running)
    bench.wait(40)
    try bench.engine.pause(id, at: bench.now)
    #expect(try bench.state(id) == .paused)
    bench.wait(100)
    try bench.engine.resume(id, at: bench.now)
    bench.wait(19)
    #expect(bench.fired() == [])
    bench.wait(1)
    #expect(bench.fired() == [1])
    #expect(try bench.engine.snooze(id, seconds: 300, at: bench.now))
    #expect(try bench.state(id) == .scheduled)
    bench.wait(300)
    let reminder = bench.engine.takeOutput().firings
    #expect(reminder.map(\.number) == [1] && reminder.map(\.isReminder) == [true])
    #expect(try bench.state(id) == .alerting)
  }

  @Test("an alarm is scheduled; one that passed while the clock jumped rings once, late, and says how many were missed")
  func alarm() throws {
    let bench = Bench()
    let id = try bench.engine.insert(
      AlertRule(.clock(.local(LocalAlarm(second: 7 * 3_600))), frequency: .daily), owner: bench.owner, at: bench.now)
    #expect(try bench.state(id) == .scheduled)
    #expect(try bench.engine.status(of: id).next == Timestamp(microseconds: bench.wall + 19 * 3_600_000_000))
    bench.wall += 3 * 86_400_000_000
    bench.wait(0)
    let firing = try #require(bench.engine.takeOutput().firings.first)
    #expect(firing.missed == 2)
    #expect(firing.lateBy == 5 * 3_600_000_000)
    #expect(try bench.state(id) == .alerting)
  }

  @Test("outside its hours a rule is scheduled and does not watch; when they begin it looks afresh")
  func hours() throws {
    let bench = Bench()
    let id = try bench.insert(
      .above, 10_000, hours: LocalHours(from: 13 * 3_600, until: 14 * 3_600))
    #expect(try bench.state(id) == .scheduled)
    #expect(bench.prices(9_000, 11_000) == [])
    #expect(try bench.engine.status(of: id).next?.microseconds == 1_795_352_400_000_000)
    bench.wait(3_600)
    #expect(bench.fired() == [1])
    bench.wait(3_600)
    try bench.engine.acknowledge(id, at: bench.now)
    #expect(try bench.state(id) == .scheduled)
  }

  @Test("what an owner may have is limited, and nobody's number is given twice")
  func limits() throws {
    let bench = Bench(limits: .init(rules: 3, rulesOfOwner: 2))
    let first = try bench.insert(.above, 1)
    _ = try bench.insert(.above, 2)
    #expect(throws: AlertRuleError.tooManyOfOwner(limit: 2)) { try bench.insert(.above, 3) }
    try bench.engine.remove(first, at: bench.now)
    let next = try bench.insert(.above, 3)
    #expect(next != first)
    #expect(throws: AlertRuleError.unknownAlert) { try bench.engine.status(of: first) }
    #expect(bench.engine.owner(of: first) == nil)
    #expect(bench.engine.alerts(of: bench.owner).count == 2)
  }

  @Test("a million changes of one rule leave no more entries behind than a few")
  func boundedHeaps() throws {
    let bench = Bench()
    let id = try bench.insert(.above, 10_000, hysteresis: 1)
    let clock = try bench.engine.insert(
      AlertRule(.clock(.countdown(seconds: 600_000))), owner: bench.owner, at: bench.now)
    for _ in 0..<100_000 {
      try bench.engine.pause(id, at: bench.now)
      try bench.engine.resume(id, at: bench.now)
      try bench.engine.pause(clock, at: bench.now)
      try bench.engine.resume(clock, at: bench.now)
    }
    #expect(bench.engine.waitingEntries < 5_000)
    #expect(bench.prices(9_000, 10_000) == [1])
  }
}
