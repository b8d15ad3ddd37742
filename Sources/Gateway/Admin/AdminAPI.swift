import Access
import Bytes
import HTTP1
import Logging
import MarketData
import PubSub
import Transport
import Venues

/// The administration on the internal port: who is there, what the feeds do, and orders to both, for those who show the
/// operators' token. On loop 0.
final class AdminAPI: @unchecked Sendable {
  // `@unchecked`: used on its node's loop only.

  typealias Reply = (HTTPResponse) -> Void

  private unowned let node: LoopNode
  private let token: AdminToken
  private let control: AdminControl
  private let log: Logger
  /// Refused tokens.
  private let refusals: FoldedLog

  init(node: LoopNode, token: AdminToken, control: AdminControl) {
    self.node = node
    self.token = token
    self.control = control
    log = node.settings.log
    let kernel = node.loop.kernel
    refusals = FoldedLog(log) { kernel.monotonicMicroseconds }
  }

  func respond(to request: HTTPRequestHead, on connection: Connection, reply: @escaping Reply) {
    if let refusal = refusal(of: request, on: connection) { return reply(refusal) }
    guard let (route, name) = AdminRoute.find(request.path) else {
      return reply(
        .error(
          404, code: "not_found", message: "there is no \(request.path.prefix(80))",
          hint: AdminRoute.allCases.map { "\($0.method) \($0.path)" }.joined(separator: ", ")))
    }
    let methods = route.method == "GET" ? ["GET", "HEAD"] : [route.method]
    if let refusal = HTTPResponse.refusal(of: request.method, allowed: methods) { return reply(refusal) }
    do throws(RequestProblem) {
      let query = try RequestQuery(request, route.parameters, of: route.path)
      if route.method == "POST" {
        log.notice(
          "an operator asked for something",
          metadata: ["request": "\(request.path.prefix(120))", "peer": "\(connection.peer.host)"])
      }
      try answer(route, name, query, reply)
    } catch {
      reply(error.response)
    }
  }

  private func refusal(of request: HTTPRequestHead, on connection: Connection) -> HTTPResponse? {
    switch token.check(request) {
    case .good: return nil
    case .closed:
      return .error(
        403, code: "admin_closed", message: "the administration is closed",
        hint: "set admin.token-file to a file with a token of 16 letters or more")
    case .missing, .wrong:
      refusals.note("admin token", peer: IPAddress(connection.peer.host)) {
        FoldedLog.Event(level: .warning, message: "an operator's token was refused")
      }
      return .error(
        401, code: "unauthorized", message: "the operators' token is needed",
        hint: "send Authorization: Bearer and the token of admin.token-file",
        fields: [HTTPField("WWW-Authenticate", "Bearer realm=\"tidegate-admin\"")])
    }
  }

  private func answer(
    _ route: AdminRoute, _ name: Substring, _ query: RequestQuery, _ reply: @escaping Reply
  ) throws(RequestProblem) {
    switch route {
    case .clients: try clients(query, reply)
    case .client: try onClient(name, reply) { id, node in ClientReport.one(id.client, of: node).map { [$0] } ?? [] }
    case .disconnect:
      try onClient(name, reply) { id, node in
        guard let report = ClientReport.one(id.client, of: node) else { return [] }
        node.hub.disconnect(
          id.client, code: CloseCode.disconnected, reason: "an operator has ended this connection",
          into: &node.actions)
        return [report]
      }
    case .feeds: feeds(reply)
    case .reconnect: onFeed(name, reply) { $0.reconnect(feed: $1) }
    case .resync: onFeed(name, reply) { $0.resync(feed: $1) }
    case .stop: onFeed(name, reply) { $0.end(feed: $1) }
    case .start:
      guard let control = control.current, control.start(String(name)) else { return reply(unknownFeed(name)) }
      reply(done("start", name))
    case .reload: try reload(reply)
    case .drain:
      guard let drain = control.current?.drain else {
        return reply(.error(501, code: "no_drain", message: "this process cannot be ended from here"))
      }
      reply(done("drain", ""))
      drain()
    case .configuration: configuration(reply)
    }
  }

  // MARK: Clients

  private func clients(_ query: RequestQuery, _ reply: @escaping Reply) throws(RequestProblem) {
    let limit = try query.number("limit", 1...1_000, default: 100)
    var start = (loop: 0, slot: 0)
    if let text = query.text("after") {
      guard let id = ClientReport.ID(text[...]), id.loop < node.loopCount else {
        throw RequestQuery.problem("after=\(text.prefix(40)) is not allowed", hint: "give the id of a client")
      }
      start = (id.loop, Int(id.client.slot) + 1)
    }
    gather([], from: start.loop, slot: start.slot, limit: limit, reply)
  }

  /// One loop after the other, until the page is full.
  private func gather(_ found: [ClientReport], from loop: Int, slot: Int, limit: Int, _ reply: @escaping Reply) {
    guard found.count < limit, loop < node.loopCount else {
      return reply(Self.page(found, isLast: loop >= node.loopCount && found.count < limit))
    }
    node.ask(loop) {
      ClientReport.page(of: $0, from: slot, limit: limit - found.count)
    } then: { [self] page in
      gather(found + page, from: loop + 1, slot: 0, limit: limit, reply)
    }
  }

