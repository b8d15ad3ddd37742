import Synchronization

@testable import TidegateClient

/// A transport whose gateway is the test: it sees what was sent and says what arrives.
final class ScriptedTransport: ClientTransport {
  final class Connection: ClientTransportConnection {
    let receive: @Sendable (ClientTransportEvent) -> Void
    private let state = Mutex<(sent: [String], closed: UInt16?)>(([], nil))

    init(receive: @escaping @Sendable (ClientTransportEvent) -> Void) { self.receive = receive }

    var sent: [String] { state.withLock { $0.sent } }
    var closedWith: UInt16? { state.withLock { $0.closed } }
    func send(_ text: String) { state.withLock { $0.sent.append(text) } }
    func close(code: UInt16, reason: String) { state.withLock { $0.closed = code } }
    func say(_ text: String) { receive(.message(Array(text.utf8))) }
  }

  private let made = Mutex<[Connection]>([])
  private let arrivals = AsyncStream<Connection>.makeStream()

  var connections: [Connection] { made.withLock { $0 } }
  /// Each connection as it is asked for.
  var newConnections: AsyncStream<Connection> { arrivals.stream }

  func connect(
    to url: GatewayURL, subprotocol: String, receive: @escaping @Sendable (ClientTransportEvent) -> Void
  ) -> any ClientTransportConnection {
    let connection = Connection(receive: receive)
    made.withLock { $0.append(connection) }
    arrivals.continuation.yield(connection)
    return connection
  }
}
