import Build
import Bytes
import HTTP1
import PubSub

/// `/openapi.json`: describes the client port's routes as OpenAPI 3.1, with the types of all bodies and answers, so
/// that a generated client is usable. It is made from the table that answers requests, so both name the same routes and
/// parameters.
enum OpenAPIDocument {
  /// The purpose of a route, and the answer to its `GET`.
  struct Answer {
    var summary: String
    var contentType = "application/json"
    /// The schema of a JSON answer; nil: any object.
    var schema: String?
    /// Other statuses than 200 that a valid request may get.
    var statuses: [Int] = [503]
    var isTagged = true
  }

  /// What another method than `GET` takes and answers.
  struct Change {
    /// The schema of the body; nil: none is needed.
    var body: String?
    var needsBody = true
    /// The schema of the answer, by status; nil: the answer has no body.
    var answers: [(status: Int, schema: String?)]

    /// The answers that have an `ETag`, for a later `If-Match`.
    static let tagged: Set = ["Alert", "Portfolio", "Transaction"]
  }

  /// By path. A route without an entry is described by its path and parameters alone.
  static let answers: [String: Answer] = [
    "/": Answer(
      summary: "What the gateway serves, in plain text; the console for browsers", contentType: "text/plain",
      statuses: [], isTagged: false),
    "/openapi.json": Answer(summary: "This document", statuses: []),
    "/asyncapi.json": Answer(summary: "The stream as AsyncAPI", statuses: []),
    "/v1/stream": Answer(
      summary: "The stream: a WebSocket with the subprotocol tidegate.v1.json", statuses: [426], isTagged: false),
    "/v1/events": Answer(
      summary: "The stream as server-sent events", contentType: "text/event-stream", statuses: [], isTagged: false),
    "/v1/instruments": Answer(
      summary: "The instruments that are followed", schema: "InstrumentsAnswer", statuses: [404]),
    "/v1/assets": Answer(summary: "The names of assets, in pages", schema: "AssetsAnswer", statuses: []),
    "/v1/status": Answer(
      summary: "State and age of every feed", schema: "StatusAnswer", statuses: [], isTagged: false),
    "/v1/snapshot": Answer(
      summary: "Ticker, pulse and sparkline of symbols", schema: "SnapshotAnswer", statuses: []),
    "/v1/tickers/{symbol}": Answer(summary: "The 24 h figures", schema: "TickerAnswer"),
    "/v1/quotes/{symbol}": Answer(
      summary: "Best bid and ask of a market or of all venues together", schema: "QuoteAnswer"),
    "/v1/trades/{symbol}": Answer(summary: "The last trades", schema: "TradesAnswer"),
    "/v1/sparklines/{symbol}": Answer(
      summary: "The last price of each slice of a range", schema: "SparklineAnswer"),
    "/v1/sparklines/{symbol}.svg": Answer(summary: "The line as a picture", contentType: "image/svg+xml"),
    "/v1/candles/{symbol}": Answer(summary: "Candles from memory and history, in pages", schema: "CandlesAnswer"),
    "/v1/rates": Answer(summary: "What an asset is worth in another", schema: "RateAnswer", statuses: [404, 503]),
    "/v1/books/{symbol}": Answer(summary: "The order book", schema: "BookAnswer"),
    "/v1/cards/price/{symbol}.svg": Answer(summary: "A card for a home screen", contentType: "image/svg+xml"),
    "/v1/alerts": Answer(
      summary: "The caller's alerts", schema: "AlertsAnswer", statuses: [404]),
    "/v1/alerts/{id}/firings": Answer(
      summary: "The last firings of an alert", schema: "FiringsAnswer", isTagged: false),
    "/v1/alerts/{id}/{action}": Answer(
      summary: "Acknowledges, snoozes, pauses, resumes, disables or enables an alert", statuses: [404, 409, 412],
      isTagged: false),
    "/v1/alerts/{id}": Answer(summary: "One alert", schema: "Alert", statuses: [404, 409, 412]),
    "/v1/webhooks": Answer(
      summary: "The caller's webhooks", schema: "WebhooksAnswer", statuses: [], isTagged: false),
    "/v1/webhooks/{id}": Answer(summary: "One webhook", schema: "Webhook", isTagged: false),
    "/v1/portfolios": Answer(summary: "The caller's portfolios", schema: "PortfoliosAnswer", statuses: []),
    "/v1/portfolios/{id}": Answer(
      summary: "One portfolio and what is in it", schema: "Portfolio", statuses: [409, 412, 422]),
    "/v1/portfolios/{id}/transactions": Answer(
      summary: "Its transactions, in pages", schema: "TransactionsAnswer", statuses: [409, 412, 422]),
    "/v1/portfolios/{id}/transactions/{number}": Answer(
      summary: "One transaction", schema: "Transaction", statuses: [412, 422]),
    "/v1/portfolios/{id}/value": Answer(summary: "What it is worth now", schema: "PortfolioValue", isTagged: false),
    "/v1/portfolios/{id}/curve": Answer(
      summary: "What it was worth over a range", schema: "PortfolioCurve", isTagged: false),
    "/v1/decks": Answer(summary: "The decks of cards", schema: "DecksAnswer", statuses: []),
    "/v1/decks/{name}": Answer(
      summary: "The card of the day in a time zone", schema: "DeckAnswer", statuses: [404]),
    "/v1/cards/deck/{name}.svg": Answer(
      summary: "The card of the day as a picture", contentType: "image/svg+xml", statuses: [404]),
    "/v1/topics": Answer(
      summary: "The topics, or those of an instrument", schema: "TopicsAnswer", statuses: [], isTagged: false),
    "/v1/topics/{name}": Answer(
      summary: "Documents that the operator publishes", schema: "TopicAnswer", statuses: [404, 422]),
  ]

