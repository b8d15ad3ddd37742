import COpenSSL
import Glibc

/// One connection's TLS.
final class TLSSession {
  enum Outcome {
    case bytes(Int)
    case wouldBlock
    case ended
    case failed(TransportError)
  }
  static let recordLimit = 16_384
  var whenReady: ((Result<Connection, TransportError>) -> Void)?
  var version: String { "" }
  var writeWaitsForRead = false
  var readWaitsForWrite = false
  func handshake() -> Outcome { .ended }
  func read(into buffer: UnsafeMutableRawBufferPointer) -> Outcome { .ended }
  func write(_ bytes: UnsafeRawBufferPointer) -> Outcome { .ended }
  func sendCloseNotify() {}
  func discard() {}
}
extension TLSServerContext {
  func makeSession(descriptor: Int32) throws(TransportError) -> TLSSession { fatalError() }
}
extension TLSClientContext {
  func makeSession(descriptor: Int32, host: String) throws(TransportError) -> TLSSession { fatalError() }
}
