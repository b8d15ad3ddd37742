import Build
import Bytes
import HTTP1
import Transport

/// One delivery to a webhook, on a connection of its own. Owned by one loop.
///
/// Only the answer's status counts: 2xx means that the receiver has the delivery. Redirects are not followed.
package final class WebhookRequest: ConnectionHandler {
  /// The most bytes of an answer.
  private static let answerLimit = 16 << 10

  private var parser = HTTPResponseParser(
    limits: HTTPLimits(headBytes: answerLimit, lineBytes: answerLimit, bodyBytes: answerLimit))
  private var completion: ((String?) -> Void)?
  private var attempt: ConnectAttempt?
  private var connection: Connection?
  private var timer: LoopTimer?

  private init(_ completion: @escaping (String?) -> Void) { self.completion = completion }

  /// Sends a delivery. Calls `completion` once on `loop`, with the reason if it must be sent again.
  /// - Parameters:
  ///   - seconds: since 1970, which are signed with the body.
  ///   - addresses: the allowed addresses.
  ///   - timeout: for name resolution, TLS and answer together.
  package static func send(
    _ body: String, delivery: Int64, to url: EndpointURL, secret: String, seconds: Int64,
    addresses: WebhookAddresses, tls: TLSClientContext, loop: EventLoop, timeout: Duration,
    completion: @escaping (String?) -> Void
  ) {
    let request = WebhookRequest(completion)
    let content = Array(body.utf8)
    let fields = HTTPFields([
      HTTPField("Host", url.authority), HTTPField("Content-Type", "application/json"),
      HTTPField("User-Agent", "tidegate/\(TidegateVersion.current)"), HTTPField("Connection", "close"),
      HTTPField("Tidegate-Delivery", String(delivery)),
      HTTPField("Tidegate-Signature", signature(of: content, secret: secret, seconds: seconds)),
    ])
    var bytes = ByteBuffer(capacity: 512 + content.count)
    HTTPEncoder.append(
      HTTPRequestHead(method: "POST", target: url.target, fields: fields), bodyLength: content.count, to: &bytes)
    bytes.append(content)
    request.start(bytes.takeBytes(), url, addresses, tls, loop, timeout)
  }

  /// `t=1795387771,v1=5257a8…`: HMAC-SHA-256 under the secret of the seconds, a point and the body.
  package static func signature(of body: [UInt8], secret: String, seconds: Int64) -> String {
    let digits = Array("0123456789abcdef")
    let mac = Digest.hmacSHA256(key: Array(secret.utf8), message: Array("\(seconds).".utf8) + body)
    return "t=\(seconds),v1=" + String(mac.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
  }

  private func start(
    _ bytes: [UInt8], _ url: EndpointURL, _ addresses: WebhookAddresses, _ tls: TLSClientContext, _ loop: EventLoop,
    _ timeout: Duration
  ) {
    timer = loop.schedule(after: timeout) { [self] in finish("no answer in \(timeout)") }
    attempt = Connector.connect(
      host: url.host, port: url.port, tls: tls, loop: loop, timeout: timeout,
      allows: { addresses.allows($0) }, handler: self
    ) { [self] result in
      switch result {
      case .success(let connection):
        self.connection = connection
        connection.write(bytes.span.bytes)
      case .failure(let error): finish(error.description)
      }
    }
  }

  package func connection(_ connection: Connection, didReceive bytes: UnsafeMutableRawBufferPointer) {
    var input = UnsafeRawBufferPointer(bytes)
    do throws(HTTPError) {
      guard let (head, _) = try parser.next(&input) else { return }
      finish((200...299).contains(head.status) ? nil : "answered \(head.status)")
    } catch {
      finish("unreadable answer: \(error.reason)")
    }
  }

  package func connectionDidDrain(_ connection: Connection) {}

  package func connectionDidClose(_ connection: Connection, reason: CloseReason) {
    if case .failed(let error) = reason { return finish(error.description) }
    do throws(HTTPError) {
      if let (head, _) = try parser.finish() {
        return finish((200...299).contains(head.status) ? nil : "answered \(head.status)")
      }
    } catch {
      return finish("unreadable answer: \(error.reason)")
    }
    finish("closed without an answer")
  }

  private func finish(_ reason: String?) {
    guard let completion else { return }
    self.completion = nil
    timer?.cancel()
    timer = nil
    attempt?.cancel()
    attempt = nil
    connection?.abort()
    connection = nil
    completion(reason.map { String($0.prefix(200)) })
  }
}
