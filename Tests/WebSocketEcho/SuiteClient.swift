import Glibc
import Transport
import WebSocket

/// Runs through the cases of a fuzzing server: asks how many there are, echoes in each, asks for the reports to be
/// written.
final class SuiteClient: @unchecked Sendable {
  // `@unchecked`: used on `loop` only.
  private let address: SocketAddress
  private let agent: String
  private let loop: EventLoop
  private var count = 0

  init(address: SocketAddress, agent: String, loop: EventLoop) {
    self.address = address
    self.agent = agent
    self.loop = loop
  }

  func start() {
    var text = ""
    connect("/getCaseCount", listen: { text += String(decoding: $0, as: UTF8.self) }) { [self] in
      guard let count = Int(text), count > 0 else { WebSocketEcho.fail("the server has no cases: \(text)") }
      self.count = count
      print("\(count) cases")
      run(1)
    }
  }

  private func run(_ number: Int) {
    guard number <= count else {
      return connect("/updateReports?agent=\(agent)", listen: nil) {
        print("done")
        exit(0)
      }
    }
    connect("/runCase?case=\(number)&agent=\(agent)", listen: nil) { [self] in run(number + 1) }
  }

  /// `then` is called when the connection has ended.
  private func connect(_ target: String, listen: ((UnsafeRawBufferPointer) -> Void)?, then: @escaping () -> Void) {
    let handler = Late()
    Connector.connect(
      host: address.host, port: address.port, tls: nil, loop: loop, limits: WebSocketEcho.connectionLimits,
      handler: handler
    ) { [self] result in
      switch result {
      case .success(let connection):
        connection.handler = EchoConnection(
          client: connection, host: address.description, target: target, listen: listen
        ) { problem in
          if !problem.isEmpty { WebSocketEcho.fail("\(target): \(problem)") }
          then()
        }
      case .failure(let error): WebSocketEcho.fail("\(address): \(error)")
      }
    }
  }

  /// Stands for the handler until there is a connection.
  private final class Late: ConnectionHandler {
    func connection(_ connection: Connection, didReceive bytes: UnsafeMutableRawBufferPointer) {}
    func connectionDidDrain(_ connection: Connection) {}
    func connectionDidClose(_ connection: Connection, reason: CloseReason) {}
  }
}
