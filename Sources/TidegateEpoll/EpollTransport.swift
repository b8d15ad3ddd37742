import Bytes
import HTTP1
import Synchronization
import TidegateClient
import Transport
import WebSocket

/// The transport for Linux: sockets of this package's event loop on epoll, TLS by OpenSSL.
///
/// All clients of a process share one loop, which is made when the first connects and lives as long as the process.
public struct EpollTransport: ClientTransport {
  /// The largest message of the gateway in bytes: a whole book.
  package static let messageLimit = 8 << 20

  /// Made with the first `wss` connection and kept, so that a reconnect resumes its TLS session.
  private final class SharedContext: Sendable {
    private let caFile: String?
    private let made = Mutex<TLSClientContext?>(nil)

    init(caFile: String?) { self.caFile = caFile }

    func get() throws(TransportError) -> TLSClientContext {
      if let context = made.withLock({ $0 }) { return context }
      let context = try TLSClientContext(caFile: caFile)
      return made.withLock { made in
        if let made { return made }
        made = context
        return context
      }
    }
  }
  private let context: SharedContext
  private let offersCompression: Bool

  /// - Parameters:
  ///   - caFile: PEM file of the roots to trust for `wss` instead of the system's.
  ///   - offersCompression: whether the gateway may compress what it sends.
  public init(caFile: String? = nil, offersCompression: Bool = true) {
    context = SharedContext(caFile: caFile)
    self.offersCompression = offersCompression
  }

  private static let loop: Result<EventLoop, TransportError> = Result { () throws(TransportError) in
    try EventLoop(index: 0, label: "tidegate.client")
  }

  /// Begins to connect; `receive` is called on the loop.
  public func connect(
    to url: GatewayURL, subprotocol: String, receive: @escaping @Sendable (ClientTransportEvent) -> Void
  ) -> any ClientTransportConnection {
    connect(to: url, subprotocols: [subprotocol], receive: receive)
  }

  /// The same with several subprotocols, the preferred one first.
  public func connect(
    to url: GatewayURL, subprotocols: [String], receive: @escaping @Sendable (ClientTransportEvent) -> Void
  ) -> any ClientTransportConnection {
    switch Self.loop {
    case .success(let loop):
      let connection = LoopConnection(
        loop: loop, url: url, subprotocols: subprotocols, offersCompression: offersCompression, receive: receive)
      let context = context
      loop.execute { connection.start { () throws(TransportError) in try context.get() } }
      return connection
    case .failure(let error):
      // Without a loop there is no thread to report from but one of the pool.
      Task { receive(.unusable(reason: error.description)) }
      return NoConnection()
    }
  }
}

extension ClientTransport where Self == EpollTransport {
  /// Sockets on epoll, with the system's roots for `wss`.
  public static var epoll: EpollTransport { EpollTransport() }

  /// Sockets on epoll.
  /// - Parameters:
  ///   - caFile: PEM file of the roots to trust for `wss` instead of the system's.
  ///   - offersCompression: whether the gateway may compress what it sends, which costs this end about 12 KB and some
  ///     time, and saves half of the bytes of books and snapshots.
  public static func epoll(caFile: String? = nil, offersCompression: Bool = true) -> EpollTransport {
    EpollTransport(caFile: caFile, offersCompression: offersCompression)
  }
}

private struct NoConnection: ClientTransportConnection {
  func send(_ text: String) {}
  func close(code: UInt16, reason: String) {}
}

/// One WebSocket on the loop.
private final class LoopConnection: ClientTransportConnection, ConnectionHandler, @unchecked Sendable {
  // `@unchecked`: `loop`, `url`, `subprotocols`, `offers`, `receive` are constants; everything else is touched on
  // `loop` only, which `start` and the handler's functions assert and `send` and `close` enter by `execute`.
  private let loop: EventLoop
  private let url: GatewayURL
  private let subprotocols: [String]
  /// Whether the server chose one with binary messages.
  private var isBinary = false
  /// The gateway compresses each message by itself; a server that would not has to be asked to.
  private let offers: [PerMessageDeflate.Offer]
  private let receive: @Sendable (ClientTransportEvent) -> Void

