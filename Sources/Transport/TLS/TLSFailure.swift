import Bytes
import COpenSSL
import Glibc

/// The reason why TLS with a peer failed: a kind for counts, and a text for people.
package struct TLSFailure: Error, Sendable, Equatable, CustomStringConvertible {
  /// The raw values are labels of metrics.
  package enum Kind: String, Sendable, CaseIterable {
    // The fault of the peer's certificate.
    case expired
    case notYetValid = "not_yet_valid"
    case wrongHost = "wrong_host"
    case unknownCA = "unknown_ca"
    case selfSigned = "self_signed"
    /// Any other fault: a broken signature, a weak key, a wrong purpose.
    case badCertificate = "bad_certificate"
    /// A client sent no certificate although one is required.
    case noCertificate = "no_certificate"

    // The two sides have no common version, cipher suite or protocol.
    case protocolVersion = "protocol_version"
    case noSharedCipher = "no_shared_cipher"
    case noApplicationProtocol = "no_application_protocol"

    // The peer does not speak TLS.
    case plainHTTP = "plain_http"
    case notTLS = "not_tls"

    /// The peer ended the handshake with an alert, which the text names.
    case refused
    /// The peer closed the connection before the handshake was complete.
    case closed
    /// The stream ended without `close_notify` (RFC 8446 §6.1).
    case truncated
    case timeout
    /// The peer sent more bytes than a handshake needs.
    case tooManyBytes = "too_many_bytes"
    /// A record or message violates the protocol.
    case protocolError = "protocol_error"
  }

  package let kind: Kind
  package let description: String

  package init(_ kind: Kind, _ description: String) {
    self.kind = kind
    self.description = description
  }
}

extension TLSFailure {
  /// The errors of this thread's queue about `session`; empties the queue. Words of OpenSSL, of alerts, and public
  /// parts of certificates; never other data.
  static func drain(_ session: OpaquePointer, isClient: Bool, isHandshake: Bool) -> TLSFailure {
    var first: TLSFailure?
    while true {
      let error = ERR_get_error()
      guard error != 0 else { break }
      let said = ERR_reason_error_string(error).map { String(cString: $0) } ?? "OpenSSL error \(error)"
      if first == nil { first = TLSFailure(.protocolError, said) }
      guard copenssl_error_is_of_tls(error) != 0 else { continue }
      let reason = copenssl_error_reason(error)
      if let known = known(reason, said: said, session: session, isClient: isClient, isHandshake: isHandshake) {
        ERR_clear_error()
        return known
      }
    }
    return first ?? TLSFailure(isHandshake ? .closed : .truncated, "the connection broke")
  }

  private static func known(
    _ reason: Int32, said: String, session: OpaquePointer, isClient: Bool, isHandshake: Bool
  ) -> TLSFailure? {
    let peer = isClient ? "server" : "client"
    switch reason {
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
      return TLSFailure(.noCertificate, "the client showed no certificate, and one is required")
    case SSL_R_UNEXPECTED_EOF_WHILE_READING:
      return isHandshake
        ? closedDuringHandshake
        : TLSFailure(.truncated, "the \(peer) ended the stream without close_notify; the last data may be incomplete")
    case SSL_R_HTTP_REQUEST, SSL_R_HTTPS_PROXY_REQUEST:
      return TLSFailure(.plainHTTP, "the \(peer) sent plain HTTP to a port that speaks TLS")
    case SSL_R_UNSUPPORTED_PROTOCOL, SSL_R_VERSION_TOO_LOW, SSL_R_UNKNOWN_PROTOCOL, SSL_R_NO_PROTOCOLS_AVAILABLE,
      SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
      return TLSFailure(.protocolVersion, "the \(peer) speaks no version of TLS from 1.2 up (\(said))")
    case SSL_R_INAPPROPRIATE_FALLBACK, SSL_R_TLSV1_ALERT_INAPPROPRIATE_FALLBACK:
      return TLSFailure(.protocolVersion, "the client fell back to an older version than both speak (RFC 7507)")
    case SSL_R_NO_SHARED_CIPHER, SSL_R_NO_SUITABLE_KEY_SHARE, SSL_R_NO_SHARED_GROUPS,
      SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM, SSL_R_NO_SHARED_SIGNATURE_ALGORITHMS, SSL_R_NO_SUITABLE_GROUPS:
      return TLSFailure(
        .noSharedCipher, "the two have no cipher suite, group or signature algorithm in common (\(said))")
    case SSL_R_NO_APPLICATION_PROTOCOL:
      return TLSFailure(.noApplicationProtocol, "the client offers other protocols than http/1.1 (ALPN)")
    case SSL_R_TLSV1_ALERT_NO_APPLICATION_PROTOCOL:
      return TLSFailure(.noApplicationProtocol, "the \(peer) does not speak http/1.1 (ALPN)")
    case SSL_R_WRONG_VERSION_NUMBER, SSL_R_PACKET_LENGTH_TOO_LONG, SSL_R_BAD_PACKET_LENGTH,
      SSL_R_UNEXPECTED_MESSAGE, SSL_R_BAD_RECORD_TYPE, SSL_R_RECORD_LENGTH_MISMATCH:
      // Only bytes that are not even a first record mean that the peer does not speak TLS; later, such records violate
      // the protocol.
      guard isHandshake, SSL_get_state(session) == (isClient ? TLS_ST_CW_CLNT_HELLO : TLS_ST_BEFORE) else {
        return TLSFailure(.protocolError, said)
      }
      return TLSFailure(.notTLS, "the \(peer) does not speak TLS (\(said))")
    case let alert where alert > SSL_AD_REASON_OFFSET:
      let words = SSL_alert_desc_string_long(alert - SSL_AD_REASON_OFFSET).map { String(cString: $0) } ?? said
      return TLSFailure(.refused, "the \(peer) \(meaning(ofAlert: alert - SSL_AD_REASON_OFFSET)) (alert: \(words))")
    default: return nil
    }
  }

