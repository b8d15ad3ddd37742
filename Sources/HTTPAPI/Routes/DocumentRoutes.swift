import Decks
import Documents
import PubSub

extension Route {
  private static let currency = Parameter("currency", .text("an asset: EUR"))
  private static let zone = Parameter("zone", .text("a name of the IANA database: Europe/Berlin"))

  /// The routes of decks, of topics, and of what owners keep. Those of longer paths come before shorter ones that would
  /// match them, too.
  static let documents: [Route] = [
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
