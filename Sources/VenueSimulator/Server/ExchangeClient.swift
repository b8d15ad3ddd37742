import Bytes
import HTTP1
import MarketData
import Transport
import WebSocket

/// A connection to a simulated exchange: REST requests, until one asks for a WebSocket.
final class ExchangeClient: ConnectionHandler {
  let connection: Connection
  /// Held until the connection is gone: `ExchangeCore.remove` ends the cycle.
  private let core: ExchangeCore
  private var parser = HTTPRequestParser()
  private var webSocket = WebSocketConnection(role: .server)
  /// Of a client that agreed on compression.
  private var deflater: Deflater?
  private(set) var session: SimulatedSession?

  init(_ connection: Connection, _ core: ExchangeCore) {
    self.connection = connection
    self.core = core
  }

  /// As exchanges answer: contexts are kept, windows are as large as a client has room for.
  private static let compression = PerMessageDeflate.Policy(
    serverTakesOver: true, clientTakesOver: true, serverWindowBits: 9...15, clientWindowBits: 15)

  // MARK: - Events

  func connection(_ connection: Connection, didReceive bytes: UnsafeMutableRawBufferPointer) {
    if let session {
      // Half-open: what arrives is taken and means nothing.
      guard !session.isHalfOpen else { return }
      receiveFrames(bytes, session)
    } else {
      receiveRequests(bytes)
    }
  }

  func connectionDidDrain(_ connection: Connection) {}

  func connectionDidClose(_ connection: Connection, reason: CloseReason) { core.remove(self) }

  // MARK: - HTTP

  private func receiveRequests(_ bytes: UnsafeMutableRawBufferPointer) {
    var input = UnsafeRawBufferPointer(bytes)
    do throws(HTTPError) {
      while let (head, body) = try parser.next(&input) {
        core.countRequest()
        core.catchUp()
        guard WebSocketHandshake.isUpgrade(head) else {
          if wait(for: head, body) { return }
          answer(head, body)
          continue
        }
        // A client waits for the answer before it sends frames; what it sends at once is nothing to build on.
        return upgrade(head)
      }
    } catch {
      write(error.response, body: error.reason, keepAlive: false)
      connection.close()
    }
  }

  /// Answers later if the venue wants it so. Clients here have one request at a time under way, so that nothing after
  /// it is lost.
  private func wait(for head: HTTPRequestHead, _ body: [UInt8]) -> Bool {
    let delay = head.method == "GET" || head.method == "POST" ? core.venue.delay(path: head.path, query: head.query) : 0
    guard delay > 0 else { return false }
    connection.pauseReading()
    connection.loop.schedule(after: .microseconds(delay)) { [weak self] in
      guard let self, connection.isOpen else { return }
      core.catchUp()
      answer(head, body)
      connection.resumeReading()
    }
    return true
  }

  private func answer(_ head: HTTPRequestHead, _ body: [UInt8]) {
    let response: SimulatedResponse
    switch head.method {
    case "GET": response = core.venue.respond(path: head.path, query: head.query)
    case "POST":
      response = body.withUnsafeBytes { core.venue.respond(path: head.path, body: RawSpan(_unsafeBytes: $0)) }
    default: response = SimulatedResponse(status: 405, body: "{}")
    }
    var fields = HTTPFields([HTTPField("Content-Type", "application/json")])
    for (name, value) in response.fields { fields.append(name, value) }
    write(HTTPResponseHead(status: response.status, fields: fields), body: response.body, keepAlive: head.keepsAlive)
    if !head.keepsAlive { connection.close() }
  }

  private func write(_ head: HTTPResponseHead, body: String, keepAlive: Bool) {
    var out = ByteBuffer(capacity: body.utf8.count + 512)
    let date = HTTPDate.format(secondsSince1970: core.venue.now.rawValue / 1_000_000)
    HTTPEncoder.append(head, bodyLength: body.utf8.count, keepAlive: keepAlive, date: date, to: &out)
    out.append(body)
    connection.write(out.bytes)
  }

  /// Answers an upgrade, late if a fault says so.
  private func upgrade(_ head: HTTPRequestHead) {
    let delay = core.venue.handshakeDelay
    guard delay > 0 else { return open(head) }
    connection.pauseReading()
    connection.loop.schedule(after: .microseconds(delay)) { [weak self] in
      guard let self, connection.isOpen else { return }
      core.catchUp()
      open(head)
      connection.resumeReading()
    }
  }