  static let closedDuringHandshake = TLSFailure(.closed, "the peer closed the connection during the handshake")

  private static func meaning(ofAlert alert: Int32) -> String {
    switch alert {
    case SSL_AD_HANDSHAKE_FAILURE: "found no cipher suite, group or signature algorithm in common"
    case SSL_AD_UNKNOWN_CA: "does not trust the issuer of the certificate"
    case SSL_AD_CERTIFICATE_EXPIRED: "says that the certificate has expired"
    case SSL_AD_BAD_CERTIFICATE, SSL_AD_UNSUPPORTED_CERTIFICATE, SSL_AD_CERTIFICATE_UNKNOWN,
      SSL_AD_CERTIFICATE_REVOKED:
      "refuses the certificate"
    case TLS13_AD_CERTIFICATE_REQUIRED: "requires a certificate and got none"
    case SSL_AD_UNRECOGNIZED_NAME: "has no certificate for this name"
    case SSL_AD_ACCESS_DENIED: "denies access"
    default: "broke off"
    }
  }

  /// What is wrong with the certificate of the peer (verify(1), "Diagnostics"), during OpenSSL's check, because OpenSSL
  /// keeps only a valid certificate.
  static func verification(_ store: OpaquePointer, isClient: Bool, host: String?) -> TLSFailure {
    let result = X509_STORE_CTX_get_error(store)
    let said = X509_verify_cert_error_string(Int(result)).map { String(cString: $0) } ?? "verify result \(result)"
    let leaf = X509_STORE_CTX_get0_cert(store)
    let current = X509_STORE_CTX_get_current_cert(store) ?? leaf
    let owner = isClient ? "its certificate" : "the client's certificate"
    let whose = current == leaf ? owner : "what issued \(owner)"
    switch result {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      let date = current.flatMap { CertificateDetails.notAfter($0) }.map(CertificateDetails.text) ?? "some day"
      return TLSFailure(.expired, "\(said): \(whose) expired on \(date)")
    case X509_V_ERR_CERT_NOT_YET_VALID:
      let date = current.flatMap { CertificateDetails.notBefore($0) }.map(CertificateDetails.text) ?? "some day"
      return TLSFailure(
        .notYetValid, "\(said): \(whose) is not valid before \(date); check this machine's clock")
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
      return TLSFailure(.selfSigned, "\(said): \(whose) is not among the trusted roots (unknown CA)")
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT,
      X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY, X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
      let issuer = leaf.flatMap { CertificateDetails.issuer($0) } ?? "an unnamed CA"
      return TLSFailure(
        .unknownCA, "\(said): \(owner) was issued by \(issuer), and no trusted root leads to it (unknown CA)")
    case X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH:
      let names = leaf.map { CertificateDetails.names($0, limit: 5) } ?? []
      let list = names.isEmpty ? "no host" : names.joined(separator: ", ")
      return TLSFailure(.wrongHost, "\(said): \(owner) is for \(list), not for \(host ?? "this host")")
    default:
      return TLSFailure(.badCertificate, "\(said): \(whose) cannot be used")
    }
  }
}

