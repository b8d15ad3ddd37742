import Build
import Bytes
import HTTP1
import Transport

/// One HTTP request to a venue on a connection of its own: for instrument lists, book snapshots and candles, a few a
/// minute. Owned by one loop.
///
/// The connection is not reused: requests are seconds apart, and a fresh connection has no stale state.
final class RESTRequest: ConnectionHandler {
  /// Status and body; without an answer, status 0 and the reason as text. `retryAfter` is the answer's field
  /// `Retry-After`, if it has one.
  typealias Completion = (_ status: Int, _ body: [UInt8], _ retryAfter: String?) -> Void

  /// The largest accepted response head, bytes.
  private static let headLimit = 32 << 10

  private let target: String
  /// A JSON text to send with POST; nil: the request is a GET.
  private let body: String?
  private let endpoint: EndpointURL
  private var parser: HTTPResponseParser
  private var completion: Completion?
  private var attempt: ConnectAttempt?
  private var connection: Connection?
  private var timer: LoopTimer?

  /// Requests `path` under `endpoint` and calls `completion` once, on `loop`, after `timeout` at the latest, unless it
  /// is cancelled.
  /// - Parameter body: a JSON text to send with POST; nil: the request is a GET.
  static func get(
    _ path: String, body: String? = nil, from endpoint: EndpointURL, bodyLimit: Int, tls: TLSClientContext?,
    loop: EventLoop,
    timeout: Duration = .seconds(15), completion: @escaping Completion
  ) -> RESTRequest {
    let request = RESTRequest(
      target: endpoint.target(of: path), body: body, endpoint: endpoint, bodyLimit: bodyLimit, completion: completion)
    request.start(tls: tls, loop: loop, timeout: timeout)
    return request
  }

  private init(
    target: String, body: String?, endpoint: EndpointURL, bodyLimit: Int, completion: @escaping Completion
  ) {
    self.target = target
    self.body = body
    self.endpoint = endpoint
    self.parser = HTTPResponseParser(
      limits: HTTPLimits(headBytes: RESTRequest.headLimit, lineBytes: RESTRequest.headLimit, bodyBytes: bodyLimit))
    self.completion = completion
  }

  /// Cancels the request; its completion is not called.
  func cancel() {
    completion = nil
    tearDown()
  }

  private func start(tls: TLSClientContext?, loop: EventLoop, timeout: Duration) {
    timer = loop.schedule(after: timeout) { [weak self] in self?.finish(0, "no answer in \(timeout)") }
    attempt = Connector.connect(
      host: endpoint.host, port: endpoint.port, tls: endpoint.isSecure ? tls : nil, loop: loop, timeout: timeout,
      handler: self
    ) { [self] result in
      switch result {
      case .success(let connection):
        self.connection = connection
        var fields = [
          HTTPField("Host", endpoint.authority), HTTPField("Accept", "application/json"),
          HTTPField("User-Agent", "tidegate/\(TidegateVersion.current)"), HTTPField("Connection", "close"),
        ]
        if body != nil { fields.append(HTTPField("Content-Type", "application/json")) }
        let head = HTTPRequestHead(method: body == nil ? "GET" : "POST", target: target, fields: HTTPFields(fields))
        var bytes = ByteBuffer(capacity: 512)
        let content = Array((body ?? "").utf8)
        HTTPEncoder.append(head, bodyLength: content.count, to: &bytes)
        bytes.append(content.span.bytes)
        connection.write(bytes.bytes)
      case .failure(let error): finish(0, error.description)
      }
    }
  }

  func connection(_ connection: Connection, didReceive bytes: UnsafeMutableRawBufferPointer) {
    var input = UnsafeRawBufferPointer(bytes)
    do throws(HTTPError) {
      if let (head, body) = try parser.next(&input) { finish(head.status, body, head.fields["Retry-After"]) }
    } catch {
      finish(0, "unreadable response: \(error.reason)")
    }
  }

  func connectionDidDrain(_ connection: Connection) {}

  func connectionDidClose(_ connection: Connection, reason: CloseReason) {
    // A body that ends with its connection is complete only if the connection ended properly (RFC 9112 section 9.8).
    if case .failed(let error) = reason { return finish(0, error.description) }
    do throws(HTTPError) {
      if let (head, body) = try parser.finish() { return finish(head.status, body, head.fields["Retry-After"]) }
    } catch {
      return finish(0, "unreadable response: \(error.reason)")
    }
    finish(0, "closed before the response was complete")
  }

  private func finish(_ status: Int, _ reason: String) { finish(status, Array(reason.utf8)) }

  private func finish(_ status: Int, _ body: [UInt8], _ retryAfter: String? = nil) {
    guard let completion else { return }
    self.completion = nil
    tearDown()
    completion(status, body, retryAfter)
  }

  private func tearDown() {
    timer?.cancel()
    timer = nil
    attempt?.cancel()
    attempt = nil
    connection?.abort()
    connection = nil
  }
}
