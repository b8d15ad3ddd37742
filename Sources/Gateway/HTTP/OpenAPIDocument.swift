import Bytes
import HTTP1
import PubSub

/// `/openapi.json`: describes the client port's routes as OpenAPI 3.1. It is made from the table that answers requests,
/// so both name the same routes and parameters.
enum OpenAPIDocument {
  /// The answer of a route.
  struct Answer {
    var summary: String
    var contentType = "application/json"
    /// Members that every answer has.
    var members: [String] = []
    /// Other statuses than 200 that a valid request may get.
    var statuses: [Int] = [503]
    var isTagged = true
  }

  /// By path. A route without an entry is described by its path and parameters alone.
  static let answers: [String: Answer] = [
    "/": Answer(
      summary: "What the gateway serves, in plain text; the console for browsers", contentType: "text/plain",
      statuses: [], isTagged: false),
    "/openapi.json": Answer(summary: "This document", members: ["openapi", "info", "paths"], statuses: []),
    "/asyncapi.json": Answer(
      summary: "The stream as AsyncAPI", members: ["asyncapi", "info", "channels", "operations"], statuses: []),
    "/v1/stream": Answer(
      summary: "The stream: a WebSocket with the subprotocol tidegate.v1.json", statuses: [426], isTagged: false),
    "/v1/events": Answer(
      summary: "The stream as server-sent events", contentType: "text/event-stream", statuses: [], isTagged: false),
    "/v1/instruments": Answer(summary: "The instruments that are followed", members: ["instruments"], statuses: [404]),
    "/v1/assets": Answer(summary: "The names of assets, in pages", members: ["assets"], statuses: []),
    "/v1/status": Answer(summary: "State and age of every feed", members: ["feeds"], statuses: [], isTagged: false),
    "/v1/snapshot": Answer(summary: "Ticker, pulse and sparkline of symbols", members: ["snapshots"], statuses: []),
    "/v1/tickers/{symbol}": Answer(summary: "The 24 h figures", members: ["symbol", "state", "ticker"]),
    "/v1/quotes/{symbol}": Answer(
      summary: "Best bid and ask of a market or of all venues together", members: ["symbol", "state"], isTagged: false),
    "/v1/trades/{symbol}": Answer(summary: "The last trades", members: ["symbol", "state", "trades"]),
    "/v1/sparklines/{symbol}": Answer(
      summary: "The last price of each slice of a range",
      members: ["symbol", "state", "range", "from", "step_s", "points", "gaps"]),
    "/v1/sparklines/{symbol}.svg": Answer(summary: "The line as a picture", contentType: "image/svg+xml"),
    "/v1/candles/{symbol}": Answer(
      summary: "Candles from memory and history, in pages",
      members: ["symbol", "state", "interval", "candles", "gaps"]),
    "/v1/rates": Answer(
      summary: "What an asset is worth in another",
      members: ["base", "quote", "rate", "path", "state"], statuses: [404, 503], isTagged: false),
    "/v1/books/{symbol}": Answer(
      summary: "The order book", members: ["symbol", "state", "bids", "asks", "time"]),
    "/v1/cards/price/{symbol}.svg": Answer(summary: "A card for a home screen", contentType: "image/svg+xml"),
    "/v1/alerts": Answer(summary: "The caller's alerts", members: [], statuses: [404], isTagged: false),
    "/v1/alerts/{id}/firings": Answer(
      summary: "The last firings of an alert", members: ["alert", "firings"], isTagged: false),
    "/v1/alerts/{id}/{action}": Answer(
      summary: "Acknowledges, snoozes, pauses, resumes, disables or enables an alert", statuses: [404, 409, 412],
      isTagged: false),
    "/v1/alerts/{id}": Answer(summary: "One alert", members: [], statuses: [404, 409, 412], isTagged: false),
    "/v1/portfolios": Answer(
      summary: "The caller's portfolios", members: ["kept", "portfolios", "limit"], statuses: [], isTagged: true),
    "/v1/portfolios/{id}": Answer(
      summary: "One portfolio and what is in it",
      members: ["id", "name", "currency", "method", "revision", "holdings", "positions"], statuses: [409, 412, 422]),
    "/v1/portfolios/{id}/transactions": Answer(
      summary: "Its transactions, in pages", members: ["portfolio", "revision", "transactions"],
      statuses: [409, 412, 422]),
    "/v1/portfolios/{id}/transactions/{number}": Answer(
      summary: "One transaction", members: ["number", "kind", "asset", "quantity", "time"], statuses: [412, 422]),
    "/v1/portfolios/{id}/value": Answer(
      summary: "What it is worth now", members: ["portfolio", "currency", "state", "value", "holdings", "positions"],
      isTagged: false),
    "/v1/portfolios/{id}/curve": Answer(
      summary: "What it was worth over a range", members: ["portfolio", "currency", "range", "step_s", "points"],
      isTagged: false),
    "/v1/decks": Answer(summary: "The decks of cards", members: ["decks"], statuses: []),
    "/v1/decks/{name}": Answer(
      summary: "The card of the day in a time zone",
      members: ["deck", "zone", "state", "title", "date", "turns_at", "cards", "card"], statuses: [404]),
    "/v1/cards/deck/{name}.svg": Answer(
      summary: "The card of the day as a picture", contentType: "image/svg+xml", statuses: [404]),
    "/v1/topics": Answer(
      summary: "The topics, or those of an instrument", members: ["topics"], statuses: [], isTagged: false),
    "/v1/topics/{name}": Answer(
      summary: "Documents that the operator publishes", members: ["topic", "epoch", "number", "documents"],
      statuses: [404, 422], isTagged: false),
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
    var out = ByteBuffer(capacity: 16_384)
    out.append("{\"openapi\":\"3.1.0\",\"info\":{\"title\":\"Tidegate\",\"version\":")
    out.append(json: TidegateVersion.current)
    out.append(
      ",\"description\":\"Market data. Prices and sizes are decimal strings, times are microseconds UTC.\"}"
    )
    out.append(",\"security\":[{},{\"bearer\":[]}],\"paths\":{")
    for (index, route) in routes.enumerated() {
      if index > 0 { out.append(UInt8(ascii: ",")) }
      out.append(json: route.path)
      for (index, method) in route.methods.enumerated() {
        out.append(index == 0 ? ":{" : ",")
        out.append(json: method.lowercased())
        out.append(UInt8(ascii: ":"))
        append(route, method, to: &out)
      }
      out.append(UInt8(ascii: "}"))
    }
    out.append("},\"components\":{\"securitySchemes\":{\"bearer\":{\"type\":\"http\",\"scheme\":\"bearer\"}},")
    out.append("\"schemas\":{\"Error\":{\"type\":\"object\",\"required\":[\"type\",\"code\",\"message\",\"impact\",")
    out.append("\"retry\"],\"properties\":{\"type\":{\"const\":\"error\"},\"code\":{\"type\":\"string\"},")
    out.append("\"message\":{\"type\":\"string\"},\"impact\":{\"type\":\"string\"},\"hint\":{\"type\":\"string\"},")
    out.append("\"retry\":{\"type\":\"boolean\"},\"retry_after_ms\":{\"type\":\"integer\",\"minimum\":0}}}}}}\n")
    return out.takeBytes()
  }

