import Alerts
import Bytes
import Decks
import MarketData
import Portfolio
import PubSub

/// What owners and operators write: rules, portfolios, topics, decks.
extension FuzzTarget {
  /// A rule as a client sends it, and its life in an engine: prices, an hour, a restart.
  static let alertRule = FuzzTarget(
    "alert-rule",
    words: [
      "\"condition\":{", "\"type\":\"price\"", "\"type\":\"change\"", "\"type\":\"spread\"", "\"type\":\"depth\"",
      "\"type\":\"stale\"", "\"type\":\"alarm\"", "\"type\":\"countdown\"", "\"type\":\"all\"", "\"of\":[",
      "\"symbol\":\"a:B-C\"", "\"is\":\"above\"", "\"is\":\"crosses\"", "\"value\":\"1\"", "\"percent\":\"5\"",
      "\"hysteresis\":\"1\"", "\"window_min\":60", "\"for_s\":5", "\"at\":1795348800000000", "\"at\":\"07:30\"",
      "\"days\":[\"mon\"]", "\"expires\":1795348900000000", "\"frequency\":{\"every_s\":60}", "\"hours\":{", "-", "e5",
    ]
  ) { (bytes) throws(FuzzFailure) in
    let rule: AlertRule
    do throws(AlertRuleError) {
      rule = try AlertRule(json: RawSpan(_unsafeBytes: bytes))
    } catch {
      guard case .invalid(let field, let reason) = error else { throw FuzzFailure("refused with \(error)") }
      return try require(!field.isEmpty && !reason.isEmpty, "refused without words")
    }
    let text = rule.json
    let again: AlertRule
    do throws(AlertRuleError) {
      again = try AlertRule(json: Array(text.utf8).span.bytes)
    } catch {
      throw FuzzFailure("its own text is refused: \(text): \(error)")
    }
    try requireSame(again.json, text, "read again it is another rule")
    var life = RuleLife()
    do throws(AlertRuleError) { try life.live(rule) } catch {
      guard case .unknownTimeZone = error else { throw FuzzFailure("the engine refuses it: \(error)") }
    }
    try require(life.firings < 10_000, "it fires \(life.firings) times in two hours")
  }

  /// Transactions (`{`), holdings (`h[`) and positions (`p[`), a line each: read, summed and valued.
  static let portfolio = FuzzTarget(
    "portfolio",
    words: [
      "\"kind\":\"buy\"", "\"kind\":\"sell\"", "\"kind\":\"deposit\"", "\"kind\":\"fee\"", "\"asset\":\"BTC\"",
      "\"quantity\":\"1\"", "\"price\":\"2\"", "\"fee\":\"0.1\"", "\"time\":5", "\"cost\":\"3\"", "\nh[{", "\np[{",
      "\n{",
      "\"symbol\":\"a:B-C\"", "\"side\":\"long\"", "\"size\":\"1\"", "\"leverage\":\"10\"", "\"entry\":\"7\"", "e5",
    ]
  ) { (bytes) throws(FuzzFailure) in
    let now = Timestamp(microseconds: 1_795_348_800_000_000)
    for method in CostMethod.allCases {
      var contents = PortfolioContents(currency: "EUR")
      var ledger = PortfolioLedger(currency: "EUR", method: method)
      for line in bytes.lines.prefix(200) {
        let rest = Array(line.dropFirst())
        do throws(PortfolioFormError) {
          switch line.first {
          case UInt8(ascii: "h"): contents.holdings = try PortfolioForm.holdings(rest.span.bytes)
          case UInt8(ascii: "p"):
            contents.positions = try PortfolioForm.positions(rest.span.bytes)
            var out = ByteBuffer()
            contents.positions.append(to: &out)
            let again = try PortfolioForm.positions(out.bytes)
            try Self.requirePositions(again, contents.positions)
          default:
            let transaction = try PortfolioForm.transaction(line.span.bytes, now: now)
            // An error leaves the ledger as it was.
            try? ledger.apply(transaction)
          }
        } catch {
          guard !error.field.isEmpty, !error.reason.isEmpty else { throw FuzzFailure("refused without words") }
        }
      }
      for asset in ledger.assets {
        try require(!asset.quantity.isBelowZero, "less than nothing is left of \(asset.asset)")
        try require(!asset.quantity.text.isEmpty && !asset.cost.text.isEmpty, "sums without text")
      }
      var prices = PortfolioPrices([])
      let priced = PricedPortfolio(contents, ledger: ledger, in: "USD", at: &prices)
      try require(priced.symbols.isEmpty, "a market is used where there is none")
    }
  }

