import COpenSSL
import Glibc

/// The TLS of one connection: OpenSSL on the connection's own descriptor, non-blocking. Owned by the connection's loop.
final class TLSSession {
  /// The result of a step.
  enum Outcome {
    /// The number of bytes that were read or written; 0 for a finished handshake.
    case bytes(Int)
    /// The kernel has no bytes, or accepts none, at the moment.
    case wouldBlock
    /// The peer has ended the stream correctly, with `close_notify`.
    case ended
    /// The connection broke below TLS.
    case broken(TransportError)
    case failed(TLSFailure)
  }

  enum Role {
    case client(host: String, port: UInt16, cache: TLSSessionCache)
    case server(TLSServerContext, ServerGeneration)
  }

  /// The plaintext of one record (RFC 8446 §5.1).
  static let recordLimit = 16_384

  private var session: OpaquePointer?
  let role: Role
  /// The right to do a handshake; released at the end of the handshake.
  var slot: HandshakeSlot?
  /// Called once, at the end of the handshake.
  var whenReady: ((Result<Connection, TransportError>) -> Void)?
  /// Whether a write waits for bytes of the peer (a key update, RFC 8446 §4.6.3), or a read for room to write.
  private(set) var writeWaitsForRead = false
  private(set) var readWaitsForWrite = false
  /// In the last `read`, the kernel reported that there are no more bytes.
  private(set) var isDrained = false
  private(set) var hasFailed = false
  private var isReady = false
  /// Identifies the session that the handshake offered to resume, for comparison with the result; never dereferenced.
  private var offered: OpaquePointer?
  /// The fault of the peer's certificate.
  private var verification: TLSFailure?
  private var hasSentClose = false

  /// The session retains `context`. A client checks that the certificate is for its host.
  init(context: ContextReference, descriptor: Int32, role: Role) throws(TransportError) {
    self.role = role
    guard let session = SSL_new(context.pointer) else {
      throw .tls(reason: OpenSSLErrors.drain() ?? "no memory for a session")
    }
    self.session = session
    guard SSL_set_fd(session, descriptor) == 1,
      SSL_set_ex_data(session, 0, Unmanaged.passUnretained(self).toOpaque()) == 1
    else {
      discard()
      throw .tls(reason: OpenSSLErrors.drain() ?? "no memory for a session")
    }
    switch role {
    case .server: SSL_set_accept_state(session)
    case .client(let host, let port, let cache):
      guard Self.expect(host, of: session) else {
        discard()
        throw .tls(reason: "\"\(host)\" is not a host name")
      }
      if let resumable = cache.take(for: Self.key(host, port), now: time(nil)) {
        if SSL_set_session(session, resumable.pointer) == 1 { offered = resumable.pointer }
        SSL_SESSION_free(resumable.pointer)
      }
      SSL_set_connect_state(session)
    }
  }

