import Alerts
import Bytes
import MarketData

/// Looks at every condition of every rule after every event, from the definitions alone: no index, no timers.
struct NaiveAlerts {
  struct Market {
    var priceScale: UInt8 = 2
    var feed = false
    var book = false
    var feedLeft: Int64
    var bookLeft: Int64
    var feedBack = Int64.min
    var bookBack = Int64.min
    /// Since the feed is live.
    var price: Int64?
    var quote: (bid: Int64, ask: Int64)?
    var depth: Int64?
    /// All live prices and the moments at which the feed ceased to be live (nil), by steady time.
    var history: [(time: Int64, price: Int64?)] = []
  }

  final class Node {
    let condition: AlertCondition
    let parts: [Node]
    var isTrue = false
    /// Of a crossing: −1 under, 1 over, 0 neither.
    var side = 0

    init(_ condition: AlertCondition) {
      self.condition = condition
      switch condition {
      case .all(let parts), .any(let parts): self.parts = parts.map { Node($0) }
      default: parts = []
      }
    }

    func reset() {
      isTrue = false
      side = 0
      for part in parts { part.reset() }
    }
  }

  struct Rule {
    let id: AlertID
    let rule: AlertRule
    let root: Node
    var isEnabled = true
    var isPaused = false
    var isFinished = false
    var isWatching = false
    var watchedFrom: Int64 = 0
    /// A rule of several conditions: they were false together since it fired.
    var isArmed = true
    var firings: UInt32 = 0
    var acknowledged: UInt32 = 0
    var quietUntil = Int64.min
    var snoozedUntil: Int64?
    var lastDay: Int64?
    var countdownEnd: Int64?
  }

  struct Firing: Hashable {
    var id: UInt64
    var number: UInt32
    var lateBy: Int64
    var isReminder: Bool
    var value: String
  }

  var markets: [String: Market] = [:]
  var rules: [Rule] = []
  var zones: [String: TimeZoneRules]
  var firings: [Firing] = []
  var windowsSince: [String: Int64] = [:]

  // MARK: Events

  mutating func insert(_ id: AlertID, _ rule: AlertRule, _ now: AlertMoment) {
    rules.append(Rule(id: id, rule: rule, root: Node(rule.condition)))
    begin(rules.count - 1, now)
    evaluate(now, first: nil)
  }

  mutating func begin(_ index: Int, _ now: AlertMoment) {
    rules[index].isWatching = false
    if case .clock(.countdown(let seconds)) = rules[index].rule.condition {
      rules[index].countdownEnd = now.steady + Int64(seconds) * 1_000_000
    }
  }

  /// After every event: which rules watch, what is true, what fires. `first`: the market whose feed or book just said
  /// something for the first time since it is live, with when it had ceased to be.
  mutating func evaluate(_ now: AlertMoment, first: (symbol: String, isBook: Bool)?) {
    self.now = now
    for index in rules.indices { evaluate(index, now, first) }
    for key in windowsSince.keys.sorted() {
      let parts = key.split(separator: " ")
      let threshold = AlertThreshold(
        String(parts[0]), .change(minutes: UInt16(parts[1])!), .above, Decimal64(mantissa: 0, scale: 0))
      if value(threshold, now) == nil { known.remove(key) } else { known.insert(key) }
    }
  }

