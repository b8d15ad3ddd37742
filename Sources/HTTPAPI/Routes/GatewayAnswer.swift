import Build
import Bytes
import PubSub

/// Answers about the gateway itself: `/`, its two documents, the state of its feeds, and what the two kinds of stream
/// answer to requests that begin none.
struct GatewayAnswer: RouteAnswer {
  let request: APIRequest

  init(_ request: APIRequest) { self.request = request }

  /// The answer of `/` to clients that do not request HTML.
  func welcome() {
    request.reply(.text(Self.welcomeText(request.api.routes.routes, request.loops.hub.feeds)))
  }

  /// The version, a warning if prices are not real, and a line for each route.
  static func welcomeText(_ routes: [Route], _ feeds: [FeedStatus]) -> String {
    let unreal = feeds.filter { $0.source != .live }
    let warning = unreal.map { "\($0.venue) (\($0.source.rawValue))" }.joined(separator: ", ")
    let width = routes.map(\.address.count).max() ?? 0
    let lines = routes.map { route in
      route.address + String(repeating: " ", count: width + 2 - route.address.count) + route.summary + "\n"
    }
    return "Tidegate \(TidegateVersion.current)\n"
      + (unreal.isEmpty ? "" : "These prices are NOT REAL: \(warning)\n") + "\n" + lines.joined()
  }

  func openAPI() { request.reply(request.api.routes.openAPI.answer(request)) }

  func asyncAPI() { request.reply(AsyncAPIDocument.whole.answer(request)) }

  /// The answer to a request for `/v1/stream` that did not become a WebSocket.
  func stream() { request.reply(request.api.refuseUpgrade(request.head)) }

  /// The answer to `HEAD`: the head of a `GET`, without the stream. A `GET` was taken over or refused before.
  func eventsHead() throws(RequestProblem) { try request.api.answerEventsHead(request) }

  /// The answer to `HEAD` of a replay, as to that of events.
  func replayHead() throws(RequestProblem) { try ReplayPort(api: request.api).answerHead(request) }

  /// The feeds that a grant covers, as the stream's channel `status` shows them.
  func status() {
    let loops = request.loops
    var out = ByteBuffer(capacity: 1024)
    HTTPBodies.status(loops.hub.feeds.visible(to: request.grant.symbols), now: loops.now(), into: &out)
    request.reply(.json(out.takeBytes()))
  }
}