  /// By method and path.
  static let changes: [String: Change] = [
    // A request that is repeated with its key answers 200.
    "POST /v1/alerts": Change(body: "AlertForm", answers: [(200, "Alert"), (201, "Alert")]),
    "PUT /v1/alerts/{id}": Change(body: "AlertForm", answers: [(200, "Alert")]),
    "PATCH /v1/alerts/{id}": Change(body: "AlertChange", answers: [(200, "Alert")]),
    "DELETE /v1/alerts/{id}": Change(answers: [(204, nil)]),
    "POST /v1/alerts/{id}/{action}": Change(body: "AlertAction", needsBody: false, answers: [(200, "Alert")]),
    "POST /v1/webhooks": Change(body: "WebhookForm", answers: [(201, "Webhook")]),
    "DELETE /v1/webhooks/{id}": Change(answers: [(204, nil)]),
    "POST /v1/portfolios": Change(body: "PortfolioForm", answers: [(200, "Portfolio"), (201, "Portfolio")]),
    "PUT /v1/portfolios/{id}": Change(body: "PortfolioForm", answers: [(200, "Portfolio")]),
    "PATCH /v1/portfolios/{id}": Change(body: "PortfolioChange", answers: [(200, "Portfolio")]),
    "DELETE /v1/portfolios/{id}": Change(answers: [(204, nil)]),
    "POST /v1/portfolios/{id}/transactions": Change(
      body: "TransactionForm", answers: [(200, "Transaction"), (201, "Transaction")]),
    "PUT /v1/portfolios/{id}/transactions/{number}": Change(
      body: "TransactionForm", answers: [(200, "Transaction")]),
    "DELETE /v1/portfolios/{id}/transactions/{number}": Change(answers: [(204, nil)]),
    "POST /v1/topics/{name}": Change(body: "Document", answers: [(201, "Published")]),
  ]

  /// The statuses that may refuse any request.
  private static let refusals = [400, 401, 403, 429, 503]

  /// The document, and its entity tag; the same for the life of the process.
  static let body: (bytes: [UInt8], tag: String) = {
    let bytes = make(Route.allCases)
    var tag = ContentTag(run: "openapi")
    tag.add(bytes)
    return (bytes, EntityTag.text(tag))
  }()

