import Logging
import Synchronization
import Transport

/// Failed handshakes of clients, in the log: strangers cause them, so each kind is told at most once in ten seconds, with how many
/// there were since.
final class TLSLog: Sendable {
  /// Between two lines about the same kind, monotonic µs.
  private static let interval: Int64 = 10_000_000

  private struct Told {
    var at: Int64
    var since = 0
  }
  private let log: Logger
  private let told = Mutex<[String: Told]>([:])

  init(_ log: Logger) { self.log = log }

  /// - Parameter moment: monotonic µs.
  func failed(_ peer: SocketAddress, _ serverName: String?, _ failure: TLSFailure, at moment: Int64) {
    guard let count = admit(failure.kind.rawValue, at: moment) else { return }
    var metadata: Logger.Metadata = [
      "peer": "\(peer.description)", "reason": "\(failure.description)", "kind": "\(failure.kind.rawValue)",
    ]
    if let serverName { metadata["name"] = "\(serverName)" }
    if count > 1 { metadata["count"] = "\(count)" }
    log.notice("a client's TLS handshake failed", metadata: metadata)
  }

  /// A client spoke TLS to a port in the clear.
  func sawTLS(from peer: SocketAddress, at moment: Int64) {
    guard let count = admit("tls_in_the_clear", at: moment) else { return }
    var metadata: Logger.Metadata = [
      "peer": "\(peer.description)", "hint": "clients use ws:// and http:// here, or tls.certificate is to be set",
    ]
    if count > 1 { metadata["count"] = "\(count)" }
    log.notice("a client spoke TLS to a port in the clear", metadata: metadata)
  }

  /// How many there were since the last line about this; nil if it is too early for another.
  private func admit(_ kind: String, at moment: Int64) -> Int? {
    told.withLock { told in
      if let last = told[kind], moment - last.at < Self.interval {
        told[kind]?.since += 1
        return nil
      }
      let count = (told[kind]?.since ?? 0) + 1
      told[kind] = Told(at: moment)
      return count
    }
  }
}

/// TLS in Prometheus' text format.
enum TLSMetricsText {
  static func render(_ statistics: TLSStatistics, _ certificates: [TLSCertificateInfo]) -> String {
    var out = ""
    func metric(_ name: String, _ type: String, _ help: String, _ samples: [(labels: String, value: Int)]) {
      out += "# HELP tidegate_tls_\(name) \(help)\n# TYPE tidegate_tls_\(name) \(type)\n"
      for sample in samples { out += "tidegate_tls_\(name)\(sample.labels) \(sample.value)\n" }
    }
    metric(
      "certificate_expiry_seconds", "gauge", "When a certificate in use, or one of its chain, expires, Unix seconds.",
      certificates.map { info in
        ("{file=\"\(escaped(info.file))\",name=\"\(escaped(info.names.first ?? ""))\"}", info.expiry)
      })
    metric(
      "handshakes_total", "counter", "Handshakes of clients that were completed, full or resumed.",
      [("{kind=\"full\"}", statistics.full), ("{kind=\"resumed\"}", statistics.resumed)])
    metric(
      "handshake_failures_total", "counter", "Handshakes of clients that failed, by reason.",
      TLSFailure.Kind.allCases.map { ("{reason=\"\($0.rawValue)\"}", statistics.failures[$0] ?? 0) })
    metric(
      "handshakes_under_way", "gauge", "Handshakes of clients under way.", [("", statistics.underWay)])
    metric(
      "reloads_total", "counter", "Times that the certificate files were read again, and whether they could be used.",
      [("{result=\"used\"}", statistics.reloads), ("{result=\"refused\"}", statistics.reloadFailures)])
    return out
  }

  /// A label's value (Prometheus' text format: backslash, quotation mark and line feed are escaped).
  static func escaped(_ text: String) -> String {
    text.reduce(into: "") { result, character in
      switch character {
      case "\\": result += "\\\\"
      case "\"": result += "\\\""
      case "\n": result += "\\n"
      default: result.append(character)
      }
    }
  }
}
