import Bytes
import HTTP1
import TestSupport
import Transport
import WebSocket

/// A client of the gateway that does what its seed says: subscribes, changes its mind, pauses, reads slowly, vanishes,
/// comes back. It keeps the books of what it was sent (`StreamLedger`) and notes what its `ClientJudge` has to know.
final class ScriptedClient: ConnectionHandler {
  /// What the world's clients may ask for.
  struct Market {
    var symbols: [String]
    var channels = ["trades", "book", "book", "book", "quote", "ticker", "pulse", "sparkline", "status"]
  }

  let name: String
  let host: SimulatedHost
  let loop: EventLoop
  let network: FaultyTransport
  let market: Market
  let isSteady: Bool
  let leisure: Int
  private let gateway: SocketAddress
  var random: SeededGenerator
  var figures = ClientFigures()
  var judge: ClientJudge
  /// It only keeps up and answers, does nothing new, and stays.
  private(set) var isSettled = false
  /// It does not come back when its connection ends.
  private(set) var isLeaving = false

  // The present connection.
  private var attempt: ConnectAttempt?
  private(set) var connection: Connection?
  var link: Link?
  private var parser = HTTPResponseParser(limits: HTTPLimits())
  var webSocket = WebSocketConnection(role: .client)
  private var key: [UInt8] = []
  private var compression: [PerMessageDeflate.Offer] = []
  /// Of the connection before: who it was, and what it had.
  var session: String?
  var earlier: [Int: StreamLedger.Stream] = [:]
  private(set) var isOpen = false
  var ledger = StreamLedger()
  var told: (code: Int, reason: String)?
  var hasLeft = false
  var isPaused = false
  var nextID = 0

  init(
    name: String, network: FaultyTransport, host: SimulatedHost, market: Market, gateway: SocketAddress, seed: UInt64,
    isSteady: Bool, leisure: Int = 1
  ) {
    self.isSteady = isSteady
    self.leisure = leisure
    self.name = name
    self.network = network
    self.host = host
    self.market = market
    self.gateway = gateway
    loop = network.loop(on: host)
    random = SeededGenerator(seed: seed)
    judge = ClientJudge(of: name, on: network, isSteady: isSteady)
  }

  /// What was wrong, in words.
  var faults: [String] { judge.faults }

  func start() {
    loop.execute(
      LoopCall { [self] in
        loop.scheduleRepeating(every: .milliseconds(500)) { [unowned self] in watch() }
        connect()
        actLater()
      }.body)
  }

  /// Ends what it began, and sees to it that it is connected and has a book to compare.
  func settle() {
    loop.execute(
      LoopCall { [self] in
        isSettled = true
        read()
        if isOpen {
          if isPaused { resume() }
          settleSubscriptions()
        } else if connection == nil, attempt == nil {
          connect()
        }
      }.body)
  }

  /// From now on a connection that the gateway ends had to be told of it before.
  func expectDrain() { judge.expectsNotice = true }

  /// The gateway stands still until then.
  func expectSilence(until end: UInt64) { judge.expectSilence(until: end) }

  /// Whether there is a connection that still works, as far as the network is concerned.
  var isConnected: Bool { connection != nil && !(link?.isBroken ?? true) }

  /// Lets the gateway end the connection and does not come back.
  func leave() {
    loop.execute(
      LoopCall { [self] in
        isLeaving = true
        read()
        attempt?.cancel()
        attempt = nil
      }.body)
  }

  /// Cuts what is left.
  func end(_ isExpected: Bool) {
    loop.execute(
      LoopCall { [self] in
        isLeaving = true
        attempt?.cancel()
        attempt = nil
        if connection != nil {
          hasLeft = hasLeft || link?.isBroken ?? false
          if !hasLeft, isExpected { judge.fault("the gateway has gone and left the connection open") }
          hasLeft = true
          connection?.abort()
        }
      }.body)
  }

  // MARK: - Connecting

  private func connect() {
    guard attempt == nil, connection == nil, !isLeaving else { return }
    figures.connects += 1
    attempt = Connector.connect(
      host: gateway.host, port: gateway.port, tls: nil, loop: loop, timeout: .seconds(5), handler: self
    ) { [unowned self] result in
      attempt = nil
      switch result {
      case .success(let connection): begin(connection)
      case .failure: comeBack()
      }
    }
  }

  private func comeBack() {
    guard !isLeaving else { return }
    loop.schedule(after: .milliseconds(pick(isSettled ? 300 : 2_000))) { [unowned self] in connect() }
  }

