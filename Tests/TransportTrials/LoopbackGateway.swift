import Bytes
import HTTP1
import Synchronization
import Transport
import WebSocket

/// A WebSocket server on loopback that does what a test says, for the transports of the client.
package final class LoopbackGateway: Sendable {
  /// What it does with a connection.
  package enum Script: Sendable {
    /// Accepts, and sends every text message back. `close NNNN words` closes with that code; `break` cuts the
    /// connection; `binary` is answered with a binary message.
    case echo
    /// Accepts without the subprotocol.
    case withoutSubprotocol
    /// Answers with this status, `Retry-After: 7` and the body of an error.
    case refuse(Int)
    /// Says these words whatever it gets.
    case say(String)
  }

  private let listener: Listener
  private let loop: EventLoop
  private let isSecure: Bool

  /// - Parameter certificate: of a server that speaks TLS.
  package init(_ script: Script, certificate: SelfSignedCertificate? = nil) throws {
    let loop = try EventLoop(index: 0, label: "test.loopback")
    self.loop = loop
    let tls = try certificate.map { try TLSServerContext(certificate: $0) }
    isSecure = tls != nil
    listener = try Listener(address: SocketAddress(host: "127.0.0.1", port: 0), loops: [loop], tls: tls) {
      LoopbackConnection($0, script)
    }
  }

  package var url: String { "\(isSecure ? "wss" : "ws")://\(listener.address)/v1/stream" }
  /// The same with the other scheme: `wss` of a server without TLS, `ws` of one with it.
  package var wrongURL: String { "\(isSecure ? "ws" : "wss")://\(listener.address)/v1/stream" }
}

private final class LoopbackConnection: ConnectionHandler {
  private let connection: Connection
  private let script: LoopbackGateway.Script
  private var request = HTTPRequestParser()
  private var webSocket = WebSocketConnection(role: .server)
  private var isOpen = false

  init(_ connection: Connection, _ script: LoopbackGateway.Script) {
    self.connection = connection
    self.script = script
  }

  func connection(_ connection: Connection, didReceive bytes: UnsafeMutableRawBufferPointer) {
    if case .say(let words) = script {
      var out = ByteBuffer()
      out.append(words)
      connection.write(out.bytes)
      return connection.close()
    }
    var input = bytes
    do {
      if !isOpen {
        var rest = UnsafeRawBufferPointer(input)
        guard let (head, _) = try request.next(&rest) else { return }
        guard try open(head) else { return }
        input = UnsafeMutableRawBufferPointer(rebasing: input[(input.count - rest.count)...])
      }
      while connection.isOpen, let event = try webSocket.next(&input) { take(event) }
    } catch {
      connection.abort()
    }
  }

  private func open(_ head: HTTPRequestHead) throws -> Bool {
    var out = ByteBuffer()
    switch script {
    case .refuse(let status):
      let body = #"{"type":"error","code":"full","message":"this gateway is full","hint":"try another"}"#
      let answer = HTTPResponseHead(status: status, fields: HTTPFields([HTTPField("Retry-After", "7")]))
      HTTPEncoder.append(answer, bodyLength: body.utf8.count, keepAlive: false, date: nil, to: &out)
      out.append(body)
      connection.write(out.bytes)
      connection.close()
      return false
    case .say: return false
    case .echo, .withoutSubprotocol:
      var names = ["tidegate.v1.json"]
      if case .withoutSubprotocol = script { names = [] }
      let accepted = try WebSocketHandshake.accept(
        head, subprotocols: names, compression: PerMessageDeflate.Policy(serverWindowBits: 12...12))
      HTTPEncoder.append(accepted.response, bodyLength: nil, keepAlive: true, date: nil, to: &out)
      connection.write(out.bytes)
      webSocket = WebSocketConnection(
        role: .server, limits: WebSocketLimits(messageBytes: 1 << 20), deflate: accepted.deflate,
        inflaters: InflaterPool())
      isOpen = true
      return true
    }
  }

  private func take(_ event: WebSocketEvent) {
    var out = ByteBuffer()
    switch event {
    case .text(let payload):
      let text = String(decoding: payload, as: UTF8.self)
      let words = text.split(separator: " ", maxSplits: 2)
      switch words.first {
      case "close":
        WebSocketFrame.appendClose(
          WebSocketCloseCode(rawValue: UInt16(words[1]) ?? 1000), reason: String(words[2]), mask: nil, to: &out)
        webSocket.didSendClose()
      case "break": return connection.abort()
      case "binary": WebSocketFrame.append(.binary, payload: payload, mask: nil, to: &out)
      default: WebSocketFrame.append(.text, payload: payload, mask: nil, to: &out)
      }
    case .ping(let payload): WebSocketFrame.append(.pong, payload: payload, mask: nil, to: &out)
    case .binary, .pong: break
    case .close(let code, _, let mustReply):
      if mustReply { WebSocketFrame.appendCloseReply(to: code, mask: nil, to: &out) }
      connection.write(out.bytes)
      return connection.close()
    }
    connection.write(out.bytes)
  }

  func connectionDidDrain(_ connection: Connection) {}
  func connectionDidClose(_ connection: Connection, reason: CloseReason) {}
}