  private enum Stage { case connecting, handshaking, open, closed }
  private var stage = Stage.connecting
  private var attempt: ConnectAttempt?
  private var connection: Connection?
  private var key: [UInt8] = []
  private var response = HTTPResponseParser(limits: HTTPLimits())
  private var frames = WebSocketConnection(
    role: .client, limits: WebSocketLimits(messageBytes: EpollTransport.messageLimit))
  private var random = SystemRandomNumberGenerator()
  /// The code and reason of the peer's close frame.
  private var peerClose: (code: UInt16, reason: String)?
  /// The client closed the connection: it wants no more events.
  private var isSilent = false

  init(
    loop: EventLoop, url: GatewayURL, subprotocols: [String], offersCompression: Bool,
    receive: @escaping @Sendable (ClientTransportEvent) -> Void
  ) {
    offers = offersCompression ? [PerMessageDeflate.Offer(serverNoContextTakeover: true)] : []
    self.loop = loop
    self.url = url
    self.subprotocols = subprotocols
    self.receive = receive
  }

  /// - Parameter context: the TLS context of `wss`.
  func start(context: () throws(TransportError) -> TLSClientContext) {
    loop.assertOnLoop()
    guard stage == .connecting else { return }
    var tls: TLSClientContext?
    if url.isSecure {
      do {
        tls = try context()
      } catch {
        return end(.unusable(reason: error.description))
      }
    }
    attempt = Connector.connect(host: url.host, port: url.port, tls: tls, loop: loop, handler: self) { result in
      self.attempt = nil
      switch result {
      case .success(let connection): self.connected(connection)
      case .failure(let error): self.end(error.event)
      }
    }
  }

