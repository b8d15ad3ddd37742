import Bytes
import Documents
import HTTP1
import PubSub
import Transport

/// Answers `/v1/topics` and `/v1/topics/{name}` of the client port.
struct TopicAnswer: RouteAnswer {
  let request: APIRequest
  private var topics: PublishedTopics { request.documents.topics }

  init(_ request: APIRequest) { self.request = request }

  func list() { request.reply(.json(topics.list(symbol: request.query.text("symbol")))) }

  func page() throws(RequestProblem) {
    let query = request.query
    let limit = try query.number("limit", default: 1)
    let after = query.text("after") == nil ? nil : try query.number("after", default: 0)
    request.reply(topics.response(to: request.name, after: after.map(UInt64.init), limit: limit))
  }

  func publish() {
    let (name, gateway) = (request.name, request.api.gateway)
    guard request.grant.mayPublish(to: name) else { return request.reply(refusal) }
    if let wait = topics.charge(request.grant.subject, bytes: request.body.count, now: gateway.loop.moment) {
      return request.reply(
        .error(
          429, code: "rate_limited", message: "your token publishes too fast",
          hint: "at most \(TopicPace.documentsPerSecond) documents and \(TopicPace.kilobytesPerSecond) KiB a second",
          retryAfterMilliseconds: max(1, (wait + 999) / 1_000)))
    }
    let answer = UncheckedTransfer(value: request.reply)
    topics.publish(request.body, to: name, request.head, on: gateway) { answer.value($0) }
  }

  /// The reason why the caller may not publish here: it sent no token, or its token does not allow it.
  private var refusal: HTTPResponse {
    guard request.api.gateway.access != nil else {
      return .error(
        403, code: "forbidden", message: "this gateway has no tokens, so nobody may publish on this port",
        hint: "publish on the internal port, or configure a key that may publish")
    }
    guard request.head.fields["Authorization"] != nil else {
      return request.api.unauthorized("a token that may publish is needed", error: nil)
    }
    let allowed = request.grant.publish.map { $0.patterns.joined(separator: ", ") }.joined(
      separator: " and among them ")
    return .error(
      403, code: "forbidden", message: "your token does not allow publishing to \(request.name.prefix(64))",
      hint: allowed.isEmpty ? "its key needs the field publish, a JWT also the claim publish" : "it allows \(allowed)")
  }
}

/// What both ports answer about topics.
extension PublishedTopics {
  /// Publishes the body of a `POST`, announces it to streams, and replies on the gateway's loop.
  package func publish(
    _ body: [UInt8], to name: String, _ head: HTTPRequestHead, on gateway: any APIGateway,
    reply: @escaping @Sendable (HTTPResponse) -> Void
  ) {
    if let refusal = HTTPResponse.refusal(ofTypeIn: head, what: "a document") { return reply(refusal) }
    publish(body, to: name, now: gateway.now()) { outcome in
      gateway.loop.execute {
        switch outcome {
        case .success(let news):
          gateway.announce(name, news)
          reply(Self.done(name, news.number))
        case .failure(let problem): reply(problem.response)
        }
      }
    }
  }

  private static func done(_ name: String, _ number: UInt64) -> HTTPResponse {
    var writer = JSONObjectWriter(capacity: 64)
    writer.object { writer in
      writer.field("topic", name)
      writer.field("number", number)
    }
    return .json(writer.takeBytes(), status: 201)
  }

  /// Answers a `GET`.
  package func response(to name: String, after: UInt64?, limit: Int) -> HTTPResponse {
    guard let page = read(name, after: after, limit: limit) else {
      return .error(
        404, code: "unknown_topic", message: "nothing has been published to \(name.prefix(64))",
        hint: "POST /v1/topics/{name}: operators on the internal port, tokens that may publish here")
    }
    return .json(page.text, tag: page.tag)
  }
}

extension TopicProblem {
  var response: HTTPResponse {
    switch self {
    case .schema(let error):
      .error(
        422, code: "invalid_document",
        message: "\(error.path.isEmpty ? "the document" : error.path) \(error.message)",
        hint: "a document must satisfy the schema of its topic")
    case .document(.name):
      .error(
        400, code: "bad_topic", message: "this is not a valid topic name", hint: "1 to 64 letters of a-z 0-9 . _ -"
      )
    case .document(.tooLarge(let limit)):
      .error(413, code: "too_large", message: "the document has more than \(limit) bytes")
    case .document(.malformed(let offset)):
      .error(
        400, code: "bad_document", message: "the body is not one JSON value: see byte \(offset)",
        hint: "send one JSON value in UTF-8")
    case .document(.tooMany(let limit)):
      .error(409, code: "too_many_topics", message: "there are \(limit) topics already")
    case .store(let error): .error(error)
    }
  }
}
