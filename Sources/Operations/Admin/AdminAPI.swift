import Access
import Bytes
import Feeds
import HTTP1
import HTTPAPI
import Logging
import MarketData
import PubSub
import Transport
import Venues

/// The administration on the internal port: lists clients and feeds and executes orders, for requests with the
/// operators' token. On loop 0.
package final class AdminAPI: @unchecked Sendable {
  // `@unchecked`: used on its gateway's loop only.

  typealias Reply = (HTTPResponse) -> Void

  private unowned let gateway: any OperatedGateway
  private let token: AdminToken
  private let control: AdminControl
  private let desk: StatePages
  private let log: Logger

  package init(gateway: any OperatedGateway, token: AdminToken, control: AdminControl, desk: StatePages) {
    self.gateway = gateway
    self.desk = desk
    self.token = token
    self.control = control
    log = gateway.log
  }

  func respond(to request: HTTPRequestHead, on connection: Connection, reply: @escaping Reply) {
    if let refusal = refusal(of: request, on: connection) { return reply(refusal) }
    guard let (route, name, symbol) = AdminRoute.find(request.path, method: request.method) else {
      return reply(
        .error(
          404, code: "not_found", message: "there is no \(request.path.prefix(80))",
          hint: AdminRoute.all.map { "\($0.method) \($0.path)" }.joined(separator: ", ")))
    }
    if let refusal = HTTPResponse.refusal(of: request.method, allowed: route.methods) { return reply(refusal) }
    do throws(RequestProblem) {
      let query = try RequestQuery(request, route.parameters, of: route.path)
      if route.method == "POST" {
        log.notice(
          "admin request",
          metadata: ["request": "\(request.path.prefix(120))", "peer": "\(connection.peer.host)"])
      }
      try route.handler(self)(AdminCall(name: name, symbol: symbol, query: query, reply: reply))
    } catch {
      reply(error.response)
    }
  }

  /// Takes over the connection of an operator's valid request for the live state; false: `respond` answers.
  func takeOver(_ connection: Connection, _ request: HTTPRequestHead, ended: @escaping () -> Void) -> Bool {
    guard request.method == "GET", request.path == AdminRoute.live.path, request.query.isEmpty,
      token.check(request) == .good
    else { return false }
    guard desk.hasRoom else { return false }
    gateway.release(connection)
    desk.admit(connection, date: gateway.httpDate, ended: ended)
    return true
  }

  private func refusal(of request: HTTPRequestHead, on connection: Connection) -> HTTPResponse? {
    switch token.check(request) {
    case .good: return nil
    case .closed:
      return .error(
        403, code: "admin_closed", message: "the administration is closed",
        hint: "set admin.token-file to a file with a token of 16 letters or more")
    case .missing, .wrong:
      let isMissing = request.fields["Authorization"] == nil
      gateway.refusalLog?.refusedOperator(connection.peer.address)
      return .error(
        401, code: "unauthorized",
        message: isMissing ? "the operators' token is needed" : "this is not the operators' token",
        hint: "send Authorization: Bearer and the token of admin.token-file",
        fields: [HTTPField("WWW-Authenticate", "Bearer realm=\"tidegate-admin\"")])
    }
  }

  func state(_ call: AdminCall) { desk.document { call.reply(.json($0)) } }

  /// The answer about the live state to a client that may not watch it.
  func tooManyViewers(_ call: AdminCall) {
    call.reply(
      .error(
        503, code: "too_many_viewers", message: "\(StatePages.viewerLimit) clients already watch the state",
        hint: "GET /admin/state", retryAfterMilliseconds: 5_000))
  }

  // MARK: Clients

  func clients(_ call: AdminCall) throws(RequestProblem) {
    let query = call.query
    let limit = try query.number("limit", default: 100)
    var start = (loop: 0, slot: 0)
    if let text = query.text("after") {
      guard let id = ClientReport.ID(text[...]), id.loop < gateway.loops.count else {
        throw RequestQuery.problem("after=\(text.prefix(40)) is not allowed", hint: "give the id of a client")
      }
      start = (id.loop, Int(id.client.slot) + 1)
    }
    gather([], from: start.loop, slot: start.slot, limit: limit, call.reply)
  }

  /// Asks one loop after the other, until the page is full.
  private func gather(_ found: [ClientReport], from loop: Int, slot: Int, limit: Int, _ reply: @escaping Reply) {
    guard found.count < limit, loop < gateway.loops.count else {
      return reply(
        Self.page(found, isLast: loop >= gateway.loops.count && found.count < limit, now: gateway.now()))
    }
    gateway.askLoop(loop) {
      $0.clientReports(from: slot, limit: limit - found.count)
    } then: { [self] page in
      gather(found + page, from: loop + 1, slot: 0, limit: limit, reply)
    }
  }

  private static func page(_ reports: [ClientReport], isLast: Bool, now: Timestamp) -> HTTPResponse {
    var writer = JSONObjectWriter(capacity: 512 * reports.count + 64)
    writer.object { writer in
      writer.array("clients") { writer in
        for report in reports { writer.object { report.append(to: &$0, now: now) } }
      }
      writer.field("next", isLast ? nil : reports.last?.id.description)
    }
    return .json(writer.takeBytes())
  }

  private static let rateClasses = Dictionary(
    uniqueKeysWithValues: RateClass.intervals.map { (String($0), Int($0)) })

  func client(_ call: AdminCall) throws(RequestProblem) {
    try onClient(call) { $1.clientReport(of: $0) }
  }

  func hold(_ call: AdminCall) throws(RequestProblem) {
    let interval = try call.query.word("interval_ms", default: 0) { Self.rateClasses[$0] }
    guard call.query.text("interval_ms") != nil else {
      throw RequestQuery.problem("interval_ms is missing", hint: "interval_ms may be 0, 100, 250, 1000 or 5000")
    }
    try onClient(call) { client, loop in
      loop.hub.hold(client, in: UInt16(interval))
      return loop.clientReport(of: client)
    }
  }

  func disconnect(_ call: AdminCall) throws(RequestProblem) {
    try onClient(call) { client, loop in
      guard let report = loop.clientReport(of: client) else { return nil }
      loop.disconnect(client, reason: "an operator has ended this connection")
      return report
    }
  }

  func subscriptions(_ call: AdminCall) throws(RequestProblem) {
    let limit = try call.query.number("limit", default: 100)
    let after = UInt32(try call.query.number("after", default: 0))
    let missing = Self.unknownClient(call.name)
    guard let id = ClientReport.ID(call.name), id.loop < gateway.loops.count else {
      throw RequestProblem(response: missing)
    }
    gateway.askLoop(id.loop) {
      ClientSubscription.list(of: id.client, in: $0.hub, after: after, limit: limit)
    } then: { list in
      guard let list else { return call.reply(missing) }
      var writer = JSONObjectWriter(capacity: 192 * list.count + 64)
      writer.object { writer in
        writer.array("subscriptions") { writer in
          for subscription in list { writer.object { subscription.append(to: &$0) } }
        }
        writer.field("next", list.count < limit ? nil : list.last.map { Int64($0.stream) })
      }
      call.reply(.json(writer.takeBytes()))
    }
  }

  private func onClient(
    _ call: AdminCall, _ body: @escaping @Sendable (ClientID, any OperatedLoop) -> ClientReport?
  ) throws(RequestProblem) {
    let missing = Self.unknownClient(call.name)
    guard let id = ClientReport.ID(call.name), id.loop < gateway.loops.count else {
      throw RequestProblem(response: missing)
    }
    let now = gateway.now()
    gateway.askLoop(id.loop) {
      body(id.client, $0)
    } then: { report in
      guard let report else { return call.reply(missing) }
      call.reply(.json(report.body(now: now)))
    }
  }

  private static func unknownClient(_ name: Substring) -> HTTPResponse {
    .error(404, code: "unknown_client", message: "no client is called \(name.prefix(40))", hint: "GET /admin/clients")
  }

  // MARK: Feeds

  func feeds(_ call: AdminCall) {
    gateway.askLoops {
      $0.feedReports
    } then: { [gateway] reports in
      let now = gateway.now()
      var writer = JSONObjectWriter(capacity: 1_024)
      writer.object { writer in
        writer.array("feeds") { writer in
          for feed in reports.flatMap(\.self).sorted(by: { $0.connection < $1.connection }) {
            writer.object { feed.append(to: &$0, now: now) }
          }
        }
      }
      call.reply(.json(writer.takeBytes()))
    }
  }

  func reconnect(_ call: AdminCall) { onFeed(.reconnect, call) }

  func resync(_ call: AdminCall) { onFeed(.resync, call) }

  func stop(_ call: AdminCall) { onFeed(.stop, call) }

  func start(_ call: AdminCall) {
    guard let control = control.current, control.start(String(call.name)) else {
      return call.reply(unknownFeed(call.name))
    }
    call.reply(done("start", call.name))
  }

  func resyncSymbol(_ call: AdminCall) { onSymbol(.resync, call) }

  func stopSymbol(_ call: AdminCall) { onSymbol(.stop, call) }

  func startSymbol(_ call: AdminCall) { onSymbol(.start, call) }

  /// Performs an order about a whole feed, on its loop.
  private func onFeed(_ order: FeedOrder, _ call: AdminCall) {
    let connection = String(call.name)
    gateway.askLoops {
      $0.perform(order, on: connection)
    } then: { [self] outcomes in
      call.reply(outcomes.contains(true) ? done("feed", call.name) : unknownFeed(call.name))
    }
  }

  /// Performs an order about one symbol, on the loop of its feed.
  private func onSymbol(_ order: SymbolOrder, _ call: AdminCall) {
    let (connection, symbol) = (String(call.name), String(call.symbol))
    gateway.askLoops {
      $0.perform(order, on: symbol, of: connection)
    } then: { [self] outcomes in
      switch outcomes.compactMap(\.self).last {
      case .done: call.reply(done("symbol", symbol[...]))
      case .last:
        call.reply(
          .error(
            409, code: "last_symbol", message: "it is the last symbol of \(connection.prefix(40))",
            hint: "POST /admin/feeds/{connection}/stop ends the feed"))
      case .unknown:
        call.reply(
          .error(
            404, code: "unknown_symbol",
            message: "\(connection.prefix(40)) does not follow \(symbol.prefix(40)), or has not stopped it",
            hint: "write symbols without the venue, like BTC-USD; GET /v1/instruments lists them"))
      case nil: call.reply(unknownFeed(call.name))
      }
    }
  }

  private func unknownFeed(_ name: Substring) -> HTTPResponse {
    .error(
      404, code: "unknown_feed", message: "no feed is called \(name.prefix(40))", hint: "GET /admin/feeds lists them")
  }

  // MARK: The gateway

  private func done(_ what: String, _ name: Substring) -> HTTPResponse {
    .object(status: 202) { $0.field("done", name.isEmpty ? what : String(name)) }
  }

  func reload(_ call: AdminCall) throws(RequestProblem) {
    guard let control = control.current else {
      throw RequestProblem(response: .error(503, code: "starting", message: "the gateway is starting", retry: true))
    }
    let home = gateway.loop
    let reply = UncheckedTransfer(value: call.reply)
    control.reload { outcome in
      let response: HTTPResponse =
        switch outcome {
        case .refused(let problems): .object(status: 422) { $0.field("problems", problems) }
        case .done(let changed, let needsRestart):
          .object { writer in
            writer.field("changed", changed)
            writer.field("needs_restart", needsRestart)
          }
        }
      home.execute { reply.value(response) }
    }
  }

  /// The progress of an upgrade.
  var upgradeReport: UpgradeReport { control.current?.upgrade?.report() ?? UpgradeReport() }

  func drain(_ call: AdminCall) {
    guard let drain = control.current?.drain else {
      return call.reply(.error(501, code: "no_drain", message: "this process cannot be ended by a request"))
    }
    call.reply(done("drain", ""))
    drain()
  }

  func upgradeState(_ call: AdminCall) { call.reply(upgradeReport.response()) }

  func upgrade(_ call: AdminCall) {
    guard let upgrade = control.current?.upgrade else {
      return call.reply(.error(409, code: "no_upgrade", message: "this process cannot be upgraded by a request"))
    }
    let home = gateway.loop
    let reply = UncheckedTransfer(value: call.reply)
    upgrade.request { refusal in
      let response =
        refusal.map { HTTPResponse.error(409, code: "no_upgrade", message: $0) }
        ?? upgrade.report().response(status: 202)
      home.execute { reply.value(response) }
    }
  }

  func configuration(_ call: AdminCall) {
    let settings = control.current?.settings() ?? []
    call.reply(.object { writer in for item in settings { writer.field(item.key, item.value) } })
  }
}

extension ClientSubscription {
  fileprivate func append(to writer: inout JSONObjectWriter) {
    writer.field("stream", Int64(stream))
    writer.field("channel", key.channel.rawValue)
    if !key.symbol.isEmpty { writer.field(key.channel == .topic ? "topic" : "symbol", key.symbol) }
    if key.channel == .book { writer.field("depth", Int(key.depth)) }
    if let zone = key.zone { writer.field("zone", zone) }
    writer.field("interval_ms", Int(key.intervalMilliseconds))
    writer.field("asked_ms", wantedMilliseconds)
    writer.field("waits_for", waitsFor)
  }
}
