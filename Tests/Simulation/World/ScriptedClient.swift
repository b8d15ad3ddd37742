import Bytes
import HTTP1
import TestSupport
import Transport
import WebSocket

/// How a connection of a client ended.
enum Ending {
  /// The client ended it itself, or went away without a word.
  case left
  /// The gateway said why: the code of its close frame, or the status of its refusal.
  case told(Int, String)
  /// It was gone.
  case cut(String)
}

/// A client of the gateway that does what its seed says: subscribes, changes its mind, pauses, reads slowly, vanishes, comes
/// back. It keeps the books of what it was sent, and holds the gateway to its protocol.
final class ScriptedClient: ConnectionHandler {
  /// What the world's clients may ask for.
  struct Market {
    var symbols: [String]
    var channels = ["trades", "book", "book", "book", "quote", "ticker", "pulse", "sparkline", "status"]
  }

  let name: String
  let host: SimulatedHost
  let loop: EventLoop
  private let network: FaultyTransport
  private let market: Market
  private let isSteady: Bool
  private let leisure: Int
  private let gateway: SocketAddress
  private var random: SeededGenerator
  private(set) var figures = ClientFigures()
  /// What was wrong, in words.
  private(set) var faults: [String] = []
  /// It only keeps up and answers, does nothing new, and stays.
  private(set) var isSettled = false
  /// It does not come back when its connection ends.
  private(set) var isLeaving = false
  /// The gateway drains: it announces the end of a connection before it brings it about.
  private var expectsNotice = false

  // The present connection.
  private var attempt: ConnectAttempt?
  private(set) var connection: Connection?
  private var link: Link?
  private var parser = HTTPResponseParser(limits: HTTPLimits())
  private var webSocket = WebSocketConnection(role: .client)
  private var key: [UInt8] = []
  private var compression: [PerMessageDeflate.Offer] = []
  /// Of the connection before: who it was, and what it had.
  private var session: String?
  private var earlier: [Int: StreamLedger.Stream] = [:]
  private(set) var isOpen = false
  private(set) var ledger = StreamLedger()
  private var told: (code: Int, reason: String)?
  private var hasLeft = false
  private var isPaused = false
  private var isReading = true
  /// When it last did not read, ns; a gateway that closes it around then had reason to.
  private var deafUntil: UInt64 = 0
  private var heardAt: UInt64 = 0
  private var nextID = 0
  /// Requests that have no reply yet.
  private var outstanding: [Int: String] = [:]