  private static func append(_ route: Route, _ method: String, to out: inout ByteBuffer) {
    let isHead = method == "HEAD"
    let isReading = isHead || method == "GET"
    let answer = answers[route.path] ?? Answer(summary: route.path)
    out.append("{\"summary\":")
    out.append(json: answer.summary)
    out.append(",\"parameters\":[")
    var isFirst = true
    func begin() {
      out.append(isFirst ? "{\"name\":" : ",{\"name\":")
      isFirst = false
    }
    for part in route.path.split(separator: "{").dropFirst() {
      begin()
      out.append(json: String(part.prefix { $0 != "}" }))
      out.append(",\"in\":\"path\",\"required\":true,\"schema\":{\"type\":\"string\",\"pattern\":\"^\(pathText)+$\"}}")
    }
    for parameter in isReading ? route.parameters : [] {
      begin()
      out.append(json: parameter.name)
      out.append(",\"in\":\"query\",\"required\":")
      out.append(parameter.isNeeded ? "true" : "false")
      out.append(",\"description\":")
      out.append(json: parameter.allowed)
      out.append(",\"schema\":")
      append(parameter.form, to: &out)
      out.append(UInt8(ascii: "}"))
    }
    out.append("],")
    if !isReading, method != "DELETE" {
      out.append("\"requestBody\":{\"required\":\(route == .alertAction ? "false" : "true"),")
      out.append("\"content\":{\"application/json\":{\"schema\":{\"type\":\"object\"}}}},")
    }
    out.append("\"responses\":{")
    if !isReading {
      out.append("\"2XX\":{\"description\":\"Done\"}")
    } else if route == .stream {
      out.append("\"101\":{\"description\":\"The WebSocket begins\"}")
    } else {
      out.append("\"200\":{\"description\":")
      out.append(json: answer.summary)
      if !isHead { content(answer, to: &out) }
      out.append(UInt8(ascii: "}"))
    }
    if isReading, answer.isTagged { out.append(",\"304\":{\"description\":\"Nothing has changed\"}") }
    var statuses = Set(answer.statuses).union(refusals)
    if !isReading { statuses.formUnion([409, 413, 415, 422]) }
    // A path may name something that does not exist.
    if route.path.contains("}") { statuses.insert(404) }
    for status in statuses.sorted() {
      out.append(",\"")
      out.append(integer: Int64(status))
      out.append("\":{\"description\":\"An error in words\"")
      if !isHead {
        out.append(",\"content\":{\"application/json\":{\"schema\":{\"$ref\":\"#/components/schemas/Error\"}}}")
      }
      out.append(UInt8(ascii: "}"))
    }
    out.append("}}")
  }