  private func begin(_ connection: Connection) {
    self.connection = connection
    link = host.links.last
    parser = HTTPResponseParser(limits: HTTPLimits())
    isOpen = false
    ledger = StreamLedger()
    told = nil
    hasLeft = false
    isPaused = false
    judge.begin()
    key = loop.kernel.randomBytes(16)
    compression = pick(2) == 0 ? [PerMessageDeflate.Offer()] : []
    let head = WebSocketHandshake.request(
      host: gateway.description, target: "/v1/stream", key: key, subprotocols: ["tidegate.v1.json"],
      compression: compression)
    var out = ByteBuffer()
    HTTPEncoder.append(head, bodyLength: 0, to: &out)
    connection.write(out.bytes)
    network.trace.say(network.uptime, "\(name) connects on link \(link?.number ?? 0)")
  }

  // MARK: - What comes

  func connection(_ connection: Connection, didReceive bytes: UnsafeMutableRawBufferPointer) {
    guard connection === self.connection else { return }
    judge.heard()
    figures.bytes += bytes.count
    var input = bytes
    if !isOpen {
      var head = UnsafeRawBufferPointer(input)
      do throws(HTTPError) {
        guard let (answer, _) = try parser.next(&head) else { return }
        guard answer.status == 101 else {
          told = (answer.status, answer.reason)
          return leaveNow()
        }
        let accepted = try WebSocketHandshake.check(
          answer, key: key, subprotocols: ["tidegate.v1.json"], compression: compression)
        webSocket = WebSocketConnection(
          role: .client, limits: WebSocketLimits(messageBytes: 8 << 20), deflate: accepted.deflate)
      } catch {
        judge.fault("the upgrade cannot be read: \(error.reason)")
        return leaveNow()
      }
      isOpen = true
      figures.streams += 1
      input = UnsafeMutableRawBufferPointer(rebasing: input[(input.count - head.count)...])
      greet()
      if isSettled { settleSubscriptions() }
    }
    do throws(WebSocketError) {
      while let event = try webSocket.next(&input) {
        handle(event)
        guard connection === self.connection, connection.isOpen else { return }
      }
    } catch {
      judge.fault("the gateway broke the WebSocket protocol: \(error.reason)")
      leaveNow()
    }
  }

  private func handle(_ event: WebSocketEvent) {
    switch event {
    case .text(let payload):
      guard let message = JSON(payload) else {
        return judge.fault("not JSON: \(String(decoding: payload.prefix(200), as: UTF8.self))")
      }
      network.trace.say(
        network.uptime, "\(name) <- \(String(decoding: payload.prefix(400), as: UTF8.self))")
      figures.messages += 1
      if let token = message["session"]?.text {
        session = token
        figures.resumes += message["resumed"]?.bool == true ? 1 : 0
        if message["paused"]?.bool == true {
          isPaused = true
          if isSettled { resume() }
        }
      }
      if let id = message["id"]?.integer { judge.answered(id) }
      ledger.receive(message, payload)
      if let first = ledger.faults.first, judge.faults.isEmpty { judge.fault(first) }
    case .binary: judge.fault("a binary message")
    case .ping(let payload): send(.pong, Array(payload))
    case .pong: break
    case .close(let code, let reason, let mustReply):
      told = (Int(code), reason)
      network.trace.say(network.uptime, "\(name) is told \(code) \(reason)")
      if mustReply {
        var out = ByteBuffer()
        WebSocketFrame.appendCloseReply(to: code, mask: loop.kernel.randomUInt32(), to: &out)
        connection?.write(out.bytes)
        webSocket.didSendClose()
      }
      connection?.close()
    }
  }

  func connectionDidDrain(_ connection: Connection) {}

  func connectionDidClose(_ connection: Connection, reason: CloseReason) {
    guard connection === self.connection else { return }
    self.connection = nil
    let ending: Ending =
      if let told { .told(told.code, told.reason) } else if hasLeft { .left } else { .cut("\(reason)") }
    network.trace.say(network.uptime, "\(name) ends: \(ending)")
    switch ending {
    case .left: figures.left += 1
    case .told(let code, _): figures.told[code, default: 0] += 1
    case .cut: figures.cut += 1
    }
    judge.ended(ending, on: link, wasOpen: isOpen, hasLeft: hasLeft, drainNotices: ledger.drainNotices)
    figures.add(ledger)
    if isOpen { earlier = ledger.streams.filter { $0.value.seq != nil } }
    isOpen = false
    link = nil
    comeBack()
  }

  /// Looks whether the gateway is still there.
  private func watch() {
    if isSettled, isOpen, told == nil, judge.isAnswered, !hasLeft, !isLeaving { settleSubscriptions() }
    guard connection != nil, told == nil, !hasLeft, judge.isSilent(link, isOpen: isOpen) else { return }
    figures.deadConnections += 1
    leaveNow()
  }
}
