import Bytes
import HTTP1
import MarketData
import PubSub
import Transport
import WebSocket

/// The client port of one loop: `/v1/stream` and the HTTP beside it.
final class PublicAPI: HTTPResponder, @unchecked Sendable {
  // `@unchecked`: used on its node's loop only; the listener's `accept` runs there.

  /// Symbols of one `/v1/snapshot`.
  static let snapshotLimit = 100
  private static let subprotocols = ["tidegate.v1.json"]

  private unowned let node: LoopNode
  private let origins: Set<String>?
  /// Clients this loop may have.
  private let clientLimit: Int

  init(node: LoopNode, origins: [String], clientLimit: Int) {
    self.node = node
    self.origins = origins.isEmpty ? nil : Set(origins)
    self.clientLimit = max(1, clientLimit / max(1, node.loopCount))
  }

  func accept(_ connection: Connection) -> (any ConnectionHandler)? {
    guard !node.isDraining, node.metrics.connections < clientLimit else {
      node.metrics.refused += 1
      return nil
    }
    node.metrics.connections += 1
    let session = HTTPSession(connection: connection, responder: self)
    node.register(session, for: connection)
    return session
  }

  func ended(_ connection: Connection) {
    node.metrics.connections -= 1
    node.forget(connection)
  }

  var httpDate: String { node.httpDate }

  // MARK: WebSocket

  func upgrade(_ request: HTTPRequestHead, on connection: Connection, rest: UnsafeMutableRawBufferPointer) -> Bool {
    guard request.path == "/v1/stream", !node.isDraining, WebSocketHandshake.isUpgrade(request) else { return false }
    let deflate: PerMessageDeflate?
    do throws(HTTPError) {
      let accepted = try WebSocketHandshake.accept(
        request, subprotocols: PublicAPI.subprotocols, origins: origins, compression: node.compression.policy)
      deflate = accepted.deflate
      var out = ByteBuffer(capacity: 256)
      HTTPEncoder.append(accepted.response, bodyLength: nil, keepAlive: true, date: nil, to: &out)
      connection.write(out.bytes)
    } catch {
      return false
    }
    node.admit(connection, deflate: deflate, rest: rest)
    return true
  }

  // MARK: Requests

  func respond(to request: HTTPRequestHead, reply: @escaping (HTTPResponse) -> Void) {
    node.metrics.httpRequests += 1
    switch request.method {
    case "GET", "HEAD": break
    case "OPTIONS":
      return reply(
        HTTPResponse(
          status: 204, contentType: "text/plain", body: [],
          fields: [
            HTTPField("Allow", "GET, HEAD, OPTIONS"), HTTPField("Access-Control-Allow-Methods", "GET, HEAD, OPTIONS"),
            HTTPField("Access-Control-Allow-Headers", "If-None-Match"), HTTPField("Access-Control-Max-Age", "86400"),
          ]))
    default:
      return reply(
        .error(
          405, code: "method_not_allowed", message: "\(request.method) is not supported here", hint: "use GET",
          fields: [HTTPField("Allow", "GET, HEAD, OPTIONS")]))
    }
    let path = request.path
    switch path {
    case "/": reply(.text(PublicAPI.welcome))
    case "/v1/stream" where node.isDraining:
      reply(
        .error(
          503, code: "draining", message: "this gateway is going down", hint: "connect again: another one takes over",
          retry: true, fields: [HTTPField("Retry-After", "1")]))
    case "/v1/stream": reply(refuseUpgrade(request))
    case "/v1/instruments": reply(instruments(request))
    case "/v1/status": reply(status())
    case "/v1/snapshot": snapshot(request, reply)
    default:
      for (prefix, kind) in PublicAPI.symbolRoutes where path.hasPrefix(prefix) {
        return ofSymbol(String(path.dropFirst(prefix.count)), kind, request, reply)
      }
      reply(
        .error(
          404, code: "not_found", message: "there is no \(path)",
          hint: "try /v1/instruments, /v1/snapshot?symbols=…, /v1/books/{symbol}, /v1/status; the stream is /v1/stream")
      )
    }
  }

  private static let welcome = """
    Tidegate \(TidegateVersion.current)
    WebSocket: /v1/stream
    HTTP: /v1/instruments /v1/snapshot?symbols=a,b /v1/tickers/{symbol} /v1/books/{symbol} /v1/trades/{symbol}
          /v1/sparklines/{symbol} /v1/status

    """

