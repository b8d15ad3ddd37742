import HTTP1
import PubSub
import Transport

/// Answers `/v1/topics` and `/v1/topics/{name}` of the client port.
struct TopicAnswer {
  let api: PublicAPI
  let name: String
  let grant: Grant

  func list(_ query: RequestQuery, _ reply: (HTTPResponse) -> Void) {
    reply(api.node.settings.topics.list(symbol: query.text("symbol")))
  }

  func answer(
    _ query: RequestQuery, _ request: HTTPRequestHead, _ body: [UInt8], _ reply: @escaping (HTTPResponse) -> Void
  ) throws(RequestProblem) {
    guard request.method == "POST" else {
      let limit = try query.number("limit", 1...PublishedTopics.pageLimit, default: 1)
      let after = query.text("after") == nil ? nil : try query.number("after", 0...Int.max, default: 0)
      return reply(api.node.settings.topics.read(name, after: after.map(UInt64.init), limit: limit))
    }
    guard grant.mayPublish(to: name) else { return reply(refusal(request)) }
    let node: LoopNode = api.node
    if let wait = node.settings.topics.charge(grant.subject, bytes: body.count, now: node.loop.moment) {
      return reply(
        .error(
          429, code: "rate_limited", message: "your token publishes too fast",
          hint: "at most \(TopicPace.documentsPerSecond) documents and \(TopicPace.kilobytesPerSecond) KiB a second",
          retryAfterMilliseconds: max(1, (wait + 999) / 1_000)))
    }
    let answer = UncheckedTransfer(value: reply)
    node.settings.topics.publish(body, to: name, request, now: node.clock.now()) { [name] response, news in
      node.loop.execute {
        if let news { node.alerts.announce(name, news) }
        answer.value(response)
      }
    }
  }

  /// The reason why the caller may not publish here: it sent no token, or its token does not allow it.
  private func refusal(_ request: HTTPRequestHead) -> HTTPResponse {
    guard api.node.settings.access != nil else {
      return .error(
        403, code: "forbidden", message: "this gateway has no tokens, so nobody may publish on this port",
        hint: "publish on the internal port, or configure a key that may publish")
    }
    guard request.fields["Authorization"] != nil else {
      return api.unauthorized("a token that may publish is needed", error: nil)
    }
    let topics = grant.publish.map { $0.patterns.joined(separator: ", ") }.joined(separator: " and among them ")
    return .error(
      403, code: "forbidden", message: "your token does not allow publishing to \(name.prefix(64))",
      hint: topics.isEmpty ? "its key needs the field publish, a JWT also the claim publish" : "it allows \(topics)")
  }
}