  private static func page(_ reports: [ClientReport], isLast: Bool) -> HTTPResponse {
    var out = ByteBuffer(capacity: 256 * reports.count + 64)
    out.append("{\"clients\":[")
    for (index, report) in reports.enumerated() {
      if index > 0 { out.append(UInt8(ascii: ",")) }
      report.append(to: &out)
    }
    out.append("]")
    if !isLast, let last = reports.last {
      out.append(",\"next\":")
      out.append(json: last.id.description)
    }
    out.append("}")
    return .json(out.takeBytes())
  }

  private func onClient(
    _ name: Substring, _ reply: @escaping Reply,
    _ body: @escaping @Sendable (ClientReport.ID, LoopNode) -> [ClientReport]
  ) throws(RequestProblem) {
    let missing = HTTPResponse.error(
      404, code: "unknown_client", message: "no client is called \(name.prefix(40))", hint: "GET /admin/clients")
    guard let id = ClientReport.ID(name), id.loop < node.loopCount else { throw RequestProblem(response: missing) }
    node.ask(id.loop) {
      body(id, $0)
    } then: { reports in
      guard let report = reports.first else { return reply(missing) }
      var out = ByteBuffer(capacity: 512)
      report.append(to: &out)
      reply(.json(out.takeBytes()))
    }
  }

  // MARK: Feeds

  private final class Parts {
    var count = 0
    var feeds: [FeedReport] = []
    var isDone = false
  }

  private func feeds(_ reply: @escaping Reply) {
    let parts = Parts()
    for loop in 0..<node.loopCount {
      node.ask(loop) { node in
        FeedReport.all(of: node)
      } then: { [node] reports in
        parts.count += 1
        parts.feeds += reports
        guard parts.count == node.loopCount else { return }
        let now = node.clock.now()
        var out = ByteBuffer(capacity: 1_024)
        out.append("{\"feeds\":[")
        for (index, feed) in parts.feeds.sorted(by: { $0.connection < $1.connection }).enumerated() {
          if index > 0 { out.append(UInt8(ascii: ",")) }
          feed.append(now: now, to: &out)
        }
        out.append("]}")
        reply(.json(out.takeBytes()))
      }
    }
  }

  /// Does something on the loop of a connection's feed.
  private func onFeed(
    _ name: Substring, _ reply: @escaping Reply, _ body: @escaping @Sendable (LoopNode, String) -> Bool
  ) {
    let parts = Parts()
    let connection = String(name)
    for loop in 0..<node.loopCount {
      node.ask(loop) {
        body($0, connection)
      } then: { [self] isDone in
        parts.count += 1
        if isDone { parts.isDone = true }
        guard parts.count == node.loopCount else { return }
        reply(parts.isDone ? done("feed", name) : unknownFeed(name))
      }
    }
  }

  private func unknownFeed(_ name: Substring) -> HTTPResponse {
    .error(
      404, code: "unknown_feed", message: "no feed is called \(name.prefix(40))", hint: "GET /admin/feeds lists them")
  }

  // MARK: The gateway

  private func done(_ what: String, _ name: Substring) -> HTTPResponse {
    var out = ByteBuffer()
    out.append("{\"done\":")
    out.append(json: name.isEmpty ? what : String(name))
    out.append("}")
    return .json(out.takeBytes(), status: 202)
  }

  private func reload(_ reply: @escaping Reply) throws(RequestProblem) {
    guard let control = control.current else {
      throw RequestProblem(response: .error(503, code: "starting", message: "the gateway is starting", retry: true))
    }
    let home = node.loop
    let reply = UncheckedTransfer(value: reply)
    control.reload { outcome in
      var out = ByteBuffer()
      var status = 200
      switch outcome {
      case .refused(let problems):
        status = 422
        out.append("{\"problems\":")
        Self.append(problems, to: &out)
      case .done(let changed, let needsRestart):
        out.append("{\"changed\":")
        Self.append(changed, to: &out)
        out.append(",\"needs_restart\":")
        Self.append(needsRestart, to: &out)
      }
      out.append("}")
      let response = HTTPResponse.json(out.takeBytes(), status: status)
      home.execute { reply.value(response) }
    }
  }

  private static func append(_ texts: [String], to out: inout ByteBuffer) {
    out.append("[")
    for (index, text) in texts.enumerated() {
      if index > 0 { out.append(UInt8(ascii: ",")) }
      out.append(json: text)
    }
    out.append("]")
  }

  private func configuration(_ reply: @escaping Reply) {
    var out = ByteBuffer(capacity: 4_096)
    out.append("{")
    for (index, item) in (control.current?.settings() ?? []).enumerated() {
      if index > 0 { out.append(UInt8(ascii: ",")) }
      out.append(json: item.key)
      out.append(UInt8(ascii: ":"))
      out.append(json: item.value)
    }
    out.append("}")
    reply(.json(out.takeBytes()))
  }
}