  private func open(_ head: HTTPRequestHead) {
    var response: HTTPResponseHead
    do throws(HTTPError) {
      let accepted = try WebSocketHandshake.accept(
        head, subprotocols: [], compression: core.compresses ? ExchangeClient.compression : nil)
      response = accepted.response
      if let deflate = accepted.deflate {
        core.countCompressing()
        webSocket = WebSocketConnection(role: .server, deflate: deflate)
        deflater = Deflater(
          windowBits: deflate.serverMaxWindowBits, takesOver: !deflate.serverNoContextTakeover)
      }
    } catch {
      write(error.response, body: error.reason, keepAlive: false)
      return connection.close()
    }
    do throws(SimulatedRefusal) {
      session = try core.venue.open(path: head.path, query: head.query)
    } catch {
      write(HTTPResponseHead(status: error.status), body: error.reason, keepAlive: false)
      return connection.close()
    }
    // So that no gateway passes simulated prices on as real ones.
    response.fields.append("Tidegate-Simulated", "true")
    var out = ByteBuffer(capacity: 512)
    HTTPEncoder.append(response, bodyLength: nil, keepAlive: true, date: nil, to: &out)
    connection.write(out.bytes)
    core.flush()
  }

  // MARK: - WebSocket

  private func receiveFrames(_ bytes: UnsafeMutableRawBufferPointer, _ session: SimulatedSession) {
    core.catchUp()
    var input = bytes
    do throws(WebSocketError) {
      while let event = try webSocket.next(&input) { handle(event, session) }
    } catch {
      close(error.code, error.reason)
    }
    core.flush()
  }

  private func handle(_ event: WebSocketEvent, _ session: SimulatedSession) {
    switch event {
    case .text(let text): core.venue.receive(RawSpan(_unsafeBytes: text), from: session)
    case .binary: close(.unsupportedData, "text only")
    case .ping(let payload):
      core.venue.receivedPing(from: session)
      // A silent venue answers nothing.
      guard !core.venue.isSilent else { return }
      var out = ByteBuffer()
      WebSocketFrame.append(.pong, payload: RawSpan(_unsafeBytes: payload), mask: nil, to: &out)
      connection.write(out.bytes)
    case .pong(let payload): core.venue.receivedPong(payload, from: session)
    case .close(let code, _, let mustReply):
      if mustReply {
        var out = ByteBuffer()
        WebSocketFrame.appendCloseReply(to: code, mask: nil, to: &out)
        connection.write(out.bytes)
        webSocket.didSendClose()
      }
      connection.close()
    }
  }

  private func close(_ code: WebSocketCloseCode, _ reason: String) {
    guard webSocket.closeState == .open || webSocket.closeState == .failed else { return }
    var out = ByteBuffer()
    WebSocketFrame.appendClose(code, reason: reason, mask: nil, to: &out)
    connection.write(out.bytes)
    webSocket.didSendClose()
    connection.close()
  }

  /// Writes what the session is owed, in one run.
  func flush(_ scratch: inout ByteBuffer) {
    guard let session, session.hasOutput else { return }
    let output = session.takeOutput()
    guard connection.isOpen else { return }
    scratch.removeAll()
    for item in output {
      switch item {
      case .text(let payload):
        let opcode: WebSocketFrame.Opcode = core.venue.venueProtocol.sendsBinary ? .binary : .text
        if let deflater {
          WebSocketFrame.append(opcode, payload: payload.unsafeBytes, mask: nil, deflater: deflater, to: &scratch)
        } else {
          WebSocketFrame.append(opcode, payload: payload.unsafeBytes, mask: nil, to: &scratch)
        }
      case .ping(let payload):
        payload.withUnsafeBytes {
          WebSocketFrame.append(.ping, payload: RawSpan(_unsafeBytes: $0), mask: nil, to: &scratch)
        }
      case .close(let code, let reason):
        if !scratch.isEmpty { connection.write(scratch.bytes) }
        scratch.removeAll()
        return close(WebSocketCloseCode(rawValue: code), reason)
      case .abort: return connection.abort()
      case .witness: break
      }
    }
    connection.write(scratch.bytes)
  }
}
