import Alerts
import Bytes
import MarketData
import TestSupport
import Testing

@Suite("Windows of changes, and crossings in both directions")
struct ChangeWindowTests {
  private typealias Bench = AlertEngineTests.Bench

  private static func insert(
    _ bench: Bench, _ comparison: AlertThreshold.Comparison, percent: Int64, minutes: UInt16
  ) throws -> AlertID {
    try bench.engine.insert(
      AlertRule(
        .threshold(
          AlertThreshold(
            "kraken:BTC-USD", .change(minutes: minutes), comparison, Decimal64(mantissa: percent, scale: 0),
            hysteresis: Decimal64(mantissa: 0, scale: 0))), frequency: .every(cooldown: 1)),
      owner: bench.owner, at: bench.now)
  }

  /// The closes of the minutes before the present one.
  private static func minutes(_ bench: Bench, _ count: Int64, price: (Int64) -> Int64) -> [(Timestamp, Int64)] {
    let end = bench.wall / 60_000_000 * 60_000_000
    return (0..<count).reversed().map { (Timestamp(microseconds: end - $0 * 60_000_000), price($0)) }
  }

  @Test("a rule says from when on it watches, until it does; and it does not fire before")
  func blind() throws {
    let bench = Bench()
    bench.prices(10_000)
    let id = try Self.insert(bench, .above, percent: 5, minutes: 10)
    let from = try #require(try bench.engine.status(of: id).watchingFrom)
    #expect((600_000_000...620_000_000).contains(from - bench.now.wall))
    #expect(bench.prices(11_000) == [], "there is nothing to compare with")
    bench.engine.takeOutput()
    bench.wait((from - bench.now.wall) / 1_000_000 + 1)
    bench.engine.price(bench.btc, 11_000, at: bench.now)
    #expect(try bench.engine.status(of: id).watchingFrom == nil)
    #expect(bench.engine.takeOutput().changed.contains(id), "its owner sees the change")
  }

  @Test("prices from before the rule let it watch at once, and fire")
  func primed() throws {
    for minutes in [UInt16(10), 60, 1_440] {
      let bench = Bench()
      bench.prices(10_000)
      let id = try Self.insert(bench, .above, percent: 5, minutes: minutes)
      #expect(try bench.engine.status(of: id).watchingFrom != nil)
      bench.engine.takeOutput()
      bench.engine.prime(bench.btc, Self.minutes(bench, 1_470) { _ in 9_000 }, at: bench.now)
      #expect(try bench.engine.status(of: id).watchingFrom == nil)
      let output = bench.engine.takeOutput()
      #expect(output.firings.map(\.alert) == [id] && output.changed.contains(id))
      #expect(output.firings.first?.value == Decimal64(mantissa: 111_111, scale: 4))
    }
  }

  @Test("prices that do not reach back far enough, or stop before a hole, are not stretched over it")
  func short() throws {
    let bench = Bench()
    bench.prices(10_000)
    let id = try Self.insert(bench, .above, percent: 5, minutes: 60)
    bench.engine.prime(bench.btc, Self.minutes(bench, 30) { _ in 9_000 }, at: bench.now)
    let from = try #require(try bench.engine.status(of: id).watchingFrom)
    // The price of 30 min ago is the one of 60 min ago in 30 min.
    #expect((29 * 60_000_000...33 * 60_000_000).contains(from - bench.now.wall), "\(from - bench.now.wall)")
    #expect(bench.fired() == [])
    let old = Self.minutes(bench, 200) { _ in 9_000 }.filter { bench.now.wall - $0.0 > 5_400_000_000 }
    bench.engine.prime(bench.btc, old, at: bench.now)
    #expect(try bench.engine.status(of: id).watchingFrom == from, "nothing is known of an hour ago")
    let late = try Self.insert(bench, .above, percent: 5, minutes: 5)
    bench.engine.prime(bench.btc, Self.minutes(bench, 1_470) { _ in 9_000 }, at: bench.now)
    #expect(try bench.engine.status(of: late).watchingFrom != nil, "a minute is too long for a window of five")
  }

  @Test("a feed that is not live promises no time")
  func dead() throws {
    let bench = Bench()
    bench.prices(10_000)
    let id = try Self.insert(bench, .above, percent: 5, minutes: 10)
    bench.engine.takeOutput()
    bench.engine.setFeed(bench.btc, isLive: false, at: bench.now)
    #expect(try bench.engine.status(of: id).watchingFrom == nil)
    #expect(bench.engine.takeOutput().changed.contains(id))
  }

  // MARK: Crossings

  @Test("a price path seen in a mirror fires the mirrored rule at the same moments", arguments: testSeeds(200))
  func mirror(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let bound = Int64.random(in: 9_990...10_010, using: &random)
    // Between two prices, too.
    let half: Int64 = Bool.random(using: &random) ? 5 : 0
    let hysteresis = [0, 1, 2, 5][Int.random(in: 0..<4, using: &random)] as Int64
    let benches = [Bench(), Bench()]
    let pairs: [[AlertThreshold.Comparison]] = [
      [.crossesUp, .crossesDown], [.crossesDown, .crossesUp], [.crosses, .crosses], [.above, .below], [.below, .above],
    ]
    var ids: [[AlertID]] = []
    for pair in pairs {
      ids.append(
        try zip(benches, pair).map { bench, comparison in
          try bench.engine.insert(
            AlertRule(
              .threshold(
                AlertThreshold(
                  "kraken:BTC-USD", .price, comparison, Decimal64(mantissa: bound * 10 + half, scale: 3),
                  hysteresis: Decimal64(mantissa: hysteresis, scale: 2))), frequency: .every(cooldown: 1)),
            owner: bench.owner, at: bench.now)
        })
    }
    for step in 0..<200 {
      let offset = Int64.random(in: -6...6, using: &random)
      let event = Int.random(in: 0..<12, using: &random)
      var fired: [[Int]] = []
      for (side, bench) in benches.enumerated() {
        bench.wait(2)
        // Mirrored at the bound, which lies on a price or half way between two.
        let twice = 2 * bound + (half > 0 ? 1 : 0)
        let price = side == 0 ? bound + offset : twice - (bound + offset)
        switch event {
        case 0: bench.engine.setFeed(bench.btc, isLive: false, at: bench.now)
        case 1: bench.engine.setFeed(bench.btc, isLive: true, at: bench.now)
        default: bench.engine.price(bench.btc, price, at: bench.now)
        }
        let firings = bench.engine.takeOutput().firings
        fired.append(firings.compactMap { firing in ids.firstIndex { $0[side] == firing.alert } }.sorted())
      }
      #expect(fired[0] == fired[1], "step \(step), \(offset) from \(bound): \(fired)")
    }
  }

  @Test("a touch counts in both directions, once, and again only after the price was beyond")
  func touch() throws {
    let bench = Bench()
    let up = try bench.insert(.crossesUp, 10_000)
    let down = try bench.insert(.crossesDown, 10_000)
    func fired(_ prices: Int64...) -> [AlertID] {
      prices.flatMap { price -> [AlertID] in
        bench.wait(2)
        bench.engine.price(bench.btc, price, at: bench.now)
        return bench.engine.takeOutput().firings.map(\.alert)
      }
    }
    #expect(fired(10_000) == [], "the first price has no side")
    #expect(fired(9_999, 10_000) == [up])
    #expect(fired(10_000, 10_001) == [], "it had crossed by touching")
    #expect(fired(10_000) == [down])
    #expect(fired(9_999, 10_001) == [up] && fired(9_999) == [down])
  }
}
