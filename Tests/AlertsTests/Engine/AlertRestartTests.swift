import Alerts
import Bytes
import MarketData
import TestSupport
import Testing

/// What the store keeps of a rule is enough to go on: nothing fires twice, and nothing is forgotten.
@Suite("Alerts over a restart")
struct AlertRestartTests {
  typealias Bench = AlertEngineTests.Bench

  /// Another run, with what the store has of one rule, so many seconds later.
  private static func restart(
    _ bench: Bench, _ rule: AlertRule, _ id: AlertID, after seconds: Int64 = 10
  ) throws -> Bench {
    let again = Bench(isLive: false)
    (again.steady, again.wall) = (5_000_000, bench.wall + seconds * 1_000_000)
    again.engine.advance(to: again.now)
    try again.engine.restore(rule, id, owner: bench.owner, try bench.engine.progress(of: id), at: again.now)
    again.engine.finishRestoring()
    again.engine.wasLive(again.btc, until: Timestamp(microseconds: bench.wall), at: again.now)
    again.engine.setFeed(again.btc, isLive: true, at: again.now)
    return again
  }

  private static func above(_ bound: Int64) -> AlertCondition {
    .threshold(AlertThreshold("kraken:BTC-USD", .price, .above, Decimal64(mantissa: bound, scale: 2)))
  }

  private static func insert(_ bench: Bench, _ rule: AlertRule) throws -> AlertID {
    try bench.engine.insert(rule, owner: bench.owner, at: bench.now)
  }

  @Test("a price that stays beyond the threshold has fired; once it has been back, it fires again")
  func phase() throws {
    let bench = Bench()
    let rule = AlertRule(Self.above(10_000), frequency: .every(cooldown: 1))
    let id = try Self.insert(bench, rule)
    #expect(bench.prices(9_000, 10_500) == [1])
    let again = try Self.restart(bench, rule, id)
    #expect(again.prices(10_600, 10_700) == [])
    #expect(again.prices(9_000, 10_500) == [2])
  }

  @Test("a joined rule that is still true has fired; once it has been false, it fires again")
  func joined() throws {
    let bench = Bench()
    let rule = AlertRule(.all([Self.above(10_000), Self.above(9_500)]), frequency: .every(cooldown: 1))
    let id = try Self.insert(bench, rule)
    #expect(bench.prices(9_000, 10_500) == [1])
    let again = try Self.restart(bench, rule, id)
    #expect(again.prices(10_600, 10_700) == [])
    #expect(again.prices(9_700, 10_500) == [2])
  }

  @Test("a cooldown goes on")
  func cooldown() throws {
    let bench = Bench()
    let rule = AlertRule(Self.above(10_000), frequency: .every(cooldown: 60))
    let id = try Self.insert(bench, rule)
    #expect(bench.prices(9_000, 10_500, 9_000) == [1])
    let again = try Self.restart(bench, rule, id)
    #expect(again.prices(10_500) == [])
    again.wait(60)
    #expect(again.prices(9_000, 10_500) == [2])
  }

  @Test("a countdown ends when it would have ended")
  func countdown() throws {
    let bench = Bench()
    let rule = AlertRule(.clock(.countdown(seconds: 30)))
    let id = try Self.insert(bench, rule)
    bench.wait(10)
    let again = try Self.restart(bench, rule, id, after: 5)
    again.wait(14)
    #expect(again.fired() == [])
    again.wait(1)
    #expect(again.fired() == [1])
  }

  @Test("whatever number the store has of a rule, the engine goes on, or the rule is told as unreadable")
  func extremes() throws {
    let progress = Array(
      (#"{"firings":3,"acknowledged":1,"phases":[1],"quiet_until":1795348800000000,"snoozed_until":1795348800000000,"#
        + #""last_day":20779,"last_ring":1795348800,"next_ring":1795348700,"skipped_from":1795348600,"#
        + #""countdown":1795348900000000}"#).utf8)
    let rules = [
      AlertRule(Self.above(10_000), frequency: .every(cooldown: 60)), AlertRule(.clock(.countdown(seconds: 30))),
      AlertRule(.clock(.moment(Timestamp(microseconds: 1_795_348_900_000_000)))),
      AlertRule(.clock(.local(LocalAlarm(second: 12 * 3_600 + 30))), frequency: .daily),
    ]
    for number in NumericExtremes.numbers(in: progress) {
      for extreme in NumericExtremes.texts {
        let bytes = NumericExtremes.replacing(number, of: progress, by: extreme)
        for isPaused in [false, true] {
          guard var read = try? AlertProgress(json: bytes.span.bytes) else { continue }
          read.isPaused = isPaused
          for rule in rules {
            let bench = Bench()
            let id = AlertID(rawValue: 1 << 32)
            try bench.engine.restore(rule, id, owner: bench.owner, read, at: bench.now)
            bench.engine.finishRestoring()
            try bench.engine.resume(id, at: bench.now)
            bench.prices(9_000, 10_500, 9_000, 10_500)
            _ = try bench.engine.snooze(id, seconds: 60, at: bench.now)
            bench.wait(100_000)
            #expect(try bench.engine.progress(of: id).firings >= bench.engine.status(of: id).acknowledged)
          }
        }
      }
    }
  }

  @Test("the last id that there can be leaves room for the next rule, or is refused")
  func lastID() throws {
    let bench = Bench()
    let rule = AlertRule(Self.above(10_000))
    for id in [AlertID(rawValue: UInt64(UInt32.max) << 32), AlertID(rawValue: .max)] {
      try? bench.engine.restore(rule, id, owner: bench.owner, AlertProgress(), at: bench.now)
    }
    bench.engine.finishRestoring()
    _ = try Self.insert(bench, rule)
  }

  @Test("an alarm that came due meanwhile rings once, late")
  func alarm() throws {
    let bench = Bench()
    let rule = AlertRule(.clock(.local(LocalAlarm(second: 12 * 3_600 + 30))), frequency: .daily)
    let id = try Self.insert(bench, rule)
    let again = try Self.restart(bench, rule, id, after: 60)
    again.wait(0)
    #expect(again.engine.takeOutput().firings.map(\.lateBy) == [30_000_000])
    again.wait(3_600)
    #expect(again.fired() == [])
  }
}
