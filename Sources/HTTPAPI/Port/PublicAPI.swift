import Access
import Bytes
import HTTP1
import MarketData
import PubSub
import Transport
import WebSocket

/// The client port of one loop: `/v1/stream` and the HTTP API.
package final class PublicAPI: HTTPResponder, @unchecked Sendable {
  // `@unchecked`: used on its gateway's loop only; the listener's `accept` runs there.

  private static let binary = "tidegate.v1.bin"
  static let text = "tidegate.v1.json"
  private static let subprotocols = [text, binary]

  package unowned let gateway: any APIGateway
  let routes: RouteTable
  let admission: Admission
  let rateBook: RateBook
  let parts = KnownParts()
  var origins: Set<String>? { gateway.api.origins }

  package init(_ gateway: any APIGateway, _ routes: RouteTable) {
    self.gateway = gateway
    self.routes = routes
    admission = gateway.admission
    rateBook = RateBook(loops: gateway)
  }

  package func accept(_ connection: Connection) -> (any ConnectionHandler)? {
    if let rejection = (connection.permit as? AdmissionPermit)?.rejection {
      return RefusalSession(connection, rejection.response, date: httpDate)
    }
    if gateway.isShut, !gateway.answersLatecomers {
      return RefusalSession(connection, admission.refuse(.draining).response, date: httpDate)
    }
    let session = HTTPSession(connection: connection, responder: self, limits: gateway.api.connections)
    gateway.began(session, on: connection)
    if gateway.isShut { session.closeForDrain(atOnce: false) }
    return session
  }

  package func sawTLS(from peer: SocketAddress) { gateway.sawTLS(from: peer) }

  package func ended(_ connection: Connection) { gateway.ended(connection) }

  package var httpDate: String { gateway.httpDate }

  /// The client's address: the peer's, or the one that a trusted proxy reports.
  func client(of connection: Connection, _ request: HTTPRequestHead) -> IPAddress {
    admission.proxies.client(of: connection.peer.address, request.fields)
  }

  var moment: Int64 { gateway.loop.moment }

  /// The answer to an upgrade that has just been refused; `respond`, which is called next, sends it.
  var refused: HTTPResponse?

  // MARK: WebSocket

  package func upgrade(
    _ request: HTTPRequestHead, on connection: Connection, rest: UnsafeMutableRawBufferPointer
  ) -> Bool {
    if let permit = connection.permit as? AdmissionPermit { admission.markActive(permit) }
    if request.path == Route.events.path, request.method == "GET" {
      return beginEvents(request, on: connection, rest: rest)
    }
    if let isBegun = ReplayPort(api: self).upgrade(request, on: connection, rest: rest) { return isBegun }
    guard !gateway.isShut, WebSocketHandshake.isUpgrade(request) else { return false }
    let dialect = dialects(of: request)?.stream(request)
    guard dialect != nil || request.path == Route.stream.path else { return false }
    refused = nil
    let address = client(of: connection, request)
    if let permit = connection.permit as? AdmissionPermit,
      let rejection = admission.handshake(permit, from: address, now: moment)
    {
      refused = rejection.response
      return false
    }
    if !gateway.admits(address) {
      refused = admission.refuse(.workPerAddress, wait: 2_000_000, from: address).response
      return false
    }
    let caller: Caller
    switch identify(request) {
    case .success(let found):
      caller = found
      do throws(RequestProblem) {
        if dialect == nil { _ = try RequestQuery(request, Route.stream.parameters, of: Route.stream.path) }
      } catch {
        refused = error.response
        return false
      }
    case .failure(let problem):
      refused = problem.response
      return false
    }
    // No message of another protocol carries a token.
    if dialect != nil, caller.grant == nil {
      refused = unauthorized("a token is needed", error: nil)
      return false
    }
    if let grant = caller.grant, let permit = connection.permit as? AdmissionPermit, gateway.access != nil,
      !admission.hold(permit, grant)
    {
      refused = admission.refuse(.connectionsPerKey, from: address).response
      return false
    }
    let deflate: PerMessageDeflate?
    let isBinary: Bool
    do throws(HTTPError) {
      let accepted = try WebSocketHandshake.accept(
        request, subprotocols: dialect == nil ? PublicAPI.subprotocols : [], origins: origins,
        compression: dialect == nil ? gateway.offeredCompression : nil)
      deflate = accepted.deflate
      isBinary = accepted.subprotocol == PublicAPI.binary
      var out = ByteBuffer(capacity: 256)
      HTTPEncoder.append(accepted.response, bodyLength: nil, keepAlive: true, date: nil, to: &out)
      connection.write(out.bytes)
    } catch {
      if error.status == 403 { admission.count(.origin, from: address) }
      return false
    }
    let stream = NewStream(
      path: request.path, events: nil, dialect: dialect, deflate: deflate, isBinary: isBinary,
      credential: caller.credential,
      grant: caller.grant, address: address)
    gateway.admit(stream, on: connection, rest: rest)
    return true
  }

  // MARK: Requests

  package var answersOrigins: Bool { true }

  package func needsBody(_ request: HTTPRequestHead) -> Bool {
    guard ["POST", "PUT", "PATCH"].contains(request.method),
      routes.find(request.path)?.route.change(request.method) != nil, !isForeignHost(request),
      case .success(let caller) = identify(request)
    else { return false }
    return caller.grant != nil
  }

  package func respond(to request: HTTPRequestHead, on connection: Connection, reply: @escaping (HTTPResponse) -> Void)
  {
    respond(to: request, body: [], on: connection, reply: reply)
  }

  package func respond(
    to request: HTTPRequestHead, body: [UInt8], on connection: Connection, reply: @escaping (HTTPResponse) -> Void
  ) {
    if let refused {
      self.refused = nil
      let isOfPage = [Route.events.path, Route.replay.path].contains(request.path)
      let reply = isOfPage ? finishing(reply, request, Route.events) : reply
      guard refused.status == 429 else { return reply(refused) }
      gateway.loop.schedule(after: RefusalSession.pause) { reply(refused) }
      return
    }
    let permit = connection.permit as? AdmissionPermit
    let address = permit.flatMap { _ in client(of: connection, request) }
    if let permit, let rejection = admission.request(permit, from: address, now: moment) {
      return reply(rejection.response)
    }
    let charge: (Int) -> HTTPResponse? = { [self] cost in
      guard let permit else { return nil }
      // The request itself is paid for; a costly one pays for as many small ones.
      for _ in 0..<(cost / MarketAnswer.pieceCost) {
        if let rejection = admission.request(permit, from: address, now: moment) { return rejection.response }
      }
      return nil
    }
    if let port = dialects(of: request) { return answer(request, by: port, from: address, reply, charge: charge) }
    let match = routes.find(request.path)
    let reply = finishing(reply, request, match?.route)
    let allowed = match?.route.allowedMethods ?? Route.otherMethods
    if let refusal = HTTPResponse.refusal(of: request.method, allowed: allowed) { return reply(refusal) }
    if request.method == "OPTIONS" { return reply(.preflight(allowed)) }
    if let file = file(request) { return reply(file) }
    do throws(RequestProblem) {
      try answer(request, body, match, from: address, reply, charge: charge)
    } catch {
      reply(error.response)
    }
  }

  package func respond(
    to request: HTTPRequestHead, with memo: AnswerMemo, on connection: Connection,
    reply: @escaping (HTTPResponse) -> Void
  ) -> Bool { RepeatedAnswer(api: self).answer(request, memo, on: connection, reply: reply) }

  /// Passes a request to its route's handler if the caller may make it.
  /// - Parameter charge: takes the cost of the answer from the client's allowance, or refuses the request.
  private func answer(
    _ head: HTTPRequestHead, _ body: [UInt8], _ match: RouteTable.Match?, from address: IPAddress?,
    _ reply: @escaping (HTTPResponse) -> Void, charge: @escaping (Int) -> HTTPResponse?
  ) throws(RequestProblem) {
    if let match, match.route.isOwned(head.method), isForeignHost(head) {
      return reply(.foreignHost(head, head.path, setting: "hosts"))
    }
    let grant = try grant(head, match?.route.access ?? .granted, from: address)
    guard let match, let handler = match.route.handler(head.method) else { throw notFound(head.path) }
    let route = match.route
    let query = try RequestQuery(head, route.parameters, of: route.path)
    try check(grant, route)
    try handler(
      APIRequest(
        api: self, match: match, head: head, body: body, query: query, grant: grant, reply: reply, charge: charge))
  }

  private func notFound(_ path: String) -> RequestProblem {
    RequestProblem(
      response: .error(
        404, code: "not_found", message: "there is no \(path.prefix(80))",
        hint: "there are \(routes.paths.dropFirst().joined(separator: " "))"))
  }

  /// A file of the console. At `/`, clients that request HTML get its page; others get plain text.
  private func file(_ request: HTTPRequestHead) -> HTTPResponse? {
    let path = request.path
    if path.hasPrefix("/tidegate.") { return ConsoleFiles.embedded[path] }
    guard gateway.api.servesConsole, var page = ConsoleFiles.embedded[path] else { return nil }
    if path == "/" {
      let wantsPage = request.fields.values("Accept").contains { $0.contains("text/html") }
      guard wantsPage, request.query.isEmpty else { return nil }
      page.fields.append(HTTPField("Vary", "Accept"))
    }
    return isForeignHost(request) ? .foreignHost(request, "the console", setting: "hosts") : page
  }

  /// The answer to a request for `/v1/stream` that did not become a WebSocket.
  func refuseUpgrade(_ request: HTTPRequestHead) -> HTTPResponse {
    if gateway.isShut { return admission.refuse(.draining).response }
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

  /// Adds the header fields that depend on the client: which pages may read the answer, who may cache it, and its
  /// encoding.
  func finishing(
    _ reply: @escaping (HTTPResponse) -> Void, _ request: HTTPRequestHead, _ route: Route?
  ) -> (HTTPResponse) -> Void {
    let isPrivate = gateway.access != nil
    let origin = request.fields["Origin"]
    let origins = origins
    let reply = gateway.compressor.compressing(reply, request)
    guard isPrivate || origins != nil || route?.freshness != nil else { return reply }
    return { response in
      var response = response
      route?.addFreshness(to: &response)
      if let origins {
        response.vary("Origin")
        response.allowedOrigin = origin.flatMap { origin in
          origins.contains { ASCII.equalIgnoringCase($0, origin) } ? origin : nil
        }
      }
      if isPrivate {
        response.vary("Authorization")
        // An answer for one client must not reach others through a shared cache (RFC 9111 section 3.5).
        response.fields = response.fields.map { field in
          guard field.name == "Cache-Control", field.value != "no-store" else { return field }
          return HTTPField("Cache-Control", "private, \(field.value)")
        }
      }
      reply(response)
    }
  }

  // MARK: Answers

  /// The route and state of a symbol's data, or why it is not available.
  func item(_ symbol: String, _ grant: Grant, _ lookup: inout SymbolLookup) -> MarketAnswer.Item {
    if !grant.allows(symbol) {
      return .init(symbol: String(symbol.prefix(80)), content: .failed(forbidden(symbol)))
    }
    guard let entry = gateway.hub.directory.entries[symbol] else {
      return .init(symbol: String(symbol.prefix(80)), content: .failed(gateway.hub.explainMissing(symbol, &lookup)))
    }
    return .init(
      symbol: symbol,
      content: .market(
        loop: entry.loop, MarketRoute(market: entry.market, instrument: entry.instrument.id),
        gateway.hub.dataState(of: symbol, entry)))
  }

  /// Counts and describes the refusal of a symbol that a grant does not have.
  func forbidden(_ symbol: String) -> ProtocolError {
    admission.count(.forbidden)
    return ProtocolError(
      .forbidden, "your token does not allow `\(symbol.prefix(80))`", hint: "GET /v1/instruments lists what it allows")
  }

  func response(to outcome: MarketAnswer.Outcome, venues: [String], nothing: String) -> HTTPResponse {
    var response: HTTPResponse
    switch outcome {
    case .body(let body, let tag): response = .json(body, tag: tag)
    case .unchanged(let tag): response = .unchanged(tag)
    case .refused(let refusal): return refusal
    case .nothing:
      response = .error(
        503, code: "not_ready", message: nothing, hint: "GET /v1/status says why; try again",
        retryAfterMilliseconds: 1_000)
    }
    if let ages = FeedAges.value(of: venues, gateway.hub.feeds, now: gateway.now()) {
      response.fields.append(HTTPField(FeedAges.name, ages))
    }
    return response
  }
}
