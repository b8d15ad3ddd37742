/// TLS 1.2 and 1.3 as a client: verifies the chain against the system's roots, or `caFile` alone, and the host name. Sends SNI.
package final class TLSClientContext: Sendable {
  /// - Parameter caFile: PEM file of the roots to trust instead of the system's.
  package init(caFile: String? = nil) throws(TransportError) { fatalError("being written") }
}

/// TLS 1.2 and 1.3 as a server.
package final class TLSServerContext: Sendable {
  /// - Parameters: PEM files of the chain, leaf first, and of its key.
  package init(certificateFile: String, keyFile: String) throws(TransportError) { fatalError("being written") }
  package init(certificate: SelfSignedCertificate) throws(TransportError) { fatalError("being written") }
}

/// A certificate made on the spot, for simulators and tests: P-256, its own root.
package struct SelfSignedCertificate: Sendable {
  package let certificatePEM: String
  package let keyPEM: String
  /// - Parameters:
  ///   - hosts: DNS names and numeric addresses it is valid for.
  ///   - validFor: seconds from now; negative for one that has expired.
  package init(hosts: [String], validFor: Int = 86_400) throws(TransportError) { fatalError("being written") }
}
