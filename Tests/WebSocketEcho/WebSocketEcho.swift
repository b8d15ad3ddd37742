import Bytes
import Dispatch
import Glibc
import HTTP1
import Transport
import WebSocket

/// A WebSocket echo server and client on this package's transport, HTTP/1.1 and WebSocket: what other people's test
/// suites are run against. Never part of a product.
///
///     WebSocketEcho server 9001
///     WebSocketEcho client 127.0.0.1:9002 Tidegate
///
/// README.md beside this file says how to run the Autobahn test suite against both.
@main
enum WebSocketEcho {
  /// The largest messages of the suite have 16 MiB.
  static let limits = WebSocketLimits(messageBytes: 32 << 20, fragments: 1 << 20)
  /// Unsent bytes of a connection: a batch of the largest messages.
  static let connectionLimits = Connection.Limits(queuedBytes: 256 << 20, kernelUnsentBytes: 1 << 20)
  /// Whatever a client asks for: the suite tests every combination.
  static let policy = PerMessageDeflate.Policy(
    serverTakesOver: true, clientTakesOver: true, serverWindowBits: 9...15, clientWindowBits: 15)
  static let offers = [PerMessageDeflate.Offer()]

  static func main() throws {
    let arguments = CommandLine.arguments
    switch (arguments.dropFirst().first, arguments.count) {
    case ("server", 3):
      guard let port = UInt16(arguments[2]) else { fail("\(arguments[2]) is not a port") }
      let loop = try EventLoop(index: 0, label: "echo")
      let listener = try Listener(
        address: SocketAddress(host: "127.0.0.1", port: port), loops: [loop], limits: connectionLimits
      ) { EchoConnection(server: $0) }
      print("listening on \(listener.address)")
      dispatchMain()
    case ("client", 4):
      let address = try SocketAddress(parsing: arguments[2])
      let loop = try EventLoop(index: 0, label: "echo")
      let agent = arguments[3]
      loop.execute { SuiteClient(address: address, agent: agent, loop: loop).start() }
      dispatchMain()
    default: fail("usage: WebSocketEcho server PORT | client HOST:PORT AGENT")
    }
  }

  static func fail(_ message: String) -> Never {
    let line = Array((message + "\n").utf8)
    _ = line.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
    exit(1)
  }
}
