import Bytes
import HTTP1
import PubSub
import Transport

/// One request to a running gateway, for `tidegate publish`, `status`, `top` and `bundle`. Owned by one loop.
package final class InternalRequest: ConnectionHandler {
  /// How long the gateway may take to answer.
  private static let timeout: Duration = .seconds(10)
  /// The largest answer, bytes.
  private static let answerLimit = 64 << 20

  /// The outcome of the request.
  package enum Outcome: Sendable, Equatable {
    case answered(status: Int, text: String)
    /// There is no answer, for this reason, in words for people.
    case failed(String)
  }

  private var parser = HTTPResponseParser(limits: HTTPLimits(bodyBytes: InternalRequest.answerLimit))
  private var completion: ((Outcome) -> Void)?
  private var attempt: ConnectAttempt?
  private var connection: Connection?
  private var timer: LoopTimer?

  private init(_ completion: @escaping (Outcome) -> Void) { self.completion = completion }

  /// - Parameters:
  ///   - target: path and query.
  ///   - token: an operator's or a client's token; nil: none is needed.
  ///   - body: JSON text; nil: none.
  ///   - address: the internal port's.
  package static func send(
    _ method: String, _ target: String, token: String? = nil, body: [UInt8]? = nil, at address: SocketAddress,
    loop: EventLoop
  ) async -> Outcome {
    await send(
      method, target, token: token, body: body, host: address.host, port: address.port, name: address.description,
      loop: loop)
  }

  /// Sends a request to a named host, with TLS if `tls` is set.
  /// - Parameter name: for `Host`.
  package static func send(
    _ method: String, _ target: String, token: String?, body: [UInt8]?, host: String, port: UInt16, name: String,
    tls: TLSClientContext? = nil, loop: EventLoop
  ) async -> Outcome {
    var fields = [HTTPField("Host", name), HTTPField("Connection", "close")]
    if let token { fields.append(HTTPField("Authorization", "Bearer \(token)")) }
    if body != nil { fields.append(HTTPField("Content-Type", "application/json")) }
    let head = HTTPRequestHead(method: method, target: target, fields: HTTPFields(fields))
    return await withCheckedContinuation { continuation in
      loop.execute {
        let request = InternalRequest { continuation.resume(returning: $0) }
        request.start(head, body, host, port, tls, loop)
      }
    }
  }

  private func start(
    _ head: HTTPRequestHead, _ body: [UInt8]?, _ host: String, _ port: UInt16, _ tls: TLSClientContext?,
    _ loop: EventLoop
  ) {
    timer = loop.schedule(after: Self.timeout) { self.finish(.failed("the gateway did not answer in 10 s")) }
    attempt = Connector.connect(
      host: host, port: port, tls: tls, loop: loop, timeout: Self.timeout, handler: self
    ) { [self] result in
      switch result {
      case .success(let connection):
        self.connection = connection
        var out = ByteBuffer()
        HTTPEncoder.append(head, bodyLength: body?.count ?? 0, to: &out)
        if let body { out.append(body) }
        connection.write(out.bytes)
      case .failure(let error): finish(.failed("\(host):\(port): \(error.description)"))
      }
    }
  }

  package func connection(_ connection: Connection, didReceive bytes: UnsafeMutableRawBufferPointer) {
    var input = UnsafeRawBufferPointer(bytes)
    do throws(HTTPError) {
      guard let (head, body) = try parser.next(&input) else { return }
      var text = String(decoding: body, as: UTF8.self)
      while text.last?.isNewline == true { text.removeLast() }
      finish(.answered(status: head.status, text: text))
    } catch {
      finish(.failed("the answer cannot be read: \(error.reason)"))
    }
  }

  package func connectionDidDrain(_ connection: Connection) {}

  package func connectionDidClose(_ connection: Connection, reason: CloseReason) {
    finish(.failed("the gateway closed the connection without an answer"))
  }

  private func finish(_ outcome: Outcome) {
    guard let completion else { return }
    self.completion = nil
    timer?.cancel()
    attempt?.cancel()
    connection?.abort()
    completion(outcome)
  }
}
