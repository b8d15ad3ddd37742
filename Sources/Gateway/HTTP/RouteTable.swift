import Decks
import Documents
import MarketData
import PubSub

extension Route {
  /// The routes of the client port. Those of longer paths come before shorter ones that would match them, too.
  ///
  /// To add one, add its value here, its handler, and a section to `HTTPAPI.md`; `AddingARoute.md` shows the steps.
  static let all: [Route] = markets + documents

  static let stream = Route(
    "stream", "/v1/stream", .gateway, "The stream: a WebSocket with the subprotocol tidegate.v1.json", access: .open,
    statuses: [426], get: Reading(.upgrade, GatewayAnswer.stream, isTagged: false))

  static let events = Route(
    "events", "/v1/events", .gateway, "The stream as server-sent events",
    parameters: [
      Parameter("streams", .text("channel:symbol,…;field=value"), repeats: true, isNeeded: true),
      Parameter("heartbeat_s", .number(1...60)),
    ],
    statuses: [], get: Reading(.events, GatewayAnswer.eventsHead, isTagged: false))

  private static let range = Parameter("range", .oneOf(ChartRange.allCases.map(\.name)))
  private static let currency = Parameter("currency", .text("an asset: EUR"))
  private static let zone = Parameter("zone", .text("a name of the IANA database: Europe/Berlin"))
  /// 10^16 µs are the year 2286.
  private static let time = Form.ordinal("microseconds since 1970", upTo: 10_000_000_000_000_000)

  // MARK: The gateway and its markets

  private static let markets: [Route] = [
    Route(
      "welcome", "/", .gateway, "What the gateway serves, in plain text; the console for browsers", access: .open,
      statuses: [], get: Reading(.text, GatewayAnswer.welcome, isTagged: false)),
    Route(
      "openapi", "/openapi.json", .gateway, "This document", access: .open, statuses: [], freshness: "max-age=3600",
      get: Reading(.json(nil), GatewayAnswer.openAPI)),
    Route(
      "asyncapi", "/asyncapi.json", .gateway, "The stream as AsyncAPI", access: .open, statuses: [],
      freshness: "max-age=3600", get: Reading(.json(nil), GatewayAnswer.asyncAPI)),
    stream,
    events,
    Route(
      "instruments", "/v1/instruments", .market, "The instruments that are followed",
      parameters: [
        Parameter("venue", .text("a venue's name")),
        Parameter("q", .text("a part of a symbol or of an asset's name")),
      ],
      statuses: [404], freshness: "max-age=5",
      get: Reading(.json("InstrumentsAnswer"), InstrumentListAnswer.list)),
    Route(
      "assets", "/v1/assets", .market, "The names of assets, in pages",
      parameters: [
        Parameter("q", .text("a part of a code or a name")),
        Parameter("after", .text("a code")),
        Parameter("limit", .number(1...AssetsAnswer.pageLimit)),
      ],
      statuses: [], freshness: "max-age=300", get: Reading(.json("AssetsAnswer"), AssetsAnswer.page)),
    Route(
      "status", "/v1/status", .gateway, "State and age of every feed", channels: [.status], statuses: [],
      get: Reading(.json("StatusAnswer"), GatewayAnswer.status, isTagged: false)),
    Route(
      "snapshot", "/v1/snapshot", .market, "Ticker, pulse and sparkline of symbols",
      channels: [.ticker, .pulse, .sparkline], partsOf: "a snapshot",
      parameters: [
        Parameter("symbols", .text("symbols between commas"), repeats: true, isNeeded: true),
        Parameter("points", .number(2...1440)),
      ],
      statuses: [], get: Reading(.json("SnapshotAnswer"), SymbolAnswer.snapshot)),
    Route(
      "ticker", "/v1/tickers/{symbol}", .market, "The 24 h figures", channels: [.ticker],
      get: Reading(.json("TickerAnswer"), SymbolAnswer.ticker)),
    Route(
      "quote", "/v1/quotes/{symbol}", .market, "Best bid and ask of a market or of all venues together",
      channels: [.quote, .ticker], partsOf: "a quote",
      parameters: [Parameter("depth", .number(1...QuoteAnswer.depthLimit))],
      get: Reading(.json("QuoteAnswer"), ComparisonAnswer.quote)),
    Route(
      "trades", "/v1/trades/{symbol}", .market, "The last trades", channels: [.trades],
      parameters: [Parameter("limit", .number(1...50))],
      get: Reading(.json("TradesAnswer"), SymbolAnswer.trades)),
    Route(
      "linePicture", "/v1/sparklines/{symbol}.svg", .market, "The line as a picture",
      channels: [.ticker, .sparkline], partsOf: "a picture",
      parameters: [
        range,
        Parameter("points", .number(2...500)),
        Parameter("width", .number(16...2000)),
        Parameter("height", .number(16...1000)),
      ],
      freshness: "max-age=10", get: Reading(.picture, PictureAnswer.line)),
    Route(
      "sparkline", "/v1/sparklines/{symbol}", .market, "The last price of each slice of a range",
      channels: [.sparkline], parameters: [range, Parameter("points", .number(2...1440))], freshness: "max-age=10",
      get: Reading(.json("SparklineAnswer"), SymbolAnswer.sparkline)),
    Route(
      "candles", "/v1/candles/{symbol}", .market, "Candles from memory and history, in pages", channels: [.candles],
      parameters: [
        Parameter("interval", .oneOf(CandleInterval.allCases.map(\.name))),
        Parameter("from", time),
        Parameter("to", time),
        Parameter("limit", .number(1...1440)),
      ],
      get: Reading(.json("CandlesAnswer"), CandlesAnswer.page)),
    Route(
      "rates", "/v1/rates", .market, "What an asset is worth in another", channels: [.quote],
      parameters: [
        Parameter("base", .text("an asset: ZEC"), isNeeded: true),
        Parameter("quote", .text("an asset: USD"), isNeeded: true),
      ],
      statuses: [404, 503], get: Reading(.json("RateAnswer"), ComparisonAnswer.rate)),
    Route(
      "book", "/v1/books/{symbol}", .market, "The order book", channels: [.book],
      parameters: [Parameter("depth", .numberOr(1...5000, "full")), Parameter("venues", .flag)],
      get: Reading(.json("BookAnswer"), SymbolAnswer.book)),
    Route(
      "card", "/v1/cards/price/{symbol}.svg", .market, "A card for a home screen",
      channels: [.ticker, .sparkline], partsOf: "a picture",
      parameters: [Parameter("size", .oneOf(PriceCard.Size.allCases.map(\.rawValue))), range],
      freshness: "max-age=10", get: Reading(.picture, PictureAnswer.card)),
  ]

