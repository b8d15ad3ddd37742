import Access
import Bytes
import Documents
import Feeds
import HTTP1
import HTTPAPI
import History
import MarketData
import PubSub
import Recordings
import Transport

/// The internal port: health for balancers and orchestrators, metrics for Prometheus. On loop 0.
package final class InternalAPI: HTTPResponder, @unchecked Sendable {
  // `@unchecked`: used on its gateway's loop only; the listener's `accept` runs there.

  /// Connections at a time.
  private static let connectionLimit = 256

  private unowned let gateway: any OperatedGateway
  private let startedAt: Int64
  private let tls: TLSServerContext?
  private var hosts: HostNames { HostNames(gateway.internalHosts) }
  private var connections = 0
  private let shedCount: () -> Int
  private let recorders: () -> [RecordingFigures]
  private let history: HistoryKeeper?
  private let admin: AdminAPI?

  /// - Parameters:
  ///   - tls: the TLS configuration of the client port.
  ///   - shedCount: the number of connections refused for lack of descriptors.
  ///   - recorders: the counters of recorders.
  ///   - admin: answers operators; nil: the port has no administration.
  package init(
    gateway: any OperatedGateway, startedAt: Int64, tls: TLSServerContext? = nil, shedCount: @escaping () -> Int,
    recorders: @escaping () -> [RecordingFigures] = { [] }, history: HistoryKeeper? = nil,
    admin: AdminAPI? = nil
  ) {
    self.history = history
    self.admin = admin
    self.gateway = gateway
    self.recorders = recorders
    self.shedCount = shedCount
    self.startedAt = startedAt
    self.tls = tls
  }

  package func accept(_ connection: Connection) -> (any ConnectionHandler)? {
    guard connections < InternalAPI.connectionLimit else {
      var refusal = Rejection(.connections).response
      refusal.allowedOrigin = nil
      return RefusalSession(connection, refusal, date: httpDate)
    }
    connections += 1
    let session = HTTPSession(connection: connection, responder: self, limits: gateway.api.connections)
    gateway.keep(session, for: connection)
    return session
  }

  package func sawTLS(from peer: SocketAddress) { gateway.sawTLS(from: peer) }

  package func answered(
    _ request: HTTPRequestHead?, status: Int, bytes: Int, nanoseconds: UInt64, on connection: Connection
  ) {}

  package func ended(_ connection: Connection) {
    connections -= 1
    gateway.release(connection)
  }

  package func upgrade(
    _ request: HTTPRequestHead, on connection: Connection, rest: UnsafeMutableRawBufferPointer
  ) -> Bool {
    guard let admin, hosts.allows(request.fields["Host"]) else { return false }
    return admin.takeOver(connection, request) { [self] in connections -= 1 }
  }
  package var httpDate: String { gateway.httpDate }
  /// These answers are for operators: no page in a browser may read them.
  package var answersOrigins: Bool { false }

  package func needsBody(_ request: HTTPRequestHead) -> Bool { publishedTopic(request) != nil }

  /// The topic that the request publishes to; nil if it does not publish.
  private func publishedTopic(_ request: HTTPRequestHead) -> String? {
    guard request.method == "POST", hosts.allows(request.fields["Host"]) else { return nil }
    return PublishedTopics.name(in: request.path)
  }

  package func respond(
    to request: HTTPRequestHead, body: [UInt8], on connection: Connection, reply: @escaping (HTTPResponse) -> Void
  ) {
    guard let name = publishedTopic(request) else { return respond(to: request, on: connection, reply: reply) }
    let answer = UncheckedTransfer(value: reply)
    gateway.documents.topics.publish(body, to: name, request, on: gateway) { answer.value($0) }
  }

  package func respond(to request: HTTPRequestHead, on connection: Connection, reply: @escaping (HTTPResponse) -> Void)
  {
    guard hosts.allows(request.fields["Host"]) else {
      return reply(.foreignHost(request, "this port", setting: "internal-hosts"))
    }
    let path = request.path
    if let admin, path.hasPrefix(AdminRoute.prefix) {
      return admin.respond(to: request, on: connection, reply: gateway.compressor.compressing(reply, request))
    }
    if let refusal = HTTPResponse.refusal(of: request.method, allowed: ["GET", "HEAD"]) { return reply(refusal) }
    if let file = ConsoleFiles.operations[path] {
      do throws(RequestProblem) {
        _ = try RequestQuery(request, [], of: path)
      } catch {
        return reply(error.response)
      }
      return gateway.compressor.compressing(reply, request)(file)
    }
    guard let (route, name) = InternalRoute.find(path) else {
      return reply(
        .error(
          404, code: "not_found", message: "there is no \(path)",
          hint: InternalRoute.all.map(\.path).joined(separator: " ")))
    }
    do throws(RequestProblem) {
      _ = try RequestQuery(request, [], of: route.path)
    } catch {
      return reply(error.response)
    }
    let reply = gateway.compressor.compressing(reply, request)
    route.handler(self, name, reply)
  }

  func topic(_ name: String) -> HTTPResponse {
    gateway.documents.topics.response(to: name, after: nil, limit: PublishedTopics.pageLimit)
  }

  private var health: Health {
    Health(
      feeds: gateway.hub.feeds, required: gateway.readyFeeds, isDraining: gateway.isDraining,
      historyFailure: history?.figures.failure)
  }

  func ready() -> HTTPResponse {
    let health = health
    return .text(health.text, status: health.isReady ? 200 : 503)
  }

  func healthy() -> HTTPResponse {
    let health = health
    var out = ByteBuffer(capacity: 512)
    health.append(uptimeSeconds: (gateway.loop.moment - startedAt) / Microseconds.second, to: &out)
    return .json(out.takeBytes(), status: health.isReady ? 200 : 503)
  }

  /// Answers whether every loop turns.
  func alive(_ reply: @escaping (HTTPResponse) -> Void) {
    let reply = UncheckedTransfer(value: reply)
    let home = gateway.loop
    LoopProbe.run(gateway.loops, from: home) { silent in
      home.execute {
        reply.value(
          silent.isEmpty
            ? .text("ok\n")
            : .text(
              "loops \(silent.map(String.init).joined(separator: ", ")) have not turned within a second\n", status: 503)
        )
      }
    }
  }

  func metrics(_ reply: @escaping (HTTPResponse) -> Void) {
    gateway.askLoops {
      $0.figures
    } then: { [self] parts in
      var total = NodeMetrics(routes: NodeMetrics.routes)
      var backfill = CandleBackfill.Figures()
      for part in parts {
        total.add(part.metrics)
        backfill.add(part.backfill)
      }
      var page = MetricsPage(total, now: gateway.now())
      page.feeds = parts.flatMap(\.feeds)
      page.loops = parts.map(\.loop)
      page.admission = gateway.admission.figures
      page.queuedBytes = gateway.admission.budget.total
      page.shed = shedCount()
      page.uptimeSeconds = Double(gateway.loop.moment - startedAt) / 1e6
      reply(
        .text(
          page.text + (tls.map { TLSMetrics($0.statistics, $0.certificates).text } ?? "")
            + RecordingMetrics.text(recorders()) + HistoryMetrics.text(history?.figures, backfill)
            + AlertMetrics.text(gateway.documents.alerts.figures) + upgradeMetrics + processFigures,
          contentType: "text/plain; version=0.0.4; charset=utf-8"))
    }
  }

  private var upgradeMetrics: String { (admin?.upgradeReport ?? UpgradeReport()).metrics }

  /// The system's figures about this process. A simulated kernel reports none, because its runs must be repeatable.
  private var processFigures: String {
    gateway.loop.kernel is SystemKernel ? ProcessMetrics.text(.current) : ""
  }

  /// Answers `/v1/feeds/{venue}/errors`: the rejected messages of all connections of the venue.
  func feedErrors(_ name: String, _ reply: @escaping (HTTPResponse) -> Void) {
    gateway.askLoops {
      $0.feedErrors(of: name)
    } then: { [self] reports in
      reply(FeedErrorsBody.response(name, reports.flatMap(\.self), now: gateway.now()))
    }
  }
}
