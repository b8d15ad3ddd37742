import Alerts
import Bytes
import MarketData
import TestSupport
import TestTraits
import Testing

/// The engine beside a model that looks at every rule after every event: prices that tremble on thresholds, feeds and
/// books that come and go, owners who pause, snooze and acknowledge, hours over changes of the clock, steps of the
/// wall clock, wider scales.
@Suite("Alerts beside a naive evaluator")
struct MarketModelTests {
  static let symbols = ["kraken:BTC-USD", "binance:ETH-USDT", "composite:ZEC-USD"]

  struct World {
    var random: SeededGenerator
    var steady: Int64
    var offset: Int64
    let engine: AlertEngine
    var naive: NaiveAlerts
    var live: [AlertID: AlertRule] = [:]
    let zone: String
    let seed: UInt64
    var compared = 0

    var now: AlertMoment { AlertMoment(steady: steady, wall: Timestamp(microseconds: steady + offset)) }

    mutating func pick(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }
  }

  @Test("the same firings at the same moments", .longComputation, arguments: testSeeds(12))
  func sameFirings(seed: UInt64) throws {
    var world = try Self.world(seed)
    for symbol in Self.symbols {
      let source = world.engine.source(symbol)
      world.engine.describe(source, priceScale: 2, sizeScale: 3)
      world.naive.markets[symbol] = .init(feedLeft: world.steady, bookLeft: world.steady)
    }
    for _ in 0..<30 { try Self.insert(&world) }
    for step in 0..<1_500 {
      // Odd microseconds: no two timers are due at once.
      let target = world.steady + Int64(world.pick(1...9_000_000))
      try Self.run(&world, until: target)
      try Self.event(&world)
      try Self.compare(&world, "step \(step)")
    }
    for rule in world.naive.rules {
      let status = try world.engine.status(of: rule.id)
      #expect(status.firings == rule.firings && status.acknowledged == rule.acknowledged, "seed \(seed)")
    }
    #expect(world.compared > 20, "seed \(seed)")
  }

  static func world(_ seed: UInt64) throws -> World {
    var random = SeededGenerator(seed: seed)
    let zone = twelveZones[Int.random(in: 0..<12, using: &random)]
    let rules = try #require(zoneRules(zone))
    // Two hours before a change of the clock, where there is one in these years.
    let from = Int64.random(in: 1_767_225_600...1_798_761_600, using: &random)
    let wall = (rules.change(after: from).map { $0.time - 7_200 } ?? from) * 1_000_000
    let steady = 5_000_000_123 as Int64
    let moment = AlertMoment(steady: steady, wall: Timestamp(microseconds: wall))
    let engine = AlertEngine(at: moment)
    engine.setZone(zone, rules, at: moment)
    return World(
      random: random, steady: steady, offset: wall - steady, engine: engine,
      naive: NaiveAlerts(zones: [zone: rules, "UTC": .utc]), zone: zone, seed: seed)
  }

  /// Lets time go on, as the engine's timers would.
  static func run(_ world: inout World, until target: Int64) throws {
    while true {
      let wake = world.engine.nextWake
      let wall = wake.wall.microseconds == .max ? .max : wake.wall.microseconds - world.offset
      let next = min(wake.steady, wall)
      guard next <= target else { break }
      world.steady = max(world.steady, next)
      try advance(&world)
    }
    world.steady = target
    try advance(&world)
  }

  static func advance(_ world: inout World) throws {
    world.engine.advance(to: world.now)
    world.naive.evaluate(world.now, first: nil)
    try compare(&world, "advance")
  }

