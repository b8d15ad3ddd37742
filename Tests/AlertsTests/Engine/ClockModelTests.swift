import Alerts
import MarketData
import TestSupport
import TestTraits
import Testing

/// Clock alarms beside a model that knows every time an alarm has, and keeps the set of those it told.
@Suite("Clock alarms beside a naive model")
struct ClockModelTests {
  /// All times of an alarm in two years, found by looking at each day through a table of offsets.
  private static func times(_ alarm: LocalAlarm, _ table: ZoneTable) -> [Int64] {
    var times: Set<Int64> = []
    for day in Int64(20_446)...21_170 where alarm.days.hasDay(day) {
      times.insert(table.first(atOrAfterLocal: day * 86_400 + alarm.second))
    }
    return times.sorted()
  }

  private struct Model {
    let times: [Int64]
    var told: Set<Int64> = []
    /// Counted as missed and still to be told if their time comes again.
    var skipped: Set<Int64> = []
    var cursor: Int64

    /// Answers the time that rings now, and how many were missed.
    mutating func advance(to now: Int64) -> (time: Int64, missed: UInt32)? {
      if now < cursor {
        cursor = now - 1
      }
      let last = told.max() ?? .min
      let due = times.filter { $0 > cursor && $0 <= now && ($0 > last || skipped.contains($0)) }
      cursor = now
      guard let time = due.last else { return nil }
      told.insert(time)
      if time > last {
        skipped = Set(due.dropLast().filter { $0 > last })
      } else {
        skipped = skipped.filter { $0 > time }
      }
      return (time, UInt32(due.count - 1))
    }
  }

  @Test(
    "the same alarms ring at the same moments: two years, twelve zones, steps of the clock, restarts",
    .longComputation, arguments: testSeeds(2))
  func twoYears(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var wall = ZoneTable.start + 20 * 86_400
    var steady = 1_000_000 as Int64
    func moment() -> AlertMoment {
      AlertMoment(steady: steady * 1_000_000, wall: Timestamp(microseconds: wall * 1_000_000))
    }
    var engine = AlertEngine(at: moment())
    var rules: [(id: AlertID, rule: AlertRule, model: Model)] = []
    for name in twelveZones {
      let table = try #require(ZoneTable(name))
      engine.setZone(name, try #require(zoneRules(name)), at: moment())
      for second in [7_200, Int64.random(in: 0..<10_800, using: &random), Int64.random(in: 0..<86_400, using: &random)]
      {
        let alarm = LocalAlarm(second: second, days: Weekdays(rawValue: UInt8.random(in: 1...127, using: &random)))
        let rule = AlertRule(.clock(.local(alarm)), frequency: .daily, timeZone: name)
        let id = try engine.insert(rule, owner: AlertOwner(rawValue: 1), at: moment())
        rules.append((id, rule, Model(times: Self.times(alarm, table), cursor: wall)))
      }
    }
    func compare(_ context: String) throws {
      engine.advance(to: moment())
      var expected: [String] = []
      for index in rules.indices {
        guard let ring = rules[index].model.advance(to: wall) else { continue }
        expected.append("\(rules[index].id.rawValue) \((wall - ring.time) * 1_000_000) \(ring.missed)")
      }
      let actual = engine.takeOutput().firings.map { "\($0.alert.rawValue) \($0.lateBy) \($0.missed)" }
      try #require(actual.sorted() == expected.sorted(), "seed \(seed), \(context), wall \(wall)")
    }
    var firings = 0
    while wall < ZoneTable.end - 40 * 86_400 {
      let elapsed = [
        Int64.random(in: 1...1_800, using: &random), Int64.random(in: 1...7_200, using: &random),
        Int64.random(in: 1...100_000, using: &random),
      ][Int.random(in: 0..<3, using: &random)]
      steady += elapsed
      wall += elapsed
      let event = Int.random(in: 0..<40, using: &random)
      switch event {
      case 0: wall += Int64.random(in: 1...10_000, using: &random)
      case 1: wall = max(ZoneTable.start + 15 * 86_400, wall - Int64.random(in: 1...10_000, using: &random))
      case 2:
        wall = max(ZoneTable.start + 15 * 86_400, wall + Int64.random(in: -400_000...400_000, using: &random))
      case 3:
        // A restart: what the store has of every rule comes back to a new engine.
        let kept = try rules.map { ($0.rule, $0.id, try engine.progress(of: $0.id)) }
        engine = AlertEngine(at: moment())
        for name in twelveZones { engine.setZone(name, try #require(zoneRules(name)), at: moment()) }
        for (rule, id, progress) in kept {
          try engine.restore(rule, id, owner: AlertOwner(rawValue: 1), progress, at: moment())
        }
        engine.finishRestoring()
      default: break
      }
      try compare("event \(event)")
      firings += 1
    }
    #expect(firings > 1_000)
  }
}
