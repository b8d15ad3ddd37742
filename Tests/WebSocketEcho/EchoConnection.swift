import Bytes
import HTTP1
import Transport
import WebSocket

/// One connection, either end: sends every message back as it came, compressed where that was agreed on.
final class EchoConnection: ConnectionHandler {
  private let connection: Connection
  private let role: WebSocketRole
  private var webSocket: WebSocketConnection
  private var deflater: Deflater?
  private var out = ByteBuffer()
  private var isOpen = false

  // Of a server's handshake.
  private var request = HTTPRequestParser()
  // Of a client's handshake.
  private var response = HTTPResponseParser(limits: HTTPLimits())
  private var key: [UInt8] = []
  /// Told each message instead of sending it back.
  private let listen: ((UnsafeRawBufferPointer) -> Void)?
  private let didClose: (String) -> Void

  /// The server's end of a connection.
  init(server connection: Connection) {
    self.connection = connection
    role = .server
    webSocket = WebSocketConnection(role: .server)
    listen = nil
    didClose = { _ in }
  }

  /// The client's end; sends the handshake.
  init(
    client connection: Connection, host: String, target: String, listen: ((UnsafeRawBufferPointer) -> Void)?,
    didClose: @escaping (String) -> Void
  ) {
    self.connection = connection
    role = .client
    webSocket = WebSocketConnection(role: .client)
    self.listen = listen
    self.didClose = didClose
    key = SystemRandom.bytes(16)
    let head = WebSocketHandshake.request(host: host, target: target, key: key, compression: WebSocketEcho.offers)
    HTTPEncoder.append(head, bodyLength: 0, to: &out)
    send()
  }

  private var mask: UInt32? { role == .client ? SystemRandom.uint32() : nil }

  private func begin(_ deflate: PerMessageDeflate?) {
    isOpen = true
    webSocket = WebSocketConnection(role: role, limits: WebSocketEcho.limits, deflate: deflate)
    guard let deflate else { return }
    let bits = role == .server ? deflate.serverMaxWindowBits : deflate.clientMaxWindowBits
    let takesOver = role == .server ? !deflate.serverNoContextTakeover : !deflate.clientNoContextTakeover
    // Nothing has to be compressed; with a window that zlib cannot keep to, nothing is.
    if bits > 8 { deflater = Deflater(level: 1, windowBits: bits, takesOver: takesOver) }
  }

  private func send() {
    connection.write(out.bytes)
    if out.count > 1 << 20 { out.release() } else { out.removeAll() }
  }

  func connection(_ connection: Connection, didReceive bytes: UnsafeMutableRawBufferPointer) {
    var input = bytes
    guard isOpen || open(&input) else { return }
    do throws(WebSocketError) {
      while connection.isOpen, let event = try webSocket.next(&input) { take(event) }
    } catch {
      if webSocket.closeState == .failed {
        WebSocketFrame.appendClose(error.code, reason: error.reason, mask: mask, to: &out)
        webSocket.didSendClose()
      }
      send()
      connection.close()
    }
    if !out.isEmpty { send() }
  }

  private func take(_ event: WebSocketEvent) {
    switch event {
    case .text(let payload): echo(.text, payload)
    case .binary(let payload): echo(.binary, payload)
    case .ping(let payload): WebSocketFrame.append(.pong, payload: payload, mask: mask, to: &out)
    case .pong: break
    case .close(let code, _, let mustReply):
      if mustReply {
        WebSocketFrame.appendCloseReply(to: code, mask: mask, to: &out)
        webSocket.didSendClose()
      }
      send()
      // The server ends the connection (RFC 6455 section 7.1.1); a client waits for that for a second.
      if role == .server {
        connection.close()
      } else {
        connection.loop.schedule(after: .seconds(1)) { [connection] in connection.close() }
      }
    }
  }

  private func echo(_ opcode: WebSocketFrame.Opcode, _ payload: UnsafeRawBufferPointer) {
    if let listen { return listen(payload) }
    if let deflater {
      WebSocketFrame.append(opcode, payload: payload, mask: mask, deflater: deflater, to: &out)
    } else {
      WebSocketFrame.append(opcode, payload: payload, mask: mask, to: &out)
    }
  }

  /// Does the handshake; false while it is not done.
  private func open(_ input: inout UnsafeMutableRawBufferPointer) -> Bool {
    var rest = UnsafeRawBufferPointer(input)
    do throws(HTTPError) {
      switch role {
      case .server:
        guard let (head, _) = try request.next(&rest) else { return false }
        let accepted = try WebSocketHandshake.accept(head, subprotocols: [], compression: WebSocketEcho.policy)
        HTTPEncoder.append(accepted.response, bodyLength: nil, keepAlive: true, date: nil, to: &out)
        begin(accepted.deflate)
      case .client:
        guard let (head, _) = try response.next(&rest) else { return false }
        begin(try WebSocketHandshake.check(head, key: key, subprotocols: [], compression: WebSocketEcho.offers).deflate)
      }
    } catch {
      if role == .server {
        HTTPEncoder.append(error.response, bodyLength: error.reason.utf8.count, keepAlive: false, date: nil, to: &out)
        out.append(error.reason)
        send()
      }
      connection.close()
      return false
    }
    input = UnsafeMutableRawBufferPointer(rebasing: input[(input.count - rest.count)...])
    return true
  }

  func connectionDidDrain(_ connection: Connection) {}

  func connectionDidClose(_ connection: Connection, reason: CloseReason) {
    didClose(isOpen ? "" : "the handshake failed")
  }
}
