import COpenSSL
import Glibc

/// TLS 1.2 and 1.3 as a client: verifies the chain against the system's roots, or `caFile` alone, and the host name. Sends SNI.
package final class TLSClientContext: @unchecked Sendable {
  // `@unchecked`: an `SSL_CTX` counts its references atomically and is not changed after `init` (SSL_CTX_new(3)).
  private let context: OpaquePointer

  /// - Parameter caFile: PEM file of the roots to trust instead of the system's.
  /// - Throws: `.certificateFile` if it cannot be read or holds no certificate.
  package convenience init(caFile: String? = nil) throws(TransportError) {
    try self.init(caFile: caFile, highestVersion: 0)
  }

  /// - Parameter highestVersion: `TLS1_2_VERSION`, say; 0 for the highest there is.
  init(caFile: String?, highestVersion: Int32) throws(TransportError) {
    let context = try makeContext(TLS_client_method())
    self.context = context
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
    // A session per connection; resuming needs its owner to remember it.
    _ = copenssl_set_session_cache_mode(context, Int(SSL_SESS_CACHE_OFF))
    if highestVersion != 0 { _ = copenssl_set_max_version(context, highestVersion) }
    if let caFile {
      guard access(caFile, R_OK) == 0 else {
        throw .certificateFile(path: caFile, reason: TransportError.words(errno))
      }
      guard SSL_CTX_load_verify_locations(context, caFile, nil) == 1 else {
        let reason = OpenSSLErrors.drain() ?? "unreadable"
        throw .certificateFile(path: caFile, reason: "it holds no PEM certificate (\(reason))")
      }
    } else if SSL_CTX_set_default_verify_paths(context) != 1 {
      throw .tls(reason: "the system's roots cannot be loaded (\(OpenSSLErrors.drain() ?? "no reason given"))")
    }
  }

  deinit { SSL_CTX_free(context) }

  func makeSession(descriptor: Int32, host: String) throws(TransportError) -> TLSSession {
    try TLSSession(context: context, descriptor: descriptor, host: host)
  }
}

/// TLS 1.2 and 1.3 as a server, with session tickets and ALPN `http/1.1`.
package final class TLSServerContext: @unchecked Sendable {
  // `@unchecked`: an `SSL_CTX` counts its references atomically and is not changed after `init` (SSL_CTX_new(3)).
  private let context: OpaquePointer

  /// - Parameters:
  ///   - certificateFile: PEM file of the chain, leaf first.
  ///   - keyFile: PEM file of the leaf's key, without a passphrase.
  /// - Throws: `.certificateFile`, naming the file and what is wrong with it.
  package init(certificateFile: String, keyFile: String) throws(TransportError) {
    let context = try makeServerContext()
    self.context = context
    for file in [certificateFile, keyFile] where access(file, R_OK) != 0 {
      throw .certificateFile(path: file, reason: TransportError.words(errno))
    }
    guard SSL_CTX_use_certificate_chain_file(context, certificateFile) == 1 else {
      let reason = OpenSSLErrors.drain() ?? "unreadable"
      throw .certificateFile(path: certificateFile, reason: "it is not a chain of PEM certificates (\(reason))")
    }
    // A callback that gives no passphrase; the default one would ask on the terminal.
    SSL_CTX_set_default_passwd_cb(context) { _, _, _, _ in 0 }
    guard SSL_CTX_use_PrivateKey_file(context, keyFile, SSL_FILETYPE_PEM) == 1 else {
      let reason = OpenSSLErrors.drain() ?? "unreadable"
      throw .certificateFile(
        path: keyFile, reason: "it is not this certificate's PEM key without passphrase (\(reason))")
    }
  }

  package init(certificate: SelfSignedCertificate) throws(TransportError) {
    let context = try makeServerContext()
    self.context = context
    let parsed = certificate.parsed()
    defer {
      X509_free(parsed.certificate)
      EVP_PKEY_free(parsed.key)
    }
    guard SSL_CTX_use_certificate(context, parsed.certificate) == 1, SSL_CTX_use_PrivateKey(context, parsed.key) == 1
    else { throw .tls(reason: OpenSSLErrors.drain() ?? "the certificate was refused") }
  }

  deinit { SSL_CTX_free(context) }

  func makeSession(descriptor: Int32) throws(TransportError) -> TLSSession {
    try TLSSession(context: context, descriptor: descriptor, host: nil)
  }
}

private func makeServerContext() throws(TransportError) -> OpaquePointer {
  let context = try makeContext(TLS_server_method())
  // Tickets carry the session (RFC 5077, RFC 8446 §2.2), so nothing is kept here for clients that may return.
  _ = copenssl_set_session_cache_mode(context, Int(SSL_SESS_CACHE_OFF))
  // The one protocol there is (RFC 7301); a client that offers others only is served without ALPN.
  SSL_CTX_set_alpn_select_cb(
    context,
    { _, selected, selectedLength, offered, offeredLength, _ in
      var offset = 0
      while let offered, offset < Int(offeredLength) {
        let length = Int(offered[offset])
        let name = UnsafeBufferPointer(start: offered + offset + 1, count: length)
        if name.elementsEqual("http/1.1".utf8) {
          selected?.pointee = offered + offset + 1
          selectedLength?.pointee = UInt8(length)
          return SSL_TLSEXT_ERR_OK
        }
        offset += 1 + length
      }
      return SSL_TLSEXT_ERR_NOACK
    }, nil)
  return context
}

private func makeContext(_ method: OpaquePointer?) throws(TransportError) -> OpaquePointer {
  guard let context = SSL_CTX_new(method) else {
    throw .tls(reason: OpenSSLErrors.drain() ?? "no memory for a context")
  }
  // TLS 1.2 with forward secrecy and authenticated encryption only (RFC 9325 §4.2); TLS 1.3 has nothing else.
  guard copenssl_configure(context) == 1, SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20") == 1 else {
    SSL_CTX_free(context)
    throw .tls(reason: OpenSSLErrors.drain() ?? "the settings were refused")
  }
  return context
}
