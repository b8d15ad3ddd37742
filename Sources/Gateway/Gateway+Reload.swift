import Access
import Foundation
import Logging
import Transport

/// What may change while the gateway runs: certificates, roots and keys.
extension Gateway {
  /// A certificate that ends within this time is warned of at every reading, s.
  private static let expiryWarning = 14 * 86_400

  /// Reads every file again that the gateway was given: certificates and keys of the client port, the roots of clients'
  /// certificates and of venues, the key file. Connections that are there stay; a file that cannot be used is reported,
  /// and what was in use stays. The log says what was read, or that there is nothing to read. Blocks on the disk: not
  /// for a loop. Callable at any time, also while the gateway drains.
  package func reload() {
    var hasFiles = reloadCertificates()
    if reloadRoots() { hasFiles = true }
    if reloadKeys() { hasFiles = true }
    if !hasFiles {
      log.notice(
        "there is nothing to read again", metadata: ["hint": "no tls.certificate, ca-file or keys-file is configured"])
    }
  }

  /// False if there are none.
  private func reloadCertificates() -> Bool {
    guard let serverTLS else { return false }
    do throws(TransportError) {
      try serverTLS.reload()
      log.notice(
        "certificates read again", metadata: ["files": "\(serverTLS.certificates.map(\.file).joined(separator: ", "))"])
      warnOfExpiry()
    } catch {
      log.error(
        "the certificates in use stay: the new ones cannot be used", metadata: ["reason": "\(error.description)"])
    }
    return true
  }

  /// Those of the system count as none of the gateway's; they are read again, too. A simulated market has its own,
  /// which do not change.
  private func reloadRoots() -> Bool {
    guard !configuration.demo, !configuration.feeds.isEmpty else { return false }
    do throws(TransportError) {
      try feedTLS.reload()
      if let file = configuration.caFile { log.notice("roots for venues read again", metadata: ["file": "\(file)"]) }
    } catch {
      log.error(
        "the roots for venues in use stay: the new ones cannot be used", metadata: ["reason": "\(error.description)"])
      return true
    }
    return configuration.caFile != nil
  }

  private func reloadKeys() -> Bool {
    guard let access else { return false }
    do throws(ConfigurationProblems) {
      try access.reload()
      log.notice("key file read again", metadata: ["holds": "\(access.description)"])
      for node in nodes { node.loop.execute { node.accessChanged() } }
    } catch {
      for problem in error.problems { log.error("key file not taken", metadata: ["reason": "\(problem.description)"]) }
    }
    return true
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