  // MARK: Decks, topics, and what owners keep

  private static let documents: [Route] = [
    Route(
      "deckCard", "/v1/cards/deck/{name}.svg", .decks, "The card of the day as a picture", channels: [.deck],
      parameters: [
        zone,
        Parameter("size", .oneOf(DeckPicture.Size.allCases.map(\.rawValue))),
        Parameter("contrast", .oneOf(DeckPicture.Contrast.allCases.map(\.rawValue))),
      ],
      // A picture is laid out several times to find what fits.
      statuses: [404], get: Reading(.picture, DeckAnswer.picture, cost: 256)),
    Route(
      "decks", "/v1/decks", .decks, "The decks of cards", channels: [.deck], statuses: [],
      get: Reading(.json("DecksAnswer"), DeckAnswer.list)),
    Route(
      "deck", "/v1/decks/{name}", .decks, "The card of the day in a time zone", channels: [.deck],
      parameters: [zone], statuses: [404], get: Reading(.json("DeckAnswer"), DeckAnswer.card)),
    Route(
      "topics", "/v1/topics", .topics, "The topics, or those of an instrument",
      parameters: [Parameter("symbol", .text("a symbol: kraken:ZEC-USD"))], statuses: [],
      get: Reading(.json("TopicsAnswer"), TopicAnswer.list, isTagged: false)),
    Route(
      "topic", "/v1/topics/{name}", .topics, "Documents that the operator publishes",
      parameters: [
        Parameter("after", .ordinal("the number of a document")),
        Parameter("limit", .number(1...PublishedTopics.pageLimit)),
      ],
      statuses: [404, 422], get: Reading(.json("TopicAnswer"), TopicAnswer.page),
      // `TopicPace` bounds what a token publishes.
      changes: [
        Change("POST", TopicAnswer.publish, body: "Document", answers: [(201, "Published")], cost: 0)
      ]),
    Route(
      "alerts", "/v1/alerts", .alerts, "The caller's alerts", access: .owner(of: "alerts"), channels: [.alerts],
      statuses: [404], get: Reading(.json("AlertsAnswer"), AlertAnswer.list),
      changes: [
        // A request that is repeated with its key answers 200.
        Change(
          "POST", AlertAnswer.create, body: "AlertForm", answers: [(200, "Alert"), (201, "Alert")], isTagged: true,
          takesKey: true)
      ]),
    Route(
      "alertFirings", "/v1/alerts/{id}/firings", .alerts, "The last firings of an alert",
      access: .owner(of: "alerts"), channels: [.alerts],
      get: Reading(.json("FiringsAnswer"), AlertAnswer.firings, isTagged: false)),
    Route(
      "alertAction", "/v1/alerts/{id}/{action}", .alerts,
      "Acknowledges, snoozes, pauses, resumes, disables or enables an alert", access: .owner(of: "alerts"),
      channels: [.alerts], statuses: [404, 409, 412], get: nil,
      changes: [
        Change(
          "POST", AlertAnswer.act, body: "AlertAction", needsBody: false, answers: [(200, "Alert")], isTagged: true,
          takesCondition: true)
      ]),
    Route(
      "alert", "/v1/alerts/{id}", .alerts, "One alert", access: .owner(of: "alerts"), channels: [.alerts],
      statuses: [404, 409, 412], get: Reading(.json("Alert"), AlertAnswer.read),
      changes: [
        Change(
          "PUT", AlertAnswer.replace, body: "AlertForm", answers: [(200, "Alert")], isTagged: true, takesCondition: true
        ),
        Change(
          "PATCH", AlertAnswer.change, body: "AlertChange", answers: [(200, "Alert")], isTagged: true,
          takesCondition: true),
        Change("DELETE", AlertAnswer.delete, answers: [(204, nil)], takesCondition: true),
      ]),
    Route(
      "webhooks", "/v1/webhooks", .webhooks, "The caller's webhooks", access: .owner(of: "alerts"),
      channels: [.alerts], statuses: [],
      get: Reading(.json("WebhooksAnswer"), WebhookAnswer.list, isTagged: false),
      changes: [Change("POST", WebhookAnswer.create, body: "WebhookForm", answers: [(201, "Webhook")])]),
    Route(
      "webhook", "/v1/webhooks/{id}", .webhooks, "One webhook", access: .owner(of: "alerts"), channels: [.alerts],
      get: Reading(.json("Webhook"), WebhookAnswer.read, isTagged: false),
      changes: [Change("DELETE", WebhookAnswer.delete, answers: [(204, nil)])]),
    Route(
      "portfolios", "/v1/portfolios", .portfolios, "The caller's portfolios", access: .owner(of: "portfolios"),
      channels: [.portfolio], statuses: [], get: Reading(.json("PortfoliosAnswer"), PortfolioAnswer.list),
      changes: [
        Change(
          "POST", PortfolioAnswer.create, body: "PortfolioForm", answers: [(200, "Portfolio"), (201, "Portfolio")],
          isTagged: true, takesKey: true)
      ]),
    Route(
      "portfolioTransaction", "/v1/portfolios/{id}/transactions/{number}", .portfolios, "One transaction",
      access: .owner(of: "portfolios"), channels: [.portfolio], statuses: [412, 422],
      get: Reading(.json("Transaction"), PortfolioAnswer.transaction),
      changes: [
        Change(
          "PUT", PortfolioAnswer.replaceTransaction, body: "TransactionForm", answers: [(200, "Transaction")],
          isTagged: true, takesCondition: true),
        // A deleted transaction leaves a portfolio, whose tag it is.
        Change(
          "DELETE", PortfolioAnswer.removeTransaction, answers: [(204, nil)], isTagged: true, takesCondition: true),
      ]),
    Route(
      "portfolioTransactions", "/v1/portfolios/{id}/transactions", .portfolios, "Its transactions, in pages",
      access: .owner(of: "portfolios"), channels: [.portfolio],
      parameters: [
        Parameter("after", .ordinal("the number of a transaction")),
        Parameter("limit", .number(1...PortfolioAnswer.pageLimit)),
      ],
      statuses: [409, 412, 422],
      get: Reading(.json("TransactionsAnswer"), PortfolioAnswer.transactions),
      changes: [
        Change(
          "POST", PortfolioAnswer.addTransaction, body: "TransactionForm",
          answers: [(200, "Transaction"), (201, "Transaction")], isTagged: true, takesKey: true, takesCondition: true)
      ]),
    Route(
      "portfolioValue", "/v1/portfolios/{id}/value", .portfolios, "What it is worth now",
      access: .owner(of: "portfolios"), channels: [.portfolio], parameters: [currency],
      get: Reading(.json("PortfolioValue"), PortfolioAnswer.value, isTagged: false)),
    Route(
      "portfolioCurve", "/v1/portfolios/{id}/curve", .portfolios, "What it was worth over a range",
      access: .owner(of: "portfolios"), channels: [.portfolio], parameters: [range, currency],
      get: Reading(.json("PortfolioCurve"), PortfolioAnswer.curve, isTagged: false)),
    Route(
      "portfolio", "/v1/portfolios/{id}", .portfolios, "One portfolio and what is in it",
      access: .owner(of: "portfolios"), channels: [.portfolio], statuses: [409, 412, 422],
      get: Reading(.json("Portfolio"), PortfolioAnswer.read),
      changes: [
        Change(
          "PUT", PortfolioAnswer.replace, body: "PortfolioForm", answers: [(200, "Portfolio")], isTagged: true,
          takesCondition: true),
        Change(
          "PATCH", PortfolioAnswer.change, body: "PortfolioChange", answers: [(200, "Portfolio")], isTagged: true,
          takesCondition: true),
        Change("DELETE", PortfolioAnswer.delete, answers: [(204, nil)], takesCondition: true),
      ]),
  ]
}