  private func refuseUpgrade(_ request: HTTPRequestHead) -> HTTPResponse {
    guard WebSocketHandshake.isUpgrade(request) else {
      return .error(
        426, code: "upgrade_required", message: "/v1/stream speaks WebSocket", hint: "connect with ws:// or wss://",
        fields: [HTTPField("Upgrade", "websocket"), HTTPField("Sec-WebSocket-Version", "13")])
    }
    do throws(HTTPError) {
      _ = try WebSocketHandshake.accept(request, subprotocols: PublicAPI.subprotocols, origins: origins)
    } catch {
      return .error(error.status, code: "bad_handshake", message: error.reason, fields: error.fields)
    }
    return .error(500, code: "internal", message: "the upgrade failed", retry: true)
  }

  private func instruments(_ request: HTTPRequestHead) -> HTTPResponse {
    let query = request.query
    let venue = query.first { $0.name == "venue" }?.value
    let text = query.first { $0.name == "q" }?.value
    if let venue, !node.fanOut.directory.venues.contains(venue) {
      return .error(
        404, code: "unknown_venue", message: "\(venue) is not configured here",
        hint: "venues: \(node.fanOut.directory.venues.sorted().joined(separator: ", "))")
    }
    var out = ByteBuffer(capacity: 4096)
    HTTPBodies.instruments(node.fanOut.directory, venue: venue, query: text, into: &out)
    return .json(out.takeBytes(), cacheSeconds: 10)
  }

  private func status() -> HTTPResponse {
    var out = ByteBuffer(capacity: 1024)
    HTTPBodies.status(node.feedStatuses, now: node.clock.now(), into: &out)
    return .json(out.takeBytes())
  }

  private enum SymbolRoute { case book, sparkline, ticker, trades }
  private static let symbolRoutes: [(String, SymbolRoute)] = [
    ("/v1/books/", .book), ("/v1/sparklines/", .sparkline), ("/v1/tickers/", .ticker), ("/v1/trades/", .trades),
  ]

  private func unknown(_ symbol: String) -> HTTPResponse {
    .error(
      404, code: "unknown_symbol", message: "there is no instrument \(symbol)",
      hint: "symbols look like kraken:BTC-USD; GET /v1/instruments lists them")
  }

  private func ofSymbol(
    _ symbol: String, _ kind: SymbolRoute, _ request: HTTPRequestHead, _ reply: @escaping (HTTPResponse) -> Void
  ) {
    guard let entry = node.fanOut.directory.entries[symbol] else { return reply(unknown(symbol)) }
    let market = entry.market
    let id = entry.instrument.id
    switch kind {
    case .book:
      let depth: Int
      switch number("depth", in: request, allowed: 1...5000, default: 25, also: ["full": 0]) {
      case .success(let value): depth = value
      case .failure(let problem): return reply(problem.response)
      }
      node.ask(entry.loop) { node -> [UInt8]? in
        var out = ByteBuffer(capacity: 4096)
        return node.hub.bookBody(market: market, id: id, depth: depth, now: node.clock.now(), into: &out)
          ? out.takeBytes() : nil
      } then: { body in
        reply(body.map { .json($0) } ?? PublicAPI.notReady(symbol, "its book is not in sync"))
      }
    case .sparkline:
      if let range = request.query.first(where: { $0.name == "range" })?.value, range != "24h" {
        return reply(
          .error(400, code: "bad_parameter", message: "range=\(range) is not served", hint: "range may be 24h"))
      }
      let points: Int
      switch number("points", in: request, allowed: 2...1440, default: 96) {
      case .success(let value): points = value
      case .failure(let problem): return reply(problem.response)
      }
      node.ask(entry.loop) { node -> [UInt8]? in
        var out = ByteBuffer(capacity: 4096)
        return node.hub.sparklineBody(market: market, id: id, points: points, now: node.clock.now(), into: &out)
          ? out.takeBytes() : nil
      } then: { body in
        reply(body.map { .json($0) } ?? PublicAPI.notReady(symbol, "it has not traded yet"))
      }
    case .ticker:
      node.ask(entry.loop) { node -> [UInt8]? in
        var out = ByteBuffer(capacity: 1024)
        return node.hub.tickerBody(market: market, id: id, now: node.clock.now(), into: &out) ? out.takeBytes() : nil
      } then: { body in
        reply(body.map { .json($0) } ?? PublicAPI.notReady(symbol, "nothing has come for it yet"))
      }
    case .trades:
      let limit: Int
      switch number("limit", in: request, allowed: 1...50, default: 50) {
      case .success(let value): limit = value
      case .failure(let problem): return reply(problem.response)
      }
      node.ask(entry.loop) { node -> [UInt8]? in
        var out = ByteBuffer(capacity: 4096)
        return node.hub.tradesBody(market: market, id: id, limit: limit, now: node.clock.now(), into: &out)
          ? out.takeBytes() : nil
      } then: { body in
        reply(body.map { .json($0) } ?? PublicAPI.notReady(symbol, "it has not traded yet"))
      }
    }
  }