  /// Heartbeats come every second; after this long without anything, on a connection that nothing happened to, something is
  /// wrong with the gateway, ns.
  private static let silenceLimit: UInt64 = 8_000_000_000
  /// For how long after a fault of the network or of the client the gateway's limits may still be felt, ns.
  private static let grace: UInt64 = 20_000_000_000

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
  }

  func start() {
    loop.execute(
      LoopCall { [self] in
        loop.scheduleRepeating(every: 500_000_000) { [unowned self] in watch() }
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
  func expectDrain() { expectsNotice = true }

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
          if !hasLeft, isExpected { fault("the gateway has gone and left the connection open") }
          hasLeft = true
          connection?.abort()
        }
      }.body)
  }

  private func fault(_ text: String) {
    guard faults.count < 5 else { return }
    faults.append("\(name): \(text)")
    network.trace.say(network.uptime, "FAULT \(name): \(text)")
  }

  // MARK: - Connecting

  private func connect() {
    guard attempt == nil, connection == nil, !isLeaving else { return }
    figures.connects += 1
    attempt = Connector.connect(
      host: gateway.host, port: gateway.port, tls: nil, loop: loop, timeout: 5_000_000_000, handler: self
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
    loop.schedule(after: UInt64(pick(isSettled ? 300 : 2_000)) * 1_000_000) { [unowned self] in connect() }
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
    isReading = true
    deafUntil = 0
    outstanding = [:]
    heardAt = network.uptime
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
    heardAt = network.uptime
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
        fault("the upgrade cannot be read: \(error.reason)")
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
      fault("the gateway broke the WebSocket protocol: \(error.reason)")
      leaveNow()
    }
  }

  private func handle(_ event: WebSocketEvent) {
    switch event {
    case .text(let payload):
      guard let message = JSON(payload) else {
        return fault("not JSON: \(String(decoding: payload.prefix(200), as: UTF8.self))")
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
      if let id = message["id"]?.integer {
        if outstanding.removeValue(forKey: id) == nil { fault("a second or unasked reply to request \(id)") }
      }
      ledger.receive(message, payload)
      if let first = ledger.faults.first, faults.isEmpty { fault(first) }
    case .binary: fault("a binary message")
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
    judge(ending)
    figures.add(ledger)
    if isOpen { earlier = ledger.streams.filter { $0.value.seq != nil } }
    isOpen = false
    link = nil
    comeBack()
  }

  /// Whether the way the connection ended is one that the protocol allows.
  private func judge(_ ending: Ending) {
    network.trace.say(network.uptime, "\(name) ends: \(ending)")
    let now = network.uptime
    let wasSlow = now < deafUntil + Self.grace || !isReading
    let wasStalled = link.map { now < $0.stalledUntil + Self.grace } ?? false
    let isExcused = link?.isBroken ?? true || wasSlow || wasStalled || isNarrow
    switch ending {
    case .left: figures.left += 1
    case .told(let code, let reason):
      figures.told[code, default: 0] += 1
      switch code {
      case 4201:
        if expectsNotice, ledger.drainNotices == 0 { fault("closed by a drain that was not announced") }
      case 1001, 4202: break
      case 4108, 4110: if !isExcused { fault("closed with \(code) \(reason) though it read everything") }
      case 1000 where hasLeft, 1005 where hasLeft: break
      case 429, 503: break
      default: if !hasLeft { fault("closed with \(code) \(reason)") }
      }
    case .cut(let how):
      figures.cut += 1
      // Before the upgrade the port may turn a connection away for want of descriptors, without a word.
      if !isExcused, isOpen { fault("cut without a reason: \(how)") }
    }
  }

  /// A link that cannot carry what was asked for makes a client slow through no fault of the gateway.
  private var isNarrow: Bool { link?.isNarrow ?? false }

  /// Looks whether the gateway is still there.
  private func watch() {
    if isSettled, isOpen, told == nil, outstanding.isEmpty, !hasLeft, !isLeaving { settleSubscriptions() }
    guard connection != nil, isReading, told == nil, !hasLeft else { return }
    let now = network.uptime
    let limit = isSteady ? 2_500_000_000 : Self.silenceLimit
    guard now > heardAt + limit, now > deafUntil + limit else { return }
    let isExcused =
      link.map { $0.isBroken || $0.isNarrow || now < $0.stalledUntil + Self.silenceLimit } ?? true
    if !isExcused {
      fault("nothing came for \((now - heardAt) / 1_000_000_000) s, not even \(isOpen ? "a heartbeat" : "an answer")")
    }
    figures.deadConnections += 1
    leaveNow()
  }

  // MARK: - What it does

  private func pick(_ count: Int) -> Int { count <= 1 ? 0 : Int(random.next() % UInt64(count)) }

  private func actLater() {
    loop.schedule(after: UInt64(leisure * (20 + pick(400))) * 1_000_000) { [unowned self] in
      if !isSettled, !isLeaving {
        act()
        actLater()
      }
    }
  }

  private func act() {
    guard isOpen, connection?.isOpen ?? false, told == nil else { return }
    if isSteady { return ledger.streams.count < 8 ? subscribe() : () }
    switch pick(100) {
    case 0..<32: subscribe()
    case 32..<40: unsubscribe()
    case 40..<46: request("configure", ",\"interval_ms\":\([0, 100, 250, 1_000, 5_000][pick(5)])")
    case 46..<52:
      if isPaused {
        resume()
      } else {
        isPaused = true
        request("pause")
      }
    case 52..<56: request("ping", ",\"time\":\(loop.kernel.wallMicroseconds())")
    case 56..<59: request("list")
    case 59..<62: request("hello", ",\"heartbeat_s\":1,\"client\":\"simulation/1\"")
    case 62..<65: nonsense()
    case 65..<74: stopReading(for: UInt64(50 + pick(3_000)) * 1_000_000)
    case 74..<76: stopReading(for: UInt64(8_000 + pick(8_000)) * 1_000_000)
    case 76..<78: leaveNow(politely: true)
    case 78..<80: leaveNow()
    case 80..<82: vanish()
    default: break
    }
  }

  /// Says who it is; after a break it asks, more often than not, to go on where that left it.
  private func greet() {
    guard let session, !earlier.isEmpty, pick(100) < 70 else {
      if pick(3) > 0 { request("hello", ",\"heartbeat_s\":1") }
      return
    }
    let streams = earlier.sorted { $0.key < $1.key }.map { number, stream in
      var fields = "\"channel\":\"\(stream.channel)\""
      if !stream.symbol.isEmpty { fields += ",\"symbol\":\"\(stream.symbol)\"" }
      if stream.channel == "book" { fields += ",\"depth\":\(stream.depth == 0 ? "\"full\"" : "\(stream.depth)")" }
      if stream.channel != "status" { fields += ",\"interval_ms\":\(stream.interval)" }
      return "{\(fields),\"stream\":\(number),\"epoch\":\"\(stream.epoch)\",\"seq\":\(stream.seq!)}"
    }
    ledger.resume(earlier)
    request(
      "hello",
      ",\"heartbeat_s\":1,\"resume\":{\"session\":\"\(session)\",\"streams\":[\(streams.joined(separator: ","))]}")
  }

  private func subscribe() {
    let channel = market.channels[pick(market.channels.count)]
    let symbol = market.symbols[pick(market.symbols.count)]
    var fields = "\"channel\":\"\(channel)\""
    if channel != "status" {
      fields += ",\"symbols\":[\"\(pick(12) == 0 ? "*:" + symbol.split(separator: ":")[1] : symbol)\"]"
    }
    if channel == "book" { fields += ",\"depth\":\(["10", "25", "100", "\"full\""][pick(4)])" }
    if channel != "status", pick(2) == 0 { fields += ",\"interval_ms\":\([0, 100, 250, 1_000][pick(4)])" }
    request("subscribe", ",\"streams\":[{\(fields)}]")
  }

  private func settleSubscriptions() {
    guard !ledger.streams.values.contains(where: { $0.channel == "book" }) else { return }
    let symbol = market.symbols[pick(market.symbols.count)]
    request(
      "subscribe",
      ",\"streams\":[{\"channel\":\"book\",\"symbols\":[\"\(symbol)\"],\"depth\":25},{\"channel\":\"trades\",\"symbols\":[\"\(symbol)\"]}]"
    )
  }

  private func unsubscribe() {
    if pick(5) == 0 { return request("unsubscribe", ",\"all\":true") }
    let numbers = ledger.streams.keys.sorted()
    guard !numbers.isEmpty else { return }
    request("unsubscribe", ",\"streams\":[\(numbers[pick(numbers.count)])]")
  }

  private func resume() {
    isPaused = false
    request("resume")
  }

  private func nonsense() {
    switch pick(4) {
    case 0: request("subscribe", ",\"streams\":[{\"channel\":\"book\",\"symbols\":[\"kraken:NO-SUCH\"]}]")
    case 1: request("subscribe", ",\"streams\":[{\"channel\":\"rumours\",\"symbols\":[\"kraken:BTC-USD\"]}]")
    case 2: request("unsubscribe", ",\"streams\":[987654]")
    default: request("dance")
    }
  }

  private func request(_ op: String, _ rest: String = "") {
    guard connection?.isOpen ?? false, isOpen else { return }
    nextID += 1
    outstanding[nextID] = op
    let text = "{\"op\":\"\(op)\",\"id\":\(nextID)\(rest)}"
    network.trace.say(network.uptime, "\(name) -> \(text)")
    send(.text, Array(text.utf8))
    figures.requests += 1
  }

  private func send(_ opcode: WebSocketFrame.Opcode, _ payload: [UInt8]) {
    var out = ByteBuffer(capacity: payload.count + 16)
    WebSocketFrame.append(opcode, payload: payload.span.bytes, mask: loop.kernel.randomUInt32(), to: &out)
    connection?.write(out.bytes)
  }

  private func stopReading(for span: UInt64) {
    guard isReading, let connection else { return }
    isReading = false
    connection.pauseReading()
    figures.deafTimes += 1
    loop.schedule(after: span) { [weak self, weak connection] in
      guard let self, let connection, connection === self.connection else { return }
      read()
    }
  }

  private func read() {
    guard !isReading else { return }
    isReading = true
    deafUntil = network.uptime
    heardAt = network.uptime
    connection?.resumeReading()
  }

  private func leaveNow(politely: Bool = false) {
    guard let connection else { return }
    hasLeft = true
    if politely, connection.isOpen {
      var out = ByteBuffer()
      WebSocketFrame.appendClose(.normal, reason: "enough", mask: loop.kernel.randomUInt32(), to: &out)
      connection.write(out.bytes)
      webSocket.didSendClose()
      // The answer, or nothing: it does not wait for long.
      loop.schedule(after: 2_000_000_000) { [weak connection] in connection?.abort() }
    } else {
      connection.abort()
    }
  }

  /// Goes away without a word: the battery is empty.
  private func vanish() {
    guard let link else { return }
    figures.vanished += 1
    network.strike(link, .halfOpen)
    leaveNow()
  }
}

