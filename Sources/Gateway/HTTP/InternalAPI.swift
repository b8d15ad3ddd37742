import Access
import Bytes
import Documents
import Feeds
import HTTP1
import HTTPAPI
import MarketData
import Operations
import PubSub
import Recordings
import Transport

/// The internal port: health for balancers and orchestrators, metrics for Prometheus. On loop 0.
final class InternalAPI: HTTPResponder, @unchecked Sendable {
  // `@unchecked`: used on its node's loop only; the listener's `accept` runs there.

  /// Connections at a time.
  private static let connectionLimit = 256

  private unowned let node: LoopNode
  private let startedAt: Int64
  private let tls: TLSServerContext?
  private var hosts: HostNames { HostNames(node.settings.internalHosts) }
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
  init(
    node: LoopNode, startedAt: Int64, tls: TLSServerContext? = nil, shedCount: @escaping () -> Int,
    recorders: @escaping () -> [RecordingFigures] = { [] }, history: HistoryKeeper? = nil,
    admin: AdminAPI? = nil
  ) {
    self.history = history
    self.admin = admin
    self.node = node
    self.recorders = recorders
    self.shedCount = shedCount
    self.startedAt = startedAt
    self.tls = tls
  }

  func accept(_ connection: Connection) -> (any ConnectionHandler)? {
    guard connections < InternalAPI.connectionLimit else {
      var refusal = Rejection(.connections).response
      refusal.allowedOrigin = nil
      return RefusalSession(connection, refusal, date: httpDate)
    }
    connections += 1
    let session = HTTPSession(connection: connection, responder: self, limits: node.settings.api.connections)
    node.clients.add(session, for: connection)
    return session
  }

  func sawTLS(from peer: SocketAddress) { node.settings.tlsLog?.sawTLS(from: peer) }

  func answered(
    _ request: HTTPRequestHead?, status: Int, bytes: Int, nanoseconds: UInt64, on connection: Connection
  ) {}

  func ended(_ connection: Connection) {
    connections -= 1
    node.clients.remove(connection)
  }

  func upgrade(_ request: HTTPRequestHead, on connection: Connection, rest: UnsafeMutableRawBufferPointer) -> Bool {
    guard let admin, hosts.allows(request.fields["Host"]) else { return false }
    return admin.takeOver(connection, request) { [self] in connections -= 1 }
  }
  var httpDate: String { node.httpDate }
  /// These answers are for operators: no page in a browser may read them.
  var answersOrigins: Bool { false }

  func needsBody(_ request: HTTPRequestHead) -> Bool { publishedTopic(request) != nil }

  /// The topic that the request publishes to; nil if it does not publish.
  private func publishedTopic(_ request: HTTPRequestHead) -> String? {
    guard request.method == "POST", hosts.allows(request.fields["Host"]) else { return nil }
    return PublishedTopics.name(in: request.path)
  }

  func respond(
    to request: HTTPRequestHead, body: [UInt8], on connection: Connection, reply: @escaping (HTTPResponse) -> Void
  ) {
    guard let name = publishedTopic(request) else { return respond(to: request, on: connection, reply: reply) }
    let answer = UncheckedTransfer(value: reply)
    node.settings.topics.publish(body, to: name, request, on: node) { answer.value($0) }
  }

  func respond(to request: HTTPRequestHead, on connection: Connection, reply: @escaping (HTTPResponse) -> Void) {
    guard hosts.allows(request.fields["Host"]) else {
      return reply(.foreignHost(request, "this port", setting: "internal-hosts"))
    }
    let path = request.path
    if let admin, path.hasPrefix(AdminRoute.prefix) {
      return admin.respond(to: request, on: connection, reply: node.compressor.compressing(reply, request))
    }
    if let refusal = HTTPResponse.refusal(of: request.method, allowed: ["GET", "HEAD"]) { return reply(refusal) }
    if let file = ConsoleFiles.operations[path] {
      do throws(RequestProblem) {
        _ = try RequestQuery(request, [], of: path)
      } catch {
        return reply(error.response)
      }
      return node.compressor.compressing(reply, request)(file)
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
    let reply = node.compressor.compressing(reply, request)
    route.handler(self, name, reply)
  }

  func topic(_ name: String) -> HTTPResponse {
    node.settings.topics.response(to: name, after: nil, limit: PublishedTopics.pageLimit)
  }

  private var health: Health {
    Health(
      feeds: node.hub.feeds, required: node.settings.readyFeeds, isDraining: node.isDraining,
      historyFailure: history?.figures.failure)
  }

  func ready() -> HTTPResponse {
    let health = health
    return .text(health.text, status: health.isReady ? 200 : 503)
  }

  func healthy() -> HTTPResponse {
    let health = health
    var out = ByteBuffer(capacity: 512)
    health.append(uptimeSeconds: (node.loop.moment - startedAt) / Microseconds.second, to: &out)
    return .json(out.takeBytes(), status: health.isReady ? 200 : 503)
  }

  /// Answers whether every loop turns.
  func alive(_ reply: @escaping (HTTPResponse) -> Void) {
    let reply = UncheckedTransfer(value: reply)
    let home = node.loop
    LoopProbe.run(node.nodes.map(\.loop), from: home) { silent in
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
    let total = Total()
    let count = node.loopCount
    for loop in 0..<count {
      node.ask(loop) { node in
        NodeFigures(node)
      } then: { [unowned self] part in
        total.metrics.add(part.metrics)
        total.feeds += part.feeds
        total.loops.append(part.loop)
        total.backfill.add(part.backfill)
        total.parts += 1
        guard total.parts == count else { return }
        var page = MetricsPage(total.metrics, now: node.clock.now())
        page.feeds = total.feeds
        page.loops = total.loops
        page.admission = node.settings.admission.figures
        page.queuedBytes = node.settings.admission.budget.total
        page.shed = shedCount()
        page.uptimeSeconds = Double(node.loop.moment - startedAt) / 1e6
        reply(
          .text(
            page.text + (tls.map { TLSMetrics($0.statistics, $0.certificates).text } ?? "")
              + RecordingMetrics.text(recorders()) + HistoryMetrics.text(history?.figures, total.backfill)
              + AlertMetrics.text(node.settings.alerts.figures) + upgradeMetrics + processFigures,
            contentType: "text/plain; version=0.0.4; charset=utf-8"))
      }
    }
  }

  private var upgradeMetrics: String { (admin?.upgradeReport ?? UpgradeReport()).metrics }

  /// The system's figures about this process. A simulated kernel reports none, because its runs must be repeatable.
  private var processFigures: String {
    node.loop.kernel is SystemKernel ? ProcessMetrics.text(.current) : ""
  }

  /// Answers `/v1/feeds/{venue}/errors`: the rejected messages of all connections of the venue.
  func feedErrors(_ name: String, _ reply: @escaping (HTTPResponse) -> Void) {
    let total = Errors()
    let count = node.loopCount
    for loop in 0..<count {
      node.ask(loop) {
        $0.feeds.errors(of: name)
      } then: { [unowned self] part in
        total.reports += part
        total.parts += 1
        guard total.parts == count else { return }
        reply(FeedErrorsBody.response(name, total.reports, now: node.clock.now()))
      }
    }
  }

  private final class Errors {
    var parts = 0
    var reports: [FeedErrorReport] = []
  }

  private final class Total {
    var parts = 0
    var metrics = NodeMetrics(routes: NodeMetrics.routes)
    var feeds: [FeedMetrics] = []
    var loops: [LoopMetrics] = []
    var backfill = CandleBackfill.Figures()
  }
}