  /// What a name in a path and a text in a query may contain: no control characters.
  private static let pathText = #"[^\\u0000-\\u001f\\u007f-\\u009f/]"#
  private static let queryText = #"[^\\u0000-\\u001f\\u007f-\\u009f]"#

  private static func append(_ form: Route.Form, to out: inout ByteBuffer) {
    func number(_ range: ClosedRange<Int>) {
      out.append("{\"type\":\"integer\",\"minimum\":\(range.lowerBound),\"maximum\":\(range.upperBound)}")
    }
    switch form {
    case .text: out.append("{\"type\":\"string\",\"pattern\":\"^\(queryText)*$\"}")
    case .number(let range): number(range)
    case .numberOr(let range, let word):
      out.append("{\"anyOf\":[")
      number(range)
      out.append(",{\"const\":")
      out.append(json: word)
      out.append("}]}")
    case .oneOf(let names):
      out.append("{\"enum\":[")
      for (index, name) in names.enumerated() {
        if index > 0 { out.append(UInt8(ascii: ",")) }
        out.append(json: name)
      }
      out.append("]}")
    case .ordinal: out.append("{\"type\":\"integer\",\"minimum\":0}")
    }
  }

  private static func content(_ answer: Answer, to out: inout ByteBuffer) {
    out.append(",\"content\":{")
    out.append(json: answer.contentType)
    out.append(":{\"schema\":")
    if answer.contentType == "application/json" {
      out.append("{\"type\":\"object\",\"required\":[")
      for (index, member) in answer.members.enumerated() {
        if index > 0 { out.append(UInt8(ascii: ",")) }
        out.append(json: member)
      }
      out.append("]}")
    } else {
      out.append("{\"type\":\"string\"}")
    }
    out.append("}}")
  }

  /// The document, or 304 if the client has it.
  static func answer(_ request: HTTPRequestHead, _ node: LoopNode) -> HTTPResponse {
    let (bytes, tag) = body
    if let held = EntityTag.match(request.fields.values("If-None-Match"), tag) { return .unchanged(held) }
    node.compressor.cache.keep(bytes, as: tag)
    return .json(bytes, tag: tag)
  }
}