/// Carries a call that is made and run in the one thread of a world to where `Sendable` is asked for.
struct LoopCall: @unchecked Sendable {
  // `@unchecked`: a world has one thread.
  private let call: () -> Void
  init(_ call: @escaping () -> Void) { self.call = call }
  var body: @Sendable () -> Void { { call() } }
}

/// What a client did and saw, all its connections together.
package struct ClientFigures: Sendable {
  package var connects = 0
  package var streams = 0
  package var requests = 0
  package var bytes = 0
  package var messages = 0
  package var updates = 0
  package var snapshots = 0
  package var heartbeats = 0
  package var trades = 0
  package var lostMessages = 0
  package var resumes = 0
  package var recovered = 0
  package var drainNotices = 0
  package var slowNotices = 0
  package var deafTimes = 0
  package var vanished = 0
  package var left = 0
  package var cut = 0
  package var deadConnections = 0
  /// Close codes and refusals, and how often.
  package var told: [Int: Int] = [:]

  mutating func add(_ ledger: StreamLedger) {
    updates += ledger.updates
    snapshots += ledger.snapshots
    heartbeats += ledger.heartbeats
    trades += ledger.trades
    lostMessages += ledger.lostMessages
    recovered += ledger.recovered
    drainNotices += ledger.drainNotices
    slowNotices += ledger.slowNotices
  }

  package mutating func add(_ other: ClientFigures) {
    connects += other.connects
    streams += other.streams
    requests += other.requests
    bytes += other.bytes
    messages += other.messages
    updates += other.updates
    snapshots += other.snapshots
    heartbeats += other.heartbeats
    trades += other.trades
    lostMessages += other.lostMessages
    recovered += other.recovered
    drainNotices += other.drainNotices
    resumes += other.resumes
    slowNotices += other.slowNotices
    deafTimes += other.deafTimes
    vanished += other.vanished
    left += other.left
    cut += other.cut
    deadConnections += other.deadConnections
    told.merge(other.told, uniquingKeysWith: +)
  }
  package init() {}
}
