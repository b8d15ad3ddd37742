import Alerts
import Bytes
import MarketData
import Testing

/// Whose a firing is, on which day it is, and what may not fire.
@Suite("What a firing may be")
struct AlertHonestyTests {
  typealias Bench = AlertEngineTests.Bench

  @Test("a firing is its rule's owner's")
  func owner() throws {
    let bench = Bench()
    _ = try bench.insert(.above, 10_000)
    bench.wait(1)
    bench.engine.price(bench.btc, 10_500, at: bench.now)
    #expect(bench.engine.takeOutput().firings.map(\.owner) == [bench.owner])
  }

  @Test("once a day goes by the day of the rule's time zone")
  func day() throws {
    let bench = Bench()
    bench.engine.setZone("Asia/Tokyo", try #require(zoneRules("Asia/Tokyo")), at: bench.now)
    let condition = AlertCondition.threshold(
      AlertThreshold("kraken:BTC-USD", .price, .above, Decimal64(mantissa: 10_000, scale: 2)))
    _ = try bench.engine.insert(
      AlertRule(condition, frequency: .daily, timeZone: "Asia/Tokyo"), owner: bench.owner, at: bench.now)
    // 21:00 there; three hours later it is the next day there and the same in UTC.
    #expect(bench.prices(9_000, 10_500, 9_000, 10_500) == [1])
    bench.wait(3 * 3_600)
    #expect(bench.prices(9_000, 10_500) == [2])
    bench.wait(9 * 3_600)
    #expect(bench.prices(9_000, 10_500) == [])
  }

  @Test("a rule that is snoozed does not fire")
  func snoozed() throws {
    let bench = Bench()
    let id = try bench.insert(.above, 10_000)
    #expect(bench.prices(9_000, 10_500) == [1])
    #expect(try bench.engine.snooze(id, seconds: 60, at: bench.now))
    #expect(bench.prices(9_000, 10_500, 9_000, 10_500) == [])
  }

  @Test("a spread of a book that is not live does not fire")
  func book() throws {
    let bench = Bench()
    _ = try bench.engine.insert(
      AlertRule(
        .threshold(
          AlertThreshold("kraken:BTC-USD", .spread, .above, Decimal64(mantissa: 100, scale: 2))),
        frequency: .every(cooldown: 1)), owner: bench.owner, at: bench.now)
    bench.engine.setBook(bench.btc, isLive: true, at: bench.now)
    bench.engine.quote(bench.btc, bid: 10_000, ask: 10_001, at: bench.now)
    bench.engine.setBook(bench.btc, isLive: false, at: bench.now)
    bench.engine.quote(bench.btc, bid: 10_000, ask: 10_500, at: bench.now)
    #expect(bench.fired() == [])
    bench.engine.setBook(bench.btc, isLive: true, at: bench.now)
    #expect(bench.fired() == [], "what was said while it was not live is not kept")
    bench.engine.quote(bench.btc, bid: 10_000, ask: 10_500, at: bench.now)
    #expect(bench.fired() == [1])
  }

  @Test("nobody acknowledges what has not fired yet")
  func acknowledged() throws {
    let bench = Bench()
    let id = try bench.insert(.above, 10_000)
    #expect(bench.prices(9_000, 10_500) == [1])
    try bench.engine.acknowledge(id, through: 9, at: bench.now)
    #expect(try bench.state(id) == .running)
    #expect(bench.prices(9_000, 10_500) == [2])
    #expect(try bench.state(id) == .alerting)
  }
}