  static func make(_ routes: [Route]) -> [UInt8] {
    var writer = JSONObjectWriter(capacity: 65_536)
    writer.object { writer in
      writer.field("openapi", "3.1.0")
      writer.object("info") { writer in
        writer.field("title", "Tidegate")
        writer.field("version", TidegateVersion.current)
        writer.field(
          "description", "Market data. Prices and sizes are decimal strings, times are microseconds UTC.")
      }
      writer.array("security") { writer in
        writer.object { _ in }
        writer.object { writer in writer.field("bearer", [String]()) }
      }
      writer.object("paths") { writer in
        for route in routes {
          writer.object(route.path) { writer in
            for method in route.methods {
              writer.object(method.lowercased()) { writer in write(route, method, to: &writer) }
            }
          }
        }
      }
      writer.object("components") { writer in
        writer.object("securitySchemes") { writer in
          writer.object("bearer") { writer in
            writer.field("type", "http")
            writer.field("scheme", "bearer")
          }
        }
        writer.object("schemas") { writer in writeSchemas(to: &writer) }
      }
    }
    return writer.takeBytes() + [UInt8(ascii: "\n")]
  }

  private static func writeSchemas(to writer: inout JSONObjectWriter) {
    JSONSchema.writeShared(choices: Set(OpenAPISchemas.choices.map(\.name)), to: &writer)
    JSONSchema.document.write("Document", to: &writer)
    error.write(to: &writer)
    for object in OpenAPISchemas.all { object.write(to: &writer) }
  }

  private static let error = JSONSchema.Object(
    "Error",
    [("type", .reference("ErrorType")), ("code", .text), ("message", .text), ("impact", .text), ("retry", .flag)],
    optional: [("hint", .text), ("retry_after_ms", .count)])

  // MARK: Operations

  private static func write(_ route: Route, _ method: String, to writer: inout JSONObjectWriter) {
    let isReading = method == "HEAD" || method == "GET"
    let answer = answers[route.path] ?? Answer(summary: route.path)
    let change = changes["\(method) \(route.path)"]
    writer.field("operationId", method.lowercased() + "\(route)".prefix(1).uppercased() + "\(route)".dropFirst())
    writer.field("tags", [tag(of: route)])
    writer.field("summary", answer.summary)
    writer.array("parameters") { writer in
      writeParameters(of: route, isReading: isReading, to: &writer)
      if isReading, answer.isTagged {
        writeHeader("If-None-Match", "The ETag of the answer that you have", to: &writer)
      }
      if route.takesKey(method) {
        writeHeader("Idempotency-Key", "The same for each repetition of a request, which is done once", to: &writer)
      }
      if route.takesCondition(method) {
        writeHeader("If-Match", "The ETag of what is changed: only if it has not changed since", to: &writer)
      }
    }
    if let body = change?.body {
      writer.object("requestBody") { writer in
        writer.field("required", change?.needsBody ?? true)
        writeContent("application/json", body, to: &writer)
      }
    }
    writer.object("responses") { writer in
      if let change {
        for (status, schema) in change.answers {
          writer.object("\(status)") { writer in
            writer.field("description", "Done")
            // A deleted transaction leaves a portfolio, whose tag it is.
            if schema.map(Change.tagged.contains) ?? (route == .portfolioTransaction) { writeTag(to: &writer) }
            if let schema { writeContent("application/json", schema, to: &writer) }
          }
        }
      } else if route == .stream {
        writer.object("101") { writer in writer.field("description", "The WebSocket begins") }
      } else {
        writer.object("200") { writer in
          writer.field("description", answer.summary)
          if answer.isTagged { writeTag(to: &writer) }
          if method != "HEAD" { writeContent(answer.contentType, answer.schema, to: &writer) }
        }
      }
      if isReading, answer.isTagged {
        writer.object("304") { writer in writer.field("description", "Nothing has changed") }
      }
      writeRefusals(of: route, answer, method, to: &writer)
    }
  }