  static func compare(_ world: inout World, _ context: String) throws {
    let output = world.engine.takeOutput()
    let actual = output.firings.map { firing in
      let isTree = world.naive.rules.contains { $0.id == firing.alert && !$0.root.parts.isEmpty }
      return NaiveAlerts.Firing(
        id: firing.alert.rawValue, number: firing.number, lateBy: isTree ? 0 : firing.lateBy,
        isReminder: firing.isReminder,
        value: isTree ? "" : firing.value.map { "\($0.mantissa)e-\($0.scale)" } ?? "")
    }
    let expected = world.naive.firings
    world.naive.firings = []
    world.compared += expected.count
    func sorted(_ firings: [NaiveAlerts.Firing]) -> [String] { firings.map { "\($0)" }.sorted() }
    guard sorted(actual) != sorted(expected) else { return }
    let ids = Set(actual.map(\.id)).symmetricDifference(expected.map(\.id))
    let rules = world.naive.rules.filter { ids.contains($0.id.rawValue) || ids.isEmpty }.map { "\($0.rule)" }
    try #require(
      sorted(actual) == sorted(expected), "seed \(world.seed), \(context), \(world.now) \(rules.prefix(3))")
  }

  // MARK: Events

  static func event(_ world: inout World) throws {
    let symbol = symbols[world.pick(0...2)]
    let source = world.engine.source(symbol)
    let now = world.now
    var market = world.naive.markets[symbol]!
    var first: (symbol: String, isBook: Bool)?
    switch world.pick(0...99) {
    case 0..<45:
      let factor = market.priceScale == 2 ? 1 : 10 as Int64
      let price = Int64(world.pick(9_950...10_050)) * factor
      world.engine.price(source, price, at: now)
      if market.feed {
        if market.price == nil { first = (symbol, false) }
        market.price = price
        market.history.append((now.steady, price))
      }
    case 45..<58:
      let bid = Int64(world.pick(9_950...10_000)) * (market.priceScale == 2 ? 1 : 10)
      let ask = bid + Int64(world.pick(1...60))
      world.engine.quote(source, bid: bid, ask: ask, at: now)
      if market.book {
        if market.quote == nil { first = (symbol, true) }
        market.quote = (bid, ask)
      }
    case 58..<66:
      let size = Int64(world.pick(1...20_000))
      world.engine.depth(source, .bids, basisPoints: 50, size: size, at: now)
      guard market.book, world.engine.depths(of: source).count > 0 else { break }
      // Spread and depth become known apart: the model marks them one by one.
      if market.depth == nil { first = (symbol, true) }
      market.depth = size
    case 66..<72:
      market.feed.toggle()
      world.engine.setFeed(source, isLive: market.feed, at: now)
      if market.feed {
        market.feedBack = now.steady
      } else {
        market.feedLeft = now.steady
        market.price = nil
        market.history.append((now.steady, nil))
      }
    case 72..<77:
      market.book.toggle()
      world.engine.setBook(source, isLive: market.book, at: now)
      if market.book {
        market.bookBack = now.steady
      } else {
        market.bookLeft = now.steady
        market.quote = nil
        market.depth = nil
      }
    case 77..<82: try insert(&world)
    case 82..<94: try act(&world)
    case 94:
      guard market.priceScale == 2 else { break }
      world.engine.describe(source, priceScale: 3, sizeScale: 3)
      market.priceScale = 3
      market.price = market.price.map { $0 * 10 }
      market.quote = market.quote.map { ($0.bid * 10, $0.ask * 10) }
      market.history = market.history.map { ($0.time, $0.price.map { $0 * 10 }) }
    case 95, 96:
      world.offset += Int64(world.pick(1...7_200)) * 1_000_000
      return try advance(&world)
    case 97:
      world.offset -= Int64(world.pick(1...7_200)) * 1_000_000
      return try advance(&world)
    default: break
    }
    world.naive.markets[symbol] = market
    world.naive.evaluate(now, first: first)
  }

  static func act(_ world: inout World) throws {
    guard !world.naive.rules.isEmpty else { return }
    let index = world.pick(0...world.naive.rules.count - 1)
    let id = world.naive.rules[index].id
    let now = world.now
    var rule = world.naive.rules[index]
    switch world.pick(0...6) {
    case 0:
      try world.engine.remove(id, at: now)
      world.naive.rules.remove(at: index)
      forgetWindow(&world, rule.rule)
      return
    case 1:
      try world.engine.pause(id, at: now)
      guard rule.isEnabled, !rule.isPaused, !rule.isFinished else { return }
      rule.isPaused = true
      rule.isWatching = false
      rule.countdownEnd = rule.countdownEnd.map { $0 - now.steady }
    case 2:
      try world.engine.resume(id, at: now)
      guard rule.isPaused else { return }
      rule.isPaused = false
      rule.countdownEnd = rule.countdownEnd.map { $0 + now.steady }
    case 3:
      try world.engine.disable(id, at: now)
      rule.isEnabled = false
      rule.isPaused = false
      rule.isWatching = false
      rule.snoozedUntil = nil
      rule.acknowledged = rule.firings
      rule.countdownEnd = nil
    case 4:
      try world.engine.enable(id, at: now)
      guard !rule.isEnabled || rule.isFinished else { return }
      rule.isEnabled = true
      rule.isFinished = false
      rule.isPaused = false
      rule.quietUntil = .min
      world.naive.rules[index] = rule
      world.naive.begin(index, now)
      return
    case 5:
      let seconds = UInt32(world.pick(1...300))
      if try world.engine.snooze(id, seconds: seconds, at: now) {
        rule.snoozedUntil = now.steady + Int64(seconds) * 1_000_000
      }
    default:
      try world.engine.acknowledge(id, at: now)
      rule.acknowledged = rule.firings
      rule.snoozedUntil = nil
    }
    world.naive.rules[index] = rule
  }

  /// A window that nobody watches any more is not kept.
  static func forgetWindow(_ world: inout World, _ rule: AlertRule) {
    guard case .threshold(let threshold) = rule.condition, case .change = threshold.measure else { return }
    let key = world.naive.key(threshold)
    let isWatched = world.naive.rules.contains {
      if case .threshold(let other) = $0.rule.condition { world.naive.key(other) == key } else { false }
    }
    if !isWatched { world.naive.windowsSince[key] = nil }
  }

  static func insert(_ world: inout World) throws {
    let rule = self.rule(&world)
    let now = world.now
    // A depth is known from the first change of the book that comes after a rule has asked for it.
    for symbol in symbols where world.engine.depths(of: world.engine.source(symbol)).isEmpty {
      world.naive.markets[symbol]!.depth = nil
    }
    if case .threshold(let threshold) = rule.condition, case .change = threshold.measure,
      world.naive.windowsSince[world.naive.key(threshold)] == nil
    {
      world.naive.windowsSince[world.naive.key(threshold)] = now.steady
    }
    let id = try world.engine.insert(rule, owner: AlertOwner(rawValue: UInt32(world.pick(0...2))), at: now)
    world.naive.insert(id, rule, now)
  }

  static func rule(_ world: inout World) -> AlertRule {
    let frequency: AlertFrequency
    switch world.pick(0...3) {
    case 0: frequency = .once
    case 1: frequency = .daily
    default: frequency = .every(cooldown: UInt32(world.pick(1...60)))
    }
    var hours: LocalHours?
    let condition: AlertCondition
    if world.pick(0...11) == 0 {
      condition = .clock(.countdown(seconds: UInt32(world.pick(1...900))))
    } else {
      if world.pick(0...3) == 0 {
        hours = LocalHours(
          days: Weekdays(rawValue: UInt8(world.pick(1...127))), from: Int64(world.pick(0...86_399)),
          until: Int64(world.pick(0...86_400)))
      }
      condition = self.condition(&world, depth: world.pick(0...4) == 0 ? 2 : 0)
    }
    let expires = world.pick(0...7) == 0 ? world.now.wall + Int64(world.pick(1...3_600_000_000)) : nil
    return AlertRule(
      condition, frequency: frequency, hours: hours, timeZone: world.pick(0...2) == 0 ? "UTC" : world.zone,
      expires: expires)
  }

  static func condition(_ world: inout World, depth: Int, isPart: Bool = false) -> AlertCondition {
    if depth > 0 {
      let count = world.pick(1...3)
      let parts = (0..<count).map { _ in condition(&world, depth: world.pick(0...1) == 0 ? 0 : depth - 1, isPart: true)
      }
      return world.pick(0...1) == 0 ? .all(parts) : .any(parts)
    }
    let symbol = symbols[world.pick(0...2)]
    let comparison = AlertThreshold.Comparison(rawValue: UInt8(world.pick(0...(isPart ? 1 : 4))))!
    switch world.pick(0...9) {
    case 0:
      return .stale(
        AlertStaleness(symbol, world.pick(0...1) == 0 ? .feed : .book, seconds: UInt32(world.pick(1...120))))
    case 1:
      return .threshold(
        AlertThreshold(symbol, .spread, comparison, Decimal64(mantissa: Int64(world.pick(1...600)), scale: 3)))
    case 2:
      return .threshold(
        AlertThreshold(
          symbol, .spreadPercent, comparison, Decimal64(mantissa: Int64(world.pick(1...60)), scale: 2),
          hysteresis: Decimal64(mantissa: Int64(world.pick(0...10)), scale: 2)))
    case 3:
      return .threshold(
        AlertThreshold(
          symbol, .depth(.bids, basisPoints: 50), comparison, Decimal64(mantissa: Int64(world.pick(1...20)), scale: 0)))
    case 4 where !isPart:
      return .threshold(
        AlertThreshold(
          symbol, .change(minutes: UInt16([1, 5][world.pick(0...1)])), comparison,
          Decimal64(mantissa: Int64(world.pick(-60...60)), scale: 2)))
    default:
      let scale = UInt8(world.pick(0...3))
      let digits = Int64(DecimalText.power(scale))
      return .threshold(
        AlertThreshold(
          symbol, .price, comparison,
          Decimal64(mantissa: 99 * digits + Int64(world.pick(0...Int(2 * digits))), scale: scale),
          hysteresis: Decimal64(mantissa: Int64(world.pick(0...30)), scale: 2)))
    }
  }
}
