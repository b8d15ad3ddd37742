import Bytes
import HTTP1
import Synchronization
import Transport
import WebSocket

/// The default transport: sockets of this package's event loop, TLS by OpenSSL.
///
/// All clients of a process share one loop, which is made when the first connects and lives as long as the process.
public struct LoopTransport: ClientTransport {
  /// Bytes of a message of the gateway: a whole book is the largest.
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
  private let caFile: String?
  private let offersCompression: Bool

  /// - Parameters:
  ///   - caFile: PEM file of the roots to trust for `wss` instead of the system's.
  ///   - offersCompression: whether the gateway may compress what it sends.
  public init(caFile: String? = nil, offersCompression: Bool = true) {
    self.caFile = caFile
    self.offersCompression = offersCompression
  }
      let connection = LoopConnection(
        loop: loop, url: url, subprotocol: subprotocol, offersCompression: offersCompression, receive: receive)
      let context = context
      loop.execute { connection.start { () throws(TransportError) in try context.get() } }
      let connection = LoopConnection(loop: loop, url: url, subprotocol: subprotocol, receive: receive)
      let context = context
      loop.execute { connection.start { () throws(TransportError) in try context.get() } }
