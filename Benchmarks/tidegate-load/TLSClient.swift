import COpenSSL
import Glibc

/// The load test's own TLS, OpenSSL and nothing of the gateway's. It checks no certificate: both ends are on one
/// machine.
final class TLSClient {
  /// What became of a handshake's step.
  enum Step {
    case done, waits
    case failed(String)
  }

  /// What `read` returns where there is nothing for now, or no more because of an error.
  static let nothing = -1
  static let broken = -2

  private let context: OpaquePointer

  init() throws {
    guard let context = SSL_CTX_new(TLS_client_method()), copenssl_configure(context) == 1 else {
      throw LoadError("OpenSSL gives no context: \(Self.reason)")
    }
    SSL_CTX_set_verify(context, SSL_VERIFY_NONE, nil)
    self.context = context
  }

  deinit { SSL_CTX_free(context) }

  /// A session on a connected socket; nil if there is no memory for it.
  /// - Parameter resuming: an earlier session to go on from.
  func session(on fd: Int32, resuming earlier: OpaquePointer? = nil) -> OpaquePointer? {
    guard let session = SSL_new(context) else { return nil }
    guard SSL_set_fd(session, fd) == 1, earlier.map({ SSL_set_session(session, $0) == 1 }) ?? true else {
      SSL_free(session)
      return nil
    }
    SSL_set_connect_state(session)
    return session
  }

  static func handshake(_ session: OpaquePointer) -> Step {
    ERR_clear_error()
    let status = SSL_do_handshake(session)
    if status == 1 { return .done }
    switch SSL_get_error(session, status) {
    case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: return .waits
    default: return .failed("TLS handshake: \(reason)")
    }
  }

  /// Bytes read; 0 at the end of the stream, `nothing` or `broken`.
  static func read(_ session: OpaquePointer, _ buffer: UnsafeMutablePointer<UInt8>, _ room: Int) -> Int {
    ERR_clear_error()
    let count = SSL_read(session, buffer, Int32(clamping: room))
    if count > 0 { return Int(count) }
    switch SSL_get_error(session, count) {
    case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: return nothing
    case SSL_ERROR_ZERO_RETURN: return 0
    default: return broken
    }
  }

  /// Whether all of `bytes` went out.
  static func write(_ session: OpaquePointer, _ bytes: [UInt8]) -> Bool {
    ERR_clear_error()
    return SSL_write(session, bytes, Int32(bytes.count)) == Int32(bytes.count)
  }

  /// What OpenSSL says was wrong.
  static var reason: String {
    var text = [CChar](repeating: 0, count: 256)
    let error = ERR_get_error()
    guard error != 0 else { return "no reason given" }
    ERR_error_string_n(error, &text, text.count)
    return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
