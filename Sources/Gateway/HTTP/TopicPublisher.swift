import Bytes
import HTTP1
import PubSub
import Transport

/// Publishes one document to a running gateway's internal port; what `tidegate publish` does. Owned by one loop.
package final class TopicPublisher: ConnectionHandler {
  /// How long the gateway may take to answer, ns.
  private static let timeout: UInt64 = 10_000_000_000

  /// What came of it.
  package enum Outcome: Sendable, Equatable {
    /// The gateway has it; the text is its answer.
    case published(String)
    /// It does not want it, or there is none: the reason for people.
    case refused(String)
  }

  private var parser = HTTPResponseParser(limits: HTTPLimits())
  private var completion: ((Outcome) -> Void)?
  private var attempt: ConnectAttempt?
  private var connection: Connection?
  private var timer: LoopTimer?

  private init(_ completion: @escaping (Outcome) -> Void) { self.completion = completion }

  /// - Parameters:
  ///   - name: of the topic.
  ///   - document: JSON text.
  ///   - address: of the internal port.
  package static func publish(
    _ document: [UInt8], to name: String, at address: SocketAddress, loop: EventLoop
  ) async -> Outcome {
    guard TopicBoard.isName(name) else {
      return .refused("\(name) is no name of a topic: 1 to 64 letters a-z 0-9 . _ -")
    }
    return await withCheckedContinuation { continuation in
      loop.execute {
        let publisher = TopicPublisher { continuation.resume(returning: $0) }
        publisher.start(document, name, address, loop)
      }
    }
  }

  private func start(_ document: [UInt8], _ name: String, _ address: SocketAddress, _ loop: EventLoop) {
    timer = loop.schedule(after: Self.timeout) { self.finish(.refused("the gateway does not answer")) }
    attempt = Connector.connect(
      host: address.host, port: address.port, tls: nil, loop: loop, timeout: Self.timeout, handler: self
    ) { [self] result in
      switch result {
      case .success(let connection):
        self.connection = connection
        let fields = HTTPFields([
          HTTPField("Host", address.description), HTTPField("Content-Type", "application/json"),
          HTTPField("Connection", "close"),
        ])
        var out = ByteBuffer()
        HTTPEncoder.append(
          HTTPRequestHead(method: "POST", target: PublishedTopics.prefix + name, fields: fields),
          bodyLength: document.count, to: &out)
        out.append(document)
        connection.write(out.bytes)
      case .failure(let error): finish(.refused("\(address.description): \(error.description)"))
      }
    }
  }

  package func connection(_ connection: Connection, didReceive bytes: UnsafeMutableRawBufferPointer) {
    var input = UnsafeRawBufferPointer(bytes)
    do throws(HTTPError) {
      guard let (head, body) = try parser.next(&input) else { return }
      var text = String(decoding: body, as: UTF8.self)
      while text.last?.isNewline == true { text.removeLast() }
      finish(head.status == 201 ? .published(text) : .refused(text))
    } catch {
      finish(.refused("the answer cannot be read: \(error.reason)"))
    }
  }

  package func connectionDidDrain(_ connection: Connection) {}

  package func connectionDidClose(_ connection: Connection, reason: CloseReason) {
    finish(.refused("the gateway closed the connection without an answer"))
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
