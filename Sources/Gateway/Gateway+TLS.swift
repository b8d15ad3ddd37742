import Foundation
import Logging
import Transport

extension Gateway {
  /// A certificate that ends within this time is warned of at every reading, s.
  private static let expiryWarning = 14 * 86_400

  /// Reads all certificate files again: those of the client port, the roots of clients' certificates and those of venues. Connections
  /// that are there are not touched; a file that cannot be used is reported, and what was in use stays. Blocks on the disk: not for
  /// a loop.
  package func reloadCertificates() {
    if let serverTLS {
      do throws(TransportError) {
        try serverTLS.reload()
        log.notice(
          "certificates read again",
          metadata: ["files": "\(serverTLS.certificates.map(\.file).joined(separator: ", "))"])
        warnOfExpiry()
      } catch {
        log.error(
          "the certificates in use stay: the new ones cannot be used", metadata: ["reason": "\(error.description)"])
      }
    }
    do throws(TransportError) { try feedTLS.reload() } catch {
      log.error(
        "the roots for venues in use stay: the new ones cannot be used", metadata: ["reason": "\(error.description)"])
    }
  }

  /// Says which certificates expire soon.
  func warnOfExpiry() {
    let now = Int(Date().timeIntervalSince1970)
    for certificate in serverTLS?.certificates ?? [] where certificate.expiry - now < Self.expiryWarning {
      log.warning(
        "a certificate expires soon: renew it and send SIGHUP",
        metadata: [
          "file": "\(certificate.file)", "names": "\(certificate.names.prefix(5).joined(separator: ", "))",
          "in_hours": "\((certificate.expiry - now) / 3600)",
        ])
    }
  }
}
