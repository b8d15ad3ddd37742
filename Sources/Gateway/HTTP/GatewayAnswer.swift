import Build
import Bytes
import PubSub

/// Answers about the gateway itself: `/`, its two documents, the state of its feeds, and what the two kinds of stream
/// answer to requests that begin none.
struct GatewayAnswer: RouteAnswer {
  let request: APIRequest

  init(_ request: APIRequest) { self.request = request }

  /// The answer of `/` to clients that do not request HTML.
  func welcome() { request.reply(.text(Self.welcomeText(request.node.hub.feeds))) }

  static func welcomeText(_ feeds: [FeedStatus]) -> String {
    let unreal = feeds.filter { $0.source != .live }
    let warning = unreal.map { "\($0.venue) (\($0.source.rawValue))" }.joined(separator: ", ")
    return """
      Tidegate \(TidegateVersion.current)
      \(unreal.isEmpty ? "" : "These prices are NOT REAL: \(warning)\n")WebSocket: /v1/stream
      Server-sent events: /v1/events?streams=pulse:kraken:BTC-USD
      HTTP: /v1/instruments /v1/snapshot?symbols=a,b /v1/tickers/{symbol} /v1/books/{symbol} /v1/trades/{symbol}
            /v1/quotes/{symbol} /v1/sparklines/{symbol} /v1/candles/{symbol} /v1/rates?base=ZEC&quote=USD /v1/status
            /v1/assets /v1/topics/{name} /v1/decks/{name} /v1/alerts /v1/portfolios

      """
  }

  func openAPI() { request.reply(OpenAPIDocument.answer(request.head, request.node)) }

  func asyncAPI() { request.reply(AsyncAPIDocument.answer(request.head, request.node)) }

  /// The answer to a request for `/v1/stream` that did not become a WebSocket.
  func stream() { request.reply(request.api.refuseUpgrade(request.head)) }

  /// The answer to `HEAD`: the head of a `GET`, without the stream. A `GET` was taken over or refused before.
  func eventsHead() throws(RequestProblem) { try request.api.answerEventsHead(request) }

  /// The feeds that a grant covers, as the stream's channel `status` shows them.
  func status() {
    let node = request.node
    var out = ByteBuffer(capacity: 1024)
    HTTPBodies.status(node.hub.feeds.visible(to: request.grant.symbols), now: node.clock.now(), into: &out)
    request.reply(.json(out.takeBytes()))
  }
}