  private func connected(_ connection: Connection) {
    guard stage == .connecting else { return connection.abort() }
    self.connection = connection
    stage = .handshaking
    key = (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &random) }
    let isDefaultPort = url.port == (url.isSecure ? 443 : 80)
    let bare = url.host.contains(":") ? "[\(url.host)]" : url.host
    let head = WebSocketHandshake.request(
      host: isDefaultPort ? bare : url.authority, target: url.target, key: key, subprotocols: subprotocols,
      compression: offers)
    var out = ByteBuffer()
    HTTPEncoder.append(head, bodyLength: 0, to: &out)
    connection.write(out.bytes)
  }

  // MARK: From the client

  func send(_ text: String) {
    loop.execute {
      guard self.stage == .open else { return }
      self.write(.text, Array(text.utf8))
    }
  }

  func close(code: UInt16, reason: String) {
    loop.execute {
      self.isSilent = true
      self.attempt?.cancel()
      self.attempt = nil
      if self.stage == .open, let connection = self.connection {
        var out = ByteBuffer()
        WebSocketFrame.appendClose(
          WebSocketCloseCode(rawValue: code), reason: reason, mask: self.random.next(), to: &out)
        connection.write(out.bytes)
        connection.close(timeout: .seconds(1))
      } else {
        self.connection?.abort()
      }
      self.stage = .closed
    }
  }

  private func write(_ opcode: WebSocketFrame.Opcode, _ payload: [UInt8]) {
    var out = ByteBuffer()
    WebSocketFrame.append(opcode, payload: payload.span.bytes, mask: random.next(), to: &out)
    connection?.write(out.bytes)
  }

  // MARK: From the connection

  func connection(_ connection: Connection, didReceive bytes: UnsafeMutableRawBufferPointer) {
    loop.assertOnLoop()
    var input = bytes
    if stage == .handshaking {
      var rest = UnsafeRawBufferPointer(input)
      do {
        guard let answer = try response.next(&rest) else { return }
        guard answer.head.status == 101 else {
          connection.abort()
          return end(refusal(answer.head, answer.body))
        }
        let accepted = try WebSocketHandshake.check(
          answer.head, key: key, subprotocols: subprotocols, compression: offers)
        // A server may accept without naming one (RFC 6455 section 4.1): then it speaks something else.
        guard let subprotocol = accepted.subprotocol else {
          connection.abort()
          return end(.unusable(reason: "the server does not speak \(subprotocols.joined(separator: " or "))"))
        }
        isBinary = subprotocol == Subprotocol.binary
        if let deflate = accepted.deflate {
          frames = WebSocketConnection(
            role: .client, limits: WebSocketLimits(messageBytes: EpollTransport.messageLimit), deflate: deflate,
            inflaters: InflaterPool())
        }
      } catch {
        connection.abort()
        return end(.unusable(reason: "this is no WebSocket server: \(error.reason)"))
      }
      input = UnsafeMutableRawBufferPointer(rebasing: input[(input.count - rest.count)...])
      stage = .open
      receive(.opened)
    }
    guard stage == .open else { return }
    do throws(WebSocketError) {
      while stage == .open, let event = try frames.next(&input) {
        switch event {
        case .text(let payload): receive(.message([UInt8](payload)))
        case .binary(let payload) where isBinary: receive(.binary([UInt8](payload)))
        case .binary: throw WebSocketError(.unsupportedData, "tidegate.v1 is text")
        case .ping(let payload): write(.pong, [UInt8](payload))
        case .pong: break
        case .close(let code, let reason, let mustReply):
          peerClose = (code, reason)
          if mustReply {
            var out = ByteBuffer()
            WebSocketFrame.appendClose(.normal, reason: "", mask: random.next(), to: &out)
            connection.write(out.bytes)
          }
          connection.close(timeout: .seconds(1))
          // 1005: the frame held no code (RFC 6455 section 7.4.1).
          return end(code: code == 1005 ? nil : code, reason: reason)
        }
      }
    } catch {
      var out = ByteBuffer()
      WebSocketFrame.appendClose(error.code, reason: error.reason, mask: random.next(), to: &out)
      connection.write(out.bytes)
      connection.close(timeout: .seconds(1))
      end(.unusable(reason: error.reason))
    }
  }

  func connectionDidDrain(_ connection: Connection) {}

  func connectionDidClose(_ connection: Connection, reason: CloseReason) {
    self.connection = nil
    // An answer without a length ends with the connection.
    if stage == .handshaking, case .closedByPeer = reason, let answer = try? response.finish() {
      return end(refusal(answer.head, answer.body))
    }
    switch reason {
    case .closedByPeer: end(code: nil, reason: "the connection was closed")
    case .closedLocally: end(code: nil, reason: "closed")
    case .failed(let error): end(error.event)
    }
  }

  private func refusal(_ head: HTTPResponseHead, _ body: [UInt8]) -> ClientTransportEvent {
    HandshakeRefusal(
      status: head.status, phrase: head.reason, waits: head.fields.values("Retry-After"),
      date: head.fields.values("Date").first, body: body
    ).event
  }

  private func end(code: UInt16?, reason: String) { end(.closed(code: code, reason: reason)) }

  private func end(_ event: ClientTransportEvent) {
    guard stage != .closed else { return }
    stage = .closed
    if !isSilent { receive(event) }
  }
}

extension TransportError {
  /// The error as an event of the transport. TLS that fails for what the server shows or speaks will fail again.
  fileprivate var event: ClientTransportEvent {
    switch self {
    case .tls, .certificateFile, .invalidAddress: .unusable(reason: description)
    case .tlsFailed(_, let failure):
      switch failure.kind {
      case .expired, .notYetValid, .wrongHost, .unknownCA, .selfSigned, .badCertificate, .noCertificate,
        .protocolVersion, .noSharedCipher, .noApplicationProtocol, .plainHTTP, .notTLS, .refused:
        .unusable(reason: description)
      case .closed, .truncated, .timeout, .tooManyBytes, .protocolError: .closed(code: nil, reason: description)
      }
    case .system, .resolution, .connectFailed, .connectTimeout, .handshakeTimeout, .writeQueueFull:
      .closed(code: nil, reason: description)
    }
  }
}