  private static func requirePositions(
    _ a: [PortfolioContents.Position], _ b: [PortfolioContents.Position]
  ) throws(PortfolioFormError) {
    if a != b { throw PortfolioFormError("", "") }
  }

  /// A schema on the first line, and documents on the others.
  static let topic = FuzzTarget(
    "topic",
    words: [
      "\"type\":\"object\"", "\"type\":\"number\"", "\"properties\":{", "\"required\":[", "\"items\":{", "\"enum\":[",
      "\"minimum\":", "\"maximum\":", "\"minLength\":1", "\"maxItems\":2", "\"additionalProperties\":false", "\n{",
      "true",
      "null", "1e308", "-0", "[]",
    ]
  ) { (bytes) throws(FuzzFailure) in
    let lines = bytes.lines
    guard let first = lines.first else { return }
    let schema: TopicSchema
    do throws(TopicSchemaError) {
      schema = try TopicSchema(first)
    } catch {
      return try require(!error.message.isEmpty, "a schema is refused without words")
    }
    for line in lines.dropFirst().prefix(50) {
      func verdict() -> TopicSchemaError? {
        do throws(TopicSchemaError) {
          try schema.check(line)
          return nil
        } catch {
          return error
        }
      }
      let found = verdict()
      try requireSame(verdict(), found, "a document is judged in two ways")
      try require(found?.message.isEmpty != true, "a document is refused without words")
    }
  }

  /// A deck's file, and its cards over two years.
  static let deck = FuzzTarget(
    "deck",
    words: [
      "\"cards\":[{", "\"quote\":\"Q\"", "\"action\":\"A\"", "\"minutes\":10", "\"domain\":\"health\"",
      "\"source\":\"S\"",
      "\"since\":\"2026-11-23\"", "\"starts\":\"2026-01-01\"", "\"title\":\"T\"", "0000-01-01", "9999-12-31", "},{",
    ]
  ) { (bytes) throws(FuzzFailure) in
    let deck: Deck
    do throws(DeckProblems) {
      deck = try Deck.read(Array(bytes), name: "d")
    } catch {
      return try require(
        !error.problems.isEmpty && error.problems.allSatisfy { !$0.message.isEmpty }, "refused without words")
    }
    for day in [0, 20_780, 20_781, 20_800, 21_500, 2_932_896] as [Int64] {
      let today = DeckDay(deck, zone: "UTC", .utc, now: Timestamp(microseconds: day * Microseconds.day + 5))
      try require(deck.cards.indices.contains(today.index), "a day without a card")
      try require(today.day.begins <= today.day.ends, "a day that ends before it begins")
      var out = ByteBuffer()
      today.append(to: &out)
      for size in DeckPicture.Size.allCases {
        try require(!DeckPicture(today, size: size, contrast: .normal).svg().isEmpty, "a card without a picture")
      }
    }
  }
}

/// Two hours of a rule among prices at both ends of their range.
private struct RuleLife {
  private let owner = AlertOwner(rawValue: 1)
  private var now = AlertMoment(steady: 1_000_000_000, wall: Timestamp(microseconds: 1_795_348_800_000_000))
  private(set) var firings = 0

  mutating func live(_ rule: AlertRule) throws(AlertRuleError) {
    let engine = AlertEngine(at: now)
    let id = try engine.insert(rule, owner: owner, at: now)
    pass(engine)
    let progress = try engine.progress(of: id)
    guard let read = try? AlertProgress(json: Array(progress.json.utf8).span.bytes) else {
      throw .invalid(field: "progress", reason: progress.json)
    }
    let next = AlertEngine(at: now)
    try next.restore(rule, id, owner: owner, read, at: now)
    next.finishRestoring()
    pass(next)
  }

  private mutating func pass(_ engine: AlertEngine) {
    let market = engine.source("a:B-C")
    engine.describe(market, priceScale: 2, sizeScale: 8)
    engine.setFeed(market, isLive: true, at: now)
    engine.setBook(market, isLive: true, at: now)
    for (step, value) in ([1, .max, 100, 7_000_000, .max, 1] as [Int64]).enumerated() {
      engine.price(market, value, at: now)
      engine.quote(market, bid: 1, ask: value, at: now)
      for depth in engine.depths(of: market) {
        engine.depth(market, depth.side, basisPoints: depth.basisPoints, size: value, at: now)
      }
      now.steady += Int64(step + 1) * 180_000_000
      now.wall = now.wall + Int64(step + 1) * 180_000_000
      engine.advance(to: now)
      if step == 2 { engine.describe(market, priceScale: 18, sizeScale: 18) }
    }
    firings += engine.takeOutput().firings.count
  }
}
