import Access
import Documents
import HTTP1
import HTTPAPI
import History
import MarketData
import Operations
import PubSub
import Recordings
import Transport
import WebSocket

extension LoopNode {
  /// Runs `work` on the node of `loop` and `then` with its result back here. On the loop.
  func ask<T: Sendable>(_ target: Int, _ work: @escaping @Sendable (LoopNode) -> T, then: @escaping (T) -> Void) {
    if target == loop.index { return then(work(self)) }
    let node = nodes[target]
    let reply = UncheckedTransfer(value: then)
    node.loop.execute { [self] in
      let result = work(node)
      loop.execute { reply.value(result) }
    }
  }
}

extension LoopNode: APIGateway, LoopMarkets {
  var run: String { settings.run }

  func now() -> Timestamp { clock.now() }

  func askMarkets<Value: Sendable>(
    _ loop: Int, _ question: @escaping @Sendable (any LoopMarkets) -> Value, then: @escaping (Value) -> Void
  ) { ask(loop, question, then: then) }

  func readStore<Value: Sendable>(
    _ work: @escaping @Sendable (HistoryStore) throws -> Value?, then: @escaping @Sendable (Value?) -> Void
  ) -> Bool? { history?.readForClient(work, then: then) }

  func askPast(_ question: @escaping @Sendable (RecordedPast) -> Void) -> Bool? { settings.past?.ask(question) }

  var pastSeats: PastSeats? { settings.past?.seats }

  func storedSymbol(of route: MarketRoute) -> String? { history?.symbol(route.instrument, route.market) }

  func wantAllHistory(of route: MarketRoute) { history?.wantAll(of: route.instrument, route.market) }

  func want(_ wishes: MarketWishes, of route: MarketRoute) { services.wishes.request(wishes, of: route, clock.now()) }
}

/// What the client port of this loop needs.
extension LoopNode {
  var api: APISettings { settings.api }
  var admission: Admission { settings.admission }
  var access: Authenticator? { settings.access }
  var offeredCompression: PerMessageDeflate.Policy? { compression.policy }

  func began(_ session: HTTPSession, on connection: Connection) {
    metrics.connections += 1
    clients.add(session, for: connection)
  }

  func ended(_ connection: Connection) {
    metrics.connections -= 1
    clients.remove(connection)
  }

  func sawTLS(from peer: SocketAddress) { settings.tlsLog?.sawTLS(from: peer) }

  func admits(_ address: IPAddress) -> Bool { clients.admits(address) }

  func admit(_ stream: NewStream, on connection: Connection, rest: UnsafeMutableRawBufferPointer) {
    metrics.http.record(stream.path, status: stream.events == nil ? 101 : 200)
    let session = clients.admit(
      connection, deflate: stream.deflate, isBinary: stream.isBinary, events: stream.events.map { EventWriter($0) },
      dialect: stream.dialect,
      credential: stream.credential, grant: stream.grant, address: stream.address, rest: rest)
    for message in stream.events?.messages ?? [] { clients.receive(message.span.bytes, from: session) }
  }

  func answered(_ request: AnsweredRequest, by caller: () -> RequestCaller) {
    let (head, status) = (request.head, request.status)
    metrics.http.record(head?.path, status: status, nanoseconds: head == nil ? nil : request.nanoseconds)
    settings.accessLog?.request(
      AccessLog.Client(caller()), method: head?.method, path: head?.path, status: status, bytes: request.bytes,
      nanoseconds: request.nanoseconds)
  }

  var documents: DocumentDesks {
    DocumentDesks(
      alerts: settings.alerts, portfolios: settings.portfolios, topics: settings.topics, decks: settings.decks,
      webhookNetworks: settings.webhookNetworks)
  }

  func announce(_ topic: String, _ news: PublishedTopics.News) { alerts.announce(topic, news) }
}

extension AccessLog.Client {
  fileprivate init(_ caller: RequestCaller) { self.init(peer: caller.address, subject: caller.subject) }
}