/// OpenSSL's error queue, in words.
enum OpenSSLErrors {
  /// The reason of the first error of this thread's queue, which is emptied. Never data, only OpenSSL's fixed texts.
  static func drain() -> String? {
    let error = ERR_get_error()
    ERR_clear_error()
    guard error != 0 else { return nil }
    return ERR_reason_error_string(error).map { String(cString: $0) } ?? "OpenSSL error \(error)"
  }
}

/// Public parts of a certificate.
enum CertificateDetails {
  /// Unix seconds.
  static func notAfter(_ certificate: OpaquePointer) -> Int? { seconds(X509_get0_notAfter(certificate)) }
  static func notBefore(_ certificate: OpaquePointer) -> Int? { seconds(X509_get0_notBefore(certificate)) }
  static func hasEnded(_ certificate: OpaquePointer) -> Bool {
    X509_cmp_current_time(X509_get0_notAfter(certificate)) <= 0
  }

  private static func seconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int? {
    var parts = tm()
    guard ASN1_TIME_to_tm(time, &parts) == 1 else { return nil }
    return timegm(&parts)
  }

  /// `2026-11-21 05:38:41 UTC`.
  static func text(_ seconds: Int) -> String {
    let time = CivilTime(microseconds: Int64(seconds) * 1_000_000)
    let day = [CivilTime.padded(time.date.year, 4), CivilTime.padded(time.date.month), CivilTime.padded(time.date.day)]
    let clock = [time.hour, time.minute, time.second].map { CivilTime.padded($0) }
    return "\(day.joined(separator: "-")) \(clock.joined(separator: ":")) UTC"
  }

  /// The hosts of the certificate: DNS names in lower case and addresses, in the order of the certificate.
  static func names(_ certificate: OpaquePointer, limit: Int = .max) -> [String] {
    guard let list = copenssl_alternative_names(certificate) else { return [] }
    defer { GENERAL_NAMES_free(list) }
    var names: [String] = []
    for index in 0..<copenssl_names_count(list) where names.count < limit {
      guard let name = copenssl_name_at(list, index) else { continue }
      switch name.pointee.type {
      case GEN_DNS:
        names.append(printable(bytes(name.pointee.d.dNSName)).lowercased())
      case GEN_IPADD:
        let address = bytes(name.pointee.d.iPAddress)
        if address.count == 4 {
          names.append(address.map { String($0) }.joined(separator: "."))
        } else if address.count == 16 {
          names.append(
            stride(from: 0, to: 16, by: 2).map { String(Int(address[$0]) << 8 | Int(address[$0 + 1]), radix: 16) }
              .joined(separator: ":"))
        }
      default: break
      }
    }
    return names
  }

  static func issuer(_ certificate: OpaquePointer) -> String? { name(X509_get_issuer_name(certificate)) }
  static func subject(_ certificate: OpaquePointer) -> String? { name(X509_get_subject_name(certificate)) }

  /// The common name, or the organisation if there is none, in quotation marks.
  private static func name(_ name: OpaquePointer?) -> String? {
    for field in [NID_commonName, NID_organizationName, NID_organizationalUnitName] {
      let text = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer -> String? in
        let count = X509_NAME_get_text_by_NID(name, field, buffer.baseAddress, Int32(buffer.count))
        guard count > 0 else { return nil }
        return printable(buffer[..<Int(count)].map { UInt8(bitPattern: $0) })
      }
      if let text { return "\"\(text)\"" }
    }
    return nil
  }

  private static func bytes(_ text: UnsafeMutablePointer<ASN1_STRING>?) -> [UInt8] {
    guard let text, let start = ASN1_STRING_get0_data(text) else { return [] }
    return Array(UnsafeBufferPointer(start: start, count: Int(ASN1_STRING_length(text))))
  }

  /// Names come from strangers and appear in terminals and logs, so they are printable ASCII, at most 255 characters.
  static func printable(_ bytes: some Sequence<UInt8>) -> String {
    String(decoding: bytes.prefix(255).map { (0x20...0x7E).contains($0) ? $0 : UInt8(ascii: "?") }, as: UTF8.self)
  }
}