  private static func writeRefusals(
    of route: Route, _ answer: Answer, _ method: String, to writer: inout JSONObjectWriter
  ) {
    var statuses = Set(answer.statuses).union(refusals)
    if changes["\(method) \(route.path)"] != nil { statuses.formUnion([409, 413, 415, 422]) }
    if route.isOwned(method) { statuses.insert(421) }
    // A path may name something that does not exist.
    if route.path.contains("}") { statuses.insert(404) }
    for status in statuses.sorted() {
      writer.object("\(status)") { writer in
        writer.field("description", "An error in words")
        if method != "HEAD" { writeContent("application/json", "Error", to: &writer) }
      }
    }
  }

  /// The part of a generated client that an operation belongs to.
  private static func tag(of route: Route) -> String {
    switch route {
    case .welcome, .openapi, .asyncapi, .stream, .events, .status: "gateway"
    case .alerts, .alertFirings, .alertAction, .alert: "alerts"
    case .webhooks, .webhook: "webhooks"
    case .portfolios, .portfolio, .portfolioTransactions, .portfolioTransaction, .portfolioValue, .portfolioCurve:
      "portfolios"
    case .topics, .topic: "topics"
    case .decks, .deck, .deckCard: "decks"
    default: "market"
    }
  }

  private static func writeParameters(of route: Route, isReading: Bool, to writer: inout JSONObjectWriter) {
    for part in route.path.split(separator: "{").dropFirst() {
      writer.object { writer in
        writer.field("name", String(part.prefix { $0 != "}" }))
        writer.field("in", "path")
        writer.field("required", true)
        writer.object("schema") { writer in
          writer.field("type", "string")
          writer.field("pattern", "^\(pathText)+$")
        }
      }
    }
    for parameter in isReading ? route.parameters : [] {
      writer.object { writer in
        writer.field("name", parameter.name)
        writer.field("in", "query")
        writer.field("required", parameter.isNeeded)
        writer.field("description", parameter.allowed)
        write(parameter.form, to: &writer)
      }
    }
  }

  private static func writeTag(to writer: inout JSONObjectWriter) {
    writer.object("headers") { writer in
      writer.object("ETag") { writer in JSONSchema.text.write("schema", to: &writer) }
    }
  }

  private static func writeHeader(_ name: String, _ words: String, to writer: inout JSONObjectWriter) {
    writer.object { writer in
      writer.field("name", name)
      writer.field("in", "header")
      writer.field("required", false)
      writer.field("description", words)
      JSONSchema.text.write("schema", to: &writer)
    }
  }

  /// What a name in a path and a text in a query may contain: no control characters.
  private static let pathText = #"[^\u0000-\u001f\u007f-\u009f/]"#
  private static let queryText = #"[^\u0000-\u001f\u007f-\u009f]"#

  private static func write(_ form: Route.Form, to writer: inout JSONObjectWriter) {
    func number(_ range: ClosedRange<Int>) -> JSONSchema { .integer(Int64(range.lowerBound)...Int64(range.upperBound)) }
    switch form {
    case .text:
      writer.object("schema") { writer in
        writer.field("type", "string")
        writer.field("pattern", "^\(queryText)*$")
      }
    case .number(let range): number(range).write("schema", to: &writer)
    case .numberOr(let range, let word):
      JSONSchema.either([number(range), OpenAPISchemas.choice([word])]).write("schema", to: &writer)
    case .oneOf(let names): OpenAPISchemas.choice(names).write("schema", to: &writer)
    case .flag: JSONSchema.flag.write("schema", to: &writer)
    case .ordinal: JSONSchema.count.write("schema", to: &writer)
    }
  }

  /// - Parameter schema: of a JSON body; nil: any object.
  private static func writeContent(_ type: String, _ schema: String?, to writer: inout JSONObjectWriter) {
    writer.object("content") { writer in
      writer.object(type) { writer in
        let isJSON = type == "application/json"
        (isJSON ? schema.map { JSONSchema.reference($0) } ?? .document : .text).write("schema", to: &writer)
      }
    }
  }

  /// The document, or 304 if the client has it.
  static func answer(_ request: HTTPRequestHead, _ node: LoopNode) -> HTTPResponse {
    let (bytes, tag) = body
    if let held = EntityTag.match(request.fields.values("If-None-Match"), tag) { return .unchanged(held) }
    node.compressor.cache.keep(bytes, as: tag)
    return .json(bytes, tag: tag)
  }
}
