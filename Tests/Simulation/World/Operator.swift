import Bytes
import HTTP1
import Transport

/// Asks the gateway over HTTP, one request and connection at a time, on a network that leaves it alone.
final class Operator: ConnectionHandler {
  private let network: FaultyTransport
  let loop: EventLoop
  private var parser = HTTPResponseParser(limits: HTTPLimits(headBytes: 16 << 10, bodyBytes: 8 << 20))
  private var connection: Connection?
  private var answer: (status: Int, body: [UInt8])?
  private var failure: String?

  init(network: FaultyTransport, host: SimulatedHost) {
    self.network = network
    loop = network.loop(on: host)
  }

  /// The answer to a GET, or nil and why there is none within 20 s.
  func get(_ path: String, from address: SocketAddress) -> (status: Int, body: [UInt8])? {
    answer = nil
    failure = nil
    parser = HTTPResponseParser(limits: HTTPLimits(headBytes: 16 << 10, bodyBytes: 8 << 20))
    loop.execute(
      LoopCall { [self] in
        Connector.connect(host: address.host, port: address.port, tls: nil, loop: loop, handler: self) { result in
          switch result {
          case .success(let connection):
            self.connection = connection
            var out = ByteBuffer()
            HTTPEncoder.append(
              HTTPRequestHead(
                method: "GET", target: path,
                fields: HTTPFields([HTTPField("Host", address.description), HTTPField("Connection", "close")])),
              bodyLength: 0, to: &out)
            connection.write(out.bytes)
          case .failure(let error): self.failure = error.description
          }
        }
      }.body)
    _ = network.run(atMost: 20_000_000_000) { answer != nil || failure != nil }
    let connection = connection
    self.connection = nil
    loop.execute(LoopCall { connection?.abort() }.body)
    network.run(for: 5_000_000)
    return answer
  }

  func connection(_ connection: Connection, didReceive bytes: UnsafeMutableRawBufferPointer) {
    var input = UnsafeRawBufferPointer(bytes)
    do throws(HTTPError) {
      if let (head, body) = try parser.next(&input) { answer = (head.status, body) }
    } catch {
      failure = error.reason
    }
  }

  func connectionDidDrain(_ connection: Connection) {}
  func connectionDidClose(_ connection: Connection, reason: CloseReason) { failure = failure ?? "\(reason)" }
}
