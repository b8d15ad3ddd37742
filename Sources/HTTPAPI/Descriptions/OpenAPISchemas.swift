import Decks
import MarketData
import PubSub

/// The named schemas of the OpenAPI document: what the bodies of requests and the answers consist of. A test compares
/// them with the answers of a running gateway, member by member.
enum OpenAPISchemas {
  static let all: [JSONSchema.Object] = [market, lists, alerts, portfolios, others].flatMap { $0 }

  /// Choices by name, so that a generated client has one type for each, wherever it occurs.
  static let choices: [(name: String, words: [String])] = [
    ("FeedState", FeedState.allCases.map(\.rawValue)),
    ("FeedIndicator", ["connected", "reconnecting", "disconnected"]),
    // Of an instrument's book, or of its feed if that is not connected.
    ("BookState", FeedState.allCases.map(\.rawValue) + ["absent"]),
    // Of a market's feed; `single` is a composite of one venue.
    ("MarketState", FeedState.allCases.map(\.rawValue) + ["single"]),
    // Of a channel that died alone.
    ("ChannelState", ["live", "syncing"]),
    ("QuoteState", ["live", "single"]), ("RateState", ["live"]),
    ("InstrumentKind", ["perpetual", "future"]),
    ("TickerSource", ["venue", "gateway", "mixed"]), ("CandleSource", ["own", "venue", "partial"]),
    ("ChartRange", ChartRange.allCases.map(\.name)), ("CandleInterval", CandleInterval.allCases.map(\.name)),
    ("Direction", ["up", "down"]), ("Trend", ["up", "down", "flat"]), ("TradeSide", ["buy", "sell"]),
    ("Weekday", ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]),
    ("AlertState", ["scheduled", "running", "paused", "alerting", "disabled"]),
    (
      "AlertKind",
      [
        "price", "change", "spread", "depth", "funding", "open_interest", "liquidations", "stale", "alarm", "countdown",
        "all", "any",
      ]
    ),
    ("AlertComparison", ["above", "below", "crosses_up", "crosses_down", "crosses"]),
    ("AlertBookSide", ["bids", "asks"]), ("AlertPart", ["feed", "book"]), ("AlertFrequency", ["once", "daily"]),
    ("CostMethod", ["average", "fifo"]), ("PositionSide", ["long", "short"]),
    ("TransactionKind", ["buy", "sell", "deposit", "withdrawal", "fee"]),
    ("PriceState", ["live", "stale", "missing"]),
    ("DeckDomain", DeckDomain.allCases.map(\.rawValue)),
    ("CardSize", PriceCard.Size.allCases.map(\.rawValue)), ("Contrast", DeckPicture.Contrast.allCases.map(\.rawValue)),
    ("FullDepth", ["full"]), ("ErrorType", ["error"]),
  ]

  /// The choice of these words: by its name if it has one.
  static func choice(_ words: [String]) -> JSONSchema {
    choices.first { $0.words == words }.map { .reference($0.name) } ?? .choice(words)
  }

  private static let ranges = JSONSchema.reference("ChartRange")
  static let shortCount = JSONSchema.integer(0...Int64(Int32.max))

  /// Members of every answer about one symbol.
  static let source: [JSONSchema.Member] = [("simulated", .flag), ("replayed", .flag)]
  /// Members of composite markets: the venues that take part, and those that do not.
  static let composite: [JSONSchema.Member] = [
    ("venues", .list(.text)), ("absent", .list(.reference("AbsentVenue"))),
  ]
  private static let state: [JSONSchema.Member] = [
    ("simulated", .flag), ("replayed", .flag), ("since", .time), ("last_message", .time), ("failed", .text),
  ]
  private static let feedState = JSONSchema.reference("FeedState")
  private static let marketState = JSONSchema.reference("MarketState")
  private static let head: [JSONSchema.Member] = [("symbol", .text), ("state", marketState)]

  // MARK: Market data

  static let tickerMembers: [JSONSchema.Member] = [
    ("last", .decimal), ("bid", .decimal), ("ask", .decimal), ("open_24h", .decimal), ("high_24h", .decimal),
    ("low_24h", .decimal), ("volume_24h", .decimal), ("quote_volume_24h", .decimal), ("vwap_24h", .decimal),
    ("change_24h", .decimal), ("change_pct_24h", .decimal), ("trades_24h", .count), ("own", .list(.text)),
    ("covered_from", .time),
  ]
  static let derivativeMembers: [JSONSchema.Member] = [
    ("mark", .decimal), ("index", .decimal), ("funding_rate", .decimal), ("funding_interval_s", .count),
    ("next_funding", .time), ("predicted_rate", .decimal), ("continuous", .flag), ("open_interest", .decimal),
    ("open_interest_quote", .decimal), ("polled", .list(.text)), ("computed", .list(.text)),
  ]
  static let lineMembers: [JSONSchema.Member] = [
    ("range", ranges), ("from", .time), ("step_s", .count), ("points", .list(.decimal)),
    ("gaps", .list(.reference("Gap"))),
  ]
  static let lineOptions: [JSONSchema.Member] = [
    ("open", .decimal), ("trend", .reference("Trend")), ("change", .decimal), ("change_pct", .decimal),
    ("covered_from", .time),
  ]
  static let pulseMembers: [JSONSchema.Member] = [("price", .decimal), ("merged", .count), ("time", .time)]
  static let pulseOptions: [JSONSchema.Member] = [
    ("direction", .reference("Direction")), ("previous", .decimal), ("change_pct", .decimal),
    ("change_pct_24h", .decimal),
  ]
  /// Of data whose channel may have died alone.
  static let liveness: [JSONSchema.Member] = [("state", .reference("ChannelState")), ("reason", .text)]

  private static let market: [JSONSchema.Object] = [
    .init("Gap", [("from", .time), ("to", .time)]),
    .init(
      "Ticker", [("source", .reference("TickerSource")), ("time", .time)], optional: tickerMembers,
      optionalOf: [liveness]),
    .init(
      "DerivativeTimes", [],
      optional: [
        ("mark", .time), ("index", .time), ("funding_rate", .time), ("funding_interval_s", .time),
        ("next_funding", .time), ("predicted_rate", .time), ("open_interest", .time), ("open_interest_quote", .time),
      ]),
    .init("Derivative", [("as_of", .reference("DerivativeTimes"))], optional: derivativeMembers),
    .init("FundingSettlement", [("time", .time), ("rate", .decimal)]),
    .init("FundingAnswer", of: [head], [("funding", .list(.reference("FundingSettlement")))], optionalOf: [state]),
    .init("DerivativeAnswer", of: [head], [("derivative", .reference("Derivative"))], optionalOf: [state]),
    .init("Pulse", of: [pulseMembers], optionalOf: [pulseOptions, liveness]),
    .init("Sparkline", of: [lineMembers], optionalOf: [lineOptions]),
    .init(
      "Trade",
      [
        ("id", .text), ("price", .decimal), ("size", .decimal), ("side", .reference("TradeSide")), ("time", .time),
      ], optional: [("gap", .flag), ("renumbered", .flag), ("late", .flag)]),
    .init(
      "Candle",
      [
        ("time", .time), ("open", .decimal), ("high", .decimal), ("low", .decimal), ("close", .decimal),
        ("closed", .flag), ("rev", .count), ("source", .reference("CandleSource")),
      ], optional: [("volume", .decimal), ("quote_volume", .decimal), ("trades", .count)]),
    .init("TickerAnswer", of: [head], [("ticker", .reference("Ticker"))], optionalOf: [state]),
    .init(
      "TradesAnswer", of: [head], [("trades", .list(.reference("Trade")))], optional: [("next", .time)],
      optionalOf: [state]),
    .init("SparklineAnswer", of: [head, lineMembers], optionalOf: [lineOptions, state]),
    .init(
      "CandlesAnswer",
      of: [head],
      [
        ("interval", .reference("CandleInterval")), ("candles", .list(.reference("Candle"))),
        ("gaps", .list(.reference("Gap"))),
      ], optional: [("next", .time)], optionalOf: [state]),
    .init(
      "BookAnswer",
      of: [head],
      [("bids", .list(.reference("Level"))), ("asks", .list(.reference("Level"))), ("time", .time)],
      optional: [("spread", .decimal), ("spread_pct", .decimal), ("at", .time)], optionalOf: [composite, state]),
    .init(
      "QuoteAnswer", [("symbol", .text), ("state", .reference("QuoteState"))],
      optional: [
        ("bid", .decimal), ("bid_size", .decimal), ("bid_venue", .text), ("ask", .decimal), ("ask_size", .decimal),
        ("ask_venue", .text), ("last", .decimal), ("last_venue", .text), ("last_time", .time),
        ("volume_24h", .decimal), ("quote_volume_24h", .decimal), ("vwap_24h", .decimal),
        ("bids", .list(.reference("Level"))), ("asks", .list(.reference("Level"))), ("time", .time),
      ], optionalOf: [composite, source]),
    .init("AbsentVenue", [("venue", .text), ("reason", .text)]),
    .init(
      "RateAnswer",
      [
        ("base", .text), ("quote", .text), ("rate", .decimal), ("path", .list(.text)),
        ("state", .reference("RateState")),
      ],
      optional: [("time", .time)], optionalOf: [source]),
    .init(
      "SnapshotItem", [("symbol", .text)],
      optional: [
        ("state", marketState), ("ticker", .reference("Ticker")), ("pulse", .reference("Pulse")),
        ("sparkline", .reference("Sparkline")), ("derivative", .reference("Derivative")),
        ("error", .reference("ItemError")),
      ], optionalOf: [state]),
    .init(
      "ItemError", [("code", .text), ("message", .text)], optional: [("hint", .text), ("retry_after_ms", .count)]),
    .init("SnapshotAnswer", [("snapshots", .list(.reference("SnapshotItem")))]),
  ]

  // MARK: Lists

  private static let lists: [JSONSchema.Object] = [
    .init(
      "Instrument",
      [
        ("symbol", .text), ("venue", .text), ("venue_symbol", .text), ("base", .text), ("quote", .text),
        ("state", .reference("BookState")),
      ],
      optional: [
        ("name", .text), ("kind", .reference("InstrumentKind")), ("expiry", .text), ("contract_size", .decimal),
        ("price_increment", .decimal), ("size_increment", .decimal),
      ], optionalOf: [source]),
    .init("InstrumentsAnswer", [("instruments", .list(.reference("Instrument")))]),
    .init(
      "Asset", [("code", .text), ("name", .text), ("venues", .list(.text))],
      optional: [("others", .list(.reference("AssetName")))]),
    .init("AssetName", [("venue", .text), ("name", .text)]),
    .init("AssetsAnswer", [("assets", .list(.reference("Asset")))], optional: [("next", .text)]),
    .init(
      "Feed",
      [
        ("venue", .text), ("state", feedState), ("indicator", .reference("FeedIndicator")),
        ("since", .time),
      ],
      optional: [
        ("attempt", .count), ("reason", .text), ("age_ms", .count), ("gap", .reference("FeedGap")),
        ("syncing", .map(.text)), ("failed", .map(.text)), ("silent", .map(.list(.text))),
      ], optionalOf: [source]),
    .init("FeedGap", [("from", .time), ("backfilled", .flag)], optional: [("to", .time)]),
    .init("StatusAnswer", [("feeds", .list(.reference("Feed")))]),
  ]

  // MARK: Alerts and webhooks

  static let firingOptions: [JSONSchema.Member] = [
    ("symbol", .text), ("value", .decimal), ("late_by_ms", .count), ("missed", shortCount), ("reminder", .flag),
  ]

  private static let alerts: [JSONSchema.Object] = [
    .init(
      "AlertCondition", [("type", .reference("AlertKind"))],
      optional: [
        ("symbol", .text), ("is", .reference("AlertComparison")),
        ("value", .decimal), ("percent", .decimal), ("hysteresis", .decimal), ("side", .reference("AlertBookSide")),
        ("within_percent", .decimal), ("window_min", .integer(1...1_440)), ("part", .reference("AlertPart")),
        ("for_s", .integer(1...Int64(UInt32.max))), ("at", .either([.text, .time])),
        ("days", .list(.reference("Weekday"))), ("of", .list(.reference("AlertCondition"), limit: 16)),
      ], isClosed: true),
    .init("AlertCooldown", [("every_s", .integer(1...Int64(UInt32.max)))], isClosed: true),
    .init(
      "AlertHours", [], optional: [("days", .list(.reference("Weekday"))), ("from", .text), ("until", .text)],
      isClosed: true),
    .init(
      "AlertRule", [("condition", .reference("AlertCondition"))],
      optional: [
        ("frequency", .either([.reference("AlertFrequency"), .reference("AlertCooldown")])),
        ("hours", .reference("AlertHours")), ("time_zone", .text), ("expires", .time),
      ], isClosed: true),
    .init("AlertForm", [("name", .text), ("rule", .reference("AlertRule"))], isClosed: true),
    .init("AlertChange", [], optional: [("name", .text), ("rule", .reference("AlertRule"))], isClosed: true),
    .init("AlertAction", [], optional: [("through", shortCount), ("for_s", .integer(1...86_400))], isClosed: true),
    .init("Firing", [("number", shortCount), ("time", .time)], optionalOf: [firingOptions]),
    .init(
      "Alert",
      [
        ("id", .text), ("name", .text), ("state", .reference("AlertState")),
        ("rule", .reference("AlertRule")), ("created", .time), ("revision", .count), ("firings", shortCount),
        ("acknowledged", shortCount),
      ], optional: [("next", .time), ("watching_from", .time), ("firing", .reference("Firing"))]),
    .init("AlertsAnswer", [("kept", .flag), ("alerts", .list(.reference("Alert"))), ("limit", .count)]),
    .init("FiringsAnswer", [("alert", .text), ("firings", .list(.reference("Firing")))]),
    .init("WebhookForm", [("url", .text)], isClosed: true),
    .init(
      "Webhook",
      [
        ("id", .text), ("url", .text), ("created", .time), ("waiting", .count),
        ("dead", .list(.reference("DeadDelivery"))),
      ], optional: [("failing", .reference("FailingDelivery")), ("secret", .text)]),
    .init("FailingDelivery", [("delivery", .text), ("attempts", .count), ("reason", .text), ("next", .time)]),
    .init(
      "DeadDelivery",
      [
        ("delivery", .text), ("alert", .text), ("number", shortCount), ("created", .time), ("attempts", .count),
        ("reason", .text),
      ]),
    .init("WebhooksAnswer", [("webhooks", .list(.reference("Webhook"))), ("limit", .count)]),
  ]

  // MARK: Portfolios

  private static let trust = JSONSchema.reference("PriceState")
  static let profit: [JSONSchema.Member] = [
    ("value", .decimal), ("day_profit", .decimal), ("day_percent", .decimal), ("cost", .decimal),
    ("unrealised", .decimal), ("realised", .decimal), ("profit", .decimal),
  ]
  static let portfolioHead: [JSONSchema.Member] = [("portfolio", .text), ("name", .text), ("revision", .count)]
  private static let summary: [JSONSchema.Member] = [
    ("id", .text), ("name", .text), ("currency", .text), ("method", .reference("CostMethod")), ("created", .time),
    ("revision", .count), ("transactions", .count),
  ]
  private static let transaction: [JSONSchema.Member] = [
    ("kind", .reference("TransactionKind")), ("asset", .text), ("quantity", .decimal),
  ]

  private static let portfolios: [JSONSchema.Object] = [
    .init(
      "Position",
      [("symbol", .text), ("side", .reference("PositionSide")), ("size", .decimal), ("entry", .decimal)],
      optional: [("leverage", .decimal), ("maintenance", .decimal)], isClosed: true),
    .init(
      "PortfolioForm", [("name", .text), ("currency", .text)],
      optional: [
        ("method", .reference("CostMethod")), ("positions", .list(.reference("Position"), limit: 50)),
      ], isClosed: true),
    .init(
      "PortfolioChange", [],
      optional: [
        ("name", .text), ("currency", .text), ("method", .reference("CostMethod")),
        ("positions", .list(.reference("Position"), limit: 50)),
      ], isClosed: true),
    .init("PortfolioSummary", of: [summary]),
    .init(
      "Holding", [("asset", .text), ("quantity", .decimal)],
      optional: [("cost", .decimal), ("realised", .decimal), ("fees", .decimal)]),
    .init(
      "Portfolio",
      of: [summary],
      [("positions", .list(.reference("Position"))), ("holdings", .list(.reference("Holding")))]),
    .init(
      "PortfoliosAnswer",
      [("kept", .flag), ("portfolios", .list(.reference("PortfolioSummary"))), ("limit", .count)]),
    .init(
      "TransactionForm", of: [transaction], optional: [("price", .decimal), ("fee", .decimal), ("time", .time)],
      isClosed: true),
    .init(
      "Transaction", of: [transaction], [("number", .count), ("time", .time)],
      optional: [("price", .decimal), ("fee", .decimal)]),
    .init(
      "TransactionsAnswer",
      [("portfolio", .text), ("revision", .count), ("transactions", .list(.reference("Transaction")))],
      optional: [("next", .count)]),
    .init(
      "HoldingValue", [("asset", .text), ("state", trust), ("quantity", .decimal)],
      optional: [("price_time", .time), ("price", .decimal), ("share_percent", .decimal)],
      optionalOf: [profit]),
    .init(
      "PositionValue",
      [
        ("symbol", .text), ("state", trust), ("side", .reference("PositionSide")), ("size", .decimal),
        ("leverage", .decimal), ("entry", .decimal),
      ],
      optional: [
        ("price_time", .time), ("mark", .decimal), ("unrealised", .decimal), ("unrealised_percent", .decimal),
        ("maintenance", .decimal), ("liquidation_price", .decimal), ("margin_percent", .decimal),
      ]),
    .init(
      "PortfolioValue",
      of: [portfolioHead],
      [
        ("currency", .text), ("state", trust), ("holdings", .list(.reference("HoldingValue"))),
        ("positions", .list(.reference("PositionValue"))),
      ], optionalOf: [profit, source]),
    .init("CurvePoint", [("time", .time), ("value", .decimal)]),
    .init(
      "PortfolioCurve",
      of: [portfolioHead],
      [
        ("currency", .text), ("range", ranges), ("step_s", .count), ("points", .list(.reference("CurvePoint"))),
      ], optional: source),
  ]

  // MARK: Topics and decks

  static let deckMembers: [JSONSchema.Member] = [
    ("deck", .text), ("zone", .text), ("state", .text), ("title", .text), ("date", .text), ("turns_at", .time),
    ("cards", .count), ("card", .reference("DeckCard")),
  ]

  private static let others: [JSONSchema.Object] = [
    .init("Topic", [("topic", .text), ("number", .count), ("time", .time)], optional: [("symbol", .text)]),
    .init("TopicsAnswer", [("topics", .list(.reference("Topic")))]),
    .init("TopicDocument", [("number", .count), ("time", .time), ("document", .document)]),
    .init(
      "TopicAnswer",
      [
        ("topic", .text), ("epoch", .text), ("number", .count), ("documents", .list(.reference("TopicDocument"))),
      ], optional: [("lost", .count)]),
    .init("Published", [("topic", .text), ("number", .count)]),
    .init("DeckSummary", [("name", .text), ("title", .text), ("cards", .count)]),
    .init("DecksAnswer", [("decks", .list(.reference("DeckSummary")))]),
    .init(
      "DeckCard",
      [
        ("number", .count), ("quote", .text), ("action", .text), ("minutes", .count),
        ("domain", .reference("DeckDomain")), ("source", .text),
      ]),
    .init("DeckAnswer", of: [deckMembers]),
  ]
}
