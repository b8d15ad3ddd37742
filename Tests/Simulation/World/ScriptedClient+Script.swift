import Bytes
import Transport
import WebSocket

/// What a scripted client does, as its seed says.
extension ScriptedClient {
  func pick(_ count: Int) -> Int { count <= 1 ? 0 : Int(random.next() % UInt64(count)) }

  func actLater() {
    loop.schedule(after: .milliseconds(leisure * (20 + pick(400)))) { [unowned self] in
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
    case 65..<74: stopReading(for: .milliseconds(50 + pick(3_000)))
    case 74..<76: stopReading(for: .milliseconds(8_000 + pick(8_000)))
    case 76..<78: leaveNow(politely: true)
    case 78..<80: leaveNow()
    case 80..<82: vanish()
    default: break
    }
  }

  /// Says who it is; after a break it asks, more often than not, to go on where that left it.
  func greet() {
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

  func settleSubscriptions() {
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

  func resume() {
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
    judge.asked(nextID, op)
    let text = "{\"op\":\"\(op)\",\"id\":\(nextID)\(rest)}"
    network.trace.say(network.uptime, "\(name) -> \(text)")
    send(.text, Array(text.utf8))
    figures.requests += 1
  }

  func send(_ opcode: WebSocketFrame.Opcode, _ payload: [UInt8]) {
    var out = ByteBuffer(capacity: payload.count + 16)
    WebSocketFrame.append(opcode, payload: payload.span.bytes, mask: loop.kernel.randomUInt32(), to: &out)
    connection?.write(out.bytes)
  }

  private func stopReading(for span: Duration) {
    guard judge.isReading, let connection else { return }
    judge.stoppedReading()
    connection.pauseReading()
    figures.deafTimes += 1
    loop.schedule(after: span) { [weak self, weak connection] in
      guard let self, let connection, connection === self.connection else { return }
      read()
    }
  }

  func read() {
    guard !judge.isReading else { return }
    judge.reads()
    connection?.resumeReading()
  }

  func leaveNow(politely: Bool = false) {
    guard let connection else { return }
    hasLeft = true
    if politely, connection.isOpen {
      var out = ByteBuffer()
      WebSocketFrame.appendClose(.normal, reason: "enough", mask: loop.kernel.randomUInt32(), to: &out)
      connection.write(out.bytes)
      webSocket.didSendClose()
      // The answer, or nothing: it does not wait for long.
      loop.schedule(after: .seconds(2)) { [weak connection] in connection?.abort() }
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
