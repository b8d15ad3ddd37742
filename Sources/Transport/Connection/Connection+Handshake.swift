/// The time before the first byte of the application: the TLS handshake, if there is one.
extension Connection {
  /// Continues the TLS handshake; `TLSSession.whenReady` reports its end.
  func continueHandshake() {
    guard state == .handshaking, let tls else { return }
    switch tls.handshake() {
    case .bytes:
      state = .open
      tls.slot = nil
      timer?.cancel()
      timer = nil
      tellServer(.success(tls.isResumed))
      let whenReady = tls.whenReady
      tls.whenReady = nil
      whenReady?(.success(self))
      // OpenSSL has the bytes that arrived in the same packet as the end of the handshake; no event will announce them.
      if state == .open { loop.markUnfinished(self) }
    case .wouldBlock: break
    case .ended: failHandshake(TLSFailure.closedDuringHandshake)
    case .broken(let error): failHandshake(TLSFailure(.closed, error.description))
    case .failed(let failure): failHandshake(failure)
    }
  }

  /// Starts the handshake; it fails after `timeout`.
  func startHandshake(timeout: Duration, whenReady: @escaping (Result<Connection, TransportError>) -> Void) {
    tls?.whenReady = whenReady
    timer = loop.schedule(after: timeout) { [unowned self] in
      failHandshake(TLSFailure(.timeout, "no handshake within the time allowed"))
    }
    continueHandshake()
  }

  /// Begins TLS as a client on a connection without it, for protocols that greet in the clear. The handler gets no
  /// bytes until the handshake has ended; then `whenReady` is called. If the handshake fails, the connection closes
  /// with the reason. Precondition: the connection is open, and everything written was sent.
  /// - Parameter host: the required name of the certificate.
  package func startTLS(
    _ context: TLSClientContext, host: String, port: UInt16, timeout: Duration, whenReady: @escaping () -> Void
  ) throws(TransportError) {
    loop.assertOnLoop()
    precondition(state == .open && tls == nil && unsent.count == 0)
    tls = try context.makeSession(descriptor: descriptor, host: host, port: port)
    state = .handshaking
    startHandshake(timeout: timeout) { result in
      if case .success = result { whenReady() }
    }
  }

  /// Whether the handshake has not ended.
  package var isHandshaking: Bool { state == .handshaking }

  /// Ends a long handshake, so that others that wait can begin.
  func endCrowdedHandshake() {
    failHandshake(TLSFailure(.timeout, "it was closed after its time because others waited for its place"))
  }

  private func failHandshake(_ failure: TLSFailure) {
    guard state == .handshaking, let tls else { return }
    let whenReady = tls.whenReady
    tls.whenReady = nil
    tellServer(.failure(failure))
    if failure.kind == .timeout {
      let error = TransportError.handshakeTimeout(peer: tls.peerName ?? peer.description)
      finish(.failed(error))
      whenReady?(.failure(error))
    } else {
      let error = TransportError.tlsFailed(peer: tls.peerName ?? peer.description, failure)
      if failure.kind == .plainHTTP {
        _ = Self.plainAnswer.withUnsafeBytes { loop.kernel.send(descriptor, $0.baseAddress!, $0.count) }
      }
      fail(failure)
      whenReady?(.failure(error))
    }
  }

  /// The server's context counts how handshakes end.
  private func tellServer(_ result: Result<Bool, TLSFailure>) {
    guard let tls, case .server(let context, _) = tls.role else { return }
    context.ended(result, peer: peer, serverName: tls.serverName)
  }

  /// The answer to a client that speaks plain HTTP to a TLS port, in plain HTTP.
  private static let plainAnswer: [UInt8] = {
    let body = "This port speaks TLS: use https:// or wss://.\n"
    return Array(
      ("HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: \(body.utf8.count)\r\n"
        + "Connection: close\r\n\r\n" + body).utf8)
  }()
}
