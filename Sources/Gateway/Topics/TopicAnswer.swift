import HTTP1
import PubSub
import Transport

/// Answers `/v1/topics` and `/v1/topics/{name}` of the client port.
struct TopicAnswer: RouteAnswer {
  let request: APIRequest
  private var topics: PublishedTopics { request.node.settings.topics }

  init(_ request: APIRequest) { self.request = request }

  func list() { request.reply(topics.list(symbol: request.query.text("symbol"))) }

  func page() throws(RequestProblem) {
    let query = request.query
    let limit = try query.number("limit", default: 1)
    let after = query.text("after") == nil ? nil : try query.number("after", default: 0)
    request.reply(topics.read(request.name, after: after.map(UInt64.init), limit: limit))
  }

  func publish() {
    let (name, node) = (request.name, request.node)
    guard request.grant.mayPublish(to: name) else { return request.reply(refusal) }
    if let wait = topics.charge(request.grant.subject, bytes: request.body.count, now: node.loop.moment) {
      return request.reply(
        .error(
          429, code: "rate_limited", message: "your token publishes too fast",
          hint: "at most \(TopicPace.documentsPerSecond) documents and \(TopicPace.kilobytesPerSecond) KiB a second",
          retryAfterMilliseconds: max(1, (wait + 999) / 1_000)))
    }
    let answer = UncheckedTransfer(value: request.reply)
    topics.publish(request.body, to: name, request.head, now: node.clock.now()) { response, news in
      node.loop.execute {
        if let news { node.alerts.announce(name, news) }
        answer.value(response)
      }
    }
  }

  /// The reason why the caller may not publish here: it sent no token, or its token does not allow it.
  private var refusal: HTTPResponse {
    guard request.node.settings.access != nil else {
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
