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
  private static let methods = ["GET", "HEAD", "OPTIONS"]
  private static let subprotocols = ["tidegate.v1.json"]

  private unowned let node: LoopNode
  private let origins: Set<String>?
  private let admission: Admission

  init(node: LoopNode, origins: [String]) {
    self.node = node
    self.origins = origins.isEmpty ? nil : Set(origins)
    self.admission = node.settings.admission
  }

  func accept(_ connection: Connection) -> (any ConnectionHandler)? {
    if let refused = (connection.permit as? AdmissionPermit)?.refusalResponse {
      return RefusalSession(connection, refused, date: httpDate)
    }
    if node.isDraining { return RefusalSession(connection, admission.refuse(.draining), date: httpDate) }
    node.metrics.connections += 1
    let session = HTTPSession(connection: connection, responder: self, limits: node.settings.http)
    node.register(session, for: connection)
    return session
  }

  func sawTLS(from peer: SocketAddress) { node.settings.tlsLog?.sawTLS(from: peer, at: node.loop.moment) }

  func ended(_ connection: Connection) {
    node.metrics.connections -= 1
    node.forget(connection)
  }

  var httpDate: String { node.httpDate }

  /// The client's address: the peer's, or what a trusted proxy says.
  private func client(of connection: Connection, _ request: HTTPRequestHead) -> IPAddress? {
    guard let peer = IPAddress(connection.peer.host) else { return nil }
    return admission.proxies.client(of: peer, request.fields)
  }

  private var moment: Int64 { node.loop.moment }

  /// The answer to the upgrade that has just been refused; `respond`, which is called next, gives it.
  private var refused: HTTPResponse?

  // MARK: WebSocket

  func upgrade(_ request: HTTPRequestHead, on connection: Connection, rest: UnsafeMutableRawBufferPointer) -> Bool {
    if let permit = connection.permit as? AdmissionPermit { admission.spoke(permit) }
    guard request.path == "/v1/stream", !node.isDraining, WebSocketHandshake.isUpgrade(request) else { return false }
    refused = nil
    if let permit = connection.permit as? AdmissionPermit,
      let response = admission.handshake(permit, from: client(of: connection, request), now: moment)
    {
      refused = response
      return false
    }
    let caller: Caller
    switch identify(request) {
    case .success(let found): caller = found
    case .failure(let problem):
      refused = problem.response
      return false
    }
    if let grant = caller.grant, let permit = connection.permit as? AdmissionPermit, node.settings.access != nil,
      !admission.hold(permit, grant)
    {
      refused = admission.refuse(.connectionsPerKey)
      return false
    }
    let deflate: PerMessageDeflate?
    do throws(HTTPError) {
      let accepted = try WebSocketHandshake.accept(
        request, subprotocols: PublicAPI.subprotocols, origins: origins, compression: node.compression.policy)
      deflate = accepted.deflate
      var out = ByteBuffer(capacity: 256)
      HTTPEncoder.append(accepted.response, bodyLength: nil, keepAlive: true, date: nil, to: &out)
      connection.write(out.bytes)
    } catch {
      if error.status == 403 { admission.count(.origin) }
      return false
    }
    node.admit(connection, deflate: deflate, credential: caller.credential, rest: rest)
    return true
  }

  // MARK: Requests

  func respond(to request: HTTPRequestHead, on connection: Connection, reply: @escaping (HTTPResponse) -> Void) {
    node.metrics.httpRequests += 1
    if let refused {
      self.refused = nil
      return reply(refused)
    }
    if let permit = connection.permit as? AdmissionPermit,
      let response = admission.request(permit, from: client(of: connection, request), now: moment)
    {
      return reply(response)
    }
    let reply = finishing(reply, request)
    if let refusal = HTTPResponse.refusal(of: request.method, allowed: PublicAPI.methods) { return reply(refusal) }
    if request.method == "OPTIONS" {
      let methods = PublicAPI.methods.joined(separator: ", ")
      return reply(
        HTTPResponse(
          status: 204, contentType: "text/plain", body: [],
          fields: [
            HTTPField("Allow", methods), HTTPField("Access-Control-Allow-Methods", methods),
            HTTPField("Access-Control-Allow-Headers", "Authorization, If-None-Match"),
            HTTPField("Access-Control-Max-Age", "86400"),
          ]))
    }
    let path = request.path
    if path == "/" { return reply(.text(PublicAPI.welcome)) }
    if path == "/v1/stream" {
      return reply(node.isDraining ? admission.refuse(.draining) : refuseUpgrade(request))
    }
    let grant: Grant
    switch identify(request) {
    case .success(let caller):
      guard let found = caller.grant else {
        return reply(unauthorized("a token is needed", error: nil))
      }
      grant = found
    case .failure(let problem): return reply(problem.response)
    }
    if let response = admission.request(with: grant, now: moment) { return reply(response) }
    switch path {
    case "/v1/instruments": reply(instruments(request, grant))
    case "/v1/status": reply(grant.channels.contains(.status) ? status() : forbidden("the channel status", grant))
    case "/v1/snapshot": snapshot(request, grant, reply)
    default:
      for (prefix, kind) in PublicAPI.symbolRoutes where path.hasPrefix(prefix) {
        return ofSymbol(String(path.dropFirst(prefix.count)), kind, request, grant, reply)
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

  // MARK: Who asks

  private struct Caller {
    /// Nil: nobody has said.
    var grant: Grant?
    var credential: AccessPolicy.Credential?
  }

  private func identify(_ request: HTTPRequestHead) -> Result<Caller, Problem> {
    guard let access = node.settings.access else { return .success(Caller(grant: .everything)) }
    let token: String?
    do throws(BearerToken.Problem) {
      token = try BearerToken.read(request)
    } catch {
      switch error {
      case .inURL:
        return .failure(
          Problem(
            response: .error(
              400, code: "token_in_url", message: "a token must not stand in a URL, where logs and histories keep it",
              hint: "send Authorization: Bearer, or say it in hello; take this one out of use")))
      case .malformed(let what): return .failure(Problem(response: unauthorized(what, error: "invalid_request")))
      }
    }
    guard let token else { return .success(Caller(grant: access.policy.anonymous)) }
    switch access.authenticate(token, now: node.clock.now()) {
    case .success(let credential): return .success(Caller(grant: credential.grant, credential: credential))
    case .failure(let error):
      return .failure(Problem(response: unauthorized(error.description, error: "invalid_token")))
    }
  }

  /// RFC 6750 section 3: `error` is left out where the request had no token.
  private func unauthorized(_ message: String, error: String?) -> HTTPResponse {
    admission.count(.unauthorized)
    var challenge = "Bearer realm=\"tidegate\""
    if let error { challenge += ", error=\"\(error)\", error_description=\"\(message)\"" }
    return .error(
      401, code: "unauthorized", message: message, hint: "send Authorization: Bearer and a key or a token",
      fields: [HTTPField("WWW-Authenticate", challenge)])
  }

  private func forbidden(_ what: String, _ grant: Grant) -> HTTPResponse {
    admission.count(.forbidden)
    return .error(
      403, code: "forbidden", message: "your token does not allow \(what)",
      hint: "it allows the channels \(grant.channels.map(\.rawValue).sorted().joined(separator: ", "))",
      fields: [HTTPField("WWW-Authenticate", "Bearer realm=\"tidegate\", error=\"insufficient_scope\"")])
  }

  /// Adds what every answer needs that depends on who asks: which pages may read it, and whom it may be kept for.
  private func finishing(
    _ reply: @escaping (HTTPResponse) -> Void, _ request: HTTPRequestHead
  ) -> (HTTPResponse) -> Void {
    let isPrivate = node.settings.access != nil
    let origin = request.fields["Origin"]
    let origins = origins
    guard isPrivate || origins != nil else { return reply }
    return { response in
      var response = response
      var varies: [String] = []
      if let origins {
        varies.append("Origin")
        response.allowedOrigin = origin.flatMap { origin in
          origins.contains { ASCII.equalIgnoringCase($0, origin) } ? origin : nil
        }
      }
      if isPrivate {
        varies.append("Authorization")
        // What one may read is not for all who share a cache (RFC 9111 section 3.5).
        response.fields = response.fields.map { field in
          guard field.name == "Cache-Control", field.value.hasPrefix("public") else { return field }
          return HTTPField("Cache-Control", "private" + field.value.dropFirst(6))
        }
      }
      response.fields.append(HTTPField("Vary", varies.joined(separator: ", ")))
      reply(response)
    }
  }

  private func instruments(_ request: HTTPRequestHead, _ grant: Grant) -> HTTPResponse {
    let query = request.query
    let venue = query.first { $0.name == "venue" }?.value
    let text = query.first { $0.name == "q" }?.value
    if let venue, !node.fanOut.directory.venues.contains(venue) {
      return .error(
        404, code: "unknown_venue", message: "\(venue) is not configured here",
        hint: "venues: \(node.fanOut.directory.venues.sorted().joined(separator: ", "))")
    }
    var out = ByteBuffer(capacity: 4096)
    var directory = node.fanOut.directory
    if !grant.allowsAllSymbols { directory.entries = directory.entries.filter { grant.allows($0.key) } }
    HTTPBodies.instruments(directory, venue: venue, query: text, into: &out)
    return .json(out.takeBytes(), cacheSeconds: 10)
  }

  private func status() -> HTTPResponse {
    var out = ByteBuffer(capacity: 1024)
    HTTPBodies.status(node.feedStatuses, now: node.clock.now(), into: &out)
    return .json(out.takeBytes())
  }

  private typealias SymbolRoute = ChannelName
  private static let symbolRoutes: [(String, SymbolRoute)] = [
    ("/v1/books/", .book), ("/v1/sparklines/", .sparkline), ("/v1/tickers/", .ticker), ("/v1/trades/", .trades),
  ]

  private func unknown(_ symbol: String) -> HTTPResponse {
    .error(
      404, code: "unknown_symbol", message: "there is no instrument \(symbol)",
      hint: "symbols look like kraken:BTC-USD; GET /v1/instruments lists them")
  }

  private func ofSymbol(
    _ symbol: String, _ kind: SymbolRoute, _ request: HTTPRequestHead, _ grant: Grant,
    _ reply: @escaping (HTTPResponse) -> Void
  ) {
    guard grant.channels.contains(kind) else { return reply(forbidden("the channel \(kind.rawValue)", grant)) }
    guard grant.allows(symbol) else { return reply(forbidden(symbol, grant)) }
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
    case .quote, .pulse, .status: preconditionFailure("\(kind.rawValue) has no route of its own")
    }
  }

  private static func notReady(_ symbol: String, _ why: String) -> HTTPResponse {
    .error(
      503, code: "not_ready", message: "\(symbol): \(why)", hint: "GET /v1/status says why; try again", retry: true,
      fields: [HTTPField("Retry-After", "1")])
  }

  private func snapshot(_ request: HTTPRequestHead, _ grant: Grant, _ reply: @escaping (HTTPResponse) -> Void) {
    for channel in [ChannelName.ticker, .pulse, .sparkline] where !grant.channels.contains(channel) {
      return reply(forbidden("the channel \(channel.rawValue), which is part of a snapshot", grant))
    }
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
      guard grant.allows(symbol) else { return reply(forbidden(symbol, grant)) }
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