  private mutating func evaluate(_ index: Int, _ now: AlertMoment, _ first: (symbol: String, isBook: Bool)?) {
    let rule = rules[index]
    let wall = seconds(now)
    let zone = zones[rule.rule.timeZone]!
    if let until = rule.snoozedUntil, now.steady >= until {
      rules[index].snoozedUntil = nil
      if rule.acknowledged < rule.firings {
        firings.append(
          Firing(id: rule.id.rawValue, number: rule.firings, lateBy: 0, isReminder: true, value: ""))
      }
    }
    guard rule.isEnabled, !rule.isPaused, !rule.isFinished else {
      rules[index].isWatching = false
      return
    }
    if let expires = rule.rule.expires, now.wall >= expires {
      rules[index].isFinished = true
      rules[index].isWatching = false
      return
    }
    if let end = rule.countdownEnd {
      guard now.steady >= end else { return }
      rules[index].firings += 1
      rules[index].isFinished = true
      rules[index].countdownEnd = nil
      rules[index].snoozedUntil = nil
      firings.append(
        Firing(id: rule.id.rawValue, number: rule.firings + 1, lateBy: 0, isReminder: false, value: ""))
      return
    }
    guard !rule.rule.isClock else { return }
    guard rule.rule.hours?.contains(wall, in: zone) ?? true else {
      rules[index].isWatching = false
      return
    }
    if !rule.isWatching {
      rules[index].isWatching = true
      rules[index].watchedFrom = now.steady
      rules[index].isArmed = true
      rule.root.reset()
    }
    var cause: (value: String, lateBy: Int64)?
    guard update(rule.root, rules[index], now, first, &cause) else { return }
    guard rules[index].snoozedUntil == nil, now.steady >= rule.quietUntil else { return }
    let day = wallDay(zone.local(wall))
    if rule.rule.frequency == .daily {
      guard day != rule.lastDay else { return }
      rules[index].lastDay = day
    }
    rules[index].firings += 1
    if rule.rule.frequency == .once {
      rules[index].isFinished = true
      rules[index].isWatching = false
    }
    if case .every(let cooldown) = rule.rule.frequency {
      rules[index].quietUntil = now.steady + Int64(cooldown) * 1_000_000
    }
    let isTree = !rule.root.parts.isEmpty
    firings.append(
      Firing(
        id: rule.id.rawValue, number: rule.firings + 1, lateBy: isTree ? 0 : cause?.lateBy ?? 0, isReminder: false,
        value: isTree ? "" : cause?.value ?? ""))
  }

  /// Brings the truth of a rule's conditions up to date; answers whether the rule is to fire.
  private mutating func update(
    _ root: Node, _ rule: Rule, _ now: AlertMoment, _ first: (symbol: String, isBook: Bool)?,
    _ cause: inout (value: String, lateBy: Int64)?
  ) -> Bool {
    if root.parts.isEmpty {
      return update(leaf: root, rule, now, first, &cause)
    }
    var ignored: (value: String, lateBy: Int64)?
    for leaf in leaves(of: root) { _ = update(leaf: leaf, rule, now, first, &ignored) }
    let index = rules.firstIndex { $0.id == rule.id }!
    guard holds(root, onlyLive: false) else {
      rules[index].isArmed = true
      return false
    }
    guard rules[index].isArmed, holds(root, onlyLive: true) else { return false }
    rules[index].isArmed = false
    return true
  }

  private func leaves(of node: Node) -> [Node] { node.parts.isEmpty ? [node] : node.parts.flatMap { leaves(of: $0) } }

  private func holds(_ node: Node, onlyLive: Bool) -> Bool {
    switch node.condition {
    case .all: node.parts.allSatisfy { holds($0, onlyLive: onlyLive) }
    case .any: node.parts.contains { holds($0, onlyLive: onlyLive) }
    case .threshold(let threshold): node.isTrue && (!onlyLive || hasValue(threshold))
    default: node.isTrue
    }
  }

  /// The present, for `holds`.
  private var now = AlertMoment(steady: 0, wall: Timestamp(microseconds: 0))
  /// Changes that were known after the last event.
  private var known: Set<String> = []

  init(zones: [String: TimeZoneRules]) { self.zones = zones }

  private func hasValue(_ threshold: AlertThreshold) -> Bool { value(threshold, now) != nil }

  func key(_ threshold: AlertThreshold) -> String {
    guard case .change(let minutes) = threshold.measure else { return "" }
    return "\(threshold.symbol) \(minutes)"
  }

  /// The figure as it is now, if it is live and known.
  func value(_ threshold: AlertThreshold, _ now: AlertMoment?) -> (value: Int64, scale: UInt8)? {
    guard let market = markets[threshold.symbol] else { return nil }
    switch threshold.measure {
    case .price: return market.price.map { ($0, market.priceScale) }
    case .spread: return market.quote.map { ($0.ask - $0.bid, market.priceScale) }
    case .spreadPercent:
      return market.quote.map { quote in
        (Int64(Ratio.divide(Int128(quote.ask - quote.bid) * 2_000_000, by: Int128(quote.ask + quote.bid))), 4)
      }
    case .depth: return market.depth.map { ($0, 3) }
    // They are computed elsewhere: see `ContractFiguresTests`.
    case .funding, .openInterest, .liquidations: return nil
    case .change(let minutes):
      guard let now, let price = market.price, let since = windowsSince[key(threshold)] else { return nil }
      let width = Int64(minutes) * 1_000_000
      let boundary = (now.steady / width - 60) * width
      // Parts that had ended before the window existed are not known.
      guard boundary > since, boundary / width > since / width else { return nil }
      guard let then = market.history.last(where: { $0.time < boundary })?.price else { return nil }
      return Ratio.percent(price - then, of: then, digits: 4).map { ($0.mantissa, 4) }
    }
  }