  /// The required name of the certificate, and the name to request.
  private static func expect(_ host: String, of session: OpaquePointer) -> Bool {
    let parameters = SSL_get0_param(session)
    if KernelAddress(host: host, port: 0) != nil {
      // SNI allows only names (RFC 6066 §3).
      return X509_VERIFY_PARAM_set1_ip_asc(parameters, host) == 1
    }
    X509_VERIFY_PARAM_set_hostflags(parameters, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS))
    return X509_VERIFY_PARAM_set1_host(parameters, host, 0) == 1 && copenssl_set_server_name(session, host) == 1
  }

  private static func key(_ host: String, _ port: UInt16) -> String { "\(host) \(port)" }

  deinit { discard() }

  /// Frees the session. The connection keeps only its descriptor.
  func discard() {
    if let session {
      // OpenSSL would invalidate the session of a truncated stream, which a reconnect needs. After an error of TLS
      // itself, the session must be invalidated (RFC 5246 §7.2.2).
      if isReady, !hasFailed { SSL_set_shutdown(session, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN) }
      SSL_free(session)
    }
    session = nil
    whenReady = nil
    slot = nil
  }

  /// The owner of the session of an OpenSSL callback.
  static func of(_ session: OpaquePointer?) -> TLSSession? {
    guard let session, let owner = SSL_get_ex_data(session, 0) else { return nil }
    return Unmanaged<TLSSession>.fromOpaque(owner).takeUnretainedValue()
  }

  // MARK: - What it is

  /// `TLSv1.2` or `TLSv1.3`, once the handshake is done.
  var version: String? { session.map { String(cString: SSL_get_version($0)) } }

  /// Whether the handshake continued from an earlier session.
  var isResumed: Bool { session.map { SSL_session_reused($0) == 1 } ?? false }

  /// The name that the client requested (RFC 6066 §3), printable; nil if it named none.
  var serverName: String? {
    guard let session, let name = SSL_get_servername(session, TLSEXT_NAMETYPE_host_name) else { return nil }
    return CertificateDetails.printable(String(cString: name).utf8)
  }

  /// The name on the peer's verified certificate.
  var peerSubject: String? {
    guard let session, SSL_get_verify_result(session) == X509_V_OK, let leaf = SSL_get0_peer_certificate(session)
    else { return nil }
    return CertificateDetails.subject(leaf)
  }

  private var isClient: Bool { if case .client = role { true } else { false } }
  private var host: String? { if case .client(let host, _, _) = role { host } else { nil } }

  /// The name of the peer in errors, if it is not the peer's address.
  var peerName: String? {
    if case .client(let host, let port, _) = role { "\(host) port \(port)" } else { nil }
  }

  // MARK: - What OpenSSL asks

  var ticketKeys: TLSTicketKeys? {
    if case .server(let context, _) = role { context.ticketKeys } else { nil }
  }

  /// Sets the session's certificate to that for the client's requested name.
  func chooseCertificate() -> Int32 {
    guard let session, case .server(_, let generation) = role, let name = serverName,
      let context = generation.context(for: name)
    else { return SSL_TLSEXT_ERR_NOACK }
    SSL_set_SSL_CTX(session, context.pointer)
    return SSL_TLSEXT_ERR_OK
  }

  /// Stores a session that this client may resume. Returns false if it is not stored.
  func keep(_ made: TLSSessionReference) -> Bool {
    guard case .client(let host, let port, let cache) = role else { return false }
    cache.insert(made, for: Self.key(host, port))
    return true
  }

  /// Stores a TLS 1.2 ticket that replaces the used one (RFC 5077 §3.3); OpenSSL has no callback for it.
  private func keepRenewed(_ session: OpaquePointer) {
    guard let offered, SSL_session_reused(session) == 1, SSL_version(session) == TLS1_2_VERSION,
      let renewed = SSL_get1_session(session)
    else { return }
    if renewed == offered || !keep(TLSSessionReference(pointer: renewed)) { SSL_SESSION_free(renewed) }
  }

  /// Notes the faults of the peer's certificate while OpenSSL checks it; the first fault is the reason.
  static let verify: @convention(c) (Int32, OpaquePointer?) -> Int32 = { isGood, store in
    guard isGood == 0, let store,
      let session = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()),
      let owner = TLSSession.of(OpaquePointer(session)), owner.verification == nil
    else { return isGood }
    owner.verification = TLSFailure.verification(store, isClient: owner.isClient, host: owner.host)
    return isGood
  }

  // MARK: - Steps

  /// `.bytes(0)` once the handshake is done.
  func handshake() -> Outcome {
    guard let session else { return .ended }
    ERR_clear_error()
    let status = SSL_do_handshake(session)
    if status == 1 {
      isReady = true
      keepRenewed(session)
      if isClient, let chosen = foreignProtocol(session) {
        return fail(.init(.noApplicationProtocol, "the server chose \(chosen), which was not offered (ALPN)"))
      }
      return .bytes(0)
    }
    let outcome = outcome(session, status, isRead: true, isHandshake: true)
    switch outcome {
    case .wouldBlock:
      let received = BIO_number_read(SSL_get_rbio(session))
      guard case .server(let context, _) = role, received > context.configuration.handshakeBytes else { return outcome }
      return fail(.init(.tooManyBytes, "the client sent \(received) bytes, and its handshake is not complete"))
    case .failed, .broken:
      // A session that was not resumed once is not tried again.
      if offered != nil, case .client(let host, let port, let cache) = role {
        cache.removeAll(of: Self.key(host, port))
      }
      return outcome
    default: return outcome
    }
  }

  /// A protocol that the server chose and this client did not offer; OpenSSL does not check that.
  private func foreignProtocol(_ session: OpaquePointer) -> String? {
    var start: UnsafePointer<UInt8>?
    var length: UInt32 = 0
    SSL_get0_alpn_selected(session, &start, &length)
    guard let start, length > 0 else { return nil }
    let name = UnsafeBufferPointer(start: start, count: Int(length))
    return name.elementsEqual("http/1.1".utf8) ? nil : "\"\(CertificateDetails.printable(name))\""
  }

  /// Decrypts into `buffer` until it is full or the kernel has no more.
  func read(into buffer: UnsafeMutableRawBufferPointer) -> Outcome {
    var filled = 0
    readWaitsForWrite = false
    isDrained = false
    while filled < buffer.count {
      guard let session else { return .ended }
      ERR_clear_error()
      let count = SSL_read(session, buffer.baseAddress! + filled, Int32(clamping: buffer.count - filled))
      if count > 0 {
        filled += Int(count)
        continue
      }
      guard filled > 0 else { return outcome(session, count, isRead: true, isHandshake: false) }
      // The next call reports an end or an error that follows bytes.
      isDrained = SSL_get_error(session, count) == SSL_ERROR_WANT_READ
      return .bytes(filled)
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

  /// Ends this direction (RFC 8446 §6.1). Returns false if the kernel accepts no bytes at the moment: call it again.
  func sendCloseNotify() -> Bool {
    guard let session, isReady, !hasFailed, !hasSentClose else { return true }
    ERR_clear_error()
    let status = SSL_shutdown(session)
    // 0: sent; the peer's `close_notify` has not arrived.
    if status < 0, SSL_get_error(session, status) == SSL_ERROR_WANT_WRITE { return false }
    ERR_clear_error()
    hasSentClose = true
    return true
  }

  private func fail(_ failure: TLSFailure) -> Outcome {
    hasFailed = true
    return .failed(failure)
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
      return isHandshake ? fail(TLSFailure.closedDuringHandshake) : .ended
    case SSL_ERROR_SYSCALL:
      ERR_clear_error()
      if isHandshake { return fail(TLSFailure.closedDuringHandshake) }
      // Nothing was wrong with TLS, so the session can be resumed.
      return .broken(.system(call: isRead ? "read" : "write", errno: systemError == 0 ? ECONNRESET : systemError))
    default:
      let said = TLSFailure.drain(session, isClient: isClient, isHandshake: isHandshake)
      let failure = isHandshake ? verification ?? said : said
      // A truncated stream is not an error of TLS.
      if failure.kind == .truncated { return .failed(failure) }
      return fail(failure)
    }
  }
}
