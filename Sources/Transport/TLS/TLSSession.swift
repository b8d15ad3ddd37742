import COpenSSL
import Glibc

/// The TLS of one connection: OpenSSL on the connection's own descriptor, non-blocking. About 24 KB, less when idle.
final class TLSSession {
  /// What became of a step.
  enum Outcome {
    /// So many bytes were read or written; 0 for a finished handshake.
    case bytes(Int)
    /// The kernel has nothing, or takes nothing, for now.
    case wouldBlock
    /// The peer has ended the stream.
    case ended
    case failed(TransportError)
  }

  /// The plaintext of one record (RFC 8446 §5.1).
  static let recordLimit = 16_384

  private var session: OpaquePointer?
  private let isClient: Bool
  /// Told once the handshake has ended.
  var whenReady: ((Result<Connection, TransportError>) -> Void)?
  /// A write waits for bytes of the peer (a key update, RFC 8446 §4.6.3), or a read for room to write.
  private(set) var writeWaitsForRead = false
  private(set) var readWaitsForWrite = false
  private var hasFailed = false

  /// - Parameters:
  ///   - context: an `SSL_CTX`; the session takes a reference of its own.
  ///   - host: for a client, whom the certificate must be for.
  init(context: OpaquePointer, descriptor: Int32, host: String?) throws(TransportError) {
    guard let session = SSL_new(context), SSL_set_fd(session, descriptor) == 1 else {
      throw .tls(reason: OpenSSLErrors.drain() ?? "no memory for a session")
    }
    self.session = session
    isClient = host != nil
    guard let host else {
      SSL_set_accept_state(session)
      return
    }
    let parameters = SSL_get0_param(session)
    let isSet: Bool
    if KernelAddress(host: host, port: 0) != nil {
      // SNI takes names only (RFC 6066 §3).
      isSet = X509_VERIFY_PARAM_set1_ip_asc(parameters, host) == 1
    } else {
      X509_VERIFY_PARAM_set_hostflags(parameters, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS))
      isSet =
        X509_VERIFY_PARAM_set1_host(parameters, host, 0) == 1 && copenssl_set_server_name(session, host) == 1
    }
    guard isSet else {
      discard()
      throw .tls(reason: "\"\(host)\" is not a host name")
    }
    SSL_set_connect_state(session)
  }

  deinit { discard() }

  /// Frees the session. What is left of its connection is only the descriptor.
  func discard() {
    if let session { SSL_free(session) }
    session = nil
    whenReady = nil
  }

  /// `TLSv1.2` or `TLSv1.3`, once the handshake is done.
  var version: String? { session.map { String(cString: SSL_get_version($0)) } }

  /// `.bytes(0)` once the handshake is done.
  func handshake() -> Outcome {
    guard let session else { return .ended }
    ERR_clear_error()
    let status = SSL_do_handshake(session)
    return status == 1 ? .bytes(0) : outcome(session, status, isRead: true, isHandshake: true)
  }

  /// Decrypts into `buffer` until it is full or the kernel has no more.
  func read(into buffer: UnsafeMutableRawBufferPointer) -> Outcome {
    var filled = 0
    readWaitsForWrite = false
    while filled < buffer.count {
      guard let session else { return .ended }
      ERR_clear_error()
      let count = SSL_read(session, buffer.baseAddress! + filled, Int32(clamping: buffer.count - filled))
      if count > 0 {
        filled += Int(count)
        continue
      }
      // An end or an error after bytes comes up again with the next call.
      return filled > 0 ? .bytes(filled) : outcome(session, count, isRead: true, isHandshake: false)
    }
    return .bytes(filled)
  }

  /// Encrypts and sends one record of up to `recordLimit` bytes.
  func write(_ bytes: UnsafeRawBufferPointer) -> Outcome {
    guard let session else { return .ended }
    writeWaitsForRead = false
    ERR_clear_error()
    let count = SSL_write(session, bytes.baseAddress, Int32(min(bytes.count, Self.recordLimit)))
    return count > 0 ? .bytes(Int(count)) : outcome(session, count, isRead: false, isHandshake: false)
  }

  /// Ends this direction (RFC 8446 §6.1).
  func sendCloseNotify() {
    guard let session, !hasFailed else { return }
    ERR_clear_error()
    _ = SSL_shutdown(session)
    ERR_clear_error()
  }

  private func outcome(_ session: OpaquePointer, _ status: Int32, isRead: Bool, isHandshake: Bool) -> Outcome {
    let systemError = errno
    switch SSL_get_error(session, status) {
    case SSL_ERROR_WANT_READ:
      if !isRead { writeWaitsForRead = true }
      return .wouldBlock
    case SSL_ERROR_WANT_WRITE:
      if isRead { readWaitsForWrite = true }
      return .wouldBlock
    case SSL_ERROR_ZERO_RETURN:
      return .ended
    case SSL_ERROR_SYSCALL:
      hasFailed = true
      if systemError == 0 || (isHandshake && systemError == ECONNRESET) { return .ended }
      return .failed(.system(call: isRead ? "read" : "write", errno: systemError))
    default:
      hasFailed = true
      return .failed(.tls(reason: reason(session, isHandshake: isHandshake)))
    }
  }

  /// In words: what is wrong with the certificate, or what OpenSSL says.
  private func reason(_ session: OpaquePointer, isHandshake: Bool) -> String {
    let error = ERR_peek_error()
    let said = OpenSSLErrors.drain() ?? "the connection broke"
    guard isClient, isHandshake else { return said }
    if copenssl_error_is_certificate_verify_failed(error) != 0 {
      return OpenSSLErrors.words(verifyResult: SSL_get_verify_result(session))
    }
    switch copenssl_error_reason(error) {
    case SSL_R_WRONG_VERSION_NUMBER, SSL_R_HTTP_REQUEST, SSL_R_PACKET_LENGTH_TOO_LONG, SSL_R_UNEXPECTED_MESSAGE:
      return "the peer does not speak TLS (\(said))"
    default: return said
    }
  }
}

/// OpenSSL's error queue and verify results, in words.
enum OpenSSLErrors {
  /// The reason of the first error of this thread's queue, which is emptied. Never data, only OpenSSL's fixed texts.
  static func drain() -> String? {
    let error = ERR_get_error()
    ERR_clear_error()
    guard error != 0 else { return nil }
    return ERR_reason_error_string(error).map { String(cString: $0) } ?? "OpenSSL error \(error)"
  }

  static func words(verifyResult: Int) -> String {
    let said =
      X509_verify_cert_error_string(verifyResult).map { String(cString: $0) } ?? "verify result \(verifyResult)"
    switch Int32(truncatingIfNeeded: verifyResult) {
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT,
      X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
      X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
      return "\(said) (unknown CA)"
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return "\(said): the certificate is not for this address"
    case X509_V_ERR_HOSTNAME_MISMATCH:
      return "\(said): the certificate is not for this name"
    default: return said
    }
  }
}
