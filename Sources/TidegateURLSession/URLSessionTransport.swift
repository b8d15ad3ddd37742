import Foundation
import Synchronization
import TidegateClient

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The transport for Apple's platforms: `URLSessionWebSocketTask`, with the system's proxies, VPNs and trust.
///
/// It compiles on Linux as well, where it needs a libcurl that has WebSockets. Without one, as on Debian 12, the client
/// ends with the reason: use `TidegateEpoll` there.
public struct URLSessionTransport: ClientTransport {
  /// The largest message of the gateway in bytes: a whole book.
  private static let messageLimit = 8 << 20

  private let session: URLSession
  private let delegate: SessionDelegate

  /// - Parameter configuration: of the session; nil: one without caches and cookies that waits for no network, because
  ///   the client has its own back-off.
  public init(configuration: URLSessionConfiguration? = nil) {
    let settings = configuration ?? .ephemeral
    if configuration == nil { settings.httpShouldSetCookies = false }
    delegate = SessionDelegate()
    // Events of all connections come in order, on a queue of the session's own.
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    session = URLSession(configuration: settings, delegate: delegate, delegateQueue: queue)
  }

  /// Begins to connect; `receive` is called on the session's queue.
  public func connect(
    to url: GatewayURL, subprotocol: String, receive: @escaping @Sendable (ClientTransportEvent) -> Void
  ) -> any ClientTransportConnection {
    connect(to: url, subprotocols: [subprotocol], receive: receive)
  }

  /// The same with several subprotocols, the preferred one first.
  public func connect(
    to url: GatewayURL, subprotocols: [String], receive: @escaping @Sendable (ClientTransportEvent) -> Void
  ) -> any ClientTransportConnection {
    guard let address = URL(string: url.description) else {
      Task { receive(.unusable(reason: "\(url) cannot be read as a URL")) }
      return NoConnection()
    }
    let task = session.webSocketTask(with: address, protocols: subprotocols)
    task.maximumMessageSize = Self.messageLimit
    let connection = TaskConnection(task: task, subprotocols: subprotocols, receive: receive)
    delegate.add(connection, of: task)
    task.resume()
    return connection
  }
}

extension ClientTransport where Self == URLSessionTransport {
  /// `URLSessionWebSocketTask` with a session of its own.
  public static var urlSession: URLSessionTransport { URLSessionTransport() }
}

private struct NoConnection: ClientTransportConnection {
  func send(_ text: String) {}
  func close(code: UInt16, reason: String) {}
}

/// One WebSocket.
private final class TaskConnection: ClientTransportConnection {
  private enum Stage { case connecting, open, over }

  private let task: URLSessionWebSocketTask
  private let subprotocols: [String]
  private let receive: @Sendable (ClientTransportEvent) -> Void
  private let stage = Mutex(Stage.connecting)
  /// Whether the server chose a subprotocol with binary messages.
  private let isBinary = Mutex(false)

  init(
    task: URLSessionWebSocketTask, subprotocols: [String], receive: @escaping @Sendable (ClientTransportEvent) -> Void
  ) {
    self.task = task
    self.subprotocols = subprotocols
    self.receive = receive
  }

  // MARK: From the client

  func send(_ text: String) {
    guard stage.withLock({ $0 == .open }) else { return }
    task.send(.string(text)) { [weak self] error in
      if let error { self?.end(SessionFailure.event(error)) }
    }
  }

  func close(code: UInt16, reason: String) {
    let wasOver = stage.withLock { stage in
      defer { stage = .over }
      return stage == .over
    }
    guard !wasOver else { return }
    // Codes that the type does not know (4000…4999 are the app's) are sent as a normal end.
    let code = URLSessionWebSocketTask.CloseCode(rawValue: Int(code)) ?? .normalClosure
    task.cancel(with: code, reason: Data(reason.utf8.prefix(123)))
  }

  // MARK: From the session

  func didOpen(with granted: String?) {
    guard let granted, subprotocols.contains(granted) else {
      task.cancel(with: .protocolError, reason: nil)
      return end(.unusable(reason: "the server does not speak \(subprotocols.joined(separator: " or "))"))
    }
    isBinary.withLock { $0 = granted == Subprotocol.binary }
    let isNew = stage.withLock { stage in
      guard stage == .connecting else { return false }
      stage = .open
      return true
    }
    guard isNew else { return }
    receive(.opened)
    receiveNext()
  }

