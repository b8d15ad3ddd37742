import HTTP1
import PubSub

/// `/v1/topics/{name}` of the client port.
struct TopicAnswer {
  let api: PublicAPI
  let name: String

  func answer(_ query: RequestQuery, _ reply: @escaping (HTTPResponse) -> Void) throws(RequestProblem) {
    let limit = try query.number("limit", 1...PublishedTopics.pageLimit, default: 1)
    let after = query.text("after") == nil ? nil : try query.number("after", 0...Int.max, default: 0)
    reply(api.node.settings.topics.read(name, after: after.map(UInt64.init), limit: limit))
  }
}