  private static func notReady(_ symbol: String, _ why: String) -> HTTPResponse {
    .error(
      503, code: "not_ready", message: "\(symbol): \(why)", hint: "GET /v1/status says why; try again", retry: true,
      fields: [HTTPField("Retry-After", "1")])
  }

  private func snapshot(_ request: HTTPRequestHead, _ reply: @escaping (HTTPResponse) -> Void) {
    let list = request.query.filter { $0.name == "symbols" }.flatMap { $0.value.split(separator: ",").map(String.init) }
    guard !list.isEmpty else {
      return reply(
        .error(400, code: "bad_parameter", message: "symbols is missing", hint: "/v1/snapshot?symbols=kraken:BTC-USD,…")
      )
    }
    guard list.count <= PublicAPI.snapshotLimit else {
      return reply(
        .error(
          400, code: "bad_parameter", message: "\(list.count) symbols; the limit is \(PublicAPI.snapshotLimit)",
          hint: "ask in parts"))
    }
    let points: Int
    switch number("points", in: request, allowed: 2...1440, default: 96) {
    case .success(let value): points = value
    case .failure(let problem): return reply(problem.response)
    }
    var byLoop: [Int: [(market: Int, id: InstrumentID, symbol: String)]] = [:]
    for symbol in list {
      guard let entry = node.fanOut.directory.entries[symbol] else { return reply(unknown(symbol)) }
      byLoop[entry.loop, default: []].append((entry.market, entry.instrument.id, symbol))
    }
    // One object per loop that owns some of the symbols, put together when the last has come.
    let gathered = Gathered(parts: byLoop.count)
    for (loop, items) in byLoop.sorted(by: { $0.key < $1.key }) {
      node.ask(loop) { node -> [UInt8] in
        var out = ByteBuffer(capacity: 4096)
        node.hub.snapshotItems(items, points: points, now: node.clock.now(), into: &out)
        return out.takeBytes()
      } then: { [unowned self] body in
        gathered.bodies.append(body)
        guard gathered.bodies.count == gathered.parts else { return }
        var out = ByteBuffer(capacity: 8192)
        out.append("{\"time\":")
        out.append(integer: node.clock.now().microseconds)
        out.append(",\"snapshots\":[")
        for (index, body) in gathered.bodies.enumerated() {
          if index > 0 { out.append(",") }
          out.append(body)
        }
        out.append("]}")
        reply(.json(out.takeBytes()))
      }
    }
  }

  private final class Gathered {
    let parts: Int
    var bodies: [[UInt8]] = []
    init(parts: Int) { self.parts = parts }
  }

  private struct Problem: Error { let response: HTTPResponse }

  private func number(
    _ name: String, in request: HTTPRequestHead, allowed: ClosedRange<Int>, default standard: Int,
    also words: [String: Int] = [:]
  ) -> Result<Int, Problem> {
    guard let text = request.query.first(where: { $0.name == name })?.value else { return .success(standard) }
    if let value = words[text] { return .success(value) }
    guard let value = Int(text), allowed.contains(value) else {
      let others = words.keys.map { " or \($0)" }.joined()
      return .failure(
        Problem(
          response: .error(
            400, code: "bad_parameter", message: "\(name)=\(text) is not allowed",
            hint: "\(name) may be \(allowed.lowerBound) to \(allowed.upperBound)\(others)")))
    }
    return .success(value)
  }
}