  private mutating func update(
    leaf: Node, _ rule: Rule, _ now: AlertMoment, _ first: (symbol: String, isBook: Bool)?,
    _ cause: inout (value: String, lateBy: Int64)?
  ) -> Bool {
    switch leaf.condition {
    case .stale(let staleness):
      let market = markets[staleness.symbol]!
      let (isLive, left) = staleness.part == .feed ? (market.feed, market.feedLeft) : (market.book, market.bookLeft)
      let isTrue = !isLive && now.steady - left >= Int64(staleness.seconds) * 1_000_000
      defer { leaf.isTrue = isTrue }
      return isTrue && !leaf.isTrue
    case .threshold(let threshold):
      guard let (value, scale) = value(threshold, now) else { return false }
      let market = markets[threshold.symbol]!
      let isFired = update(leaf, threshold, value, scale)
      if isFired {
        var late: Int64 = 0
        let isBook = threshold.measure.isOfBookForTests
        let back = isBook ? market.bookBack : market.feedBack
        var isFirst = first?.symbol == threshold.symbol && first?.isBook == isBook
        if case .change = threshold.measure { isFirst = !known.contains(key(threshold)) }
        if isFirst, back > rule.watchedFrom {
          late = max(1, now.steady - max(isBook ? market.bookLeft : market.feedLeft, rule.watchedFrom))
        }
        cause = ("\(value)e-\(scale)", late)
      }
      return isFired
    default: return false
    }
  }

  private func update(_ leaf: Node, _ threshold: AlertThreshold, _ value: Int64, _ scale: UInt8) -> Bool {
    // All three at 18 digits.
    func wide(_ value: Int64, _ scale: UInt8) -> Int128 { Int128(value) * Int128(DecimalText.power(18 - scale)) }
    let figure = wide(value, scale)
    let bound = wide(threshold.bound.mantissa, threshold.bound.scale)
    let margin = wide(threshold.hysteresis.mantissa, threshold.hysteresis.scale)
    let isClearlyUnder = margin == 0 ? figure < bound : figure <= bound - margin
    let isClearlyOver = margin == 0 ? figure > bound : figure >= bound + margin
    switch threshold.comparison {
    case .above:
      let isTrue = leaf.isTrue ? !isClearlyUnder : figure >= bound
      defer { leaf.isTrue = isTrue }
      return isTrue && !leaf.isTrue
    case .below:
      let isTrue = leaf.isTrue ? !isClearlyOver : figure <= bound
      defer { leaf.isTrue = isTrue }
      return isTrue && !leaf.isTrue
    case .crossesUp, .crossesDown, .crosses:
      var isCrossed = false
      if leaf.side == -1, figure >= bound {
        isCrossed = true
        leaf.side = 0
      } else if leaf.side == 1, figure <= bound {
        isCrossed = true
        leaf.side = 0
      }
      if leaf.side == 0, isClearlyUnder, threshold.comparison != .crossesDown { leaf.side = -1 }
      if leaf.side == 0, isClearlyOver, threshold.comparison != .crossesUp { leaf.side = 1 }
      return isCrossed
    }
  }

  private func seconds(_ now: AlertMoment) -> Int64 {
    let (quotient, remainder) = now.wall.microseconds.quotientAndRemainder(dividingBy: 1_000_000)
    return remainder < 0 ? quotient - 1 : quotient
  }

  private func wallDay(_ local: Int64) -> Int64 { local >= 0 ? local / 86_400 : (local - 86_399) / 86_400 }
}

extension AlertThreshold.Measure {
  var isOfBookForTests: Bool {
    switch self {
    case .price, .change: false
    default: true
    }
  }
}
