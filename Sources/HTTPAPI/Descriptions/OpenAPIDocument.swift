import Build
import Bytes

/// `/openapi.json`: describes the client port's routes as OpenAPI 3.1, with the types of all bodies and answers, so
/// that a generated client is usable. It is made from the table that answers requests, so both name the same routes and
/// parameters.
enum OpenAPIDocument {
  /// The statuses that may refuse any request.
  private static let refusals = [400, 401, 403, 429, 503]

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
    let change = route.change(method)
    let reading = change == nil ? route.reading : nil
    writer.field("operationId", method.lowercased() + route.name.prefix(1).uppercased() + route.name.dropFirst())
    writer.field("tags", [route.group.rawValue])
    writer.field("summary", route.summary)
    writer.array("parameters") { writer in
      writeParameters(of: route, isReading: reading != nil, to: &writer)
      if reading?.isTagged == true {
        writeHeader("If-None-Match", "The ETag of the answer that you have", to: &writer)
      }
      if change?.takesKey == true {
        writeHeader("Idempotency-Key", "The same for each repetition of a request, which is done once", to: &writer)
      }
      if change?.takesCondition == true {
        writeHeader("If-Match", "The ETag of what is changed: only if it has not changed since", to: &writer)
      }
    }
    if let change, let body = change.body {
      writer.object("requestBody") { writer in
        writer.field("required", change.needsBody)
        writeContent(.json(body), to: &writer)
      }
    }
    writer.object("responses") { writer in
      if let change { writeAnswers(change, to: &writer) }
      if let reading { writeAnswers(reading, route.summary, hasBody: method != "HEAD", to: &writer) }
      writeRefusals(of: route, method, to: &writer)
    }
  }

  private static func writeAnswers(_ change: Route.Change, to writer: inout JSONObjectWriter) {
    for (status, schema) in change.answers {
      writer.object("\(status)") { writer in
        writer.field("description", "Done")
        if change.isTagged { writeTag(to: &writer) }
        if let schema { writeContent(.json(schema), to: &writer) }
      }
    }
  }

  private static func writeAnswers(
    _ reading: Route.Reading, _ summary: String, hasBody: Bool, to writer: inout JSONObjectWriter
  ) {
    guard reading.content != .upgrade else {
      return writer.object("101") { writer in writer.field("description", "The WebSocket begins") }
    }
    writer.object("200") { writer in
      writer.field("description", summary)
      if reading.isTagged { writeTag(to: &writer) }
      if hasBody { writeContent(reading.content, to: &writer) }
    }
    if reading.isTagged {
      writer.object("304") { writer in writer.field("description", "Nothing has changed") }
    }
  }

  private static func writeRefusals(of route: Route, _ method: String, to writer: inout JSONObjectWriter) {
    var statuses = Set(route.statuses).union(refusals)
    if route.change(method) != nil { statuses.formUnion([409, 413, 415, 422]) }
    if route.isOwned(method) { statuses.insert(421) }
    // A path may name something that does not exist.
    if route.path.contains("}") { statuses.insert(404) }
    for status in statuses.sorted() {
      writer.object("\(status)") { writer in
        writer.field("description", "An error in words")
        if method != "HEAD" { writeContent(.json("Error"), to: &writer) }
      }
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

  private static func writeContent(_ content: Route.Reading.Content, to writer: inout JSONObjectWriter) {
    let (type, schema): (String, JSONSchema) =
      switch content {
      case .json(let schema): ("application/json", schema.map { .reference($0) } ?? .document)
      case .text: ("text/plain", .text)
      case .picture: ("image/svg+xml", .text)
      case .lines: ("application/x-ndjson", .text)
      case .events: ("text/event-stream", .text)
      case .upgrade: preconditionFailure("an upgrade has no content")
      }
    writer.object("content") { writer in
      writer.object(type) { writer in schema.write("schema", to: &writer) }
    }
  }
}