  func didClose(code: URLSessionWebSocketTask.CloseCode, reason: Data?) {
    // 1005: the frame held no code; 1006: there was none (RFC 6455 section 7.4.1).
    let number = code.rawValue == 1005 || code.rawValue == 1006 ? nil : UInt16(exactly: code.rawValue)
    end(.closed(code: number, reason: reason.map { String(decoding: $0, as: UTF8.self) } ?? ""))
  }

  func didComplete(with error: (any Error)?, response: HTTPURLResponse?) {
    if let response, response.statusCode != 101, (100...999).contains(response.statusCode) {
      return end(
        HandshakeRefusal(
          status: response.statusCode, phrase: "",
          waits: response.value(forHTTPHeaderField: "Retry-After").map { [$0] } ?? [],
          date: response.value(forHTTPHeaderField: "Date"), body: []
        ).event)
    }
    end(error.map { SessionFailure.event($0) } ?? .closed(code: nil, reason: "the connection was closed"))
  }

  /// One message at a time, so that they stay in order.
  private func receiveNext() {
    task.receive { [weak self] result in
      guard let self, self.stage.withLock({ $0 == .open }) else { return }
      switch result {
      case .success(.string(let text)):
        self.receive(.message(Array(text.utf8)))
        self.receiveNext()
      case .success(.data(let data)) where self.isBinary.withLock { $0 }:
        self.receive(.binary(Array(data)))
        self.receiveNext()
      case .success:
        self.task.cancel(with: .unsupportedData, reason: nil)
        self.end(.unusable(reason: "tidegate.v1 is text"))
      case .failure(let error): self.didFail(error)
      }
    }
  }

  /// A close frame ends the receiving with an error, too, and may be reported after it.
  private func didFail(_ error: any Error) {
    guard task.closeCode == .invalid else { return didClose(code: task.closeCode, reason: task.closeReason) }
    end(SessionFailure.event(error))
  }

  private func end(_ event: ClientTransportEvent) {
    let wasOver = stage.withLock { stage in
      defer { stage = .over }
      return stage == .over
    }
    if !wasOver { receive(event) }
  }
}

/// The failures of a session, as events of the transport.
enum SessionFailure {
  /// Failures that last until somebody changes the URL, the server's certificate or this machine. All others are the
  /// network's. `secureConnectionFailed` is one of those: it may also be a connection that broke in its handshake.
  private static let lasting: [URLError.Code] = [
    .badURL, .unsupportedURL, .appTransportSecurityRequiresSecureConnection, .serverCertificateHasBadDate,
    .serverCertificateUntrusted, .serverCertificateHasUnknownRoot, .serverCertificateNotYetValid,
    .clientCertificateRejected, .clientCertificateRequired, .badServerResponse, .cannotParseResponse,
    .httpTooManyRedirects, .redirectToNonExistentLocation,
  ]

  static func event(_ error: any Error) -> ClientTransportEvent {
    let reason = error.localizedDescription
    let known = error as NSError
    guard known.domain == NSURLErrorDomain, let code = lasting.first(where: { $0.rawValue == known.code }) else {
      return .closed(code: nil, reason: reason)
    }
    #if canImport(FoundationNetworking)
      // The URL is always that of a WebSocket.
      if code == .unsupportedURL { return .unusable(reason: "\(reason); on Linux use TidegateEpoll") }
    #endif
    return .unusable(reason: reason)
  }
}

/// Passes each task's events to its connection.
private final class SessionDelegate: NSObject, URLSessionWebSocketDelegate {
  private let connections = Mutex<[Int: TaskConnection]>([:])

  func add(_ connection: TaskConnection, of task: URLSessionTask) {
    connections.withLock { $0[task.taskIdentifier] = connection }
  }

  func urlSession(
    _ session: URLSession, webSocketTask: URLSessionWebSocketTask, didOpenWithProtocol protocol: String?
  ) {
    connections.withLock { $0[webSocketTask.taskIdentifier] }?.didOpen(with: `protocol`)
  }

  func urlSession(
    _ session: URLSession, webSocketTask: URLSessionWebSocketTask,
    didCloseWith closeCode: URLSessionWebSocketTask.CloseCode, reason: Data?
  ) {
    connections.withLock { $0[webSocketTask.taskIdentifier] }?.didClose(code: closeCode, reason: reason)
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    connections.withLock { $0.removeValue(forKey: task.taskIdentifier) }?
      .didComplete(with: error, response: task.response as? HTTPURLResponse)
  }
}
